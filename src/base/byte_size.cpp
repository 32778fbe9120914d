// Reading sizes, and writing them.
#include "base/byte_size.hpp"

#include <charconv>
#include <limits>

namespace jobbie::base {
namespace {

constexpr std::string_view kSizeUnits = "kmgt";

Error not_a_size(std::string_view text) {
  return {.code = "bad_size",
          .message =
              "\"" + std::string(text) +
              "\" is no size: say a number of bytes, such as 512M or 2G, or a share, such as 75%"};
}

char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// How many times 1024 the unit is to be multiplied; nothing: it is none.
Result<unsigned> power_of(std::string_view unit, std::string_view text) {
  if (unit.empty()) return 0U;
  const auto at = kSizeUnits.find(lowered(unit[0]));
  std::string rest;
  for (const char c : unit.substr(1)) rest += lowered(c);
  if (at == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib"))
    return std::unexpected(not_a_size(text));
  return static_cast<unsigned>(at) + 1;
}

}  // namespace

Result<ByteSize> parse_byte_size(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::unexpected(not_a_size(text));
  const auto unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit == "%") {
    if (number == 0 || number > 100) return std::unexpected(not_a_size(text));
    return ByteSize{.bytes = 0, .percent = static_cast<std::uint32_t>(number)};
  }
  const auto power = power_of(unit, text);
  if (!power) return std::unexpected(power.error());
  for (unsigned i = 0; i < *power; ++i) {
    if (number > std::numeric_limits<std::uint64_t>::max() / 1024)
      return std::unexpected(not_a_size(text));
    number *= 1024;
  }
  return ByteSize{.bytes = number, .percent = 0};
}

std::string byte_size_text(std::uint64_t bytes) {
  std::size_t power = 0;
  while (power < kSizeUnits.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++power;
  }
  auto text = std::to_string(bytes);
  if (power > 0) text += static_cast<char>(kSizeUnits[power - 1] - 'a' + 'A');
  return text;
}

}  // namespace jobbie::base
