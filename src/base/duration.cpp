// Parsing and formatting of durations; see duration.hpp for the grammar.
#include "base/duration.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace jobbie::base {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};

// Descending, the order in which components must come.
constexpr std::array<Unit, 6> kUnits{{{"w", 604'800'000},
                                      {"d", 86'400'000},
                                      {"h", 3'600'000},
                                      {"m", 60'000},
                                      {"s", 1'000},
                                      {"ms", 1}}};

// A week is 2^10 · 5^5 · 189 ms, so a fraction of any unit that comes to whole milliseconds ends
// within ten decimal places, and 10^10 weeks in milliseconds still fit 64 bits.
constexpr std::size_t kMaxFractionDigits = 10;

// Exponents beyond this only say "huge" or "nothing", whatever digits stand before them.
constexpr std::int64_t kMaxExponent = 1'000'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

std::unexpected<Error> malformed(std::string message, std::size_t position) {
  return std::unexpected(Error{std::string(kBadDuration), std::move(message), position});
}

std::unexpected<Error> out_of_range() {
  return std::unexpected(
      Error{std::string(kDurationOutOfRange), "a duration may be at most 100 years (36600d)", 0});
}

// Takes the digits at `pos` and moves it behind them.
std::string_view take_digits(std::string_view text, std::size_t& pos) {
  const std::size_t start = pos;
  while (pos < text.size() && is_digit(text[pos])) ++pos;
  return text.substr(start, pos - start);
}

// `digits` as a number, or nothing when it is more than kMaxDuration's count of milliseconds.
std::optional<std::int64_t> bounded_number(std::string_view digits) {
  std::int64_t value = 0;
  for (const char c : digits) {
    value = value * 10 + (c - '0');
    if (value > kMaxDuration.ms) return std::nullopt;
  }
  return value;
}

// The milliseconds in 0.`digits` of a unit, or nothing when they are not a whole number.
std::optional<std::int64_t> exact_fraction(std::string_view digits, std::int64_t unit_ms) {
  while (!digits.empty() && digits.back() == '0') digits.remove_suffix(1);
  if (digits.size() > kMaxFractionDigits) return std::nullopt;
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
  for (const char c : digits) {
    numerator = numerator * 10 + (c - '0');
    denominator *= 10;
  }
  const std::int64_t scaled = numerator * unit_ms;
  if (scaled % denominator != 0) return std::nullopt;
  return scaled / denominator;
}

// One component of the text, such as "30m" or "1.5s".
struct Component {
  std::string_view whole;
  std::string_view fraction;
  std::size_t unit = 0;  // index in kUnits
};

Result<Component> take_component(std::string_view text, std::size_t& pos) {
  Component part;
  const std::size_t start = pos;
  part.whole = take_digits(text, pos);
  if (part.whole.empty()) return malformed("expected a number, as in 1h30m", start);
  if (pos < text.size() && text[pos] == '.') {
    ++pos;
    part.fraction = take_digits(text, pos);
    if (part.fraction.empty()) return malformed("expected digits after the decimal point", pos);
  }
  const std::size_t unit_start = pos;
  while (pos < text.size() && is_lower(text[pos])) ++pos;
  const std::string_view name = text.substr(unit_start, pos - unit_start);
  if (name.empty()) return malformed("expected a unit: w, d, h, m, s or ms", unit_start);
  while (part.unit < kUnits.size() && kUnits[part.unit].name != name) ++part.unit;
  if (part.unit == kUnits.size())
    return malformed("unknown unit; use w, d, h, m, s or ms", unit_start);
  if (!part.fraction.empty() && pos != text.size())
    return malformed("only the last part may have a fraction", start);
  return part;
}

// A JSON number taken apart: its value is `digits` with the point behind the first `point` of them.
struct Decimal {
  std::string digits;
  std::int64_t point = 0;
  bool negative = false;
};

Result<Decimal> parse_json_number(std::string_view text) {
  Decimal number;
  std::size_t pos = 0;
  if (pos < text.size() && text[pos] == '-') {
    number.negative = true;
    ++pos;
  }
  const std::size_t start = pos;
  number.digits = take_digits(text, pos);
  if (number.digits.empty()) return malformed("expected a number of seconds", start);
  if (number.digits.size() > 1 && number.digits[0] == '0')
    return malformed("a number must not begin with 0", start);
  number.point = static_cast<std::int64_t>(number.digits.size());
  if (pos < text.size() && text[pos] == '.') {
    ++pos;
    const std::string_view fraction = take_digits(text, pos);
    if (fraction.empty()) return malformed("expected digits after the decimal point", pos);
    number.digits += fraction;
  }
  if (pos < text.size() && (text[pos] == 'e' || text[pos] == 'E')) {
    ++pos;
    const bool minus = pos < text.size() && text[pos] == '-';
    if (pos < text.size() && (text[pos] == '-' || text[pos] == '+')) ++pos;
    const std::string_view digits = take_digits(text, pos);
    if (digits.empty()) return malformed("expected digits in the exponent", pos);
    std::int64_t exponent = 0;
    for (const char c : digits)
      if (exponent < kMaxExponent) exponent = exponent * 10 + (c - '0');
    number.point += minus ? -exponent : exponent;
  }
  if (pos != text.size()) return malformed("expected a number of seconds", pos);
  return number;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  if (text.empty()) return malformed("a duration is empty; write for example 30s", 0);
  if (text.size() > kMaxDurationText) return malformed("the text of a duration is too long", 0);
  Duration total;
  bool too_large = false;  // reported only once the whole text proves well-formed
  std::size_t next_unit = 0;
  std::size_t pos = 0;
  while (pos < text.size()) {
    const std::size_t start = pos;
    const auto part = take_component(text, pos);
    if (!part) return std::unexpected(part.error());
    if (part->unit < next_unit)
      return malformed("units must go from the largest to the smallest, each once", start);
    next_unit = part->unit + 1;
    const std::int64_t unit_ms = kUnits[part->unit].ms;
    const auto fraction_ms = exact_fraction(part->fraction, unit_ms);
    if (!fraction_ms) return malformed("a duration must be a whole number of milliseconds", start);
    const auto whole = bounded_number(part->whole);
    const std::int64_t room_ms = kMaxDuration.ms - total.ms - *fraction_ms;
    if (!whole || room_ms < 0 || *whole > room_ms / unit_ms) {
      too_large = true;
      continue;
    }
    total.ms += *whole * unit_ms + *fraction_ms;
  }
  if (too_large) return out_of_range();
  return total;
}

Result<Duration> parse_seconds_number(std::string_view json_number) {
  if (json_number.size() > kMaxSecondsText) return malformed("the number has too many digits", 0);
  const auto number = parse_json_number(json_number);
  if (!number) return std::unexpected(number.error());
  const std::string_view digits = number->digits;
  if (digits.find_first_not_of('0') == std::string_view::npos) return Duration{0};
  if (number->negative) return malformed("a duration must not be negative", 0);

  // Seconds to milliseconds moves the point by three; what stands before it is the answer.
  const std::int64_t point = number->point + 3;
  if (point < 0) return Duration{0};
  const auto count = static_cast<std::int64_t>(digits.size());
  std::int64_t ms = 0;
  for (std::int64_t i = 0; i < point; ++i) {
    if (i >= count && ms == 0) break;
    ms = ms * 10 + (i < count ? digits[static_cast<std::size_t>(i)] - '0' : 0);
    if (ms > kMaxDuration.ms) return out_of_range();
  }
  if (point < count && digits[static_cast<std::size_t>(point)] >= '5') ++ms;
  if (ms > kMaxDuration.ms) return out_of_range();
  return Duration{ms};
}

std::string format_duration(Duration duration) {
  if (duration.ms == 0) return "0s";
  std::string text;
  // Unsigned, because the magnitude of the smallest int64 does not fit an int64.
  auto rest = static_cast<std::uint64_t>(duration.ms);
  if (duration.ms < 0) {
    rest = 0 - rest;
    text += '-';
  }
  if (rest < 1000) return text + std::to_string(rest) + "ms";
  for (const Unit& unit : kUnits) {
    if (unit.name == "w" || unit.name == "ms") continue;
    const auto unit_ms = static_cast<std::uint64_t>(unit.ms);
    const std::uint64_t whole = rest / unit_ms;
    rest %= unit_ms;
    const bool fraction = unit.name == "s" && rest != 0;
    if (whole == 0 && !fraction) continue;
    text += std::to_string(whole);
    if (fraction) {
      std::string digits = std::to_string(1000 + rest).substr(1);
      while (digits.back() == '0') digits.pop_back();
      text += '.' + digits;
    }
    text += unit.name;
  }
  return text;
}

}  // namespace jobbie::base
