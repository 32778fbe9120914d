// What a worker writes down while it runs a job: lines of text that live beside the job, as values.
#pragma once

#include <cstdint>
#include <vector>

#include "base/blob.hpp"
#include "base/time.hpp"

namespace jobbie::model {

enum class LogLevel : std::uint8_t { debug = 0, info = 1, warning = 2, error = 3 };
/// Lower-case name, as on the wire.
constexpr const char* to_string(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
  }
  return "unknown";
}

struct LogLine {
  base::Instant at;  ///< zero in a command: the time of its entry
  LogLevel level = LogLevel::info;
  base::Blob message;
  bool operator==(const LogLine&) const = default;
};

/// A part of a job's log. Lines are numbered from 1 as they come; the oldest may have gone.
struct LogPage {
  std::uint64_t oldest = 0;  ///< the first number that is kept; zero: there are no lines
  std::uint64_t latest = 0;
  std::uint64_t first = 0;  ///< the number of lines[0]
  std::vector<LogLine> lines;
};

}  // namespace jobbie::model
