// Metrics as text that Prometheus reads (version 0.0.4). Private to the folder.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "stats/histogram.hpp"

namespace jobbie::face::native {

inline constexpr std::string_view kExpositionType = "text/plain; version=0.0.4; charset=utf-8";

/// Each family begins with its help and type, and all its samples follow.
class Exposition {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  explicit Exposition(std::string& out) : out_(out) {}

  /// `help` must be one line without backslashes.
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(Labels labels, std::uint64_t value);
  void sample(Labels labels, double value);
  /// A histogram's buckets, sum and count. Bounds and sum are divided by `unit` to give seconds.
  void timing(Labels labels, const stats::Timing& timing, const stats::Bounds& bounds,
              std::int64_t unit);

  // A family of one sample.
  void gauge(std::string_view name, std::string_view help, std::uint64_t value);
  void counter(std::string_view name, std::string_view help, std::uint64_t value);

 private:
  void begin(std::string_view suffix, Labels labels, std::string_view bound = {});
  void label(std::string_view name, std::string_view value, bool& first);

  std::string& out_;
  std::string family_;
};

/// What the operating system knows of this process.
void write_process(Exposition& out);

}  // namespace jobbie::face::native
