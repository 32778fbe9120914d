// One spelling for every value.
#include <algorithm>
#include <charconv>
#include <map>

#include "base/json.hpp"
#include "base/json_reader.hpp"
#include "base/json_writer.hpp"

namespace jobbie::base::json {
namespace {

/// Numbers within so many places of the point are written without an exponent.
constexpr std::int64_t kPlainPlaces = 20;
/// An exponent of more digits is left as it was written.
constexpr std::size_t kExponentDigits = 15;

/// `digits` times ten to the power of `exponent`; the digits neither begin nor end with a zero.
std::string decimal(std::string digits, std::int64_t exponent) {
  const auto size = static_cast<std::int64_t>(digits.size());
  if (exponent >= 0 && exponent <= kPlainPlaces)
    return digits.append(static_cast<std::size_t>(exponent), '0');
  if (exponent < 0 && exponent >= -kPlainPlaces) {
    if (size <= -exponent) digits.insert(0, static_cast<std::size_t>(1 - exponent - size), '0');
    return digits.insert(digits.size() - static_cast<std::size_t>(-exponent), 1, '.');
  }
  return digits.append("e").append(std::to_string(exponent));
}

std::string canonical_number(std::string_view raw) {
  const bool negative = raw.starts_with('-');
  const auto mantissa_end = std::min(raw.find_first_of("eE"), raw.size());
  std::string digits;
  std::int64_t exponent = 0;
  bool fraction = false;
  for (const char c : raw.substr(negative ? 1 : 0, mantissa_end - (negative ? 1 : 0))) {
    if (c == '.') {
      fraction = true;
      continue;
    }
    digits.push_back(c);
    exponent -= fraction ? 1 : 0;
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return "0";
  if (mantissa_end < raw.size()) {
    auto text = raw.substr(mantissa_end + 1);
    if (text.starts_with('+')) text.remove_prefix(1);
    if (text.size() > kExponentDigits) return std::string(raw);
    std::int64_t given = 0;
    std::from_chars(text.data(), text.data() + text.size(), given);
    exponent += given;
  }
  const auto used = digits.find_last_not_of('0') + 1;
  exponent += static_cast<std::int64_t>(digits.size() - used);
  digits.resize(used);
  return (negative ? "-" : "") + decimal(std::move(digits), exponent);
}

/// Faults show in the reader; what was written is then of no use.
void append_canonical(Reader& reader, std::string& out);

void append_members(Reader& reader, std::string& out) {
  std::map<std::string, std::string, std::less<>> members;
  std::string_view name;
  for (bool begun = reader.begin_object(); begun && reader.next_member(name);) {
    const std::string key(name);
    std::string value;
    append_canonical(reader, value);
    members.insert_or_assign(key, std::move(value));
  }
  out.push_back('{');
  for (const auto& [key, value] : members) {
    if (out.back() != '{') out.push_back(',');
    append_quoted(out, key);
    out.append(":").append(value);
  }
  out.push_back('}');
}

void append_canonical(Reader& reader, std::string& out) {
  std::string_view text;
  switch (reader.peek()) {
    case Kind::object:
      return append_members(reader, out);
    case Kind::array: {
      char mark = '[';
      for (bool begun = reader.begin_array(); begun && reader.next_element(); mark = ',') {
        out.push_back(mark);
        append_canonical(reader, out);
      }
      out.append(mark == '[' ? "[]" : "]");
      return;
    }
    case Kind::string:
      if (reader.string(text)) append_quoted(out, text);
      return;
    case Kind::number:
      if (reader.number(text)) out += canonical_number(text);
      return;
    default:
      if (reader.value(text)) out += text;
  }
}

}  // namespace

std::string canonical(std::string_view text) {
  Reader reader(text);
  std::string out;
  append_canonical(reader, out);
  return reader.finish() ? out : std::string(text);
}

}  // namespace jobbie::base::json
