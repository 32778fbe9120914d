// Finds the next run of a cron expression by skipping over months, days and hours; see cron.hpp.
#include <algorithm>
#include <bit>
#include <chrono>

#include "model/cron.hpp"

namespace jobbie::model {
namespace {

constexpr std::int64_t kSecondsPerDay = 86'400;
constexpr int kFirstYear = -1;  // an offset may carry the first instant's local time into it
constexpr int kLastYear = 9999;

constexpr std::int64_t kFirstDay =
    std::chrono::sys_days{std::chrono::year{kFirstYear} / 1 / 1}.time_since_epoch().count();
constexpr std::int64_t kLastDay =
    std::chrono::sys_days{std::chrono::year{kLastYear} / 12 / 31}.time_since_epoch().count();

struct Day {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
};

struct TimeOfDay {
  int hour = 0;
  int minute = 0;
  int second = 0;
  [[nodiscard]] std::int64_t seconds() const { return hour * 3600 + minute * 60 + second; }
};

Day day_of(std::int64_t days) {
  const std::chrono::year_month_day ymd{std::chrono::sys_days{std::chrono::days{days}}};
  return {int{ymd.year()}, unsigned{ymd.month()}, unsigned{ymd.day()}};
}

std::int64_t days_of(const Day& day) {
  return std::chrono::sys_days{std::chrono::year{day.year} / static_cast<int>(day.month) /
                               static_cast<int>(day.day)}
      .time_since_epoch()
      .count();
}

// The lowest set bit at or above `from`, or -1.
int next_bit(std::uint64_t mask, int from) {
  if (from > 63) return -1;
  mask &= ~std::uint64_t{0} << from;
  return mask == 0 ? -1 : std::countr_zero(mask);
}

bool has_bit(std::uint64_t mask, unsigned bit) { return (mask >> bit & 1U) != 0; }

// The days of one month that match, bit d for day d.
std::uint32_t matching_days(const CronFields& fields, int year, unsigned month) {
  using namespace std::chrono;
  const year_month_day_last last{std::chrono::year{year},
                                 month_day_last{std::chrono::month{month}}};
  const unsigned length = unsigned{last.day()};
  const std::uint32_t in_month = (std::uint32_t{2} << length) - 2;
  if (fields.any_weekday) return fields.days & in_month;
  const unsigned weekday_of_first =
      weekday{sys_days{std::chrono::year{year} / static_cast<int>(month) / 1}}.c_encoding();
  std::uint32_t by_weekday = 0;
  for (unsigned day = 1; day <= length; ++day)
    if (has_bit(fields.weekdays, (weekday_of_first + day - 1) % 7)) by_weekday |= 1U << day;
  return fields.any_day ? by_weekday : (by_weekday | fields.days) & in_month;
}

// The first matching time at or after `from` on the same day. Hour, minute and second are looked at
// in turn; when one moves on, those behind it start again at their smallest.
std::optional<TimeOfDay> next_time(const CronFields& fields, const TimeOfDay& from) {
  const int first_minute = next_bit(fields.minutes, 0);
  const int first_second = next_bit(fields.seconds, 0);
  int hour = next_bit(fields.hours, from.hour);
  if (hour == from.hour) {
    int minute = next_bit(fields.minutes, from.minute);
    if (minute == from.minute) {
      const int second = next_bit(fields.seconds, from.second);
      if (second >= 0) return TimeOfDay{hour, minute, second};
      minute = next_bit(fields.minutes, from.minute + 1);
    }
    if (minute >= 0) return TimeOfDay{hour, minute, first_second};
    hour = next_bit(fields.hours, from.hour + 1);
  }
  if (hour < 0) return std::nullopt;
  return TimeOfDay{hour, first_minute, first_second};
}

// The first matching day at or after `from`.
std::optional<std::int64_t> next_day(const CronFields& fields, std::int64_t from) {
  if (from > kLastDay) return std::nullopt;
  Day day = day_of(from);
  const int last_year = std::min(day.year + kCronHorizonYears, kLastYear);
  while (day.year <= last_year) {
    const int month = next_bit(fields.months, static_cast<int>(day.month));
    if (month < 0) {
      day = {day.year + 1, 1, 1};
      continue;
    }
    if (static_cast<unsigned>(month) != day.month)
      day = {day.year, static_cast<unsigned>(month), 1};
    const int found =
        next_bit(matching_days(fields, day.year, day.month), static_cast<int>(day.day));
    if (found > 0) return days_of({day.year, day.month, static_cast<unsigned>(found)});
    day = {day.year, day.month + 1, 1};  // month 13 finds no bit and leads to the next year
  }
  return std::nullopt;
}

TimeOfDay time_of(std::int64_t second_of_day) {
  return {static_cast<int>(second_of_day / 3600), static_cast<int>(second_of_day / 60 % 60),
          static_cast<int>(second_of_day % 60)};
}

}  // namespace

bool CronExpr::matches(LocalSeconds local) const {
  if (local.s <= kFirstDay * kSecondsPerDay) return false;
  const auto found = next_local({local.s - 1});
  return found && *found == local;
}

std::optional<LocalSeconds> CronExpr::next_local(LocalSeconds after) const {
  if (after.s >= (kLastDay + 1) * kSecondsPerDay) return std::nullopt;
  const std::int64_t from = std::max(after.s + 1, kFirstDay * kSecondsPerDay);
  std::int64_t second_of_day = from % kSecondsPerDay;
  if (second_of_day < 0) second_of_day += kSecondsPerDay;
  const std::int64_t today = (from - second_of_day) / kSecondsPerDay;

  std::optional<std::int64_t> day = next_day(fields_, today);
  if (day && *day == today) {
    const auto time = next_time(fields_, time_of(second_of_day));
    if (time) return LocalSeconds{today * kSecondsPerDay + time->seconds()};
    day = next_day(fields_, today + 1);
  }
  const auto time = next_time(fields_, TimeOfDay{});
  if (!day || !time) return std::nullopt;
  return LocalSeconds{*day * kSecondsPerDay + time->seconds()};
}

std::optional<base::Instant> CronExpr::next_after(base::Instant after,
                                                  const ZoneRules& zone) const {
  if (after >= base::kMaxInstant) return std::nullopt;
  // A local time is reached after `after` exactly when it is later than all the wall clock has
  // shown until then. That one comparison is what makes a repeated hour run once and a skipped one
  // at all.
  const auto local = next_local(zone.latest_local(after));
  if (!local) return std::nullopt;
  const base::Instant run = zone.from_local(*local).first;
  if (run > base::kMaxInstant) return std::nullopt;
  // Always later with valid rules; with others, stopping is better than running for ever.
  if (run <= after) return std::nullopt;
  return run;
}

std::vector<base::Instant> CronExpr::next_runs(base::Instant after, const ZoneRules& zone,
                                               std::size_t count) const {
  std::vector<base::Instant> runs;
  count = std::min(count, kMaxNextRuns);
  while (runs.size() < count) {
    const auto run = next_after(after, zone);
    if (!run) break;
    runs.push_back(*run);
    after = *run;
  }
  return runs;
}

}  // namespace jobbie::model
