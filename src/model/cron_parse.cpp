// Reads cron text into bitmasks; see cron.hpp for the grammar.
#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

#include "model/cron.hpp"

namespace jobbie::model {
namespace {

constexpr std::array<std::string_view, 12> kMonthNames{"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                       "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> kWeekdayNames{"SUN", "MON", "TUE", "WED",
                                                        "THU", "FRI", "SAT"};

struct FieldSpec {
  std::string_view name;
  int min = 0;
  int max = 0;    // the largest number that may be written
  int count = 0;  // how many different values there are
  std::span<const std::string_view> names = {};
  bool is_day = false;  // takes `?`
  bool wraps = false;   // takes ranges such as FRI-MON
};

constexpr std::array<FieldSpec, 6> kFields{{
    {.name = "second", .min = 0, .max = 59, .count = 60},
    {.name = "minute", .min = 0, .max = 59, .count = 60},
    {.name = "hour", .min = 0, .max = 23, .count = 24},
    {.name = "day-of-month", .min = 1, .max = 31, .count = 31, .is_day = true},
    {.name = "month", .min = 1, .max = 12, .count = 12, .names = kMonthNames, .wraps = true},
    {.name = "weekday",
     .min = 0,
     .max = 7,
     .count = 7,
     .names = kWeekdayNames,
     .is_day = true,
     .wraps = true},
}};

struct Macro {
  std::string_view name;
  std::string_view expansion;
};

constexpr std::array<Macro, 7> kMacros{{{"@YEARLY", "0 0 1 1 *"},
                                        {"@ANNUALLY", "0 0 1 1 *"},
                                        {"@MONTHLY", "0 0 1 * *"},
                                        {"@WEEKLY", "0 0 * * 0"},
                                        {"@DAILY", "0 0 * * *"},
                                        {"@MIDNIGHT", "0 0 * * *"},
                                        {"@HOURLY", "0 * * * *"}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
char to_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
bool is_letter(char c) { return to_upper(c) >= 'A' && to_upper(c) <= 'Z'; }

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), to_upper);
  return result;
}

std::unexpected<base::Error> bad(std::string message, std::size_t position) {
  return std::unexpected(base::Error{std::string(kBadCron), std::move(message), position});
}

// What one field comes to.
struct FieldValue {
  std::uint64_t mask = 0;
  bool any = false;
};

// Reads one field of the text, from left to right.
class FieldParser {
 public:
  FieldParser(const FieldSpec& spec, std::string_view text, std::size_t position)
      : spec_(spec), text_(text), base_position_(position) {}

  base::Result<FieldValue> parse() {
    while (true) {
      if (auto item = parse_item(); !item) return std::unexpected(item.error());
      if (at_end()) return value_;
      if (!take(',')) return unexpected_character();
    }
  }

 private:
  // `first` to `last` in steps; `last` may lie behind the field's end when the range wraps.
  void add(int first, int last, int step) {
    for (int v = first; v <= last; v += step)
      value_.mask |= std::uint64_t{1} << ((v - spec_.min) % spec_.count + spec_.min);
  }

  base::Result<void> parse_item() {
    const int field_end = spec_.min + spec_.count - 1;
    if (take('?')) {
      --pos_;
      if (!spec_.is_day) return fail("? is only for the day fields");
      ++pos_;
      value_.any = true;
      add(spec_.min, field_end, 1);
      return {};
    }
    if (take('*')) {
      const auto step = parse_step();
      if (!step) return std::unexpected(step.error());
      if (*step == 1) value_.any = true;
      add(spec_.min, field_end, *step);
      return {};
    }
    const std::size_t start = pos_;
    const auto first = parse_number_or_name();
    if (!first) return std::unexpected(first.error());
    if (!take('-')) return finish_single(*first, field_end);
    const auto last = parse_number_or_name();
    if (!last) return std::unexpected(last.error());
    const auto step = parse_step();
    if (!step) return std::unexpected(step.error());
    if (*first > *last && !spec_.wraps) {
      pos_ = start;
      return fail("the range goes backwards");
    }
    add(*first, *first > *last ? *last + spec_.count : *last, *step);
    return {};
  }

  // `a` alone, or `a/n`, which goes on to the field's end.
  base::Result<void> finish_single(int first, int field_end) {
    const bool stepped = !at_end() && text_[pos_] == '/';
    const auto step = parse_step();
    if (!step) return std::unexpected(step.error());
    if (first > field_end) first = spec_.min;  // weekday 7 is weekday 0
    add(first, stepped ? field_end : first, *step);
    return {};
  }

  base::Result<int> parse_step() {
    if (!take('/')) return 1;
    const std::size_t start = pos_;
    const auto step = take_number();
    if (!step) return fail("expected a step after /");
    if (*step < 1 || *step > spec_.count) {
      pos_ = start;
      return fail("a step must be 1 to " + std::to_string(spec_.count));
    }
    return *step;
  }

  base::Result<int> parse_number_or_name() {
    const std::size_t start = pos_;
    if (const auto number = take_number()) {
      if (*number < spec_.min || *number > spec_.max) {
        pos_ = start;
        return fail("must be " + std::to_string(spec_.min) + " to " + std::to_string(spec_.max));
      }
      return *number;
    }
    while (!at_end() && is_letter(text_[pos_])) ++pos_;
    const std::string word = upper(text_.substr(start, pos_ - start));
    const auto found = std::ranges::find(spec_.names, word);
    if (found != spec_.names.end())
      return static_cast<int>(found - spec_.names.begin()) + spec_.min;
    pos_ = start;
    if (word.empty() || word == "L" || word == "W" || word == "LW") return unexpected_character();
    return fail(spec_.names.empty() ? "takes numbers, not names"
                                    : "unknown name; use the first three letters in English");
  }

  // Nothing without digits; more than three are just as much out of range as 999.
  std::optional<int> take_number() {
    if (at_end() || !is_digit(text_[pos_])) return std::nullopt;
    int number = 0;
    for (; !at_end() && is_digit(text_[pos_]); ++pos_)
      number = std::min(number * 10 + (text_[pos_] - '0'), 999);
    return number;
  }

  [[nodiscard]] bool at_end() const { return pos_ == text_.size(); }

  bool take(char c) {
    if (at_end() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }

  [[nodiscard]] std::unexpected<base::Error> unexpected_character() const {
    if (at_end()) return fail("ends where a value was expected");
    const char c = to_upper(text_[pos_]);
    if (c == 'L' || c == 'W' || c == '#') return fail("L, W and # are not supported");
    if (c > ' ' && c <= '~') return fail(std::string("unexpected '") + text_[pos_] + "'");
    return fail("unexpected character");
  }

  [[nodiscard]] std::unexpected<base::Error> fail(const std::string& what) const {
    return bad("cron " + std::string(spec_.name) + ": " + what, base_position_ + pos_);
  }

  const FieldSpec& spec_;
  std::string_view text_;
  std::size_t base_position_;
  std::size_t pos_ = 0;
  FieldValue value_;
};

struct Word {
  std::string_view text;
  std::size_t position = 0;
};

std::vector<Word> split(std::string_view text) {
  std::vector<Word> words;
  std::size_t pos = 0;
  while (pos < text.size()) {
    const std::size_t start = pos;
    while (pos < text.size() && !is_blank(text[pos])) ++pos;
    if (pos > start) words.push_back({text.substr(start, pos - start), start});
    while (pos < text.size() && is_blank(text[pos])) ++pos;
  }
  return words;
}

base::Result<std::string_view> expand_macro(const Word& word) {
  const std::string name = upper(word.text);
  for (const Macro& macro : kMacros)
    if (macro.name == name) return macro.expansion;
  if (name == "@REBOOT" || name == "@EVERY")
    return bad("cron: @reboot and @every are not supported", word.position);
  return bad(
      "cron: unknown macro; use @yearly, @annually, @monthly, @weekly, @daily, @midnight or "
      "@hourly",
      word.position);
}

// Days are only impossible when the day of the month alone decides: 31 February, 31 June.
bool can_match(const CronFields& fields) {
  if (!fields.any_weekday) return true;
  constexpr std::array<int, 12> kLongest{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const int first_day = std::countr_zero(fields.days);
  for (std::size_t month = 1; month <= kLongest.size(); ++month)
    if ((fields.months >> month & 1U) != 0 && first_day <= kLongest[month - 1]) return true;
  return false;
}

}  // namespace

base::Result<CronExpr> CronExpr::parse(std::string_view text) {
  if (text.size() > kMaxCronText) return bad("cron: the expression is too long", kMaxCronText);
  std::vector<Word> words = split(text);
  if (words.empty()) return bad("cron: the expression is empty", 0);
  if (words[0].text.front() == '@') {
    const auto expansion = expand_macro(words[0]);
    if (!expansion) return std::unexpected(expansion.error());
    if (words.size() > 1) return bad("cron: a macro stands alone", words[1].position);
    words = split(*expansion);
  }
  if (words.size() != 5 && words.size() != 6) {
    const std::size_t position = words.size() > 6 ? words[6].position : text.size();
    return bad("cron: expected 5 fields, or 6 with seconds, got " + std::to_string(words.size()),
               position);
  }
  std::array<FieldValue, 6> values;
  values[0].mask = 1;  // second 0, when there is no field for seconds
  const std::size_t offset = kFields.size() - words.size();
  for (std::size_t i = 0; i < words.size(); ++i) {
    FieldParser parser(kFields[i + offset], words[i].text, words[i].position);
    const auto value = parser.parse();
    if (!value) return std::unexpected(value.error());
    values[i + offset] = *value;
  }
  const CronFields fields{.seconds = values[0].mask,
                          .minutes = values[1].mask,
                          .hours = static_cast<std::uint32_t>(values[2].mask),
                          .days = static_cast<std::uint32_t>(values[3].mask),
                          .months = static_cast<std::uint16_t>(values[4].mask),
                          .weekdays = static_cast<std::uint8_t>(values[5].mask),
                          .any_day = values[3].any,
                          .any_weekday = values[5].any};
  if (!can_match(fields))
    return bad("cron day-of-month: no such day in the given months, it would never run",
               words[3 - offset].position);
  return CronExpr(std::string(text), fields);
}

}  // namespace jobbie::model
