// Cron over real zones on known days of change. Random ones are in zone_cron_random_test.cpp.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/cron.hpp"
#include "zone/load_zone.hpp"

namespace jobbie::zone {
namespace {

using base::Instant;
using model::CronExpr;
using model::ZoneRules;

Instant utc(int year, int month, int day, int hour = 0, int minute = 0, int second = 0) {
  const std::chrono::sys_days date{std::chrono::year{year} / month / day};
  return {(std::int64_t{date.time_since_epoch().count()} * 86'400 + hour * 3600 + minute * 60 +
           second) *
          1000};
}

ZoneRules zone_of(const std::string& name) {
  auto zone = load_zone(name, utc(1900, 1, 1), utc(2100, 1, 1));
  if (!zone) ADD_FAILURE() << name << ": " << zone.error().message;
  return zone.value_or(ZoneRules{});
}

struct Case {
  const char* zone;
  const char* cron;
  Instant after;
  std::vector<Instant> runs;
};

void expect_runs(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const auto cron = CronExpr::parse(c.cron);
    ASSERT_TRUE(cron) << c.cron;
    EXPECT_EQ(cron->next_runs(c.after, zone_of(c.zone), c.runs.size()), c.runs)
        << c.zone << " " << c.cron;
  }
}

TEST(ZoneCron, BerlinBothWays) {
  expect_runs({
      {"Europe/Berlin",
       "30 2 * * *",
       utc(2026, 3, 28),
       {utc(2026, 3, 28, 1, 30), utc(2026, 3, 29, 1), utc(2026, 3, 30, 0, 30)}},
      {"Europe/Berlin",
       "30 2 * * *",
       utc(2026, 10, 24),
       {utc(2026, 10, 24, 0, 30), utc(2026, 10, 25, 0, 30), utc(2026, 10, 26, 1, 30)}},
      {"Europe/Berlin",
       "0 * * * *",
       utc(2026, 3, 28, 23),
       {utc(2026, 3, 29), utc(2026, 3, 29, 1), utc(2026, 3, 29, 2)}},
      {"Europe/Berlin",
       "0 9 * * MON-FRI",
       utc(2026, 3, 27, 8),
       {utc(2026, 3, 30, 7), utc(2026, 3, 31, 7)}},
  });
}

TEST(ZoneCron, NewYorkBothWays) {
  expect_runs({
      {"America/New_York", "0 2 8 3 *", utc(2026, 1, 1), {utc(2026, 3, 8, 7), utc(2027, 3, 8, 7)}},
      {"America/New_York",
       "0,30 1-3 * * *",
       utc(2026, 3, 8, 6, 15),
       {utc(2026, 3, 8, 6, 30), utc(2026, 3, 8, 7), utc(2026, 3, 8, 7, 30)}},
      {"America/New_York",
       "0 1 * * *",
       utc(2026, 11, 1),
       {utc(2026, 11, 1, 5), utc(2026, 11, 2, 6)}},
      {"America/New_York",
       "*/10 * * * * *",
       utc(2026, 11, 1, 5, 59, 40),
       {utc(2026, 11, 1, 5, 59, 50), utc(2026, 11, 1, 7)}},
  });
}

TEST(ZoneCron, OddOffsets) {
  expect_runs({
      // Lord Howe moves by half an hour: 02:00 becomes 02:30, and back 02:00 becomes 01:30.
      {"Australia/Lord_Howe",
       "15 2 * * *",
       utc(2026, 10, 2, 16),
       {utc(2026, 10, 3, 15, 30), utc(2026, 10, 4, 15, 15)}},
      {"Australia/Lord_Howe",
       "45 1 * * *",
       utc(2026, 4, 3, 15),
       {utc(2026, 4, 4, 14, 45), utc(2026, 4, 5, 15, 15)}},
      {"Asia/Kathmandu",
       "0 0 * * *",
       utc(2026, 1, 1),
       {utc(2026, 1, 1, 18, 15), utc(2026, 1, 2, 18, 15)}},
      // Nepal went from +5:30 to +5:45 with the first minutes of 1986.
      {"Asia/Kathmandu",
       "10 0 1 1 *",
       utc(1985, 6, 1),
       {utc(1985, 12, 31, 18, 30), utc(1986, 12, 31, 18, 25)}},
      // Pyongyang set its standard time back by half an hour in 2015 and forward again in 2018.
      {"Asia/Pyongyang",
       "45 23 * * *",
       utc(2015, 8, 13, 15),
       {utc(2015, 8, 14, 14, 45), utc(2015, 8, 15, 15, 15)}},
      {"Asia/Pyongyang",
       "40 23 * * *",
       utc(2018, 5, 3, 16),
       {utc(2018, 5, 4, 15), utc(2018, 5, 5, 14, 40)}},
  });
}

TEST(ZoneCron, TheDayThatApiaSkipped) {
  const Instant jump = utc(2011, 12, 30, 10);
  expect_runs({
      {"Pacific/Apia",
       "0 12 * * *",
       utc(2011, 12, 29),
       {utc(2011, 12, 29, 22), jump, utc(2011, 12, 30, 22)}},
      {"Pacific/Apia", "0 12 30 12 *", utc(2011, 6, 1), {jump, utc(2012, 12, 29, 22)}},
      {"Pacific/Apia", "0 0 31 12 *", utc(2011, 6, 1), {jump, utc(2012, 12, 30, 10)}},
      {"Pacific/Apia",
       "0 */6 * * *",
       utc(2011, 12, 30, 3),
       {utc(2011, 12, 30, 4), jump, utc(2011, 12, 30, 16)}},
      {"Pacific/Apia", "0 0 * * FRI", utc(2011, 12, 28), {jump, utc(2012, 1, 5, 10)}},
  });
}

TEST(ZoneCron, LeapDays) {
  expect_runs({
      {"Europe/Berlin",
       "0 0 29 2 *",
       utc(2026, 1, 1),
       {utc(2028, 2, 28, 23), utc(2032, 2, 28, 23)}},
      {"Asia/Kathmandu", "0 0 29 FEB ?", utc(2096, 3, 1), {utc(2104, 2, 28, 18, 15)}},
  });
}

}  // namespace
}  // namespace jobbie::zone
