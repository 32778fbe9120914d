// Numbers, times and escapes on the way out.
#include "base/json_writer.hpp"

#include <array>
#include <charconv>

#include "base/json_text.hpp"
#include "base/rfc3339.hpp"

namespace jobbie::base::json {
namespace {

template <typename Number>
void append_number(std::string& out, Number value) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

/// Appends a number that is not negative, with the point before its last `Places` digits; zeros at
/// the end are left out.
template <std::size_t Places>
void append_decimal(std::string& out, std::int64_t value) {
  std::int64_t unit = 1;
  for (std::size_t i = 0; i < Places; ++i) unit *= 10;
  append_number(out, value / unit);
  std::int64_t rest = value % unit;
  if (rest <= 0) return;
  std::array<char, Places> digits{};
  for (std::size_t i = Places; i-- > 0; rest /= 10) digits[i] = static_cast<char>('0' + rest % 10);
  std::size_t size = Places;
  while (digits[size - 1] == '0') --size;
  out.push_back('.');
  out.append(digits.data(), size);
}

/// Appends the character at `p`, which is not plain; gives its length.
std::size_t append_special(std::string& out, const char* p, const char* end) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kShort = "\b\t\n\f\r\"\\";
  constexpr std::string_view kShortKinds = "btnfr\"\\";
  const std::size_t length = text::utf8_length(p, end);
  if (length == 0) {
    out.append("\xEF\xBF\xBD");
    return 1;
  }
  const auto c = static_cast<unsigned char>(*p);
  if (const auto kind = kShort.find(*p); kind != std::string_view::npos) {
    out.push_back('\\');
    out.push_back(kShortKinds[kind]);
  } else if (c < 0x20) {
    out.append("\\u00");
    out.push_back(kHex[c >> 4]);
    out.push_back(kHex[c & 15]);
  } else {
    out.append(p, length);
  }
  return length;
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end) {
    const char* const behind = text::skip_plain(p, end);
    out.append(p, static_cast<std::size_t>(behind - p));
    p = behind;
    if (p != end) p += append_special(out, p, end);
  }
  out.push_back('"');
}

Writer& Writer::number(std::int64_t value) {
  separate();
  append_number(out_, value);
  return *this;
}

Writer& Writer::number(std::uint64_t value) {
  separate();
  append_number(out_, value);
  return *this;
}

Writer& Writer::instant(Instant at) {
  separate();
  out_.push_back('"');
  append_rfc3339(out_, at);
  out_.push_back('"');
  return *this;
}

Writer& Writer::number_text(std::uint64_t value) {
  separate();
  out_.push_back('"');
  append_number(out_, value);
  out_.push_back('"');
  return *this;
}

Writer& Writer::seconds(Duration duration) {
  separate();
  append_decimal<3>(out_, duration.ms);
  return *this;
}

Writer& Writer::millionths(std::uint32_t value) {
  separate();
  append_decimal<6>(out_, value);
  return *this;
}

}  // namespace jobbie::base::json
