// Structured logging: one JSON object a line, written whole, from any thread.
//
//   {"at":"2026-02-11T10:00:00.123Z","level":"info","event":"node_started","index":42}
//
// Events are names for machines; what a person needs is in the fields. Secrets and payloads never
// go in here.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace jobbie::base {

enum class Level : std::uint8_t { debug = 0, info = 1, warning = 2, error = 3 };
const char* to_string(Level level);
/// `debug`, `info`, `warning`, `error`; nothing for any other text.
std::optional<Level> parse_level(std::string_view text);

/// One member of a line.
struct Field {
  std::string_view name;
  std::variant<std::int64_t, std::uint64_t, bool, std::string_view> value;
};

class Journal {
 public:
  /// Writes to the file descriptor `fd`, which it does not own. A line that cannot be written is
  /// lost: logging never stops the work.
  explicit Journal(int fd, Level least = Level::info) : fd_(fd), least_(least) {}

  void write(Level level, std::string_view event, std::initializer_list<Field> fields = {});
  [[nodiscard]] bool wants(Level level) const { return level >= least_; }

 private:
  const int fd_;
  const Level least_;
};

}  // namespace jobbie::base
