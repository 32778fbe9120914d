// POSIX TZ strings: those that tzdata has, the odd forms that RFC 9636 allows, and broken ones.
#include "zone/posix_tz.hpp"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace jobbie::zone {
namespace {

std::int64_t seconds_of(int year, int month, int day, int hour = 0, int minute = 0) {
  const std::chrono::sys_days date{std::chrono::year{year} / month / day};
  return std::int64_t{date.time_since_epoch().count()} * 86'400 + hour * 3600 + minute * 60;
}

TEST(PosixTz, FixedOffsets) {
  struct Case {
    std::string_view text;
    std::int32_t offset_s;
  };
  const Case cases[] = {
      {"UTC0", 0},           {"JST-9", 9 * 3600},           {"<+0545>-5:45", 5 * 3600 + 45 * 60},
      {"<-03>3", -3 * 3600}, {"LMT-0:53:28", 53 * 60 + 28}, {"EST+5", -5 * 3600}};
  for (const Case& c : cases) {
    const auto rule = parse_posix_tz(c.text);
    ASSERT_TRUE(rule) << c.text;
    EXPECT_EQ(rule->standard_offset_s, c.offset_s) << c.text;
    EXPECT_FALSE(rule->summer) << c.text;
  }
}

TEST(PosixTz, YearlyChanges) {
  struct Case {
    std::string_view text;
    int year;
    OffsetChange first;
    OffsetChange second;
  };
  const Case cases[] = {
      {"EST5EDT,M3.2.0,M11.1.0",
       2040,
       {seconds_of(2040, 3, 11, 7), -4 * 3600},
       {seconds_of(2040, 11, 4, 6), -5 * 3600}},
      {"CET-1CEST,M3.5.0,M10.5.0/3",
       2026,
       {seconds_of(2026, 3, 29, 1), 7200},
       {seconds_of(2026, 10, 25, 1), 3600}},
      // The south: the year begins in summer.
      {"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
       2026,
       {seconds_of(2026, 4, 4, 15), 37'800},
       {seconds_of(2026, 10, 3, 15, 30), 39'600}},
      // Dublin: "summer" is winter.
      {"IST-1GMT0,M10.5.0,M3.5.0/1",
       2026,
       {seconds_of(2026, 3, 29, 1), 3600},
       {seconds_of(2026, 10, 25, 1), 0}},
      // Nuuk: the evening before, written as a negative time.
      {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
       2026,
       {seconds_of(2026, 3, 29, 1), -3600},
       {seconds_of(2026, 10, 25, 1), -7200}},
      {"AAA0BBB,J60/0,J365/0",
       2028,
       {seconds_of(2028, 3, 1), 3600},
       {seconds_of(2028, 12, 30, 23), 0}},
      {"AAA0BBB,59/0,365/0",
       2028,
       {seconds_of(2028, 2, 29), 3600},
       {seconds_of(2028, 12, 30, 23), 0}},
  };
  for (const Case& c : cases) {
    const auto rule = parse_posix_tz(c.text);
    ASSERT_TRUE(rule) << c.text;
    const auto changes = rule->changes_in(c.year);
    EXPECT_EQ(changes[0].at_s, c.first.at_s) << c.text;
    EXPECT_EQ(changes[0].offset_s, c.first.offset_s) << c.text;
    EXPECT_EQ(changes[1].at_s, c.second.at_s) << c.text;
    EXPECT_EQ(changes[1].offset_s, c.second.offset_s) << c.text;
  }
}

TEST(PosixTz, Refuses) {
  for (const char* text : {"",
                           "X",
                           "UT0",
                           "UTC",
                           "UTC0X",
                           "<>",
                           "<+05-5",
                           "EST25",
                           "EST5EDT",
                           "EST5EDT,",
                           "EST5EDT,M3.2.0",
                           "EST5EDT,M13.2.0,M11.1.0",
                           "EST5EDT,M3.6.0,M11.1.0",
                           "EST5EDT,M3.2.7,M11.1.0",
                           "EST5EDT,M3.2,M11.1.0",
                           "EST5EDT,J0,J1",
                           "EST5EDT,366,1",
                           "EST5EDT,M3.2.0/168,M11.1.0",
                           "EST5EDT,M3.2.0,M11.1.0x",
                           "EST5:60",
                           "EST99999999999999999999"}) {
    const auto rule = parse_posix_tz(text);
    ASSERT_FALSE(rule) << text;
    EXPECT_EQ(rule.error().code, kBadPosixTz) << text;
  }
}

}  // namespace
}  // namespace jobbie::zone
