// Character by character, with the ranges of Unicode's categories Cc, Cf, Zl and Zp.
#include "base/terminal_text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "base/json_text.hpp"

namespace jobbie::base {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

/// In rising order. U+2065 and U+E0000 to U+E007F that are not assigned yet are of the same kinds.
constexpr std::array kUnsafe = {
    Range{0x0000, 0x001F},   Range{0x007F, 0x009F},   Range{0x00AD, 0x00AD},
    Range{0x0600, 0x0605},   Range{0x061C, 0x061C},   Range{0x06DD, 0x06DD},
    Range{0x070F, 0x070F},   Range{0x0890, 0x0891},   Range{0x08E2, 0x08E2},
    Range{0x180E, 0x180E},   Range{0x200B, 0x200F},   Range{0x2028, 0x202E},
    Range{0x2060, 0x206F},   Range{0xFEFF, 0xFEFF},   Range{0xFFF9, 0xFFFB},
    Range{0x110BD, 0x110BD}, Range{0x110CD, 0x110CD}, Range{0x13430, 0x1343F},
    Range{0x1BCA0, 0x1BCA3}, Range{0x1D173, 0x1D17A}, Range{0xE0000, 0xE007F},
};

/// Of a sequence that is known to be right.
std::uint32_t code_point_of(std::string_view sequence) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  switch (sequence.size()) {
    case 1:
      return byte(0);
    case 2:
      return (byte(0) & 0x1FU) << 6 | (byte(1) & 0x3FU);
    case 3:
      return (byte(0) & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
    default:
      return (byte(0) & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 |
             (byte(3) & 0x3FU);
  }
}

/// Calls `safe(text)`, `unsafe(code point, following byte)` and `broken(byte)` in turn.
template <typename Safe, typename Unsafe, typename Broken>
void walk(std::string_view text, Safe safe, Unsafe unsafe, Broken broken) {
  while (!text.empty()) {
    const bool ascii = static_cast<unsigned char>(text.front()) < 0x80;
    const std::size_t length =
        ascii ? 1 : json::text::utf8_length(text.data(), text.data() + text.size());
    if (length == 0) {
      broken(static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
      continue;
    }
    const std::string_view sequence = text.substr(0, length);
    const std::uint32_t code_point = code_point_of(sequence);
    text.remove_prefix(length);
    if (is_unsafe_to_show(code_point))
      unsafe(code_point, text.empty() ? '\0' : text.front());
    else
      safe(sequence);
  }
}

}  // namespace

bool is_unsafe_to_show(std::uint32_t code_point) {
  if (code_point < 0x7F) return code_point < 0x20;
  const auto* const range =
      std::lower_bound(kUnsafe.begin(), kUnsafe.end(), code_point,
                       [](const Range& each, std::uint32_t at) { return each.last < at; });
  return range != kUnsafe.end() && range->first <= code_point;
}

std::string printable(std::string_view text, Lines lines) {
  std::string out;
  out.reserve(text.size());
  walk(
      text, [&](std::string_view sequence) { out += sequence; },
      [&](std::uint32_t code_point, char next) {
        if (code_point == '\r' && next == '\n') return;
        if (code_point == '\n' || code_point == '\t')
          out += lines == Lines::one ? ' ' : static_cast<char>(code_point);
        else if (code_point <= 0xFFFF)
          out += fmt::format("\\u{:04x}", code_point);
        else
          out += fmt::format("\\U{:08x}", code_point);
      },
      [&](unsigned byte) { out += fmt::format("\\x{:02x}", byte); });
  return out;
}

std::string printable_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  walk(
      json, [&](std::string_view sequence) { out += sequence; },
      [&](std::uint32_t code_point, char) {
        // Between values; inside strings JSON has them escaped already.
        if (code_point == '\n' || code_point == '\r' || code_point == '\t')
          out += static_cast<char>(code_point);
        else if (code_point <= 0xFFFF)
          out += fmt::format("\\u{:04x}", code_point);
        else
          out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code_point - 0x10000) >> 10),
                             0xDC00 + ((code_point - 0x10000) & 0x3FF));
      },
      [&](unsigned) { out += "\\ufffd"; });
  return out;
}

}  // namespace jobbie::base
