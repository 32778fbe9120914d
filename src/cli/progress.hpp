// A bar on standard error for long work: how far, how fast, how long yet. Nothing unless that is a
// terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/session.hpp"

namespace jobbie::cli {

class Progress {
 public:
  Progress(const Session& session, std::string what, std::int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Drawn at most ten times a second.
  void at(std::int64_t done);
  /// Takes the bar away.
  void finish();
  static std::string line(const std::string& what, std::int64_t done, std::int64_t total,
                          double seconds, int width);

 private:
  const Session& session_;
  std::string what_;
  std::int64_t total_;
  std::chrono::steady_clock::time_point began_;
  std::chrono::steady_clock::time_point drawn_{};
  bool shown_ = false;
};

}  // namespace jobbie::cli
