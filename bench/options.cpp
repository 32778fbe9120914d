// Reading the command line.
#include "bench/options.hpp"

#include <charconv>
#include <optional>
#include <string_view>

namespace jobbie::bench {
namespace {

std::optional<std::size_t> read_number(std::string_view text) {
  std::size_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || out == 0) return std::nullopt;
  return out;
}

std::optional<std::vector<std::size_t>> read_numbers(std::string_view text) {
  std::vector<std::size_t> out;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto number = read_number(text.substr(0, comma));
    if (!number) return std::nullopt;
    out.push_back(*number);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return out;
}

}  // namespace

std::expected<RunOptions, std::string> read_options(int count, char** arguments) {
  RunOptions out;
  const std::string usage =
      "usage: bench_engine [--json] [--quick] [--backlogs N,N…] [--lives N] [--jobs N]";
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--json") {
      out.json = true;
    } else if (argument == "--quick") {
      out.quick = true;
      out.backlogs = {1'000, 1'000'000};
    } else if (i + 1 == count) {
      return std::unexpected(usage);
    } else if (argument == "--backlogs") {
      const auto numbers = read_numbers(arguments[++i]);
      if (!numbers || numbers->empty()) return std::unexpected(usage);
      out.backlogs = *numbers;
    } else {
      const auto number = read_number(arguments[++i]);
      if (!number || (argument != "--lives" && argument != "--jobs")) return std::unexpected(usage);
      (argument == "--lives" ? out.lives : out.jobs) = *number;
    }
  }
  return out;
}

}  // namespace jobbie::bench
