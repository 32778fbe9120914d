// Texts of a known width: bars, lengths of time, rates.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/terminal_text.hpp"
#include "tui/screen.hpp"

namespace jobbie::tui {
namespace {

constexpr std::array<const char*, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, 8> kAsciiBars = {"_", ".", ":", "-", "=", "+", "*", "#"};

bool begins(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }

}  // namespace

int width_of(const std::string& text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), begins));
}

std::string fit(const std::string& given, int width, bool right) {
  if (width <= 0) return "";
  // Names and messages are other people's.
  const std::string text = base::printable(given);
  const int have = width_of(text);
  if (have <= width) {
    const std::string space(static_cast<std::size_t>(width - have), ' ');
    return right ? space + text : text + space;
  }
  std::string out;
  int taken = 0;
  for (const char c : text) {
    if (begins(c) && ++taken > width) break;
    out.push_back(c);
  }
  return out;
}

std::string sparkline(const std::vector<double>& values, int width, Charset charset) {
  const auto& bars = charset == Charset::unicode ? kBars : kAsciiBars;
  const auto room = static_cast<std::size_t>(std::max(width, 0));
  const std::size_t shown = std::min(values.size(), room);
  const auto first = values.end() - static_cast<std::ptrdiff_t>(shown);
  const double most = shown > 0 ? *std::max_element(first, values.end()) : 0;
  std::string out(room - shown, ' ');
  for (auto at = first; at != values.end(); ++at) {
    const double share = most > 0 ? *at / most : 0;
    out +=
        bars[static_cast<std::size_t>(std::clamp(share * 7.0 + (share > 0 ? 0.5 : 0.0), 0.0, 7.0))];
  }
  return out;
}

std::string short_length(std::int64_t ms) {
  if (ms < 0) return "-";
  if (ms < 1000) return fmt::format("{}ms", ms);
  const std::int64_t s = ms / 1000;
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m", s / 60);
  if (s < 86'400) return fmt::format("{}h", s / 3600);
  return fmt::format("{}d", s / 86'400);
}

std::string short_rate(double per_second) {
  if (per_second <= 0) return "0";
  if (per_second < 10) return fmt::format("{:.1f}", per_second);
  if (per_second < 10'000) return fmt::format("{:.0f}", per_second);
  return fmt::format("{:.1f}k", per_second / 1000);
}

std::string text_of(const Line& line) {
  std::string out;
  for (const Span& span : line) out += span.text;
  return out;
}

}  // namespace jobbie::tui
