// Cron expressions: what is read and refused, and the runs in UTC and over hand-made zone changes.
// The same over the real tzdata, and against a naive search, is in src/zone.
#include "model/cron.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace jobbie::model {
namespace {

using base::Instant;

Instant utc(int year, int month, int day, int hour = 0, int minute = 0, int second = 0) {
  const std::chrono::sys_days date{std::chrono::year{year} / month / day};
  return {(std::int64_t{date.time_since_epoch().count()} * 86'400 + hour * 3600 + minute * 60 +
           second) *
          1000};
}

CronExpr cron(std::string_view text) {
  auto parsed = CronExpr::parse(text);
  if (!parsed) {
    ADD_FAILURE() << text << ": " << parsed.error().message;
    return *CronExpr::parse("@yearly");
  }
  return *parsed;
}

std::uint64_t bits(std::initializer_list<unsigned> values) {
  std::uint64_t mask = 0;
  for (const unsigned value : values) mask |= std::uint64_t{1} << value;
  return mask;
}

TEST(CronParse, ReadsEachForm) {
  const CronFields fields = cron("*/15 9-17 1,15 */3 MON-FRI").fields();
  EXPECT_EQ(fields.seconds, bits({0}));
  EXPECT_EQ(fields.minutes, bits({0, 15, 30, 45}));
  EXPECT_EQ(fields.hours, bits({9, 10, 11, 12, 13, 14, 15, 16, 17}));
  EXPECT_EQ(fields.days, bits({1, 15}));
  EXPECT_EQ(fields.months, bits({1, 4, 7, 10}));
  EXPECT_EQ(fields.weekdays, bits({1, 2, 3, 4, 5}));
  EXPECT_FALSE(fields.any_day);
  EXPECT_FALSE(fields.any_weekday);
  EXPECT_EQ(cron("5/20 30 4 1 1 0").fields().seconds, bits({5, 25, 45}));
  EXPECT_EQ(cron("10-30/10 0 * * *").fields().minutes, bits({10, 20, 30}));
  EXPECT_EQ(cron("10-35/10 0 * * *").fields().minutes, bits({10, 20, 30}));
  EXPECT_EQ(cron("1,1,1-3,2 0 * * *").fields().minutes, bits({1, 2, 3}));
  EXPECT_EQ(cron("007 0 * * *").fields().minutes, bits({7}));
  EXPECT_EQ(cron("*/60 */24 */31 */12 */7").fields().minutes, bits({0}));
}

TEST(CronParse, ReadsWeekdaysAndMonths) {
  struct Case {
    std::string_view weekday;
    std::uint64_t mask;
  };
  const Case cases[] = {{"7", bits({0})},
                        {"0", bits({0})},
                        {"sUn", bits({0})},
                        {"5-7", bits({0, 5, 6})},
                        {"0-7", bits({0, 1, 2, 3, 4, 5, 6})},
                        {"FRI-MON", bits({0, 1, 5, 6})},
                        {"FRI-MON/2", bits({5, 0})},
                        {"6-0", bits({0, 6})},
                        {"7-1", bits({0, 1})},
                        {"MON-SUN", bits({0, 1, 2, 3, 4, 5, 6})},
                        {"7/2", bits({0, 2, 4, 6})},
                        {"1/3", bits({1, 4})},
                        {"*/2", bits({0, 2, 4, 6})},
                        {"MON,wed,5", bits({1, 3, 5})}};
  for (const Case& c : cases)
    EXPECT_EQ(cron("0 0 * * " + std::string(c.weekday)).fields().weekdays, c.mask) << c.weekday;
  EXPECT_EQ(cron("0 0 1 NOV-feb *").fields().months, bits({11, 12, 1, 2}));
  EXPECT_EQ(cron("0 0 1 11-2/2 *").fields().months, bits({11, 1}));
  EXPECT_EQ(cron("0 0 1 jul,DEC *").fields().months, bits({7, 12}));
}

TEST(CronParse, KnowsWhichDayFieldsAreGiven) {
  struct Case {
    std::string_view text;
    bool any_day;
    bool any_weekday;
  };
  const Case cases[] = {
      {"0 0 * * *", true, true},      {"0 0 ? * ?", true, true},    {"0 0 1 * ?", false, true},
      {"0 0 ? * MON", true, false},   {"0 0 */1 * 1", true, false}, {"0 0 */2 * 1", false, false},
      {"0 0 1-31 * 1", false, false}, {"0 0 5,* * 1", true, false}, {"0 0 1 * 0-6", false, false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(cron(c.text).fields().any_day, c.any_day) << c.text;
    EXPECT_EQ(cron(c.text).fields().any_weekday, c.any_weekday) << c.text;
  }
}

TEST(CronParse, ExpandsMacros) {
  EXPECT_EQ(cron("@yearly").fields(), cron("0 0 1 1 *").fields());
  EXPECT_EQ(cron("@Annually").fields(), cron("0 0 1 1 *").fields());
  EXPECT_EQ(cron("@monthly").fields(), cron("0 0 1 * *").fields());
  EXPECT_EQ(cron("@weekly").fields(), cron("0 0 * * 0").fields());
  EXPECT_EQ(cron("@daily").fields(), cron("0 0 * * *").fields());
  EXPECT_EQ(cron("@MIDNIGHT").fields(), cron("0 0 * * *").fields());
  EXPECT_EQ(cron(" @hourly\t").fields(), cron("0 * * * *").fields());
  EXPECT_EQ(cron("@daily").text(), "@daily");
  EXPECT_EQ(cron("  0\t0   * * *  ").fields(), cron("0 0 * * *").fields());
}

struct RefusedCase {
  std::string_view text;
  std::string_view mentions;
  std::size_t position;
};

constexpr RefusedCase kRefused[] = {
    {"", "empty", 0},
    {"   ", "empty", 0},
    {"* * * *", "got 4", 7},
    {"* * * * * * *", "got 7", 12},
    {"60 * * * *", "minute: must be 0 to 59", 0},
    {"0 24 * * *", "hour: must be 0 to 23", 2},
    {"0 0 0 * *", "day-of-month: must be 1 to 31", 4},
    {"0 0 32 * *", "day-of-month", 4},
    {"0 0 1 13 *", "month: must be 1 to 12", 6},
    {"0 0 * * 8", "weekday: must be 0 to 7", 8},
    {"61 0 0 1 1 *", "second", 0},
    {"99999999999999999999 0 * * *", "minute", 0},
    {"-1 0 * * *", "minute: unexpected '-'", 0},
    {"0 10-5 * * *", "hour: the range goes backwards", 2},
    {"*/0 * * * *", "minute: a step must be 1 to 60", 2},
    {"*/61 * * * *", "a step must be", 2},
    {"*/ * * * *", "expected a step", 2},
    {"*/a * * * *", "expected a step", 2},
    {"1, * * * *", "ends where a value", 2},
    {",1 * * * *", "unexpected ','", 0},
    {"1- * * * *", "ends where a value", 2},
    {"1-2-3 * * * *", "unexpected '-'", 3},
    {"1/2/3 * * * *", "unexpected '/'", 3},
    {"** * * * *", "unexpected '*'", 1},
    {"*-5 * * * *", "unexpected '-'", 1},
    {"? * * * *", "only for the day fields", 0},
    {"0 0 ?/2 * *", "unexpected '/'", 5},
    {"MON * * * *", "minute: takes numbers", 0},
    {"0 0 1 JANUARY *", "month: unknown name", 6},
    {"0 0 * * MOO", "weekday: unknown name", 8},
    {"0 0 * * JAN", "weekday: unknown name", 8},
    {"0 0 L * *", "L, W and #", 4},
    {"0 0 LW * *", "L, W and #", 4},
    {"0 0 15W * *", "L, W and #", 6},
    {"0 0 * * 5L", "L, W and #", 9},
    {"0 0 * * MON#2", "L, W and #", 11},
    {"0 0 * * 1#2", "L, W and #", 9},
    {"H * * * *", "takes numbers", 0},
    {"@reboot", "not supported", 0},
    {"@every 5m", "not supported", 0},
    {"@fortnightly", "unknown macro", 0},
    {"@daily @daily", "stands alone", 7},
    {"1.5 * * * *", "unexpected '.'", 1},
    {"\xff * * * *", "unexpected character", 0},
    {"0 0\n * * *", "hour: unexpected character", 3},
    {"0 0 30 2 *", "never run", 4},
    {"0 0 31 2,4,6,9,11 *", "never run", 4},
    {"0 0 0 31 FEB ?", "never run", 6},
};

TEST(CronParse, RefusesWithFieldAndPosition) {
  for (const RefusedCase& c : kRefused) {
    const auto parsed = CronExpr::parse(c.text);
    ASSERT_FALSE(parsed) << c.text;
    EXPECT_EQ(parsed.error().code, kBadCron) << c.text;
    EXPECT_NE(parsed.error().message.find(c.mentions), std::string::npos)
        << c.text << ": " << parsed.error().message;
    EXPECT_EQ(parsed.error().position, c.position) << c.text << ": " << parsed.error().message;
  }
  EXPECT_FALSE(CronExpr::parse("0 0 * * 1" + std::string(kMaxCronText, ' ')));
  EXPECT_FALSE(CronExpr::parse(std::string_view("0 0 * * \0", 9)));
}

struct RunCase {
  std::string_view text;
  Instant after;
  Instant run;
};

TEST(CronNext, RunsInUtc) {
  const RunCase cases[] = {
      {"* * * * *", utc(2026, 1, 1), utc(2026, 1, 1, 0, 1)},
      {"* * * * *", Instant{utc(2026, 1, 1).ms - 1}, utc(2026, 1, 1)},
      {"* * * * *", Instant{utc(2026, 1, 1).ms + 59'999}, utc(2026, 1, 1, 0, 1)},
      {"* * * * * *", Instant{utc(2026, 1, 1).ms + 1}, utc(2026, 1, 1, 0, 0, 1)},
      {"30 4 * * *", utc(2026, 12, 31, 4, 30), utc(2027, 1, 1, 4, 30)},
      {"0 0 29 2 *", utc(2026, 1, 1), utc(2028, 2, 29)},
      {"0 0 29 2 *", utc(2096, 2, 29), utc(2104, 2, 29)},
      {"0 0 31 * *", utc(2026, 1, 31), utc(2026, 3, 31)},
      {"0 0 30 * *", utc(2026, 1, 30), utc(2026, 3, 30)},
      {"0 0 1 1 *", utc(2026, 1, 1), utc(2027, 1, 1)},
      {"0 0 * * 7", utc(2026, 1, 1), utc(2026, 1, 4)},
      {"0 0 13 * FRI", utc(2026, 2, 1), utc(2026, 2, 6)},  // either day matches
      {"0 0 13 * FRI", utc(2026, 1, 9), utc(2026, 1, 13)},
      {"0 0 31 2 MON", utc(2026, 1, 1), utc(2026, 2, 2)},  // the weekday still runs
      {"59 59 23 31 12 *", utc(2026, 1, 1), utc(2026, 12, 31, 23, 59, 59)},
      {"0 0 0 1 1 *", utc(1969, 6, 1), utc(1970, 1, 1)},
      {"0 12 * * *", utc(1965, 3, 1, 12), utc(1965, 3, 2, 12)},
      {"15,45 8-10/2 * * *", utc(2026, 5, 5, 8, 45), utc(2026, 5, 5, 10, 15)},
  };
  for (const RunCase& c : cases) {
    const auto run = cron(c.text).next_after(c.after, ZoneRules{});
    ASSERT_TRUE(run) << c.text;
    EXPECT_EQ(run->ms, c.run.ms) << c.text << " after " << c.after.ms;
  }
}

TEST(CronNext, EndsWithTheYear9999) {
  const ZoneRules zone{.name = "Etc/GMT+12", .base_offset_s = -12 * 3600};
  EXPECT_EQ(cron("* * * * * *").next_after(Instant{base::kMaxInstant.ms - 1000}, ZoneRules{}),
            (Instant{base::kMaxInstant.ms - 999}));
  EXPECT_FALSE(cron("* * * * * *").next_after(base::kMaxInstant, zone));
  EXPECT_FALSE(cron("* * * * * *").next_after(base::kNever, zone));
  EXPECT_FALSE(cron("@yearly").next_after(utc(9999, 1, 2), ZoneRules{}));
  EXPECT_FALSE(cron("59 23 31 12 *").next_after(utc(9999, 6, 1), zone));
  const Instant dawn{std::numeric_limits<std::int64_t>::min()};
  EXPECT_TRUE(cron("@yearly").next_after(dawn, zone));
  EXPECT_FALSE(cron("* * * * *").matches({std::numeric_limits<std::int64_t>::min()}));
  EXPECT_FALSE(cron("* * * * *").matches({std::numeric_limits<std::int64_t>::max()}));
  EXPECT_FALSE(cron("* * * * *").next_local({std::numeric_limits<std::int64_t>::max()}));
  EXPECT_TRUE(cron("* * * * *").next_local({std::numeric_limits<std::int64_t>::min()}));
}

const ZoneRules& new_york_2026() {
  static const ZoneRules zone{
      .name = "America/New_York",
      .base_offset_s = -5 * 3600,
      .transitions = {{utc(2026, 3, 8, 7), -4 * 3600}, {utc(2026, 11, 1, 6), -5 * 3600}}};
  return zone;
}

TEST(CronNext, SkippedLocalTimesRunOnceAtTheJump) {
  const Instant jump = utc(2026, 3, 8, 7);
  EXPECT_EQ(cron("30 2 * * *").next_runs(utc(2026, 3, 7, 6), new_york_2026(), 3),
            (std::vector{utc(2026, 3, 7, 7, 30), jump, utc(2026, 3, 9, 6, 30)}));
  // 02:00, 02:20 and 02:40 do not exist and 03:00 is the jump itself: one run for all four.
  EXPECT_EQ(cron("*/20 * * * *").next_runs(utc(2026, 3, 8, 6, 20), new_york_2026(), 3),
            (std::vector{utc(2026, 3, 8, 6, 40), jump, utc(2026, 3, 8, 7, 20)}));
}

TEST(CronNext, RepeatedLocalTimesRunAtTheFirst) {
  EXPECT_EQ(
      cron("30 1 * * *").next_runs(utc(2026, 10, 31, 5), new_york_2026(), 3),
      (std::vector{utc(2026, 10, 31, 5, 30), utc(2026, 11, 1, 5, 30), utc(2026, 11, 2, 6, 30)}));
  EXPECT_EQ(cron("30 * * * *").next_runs(utc(2026, 11, 1, 5), new_york_2026(), 2),
            (std::vector{utc(2026, 11, 1, 5, 30), utc(2026, 11, 1, 7, 30)}));
  // Asked from within the second passage.
  EXPECT_EQ(cron("45 1 * * *").next_after(utc(2026, 11, 1, 6, 10), new_york_2026()),
            utc(2026, 11, 2, 6, 45));
}

TEST(CronNext, CountIsBounded) {
  EXPECT_TRUE(cron("@daily").next_runs(utc(2026, 1, 1), ZoneRules{}, 0).empty());
  EXPECT_EQ(cron("* * * * * *").next_runs(utc(2026, 1, 1), ZoneRules{}, 1'000'000).size(),
            kMaxNextRuns);
}

}  // namespace
}  // namespace jobbie::model
