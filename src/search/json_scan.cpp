// The walk, and comparing what it finds.
#include "search/json_scan.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace jobbie::search {
namespace {

/// Of control characters, valid JSON has only those that are space, but within strings none.
inline bool is_space(char c) { return static_cast<unsigned char>(c) <= ' '; }

inline const char* pass_space(const char* p, const char* end) {
  while (p != end && is_space(*p)) ++p;
  return p;
}

#if defined(__SSE2__)
using Sixteen = __m128i;
inline Sixteen same_as(Sixteen bytes, char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); }

/// The first byte in [p, end) that `is_one` marks in sixteen at a time, or the end. The bytes from
/// `begin` on may be read, so the last few are looked at together with some before them.
template <typename IsOne>
inline const char* first_marked(const char* begin, const char* p, const char* end, IsOne is_one) {
  const auto marks = [&](const char* at) {
    Sixteen bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    return static_cast<unsigned>(_mm_movemask_epi8(is_one(bytes)));
  };
  for (; end - p >= 16; p += 16)
    if (const unsigned found = marks(p); found != 0) return p + std::countr_zero(found);
  if (p == end || end - begin < 16) return p;
  const unsigned found = marks(end - 16) >> (16 - (end - p));
  return found == 0 ? end : p + std::countr_zero(found);
}
#endif

/// The next quote or backslash, or the end. Other characters need no look: they were checked.
inline const char* quote_or_backslash(const char* begin, const char* p, const char* end) {
#if defined(__SSE2__)
  p = first_marked(begin, p, end, [](Sixteen bytes) {
    return _mm_or_si128(same_as(bytes, '"'), same_as(bytes, '\\'));
  });
#else
  static_cast<void>(begin);
#endif
  while (p != end && *p != '"' && *p != '\\') ++p;
  return p;
}

/// The next quote or bracket, or the end.
inline const char* quote_or_bracket(const char* begin, const char* p, const char* end) {
  const auto is_one = [](char c) {
    return c == '"' || c == '{' || c == '}' || c == '[' || c == ']';
  };
#if defined(__SSE2__)
  p = first_marked(begin, p, end, [](Sixteen bytes) {
    // One bit parts the two kinds of brackets.
    const Sixteen curly = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    return _mm_or_si128(same_as(bytes, '"'),
                        _mm_or_si128(same_as(curly, '{'), same_as(curly, '}')));
  });
#else
  static_cast<void>(begin);
#endif
  while (p != end && !is_one(*p)) ++p;
  return p;
}

/// Behind the string whose opening quote has been passed.
inline const char* pass_string(const char* begin, const char* p, const char* end) {
  while (true) {
    p = quote_or_backslash(begin, p, end);
    if (p == end) return end;
    if (*p == '"') return p + 1;
    if (end - p < 2) return end;
    p += 2;
  }
}

/// Behind the array or object that begins at `p`.
const char* pass_nested(const char* begin, const char* p, const char* end) {
  std::size_t depth = 0;
  while (true) {
    p = quote_or_bracket(begin, p, end);
    if (p == end) return end;
    const char c = *p++;
    if (c == '"')
      p = pass_string(begin, p, end);
    else if (c == '{' || c == '[')
      ++depth;
    else if (--depth == 0)
      return p;
  }
}

inline const char* pass_value(const char* begin, const char* p, const char* end) {
  if (p == end) return end;
  if (*p == '"') return pass_string(begin, p + 1, end);
  if (*p == '{' || *p == '[') return pass_nested(begin, p, end);
  while (p != end && *p != ',' && *p != '}' && *p != ']' && !is_space(*p)) ++p;
  return p;
}

/// A member that begins at `p`, behind space and a comma; where the next one begins, or null if
/// there is none.
struct Member {
  std::string_view name;  ///< as it stands between the quotes
  bool escapes = false;   ///< in the name
  std::string_view value;
};
inline const char* take_member(const char* begin, const char* p, const char* end, Member& out) {
  p = pass_space(p, end);
  if (p != end && *p == ',') p = pass_space(p + 1, end);
  if (p == end || *p != '"') return nullptr;
  const char* const name = p + 1;
  p = quote_or_backslash(begin, name, end);
  out.escapes = p != end && *p == '\\';
  p = pass_string(begin, p, end);
  out.name = {name, p == name ? p : p - 1};
  p = pass_space(p, end);
  if (p == end || *p != ':') return nullptr;
  const char* const value = pass_space(p + 1, end);
  p = pass_value(begin, value, end);
  out.value = {value, p};
  return p == value ? nullptr : p;
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
  constexpr std::size_t kSafeDigits = 18;
  if (text.size() <= kSafeDigits && !text.empty() && text.front() != '-') {
    std::int64_t value = 0;
    for (const char c : text) {
      const auto digit = static_cast<unsigned char>(c - '0');
      if (digit > 9) return false;
      value = value * 10 + digit;
    }
    out = value;
    return true;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

int sign_of(std::strong_ordering order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }
int sign_of(int order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

using Members = std::vector<std::pair<std::string, std::string_view>>;

bool has_lesser_name(const Members::value_type& a, const Members::value_type& b) {
  return a.first < b.first;
}

/// Members sorted in one go.
constexpr std::size_t kSortedAtOnce = 4096;
/// What sorting costs for each of them, in steps.
constexpr std::uint64_t kSortSteps = 16;

/// In parts, since an object may have millions of members. Those of one name keep their order.
/// False: the budget is over.
bool sort_by_name(Members& members, Budget& budget) {
  const auto at = [&](std::size_t i) {
    return members.begin() + static_cast<std::ptrdiff_t>(std::min(i, members.size()));
  };
  for (std::size_t i = 0; i < members.size(); i += kSortedAtOnce) {
    std::stable_sort(at(i), at(i + kSortedAtOnce), has_lesser_name);
    if (!budget.spend(kSortSteps * std::min(kSortedAtOnce, members.size() - i))) return false;
  }
  for (std::size_t size = kSortedAtOnce; size < members.size(); size *= 2) {
    for (std::size_t i = 0; i + size < members.size(); i += 2 * size) {
      std::inplace_merge(at(i), at(i + size), at(i + 2 * size), has_lesser_name);
      if (!budget.spend(kSortSteps * 2 * size)) return false;
    }
  }
  return true;
}

/// By name, the last value of each.
Members members_of(std::string_view object, Budget& budget) {
  Members out;
  JsonScan scan(object);
  std::string_view name;
  std::string_view value;
  std::string room;
  while (scan.member(name, value)) {
    out.emplace_back(unquoted(name, room), value);
    if (!budget.spend(name.size() + value.size() + kSortSteps)) return {};
  }
  if (out.size() < 2) return out;
  if (!sort_by_name(out, budget)) return {};
  // Of each name the last.
  std::size_t kept = 0;
  for (std::size_t i = 1; i < out.size(); ++i) {
    if (out[i].first != out[kept].first) ++kept;
    if (i != kept) out[kept] = std::move(out[i]);
  }
  out.resize(kept + 1);
  return out;
}

int compare_values(std::string_view a, std::string_view b, int depth, Budget& budget);

int compare_objects(std::string_view a, std::string_view b, int depth, Budget& budget) {
  const Members left = members_of(a, budget);
  const Members right = members_of(b, budget);
  if (budget.over()) return 0;
  const auto names = std::lexicographical_compare_three_way(
      left.begin(), left.end(), right.begin(), right.end(),
      [](const auto& x, const auto& y) { return x.first.compare(y.first) <=> 0; });
  if (names != 0) return sign_of(names);
  for (std::size_t i = 0; i < left.size() && !budget.over(); ++i)
    if (const int order = compare_values(left[i].second, right[i].second, depth, budget);
        order != 0)
      return order;
  return 0;
}

int compare_arrays(std::string_view a, std::string_view b, int depth, Budget& budget) {
  JsonScan left(a);
  JsonScan right(b);
  std::string_view x;
  std::string_view y;
  while (!budget.over()) {
    const bool more_left = left.element(x);
    const bool more_right = right.element(y);
    if (!more_left || !more_right) return int{more_left} - int{more_right};
    if (const int order = compare_values(x, y, depth, budget); order != 0) return order;
  }
  return 0;
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

int compare_values(std::string_view a, std::string_view b, int depth, Budget& budget) {
  const JsonKind kind_a = kind_of(a);
  const JsonKind kind_b = kind_of(b);
  if (const int order = rank(a, kind_a) - rank(b, kind_b); order != 0) return sign_of(order);
  if (!budget.spend(a.size() + b.size())) return 0;
  if (depth == 0) return sign_of(a.compare(b));  // deeper than any JSON that was taken in
  std::string room_a;
  std::string room_b;
  switch (kind_a) {
    case JsonKind::number:
      return compare_numbers(a, b);
    case JsonKind::string:
      return sign_of(string_of(a, room_a).compare(string_of(b, room_b)));
    case JsonKind::array:
      return compare_arrays(a, b, depth - 1, budget);
    case JsonKind::object:
      return compare_objects(a, b, depth - 1, budget);
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

JsonScan::JsonScan(std::string_view json)
    : begin_(json.data()), p_(begin_), end_(begin_ + json.size()) {
  if (p_ != end_) ++p_;
}

bool JsonScan::member(std::string_view& name, std::string_view& value) {
  Member member;
  const char* const behind = take_member(begin_, p_, end_, member);
  if (behind == nullptr) return false;
  p_ = behind;
  name = member.name;
  value = member.value;
  return true;
}

bool JsonScan::element(std::string_view& value) {
  p_ = pass_space(p_, end_);
  if (p_ != end_ && *p_ == ',') p_ = pass_space(p_ + 1, end_);
  if (p_ == end_ || *p_ == '}' || *p_ == ']') return false;
  const char* const first = p_;
  p_ = pass_value(begin_, p_, end_);
  value = {first, p_};
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

std::optional<std::string_view> member_of(std::string_view object, std::string_view name,
                                          Budget& budget) {
  constexpr std::ptrdiff_t kBytesAtOnce = std::ptrdiff_t{16} << 10;
  const char* const begin = object.data();
  const char* const end = begin + object.size();
  const char* counted = begin;
  std::optional<std::string_view> found;
  std::string room;
  Member member;
  for (const char* p = object.empty() ? end : begin + 1;;) {
    p = take_member(begin, p, end, member);
    if (p == nullptr) break;
    if (member.escapes ? unquoted(member.name, room) == name : member.name == name)
      found = member.value;
    if (p - counted < kBytesAtOnce) continue;
    if (!budget.spend(static_cast<std::uint64_t>(p - counted))) return std::nullopt;
    counted = p;
  }
  budget.spend(static_cast<std::uint64_t>(end - counted));
  return found;
}

std::uint64_t count_of(std::string_view object_or_array, Budget& budget) {
  if (kind_of(object_or_array) == JsonKind::object)
    return members_of(object_or_array, budget).size();
  JsonScan scan(object_or_array);
  std::uint64_t count = 0;
  std::string_view value;
  while (scan.element(value) && budget.spend(value.size() + 1)) ++count;
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

int compare_json(std::string_view a, std::string_view b, Budget& budget) {
  if (kind_of(a) == JsonKind::number && kind_of(b) == JsonKind::number) {
    budget.spend(a.size() + b.size());
    return compare_numbers(a, b);
  }
  return compare_values(a, b, base::json::kMaxDepth, budget);
}

}  // namespace jobbie::search
