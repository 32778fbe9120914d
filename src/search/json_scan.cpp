// The walk, and comparing what it finds.
#include "search/json_scan.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include "base/json_text.hpp"

namespace jobbie::search {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/// Behind the string whose opening quote has been passed.
const char* pass_string(const char* p, const char* end) {
  while (p != end) {
    p = base::json::text::skip_plain(p, end);
    if (p == end) return end;
    const char c = *p++;
    if (c == '"') return p;
    if (c == '\\' && p != end) ++p;
  }
  return end;
}

/// Behind the array or object that begins at `p`.
const char* pass_nested(const char* p, const char* end) {
  std::size_t depth = 0;
  while (p != end) {
    switch (*p++) {
      case '"':
        p = pass_string(p, end);
        break;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (--depth == 0) return p;
        break;
      default:
        break;
    }
  }
  return end;
}

const char* pass_value(const char* p, const char* end) {
  if (p == end) return end;
  if (*p == '"') return pass_string(p + 1, end);
  if (*p == '{' || *p == '[') return pass_nested(p, end);
  while (p != end && *p != ',' && *p != '}' && *p != ']' && !is_space(*p)) ++p;
  return p;
}

/// A number as digits d₁d₂… without zeros around them, worth 0.d₁d₂… · 10^exponent.
struct Decimal {
  bool negative = false;
  std::int64_t exponent = 0;
  std::string digits;  ///< empty: zero
};

constexpr std::int64_t kMaxExponent = std::int64_t{1} << 60;

Decimal decimal_of(std::string_view text) {
  Decimal out;
  std::size_t i = 0;
  if (i < text.size() && text[i] == '-') {
    out.negative = true;
    ++i;
  }
  bool fraction = false;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.') {
      fraction = true;
      continue;
    }
    if (out.digits.empty() && text[i] == '0') {
      if (fraction) --out.exponent;
      continue;
    }
    out.digits.push_back(text[i]);
    if (!fraction) ++out.exponent;
  }
  out.digits.erase(out.digits.find_last_not_of('0') + 1);
  if (out.digits.empty()) return {};
  if (i < text.size()) {
    ++i;
    const bool minus = i < text.size() && text[i] == '-';
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    std::int64_t power = 0;
    for (; i < text.size() && power < kMaxExponent / 10; ++i) power = power * 10 + (text[i] - '0');
    out.exponent += minus ? -power : power;
  }
  return out;
}

/// Whole numbers of ordinary size, which most are.
bool small_integer(std::string_view text, std::int64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

int sign_of(std::strong_ordering order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }
int sign_of(int order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

using Members = std::vector<std::pair<std::string, std::string_view>>;

/// By name, the last value of each.
Members members_of(std::string_view object) {
  Members out;
  JsonScan scan(object);
  std::string_view name;
  std::string_view value;
  std::string room;
  while (scan.member(name, value)) out.emplace_back(unquoted(name, room), value);
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Members unique;
  for (auto& member : out) {
    if (!unique.empty() && unique.back().first == member.first) unique.pop_back();
    unique.push_back(std::move(member));
  }
  return unique;
}

int compare_values(std::string_view a, std::string_view b, int depth);

int compare_objects(std::string_view a, std::string_view b, int depth) {
  const Members left = members_of(a);
  const Members right = members_of(b);
  const auto names = std::lexicographical_compare_three_way(
      left.begin(), left.end(), right.begin(), right.end(),
      [](const auto& x, const auto& y) { return x.first.compare(y.first) <=> 0; });
  if (names != 0) return sign_of(names);
  for (std::size_t i = 0; i < left.size(); ++i)
    if (const int order = compare_values(left[i].second, right[i].second, depth); order != 0)
      return order;
  return 0;
}

int compare_arrays(std::string_view a, std::string_view b, int depth) {
  JsonScan left(a);
  JsonScan right(b);
  std::string_view x;
  std::string_view y;
  while (true) {
    const bool more_left = left.element(x);
    const bool more_right = right.element(y);
    if (!more_left || !more_right) return int{more_left} - int{more_right};
    if (const int order = compare_values(x, y, depth); order != 0) return order;
  }
}

int rank(std::string_view json, JsonKind kind) {
  switch (kind) {
    case JsonKind::boolean:
      return json.front() == 't' ? 2 : 1;
    case JsonKind::number:
      return 3;
    case JsonKind::string:
      return 4;
    case JsonKind::array:
      return 5;
    case JsonKind::object:
      return 6;
    default:
      return 0;
  }
}

int compare_values(std::string_view a, std::string_view b, int depth) {
  const JsonKind kind_a = kind_of(a);
  const JsonKind kind_b = kind_of(b);
  if (const int order = rank(a, kind_a) - rank(b, kind_b); order != 0) return sign_of(order);
  if (depth == 0) return sign_of(a.compare(b));  // deeper than any JSON that was taken in
  std::string room_a;
  std::string room_b;
  switch (kind_a) {
    case JsonKind::number:
      return compare_numbers(a, b);
    case JsonKind::string:
      return sign_of(string_of(a, room_a).compare(string_of(b, room_b)));
    case JsonKind::array:
      return compare_arrays(a, b, depth - 1);
    case JsonKind::object:
      return compare_objects(a, b, depth - 1);
    default:
      return 0;
  }
}

}  // namespace

JsonKind kind_of(std::string_view json) {
  if (json.empty()) return JsonKind::none;
  switch (json.front()) {
    case '{':
      return JsonKind::object;
    case '[':
      return JsonKind::array;
    case '"':
      return JsonKind::string;
    case 't':
    case 'f':
      return JsonKind::boolean;
    case 'n':
      return JsonKind::null;
    default:
      return JsonKind::number;
  }
}

JsonScan::JsonScan(std::string_view json) : p_(json.data()), end_(json.data() + json.size()) {
  if (p_ != end_) ++p_;
}

void JsonScan::space() {
  while (p_ != end_ && is_space(*p_)) ++p_;
}

bool JsonScan::advance() {
  space();
  if (p_ != end_ && *p_ == ',') {
    ++p_;
    space();
  }
  return p_ != end_ && *p_ != '}' && *p_ != ']';
}

std::string_view JsonScan::take_value() {
  space();
  const char* begin = p_;
  p_ = pass_value(p_, end_);
  if (p_ == begin) p_ = end_;  // nothing that JSON has: the walk ends
  return {begin, p_};
}

std::string_view JsonScan::take_string() {
  const char* begin = p_ + 1;
  p_ = pass_string(begin, end_);
  return {begin, p_ == begin ? p_ : p_ - 1};
}

bool JsonScan::member(std::string_view& name, std::string_view& value) {
  if (!advance() || *p_ != '"') return false;
  name = take_string();
  space();
  if (p_ == end_ || *p_ != ':') return false;
  ++p_;
  value = take_value();
  return !value.empty();
}

bool JsonScan::element(std::string_view& value) {
  if (!advance()) return false;
  value = take_value();
  return !value.empty();
}

std::string_view trimmed(std::string_view json) {
  while (!json.empty() && is_space(json.front())) json.remove_prefix(1);
  while (!json.empty() && is_space(json.back())) json.remove_suffix(1);
  return json;
}

std::string_view unquoted(std::string_view inside, std::string& room) {
  if (inside.find('\\') == std::string_view::npos) return inside;
  // Escapes are resolved only where they are whole: this may be text that nobody checked.
  std::string literal = "\"";
  literal.append(inside).push_back('"');
  base::json::Reader reader(literal);
  std::string_view text;
  if (!reader.string(text)) return inside;
  room = text;
  return room;
}

std::string_view string_of(std::string_view json, std::string& room) {
  if (json.size() < 2) return {};
  return unquoted(json.substr(1, json.size() - 2), room);
}

std::optional<std::string_view> member_of(std::string_view object, std::string_view name) {
  JsonScan scan(object);
  std::optional<std::string_view> found;
  std::string_view key;
  std::string_view value;
  std::string room;
  while (scan.member(key, value))
    if (key == name || (key.find('\\') != key.npos && unquoted(key, room) == name)) found = value;
  return found;
}

std::uint64_t count_of(std::string_view object_or_array) {
  if (kind_of(object_or_array) == JsonKind::object) return members_of(object_or_array).size();
  JsonScan scan(object_or_array);
  std::uint64_t count = 0;
  std::string_view value;
  while (scan.element(value)) ++count;
  return count;
}

int compare_numbers(std::string_view a, std::string_view b) {
  std::int64_t small_a = 0;
  std::int64_t small_b = 0;
  if (small_integer(a, small_a) && small_integer(b, small_b)) return sign_of(small_a <=> small_b);
  const Decimal left = decimal_of(a);
  const Decimal right = decimal_of(b);
  const auto sign = [](const Decimal& d) { return d.digits.empty() ? 0 : d.negative ? -1 : 1; };
  if (sign(left) != sign(right)) return sign(left) < sign(right) ? -1 : 1;
  int order = sign_of(left.exponent <=> right.exponent);
  if (left.digits.empty()) order = 0;
  if (order == 0) order = sign_of(left.digits.compare(right.digits));
  return left.negative ? -order : order;
}

int compare_json(std::string_view a, std::string_view b) {
  return compare_values(a, b, base::json::kMaxDepth);
}

}  // namespace jobbie::search
