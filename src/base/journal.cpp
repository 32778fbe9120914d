// One line is put together in memory and written with one call.
#include "base/journal.hpp"

#include <cstddef>
#include <ctime>
#include <unistd.h>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/terminal_text.hpp"

namespace jobbie::base {
namespace {

void append_instant(std::string& out) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  gmtime_r(&now.tv_sec, &parts);
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
                 parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
                 parts.tm_sec, now.tv_nsec / 1'000'000);
}

struct AppendValue {
  std::string& out;
  void operator()(std::int64_t v) const { fmt::format_to(std::back_inserter(out), "{}", v); }
  void operator()(std::uint64_t v) const { fmt::format_to(std::back_inserter(out), "{}", v); }
  void operator()(bool v) const { out += v ? "true" : "false"; }
  /// The log may be read on a terminal, and it quotes what clients sent.
  void operator()(std::string_view v) const { out += printable_json(json::quote(v)); }
};

}  // namespace

const char* to_string(Level level) {
  switch (level) {
    case Level::debug:
      return "debug";
    case Level::info:
      return "info";
    case Level::warning:
      return "warning";
    case Level::error:
      return "error";
  }
  return "?";
}

std::optional<Level> parse_level(std::string_view text) {
  for (const Level level : {Level::debug, Level::info, Level::warning, Level::error})
    if (text == to_string(level)) return level;
  return std::nullopt;
}

void Journal::write(Level level, std::string_view event, std::initializer_list<Field> fields) {
  if (!wants(level)) return;
  std::string line = "{\"at\":\"";
  append_instant(line);
  line += "\",\"level\":\"";
  line += to_string(level);
  line += "\",\"event\":";
  line += json::quote(event);
  for (const Field& field : fields) {
    line += ',';
    line += json::quote(field.name);
    line += ':';
    std::visit(AppendValue{line}, field.value);
  }
  line += "}\n";
  // One call, so that lines of several threads do not mix.
  [[maybe_unused]] const auto written = ::write(fd_, line.data(), line.size());
}

}  // namespace jobbie::base
