// Parses and evaluates POSIX TZ strings; see posix_tz.hpp.
#include "zone/posix_tz.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace jobbie::zone {
namespace {

constexpr int kMaxOffsetHours = 24;
constexpr int kMaxRuleHours = 167;  // RFC 9636 lets a change lie up to a week off its day

// Any failure comes up as an empty optional; parse_posix_tz says where the reading stopped.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  [[nodiscard]] bool at_end() const { return pos_ == text_.size(); }
  [[nodiscard]] std::size_t position() const { return pos_; }

  bool take(char c) {
    if (at_end() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }

  // An abbreviation: three letters or more, or anything of letters, digits and signs in <>.
  bool skip_name() {
    const std::size_t start = pos_;
    if (take('<')) {
      while (!at_end() && (is_letter() || is_digit() || text_[pos_] == '+' || text_[pos_] == '-'))
        ++pos_;
      return take('>');
    }
    while (!at_end() && is_letter()) ++pos_;
    return pos_ - start >= 3;
  }

  std::optional<int> number(int min, int max) {
    if (at_end() || !is_digit()) return std::nullopt;
    int value = 0;
    for (; !at_end() && is_digit(); ++pos_) {
      value = value * 10 + (text_[pos_] - '0');
      if (value > max) return std::nullopt;
    }
    if (value < min) return std::nullopt;
    return value;
  }

  // [+-]hh[:mm[:ss]]
  std::optional<std::int32_t> time(int max_hours) {
    const bool negative = take('-');
    if (!negative) take('+');
    const auto hours = number(0, max_hours);
    if (!hours) return std::nullopt;
    std::optional<int> minutes = 0;
    std::optional<int> seconds = 0;
    if (take(':')) {
      minutes = number(0, 59);
      if (minutes && take(':')) seconds = number(0, 59);
    }
    if (!minutes || !seconds) return std::nullopt;
    const std::int32_t total = *hours * 3600 + *minutes * 60 + *seconds;
    return negative ? -total : total;
  }

  std::optional<YearlyMoment> moment() {
    YearlyMoment result;
    if (take('M')) {
      const auto month = number(1, 12);
      const auto week = month && take('.') ? number(1, 5) : std::nullopt;
      const auto weekday = week && take('.') ? number(0, 6) : std::nullopt;
      if (!month || !week || !weekday) return std::nullopt;
      result.month = *month;
      result.week = *week;
      result.weekday = *weekday;
    } else {
      const bool julian = take('J');
      result.kind = julian ? YearlyMoment::Kind::julian : YearlyMoment::Kind::zero_based;
      const auto day = number(julian ? 1 : 0, 365);
      if (!day) return std::nullopt;
      result.day = *day;
    }
    if (take('/')) {
      const auto time_s = time(kMaxRuleHours);
      if (!time_s) return std::nullopt;
      result.time_s = *time_s;
    }
    return result;
  }

 private:
  [[nodiscard]] bool is_digit() const { return text_[pos_] >= '0' && text_[pos_] <= '9'; }
  [[nodiscard]] bool is_letter() const {
    const char c = text_[pos_];
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  }

  std::string_view text_;
  std::size_t pos_ = 0;
};

std::optional<SummerTime> read_summer(Reader& reader, std::int32_t standard_offset_s) {
  SummerTime summer{.offset_s = standard_offset_s + 3600};
  if (!reader.skip_name()) return std::nullopt;
  if (!reader.take(',')) {
    const auto west_s = reader.time(kMaxOffsetHours);
    if (!west_s || !reader.take(',')) return std::nullopt;
    summer.offset_s = -*west_s;
  }
  const auto begin = reader.moment();
  if (!begin || !reader.take(',')) return std::nullopt;
  const auto end = reader.moment();
  if (!end) return std::nullopt;
  summer.begin = *begin;
  summer.end = *end;
  return summer;
}

std::optional<PosixTz> read_posix_tz(Reader& reader) {
  PosixTz result;
  if (!reader.skip_name()) return std::nullopt;
  const auto west_s = reader.time(kMaxOffsetHours);
  if (!west_s) return std::nullopt;
  result.standard_offset_s = -*west_s;
  if (reader.at_end()) return result;
  result.summer = read_summer(reader, result.standard_offset_s);
  if (!result.summer || !reader.at_end()) return std::nullopt;
  return result;
}

}  // namespace

std::int64_t YearlyMoment::local_seconds(int year) const {
  namespace chrono = std::chrono;
  const chrono::year y{year};
  chrono::sys_days date{y / 1 / 1};
  switch (kind) {
    case Kind::month_week_day: {
      const chrono::weekday wanted{static_cast<unsigned>(weekday)};
      if (week == 5)
        date = chrono::sys_days{y / month / wanted[chrono::last]};
      else
        date = chrono::sys_days{y / month / wanted[static_cast<unsigned>(week)]};
      break;
    }
    case Kind::julian:
      date += chrono::days{day - 1 + (y.is_leap() && day >= 60 ? 1 : 0)};
      break;
    case Kind::zero_based:
      date += chrono::days{day};
      break;
  }
  return std::int64_t{date.time_since_epoch().count()} * 86'400 + time_s;
}

std::array<OffsetChange, 2> PosixTz::changes_in(int year) const {
  if (!summer) return {};
  const OffsetChange begin{summer->begin.local_seconds(year) - standard_offset_s, summer->offset_s};
  const OffsetChange end{summer->end.local_seconds(year) - summer->offset_s, standard_offset_s};
  if (end.at_s < begin.at_s) return {end, begin};
  return {begin, end};
}

base::Result<PosixTz> parse_posix_tz(std::string_view text) {
  Reader reader(text);
  auto result = read_posix_tz(reader);
  if (!result)
    return std::unexpected(base::Error{std::string(kBadPosixTz),
                                       "not a POSIX time zone rule of the kind tzdata has",
                                       reader.position()});
  return *result;
}

}  // namespace jobbie::zone
