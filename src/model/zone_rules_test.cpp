// Zone rules as values: validation, offsets, and local times that exist once, twice or not at all.
#include "model/zone_rules.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace jobbie::model {
namespace {

using base::Instant;
using Kind = LocalMapping::Kind;

std::int64_t seconds_of(int year, int month, int day, int hour = 0, int minute = 0,
                        int second = 0) {
  const std::chrono::sys_days date{std::chrono::year{year} / month / day};
  return std::int64_t{date.time_since_epoch().count()} * 86'400 + hour * 3600 + minute * 60 +
         second;
}

template <typename... Parts>
Instant utc(Parts... parts) {
  return {seconds_of(parts...) * 1000};
}

template <typename... Parts>
LocalSeconds local(Parts... parts) {
  return {seconds_of(parts...)};
}

ZoneRules new_york_2026() {
  return {.name = "America/New_York",
          .base_offset_s = -5 * 3600,
          .transitions = {{utc(2026, 3, 8, 7), -4 * 3600}, {utc(2026, 11, 1, 6), -5 * 3600}}};
}

ZoneRules apia_2011() {
  return {.name = "Pacific/Apia",
          .base_offset_s = -10 * 3600,
          .transitions = {{utc(2011, 12, 30, 10), 14 * 3600}}};
}

TEST(ZoneRules, DefaultIsUtc) {
  const ZoneRules utc_rules;
  EXPECT_TRUE(utc_rules.validate());
  EXPECT_EQ(utc_rules.offset_at(utc(2026, 7, 1)), 0);
  EXPECT_EQ(utc_rules.to_local(Instant{1'999}), LocalSeconds{1});
  EXPECT_EQ(utc_rules.to_local(Instant{-1}), LocalSeconds{-1});
  const LocalMapping mapping = utc_rules.from_local(local(2026, 7, 1));
  EXPECT_EQ(mapping, (LocalMapping{Kind::unique, utc(2026, 7, 1), utc(2026, 7, 1)}));
}

TEST(ZoneRules, OffsetChangesAtTheTransition) {
  const ZoneRules zone = new_york_2026();
  EXPECT_EQ(zone.offset_at(Instant{utc(2026, 3, 8, 7).ms - 1}), -5 * 3600);
  EXPECT_EQ(zone.offset_at(utc(2026, 3, 8, 7)), -4 * 3600);
  EXPECT_EQ(zone.offset_at(utc(2026, 11, 1, 6)), -5 * 3600);
  EXPECT_EQ(zone.offset_at(utc(1990, 1, 1)), -5 * 3600);
  EXPECT_EQ(zone.offset_at(base::kNever), -5 * 3600);
  EXPECT_EQ(zone.offset_at(Instant{std::numeric_limits<std::int64_t>::min()}), -5 * 3600);
}

TEST(ZoneRules, MapsLocalTimes) {
  const ZoneRules zone = new_york_2026();
  const Instant jump = utc(2026, 3, 8, 7);
  struct Case {
    LocalSeconds at;
    LocalMapping mapping;
  };
  const Case cases[] = {
      {local(2026, 3, 8, 1, 59, 59),
       {Kind::unique, utc(2026, 3, 8, 6, 59, 59), utc(2026, 3, 8, 6, 59, 59)}},
      {local(2026, 3, 8, 2), {Kind::gap, jump, jump}},
      {local(2026, 3, 8, 2, 59, 59), {Kind::gap, jump, jump}},
      {local(2026, 3, 8, 3), {Kind::unique, jump, jump}},
      {local(2026, 11, 1, 0, 59, 59),
       {Kind::unique, utc(2026, 11, 1, 4, 59, 59), utc(2026, 11, 1, 4, 59, 59)}},
      {local(2026, 11, 1, 1), {Kind::ambiguous, utc(2026, 11, 1, 5), utc(2026, 11, 1, 6)}},
      {local(2026, 11, 1, 1, 59, 59),
       {Kind::ambiguous, utc(2026, 11, 1, 5, 59, 59), utc(2026, 11, 1, 6, 59, 59)}},
      {local(2026, 11, 1, 2), {Kind::unique, utc(2026, 11, 1, 7), utc(2026, 11, 1, 7)}},
  };
  for (const Case& c : cases) EXPECT_EQ(zone.from_local(c.at), c.mapping) << c.at.s;
}

TEST(ZoneRules, MapsTheDayThatApiaSkipped) {
  const ZoneRules zone = apia_2011();
  ASSERT_TRUE(zone.validate());
  const Instant jump = utc(2011, 12, 30, 10);
  EXPECT_EQ(zone.from_local(local(2011, 12, 29, 23, 59, 59)).kind, Kind::unique);
  EXPECT_EQ(zone.from_local(local(2011, 12, 30)), (LocalMapping{Kind::gap, jump, jump}));
  EXPECT_EQ(zone.from_local(local(2011, 12, 30, 23, 59, 59)),
            (LocalMapping{Kind::gap, jump, jump}));
  EXPECT_EQ(zone.from_local(local(2011, 12, 31)), (LocalMapping{Kind::unique, jump, jump}));
}

TEST(ZoneRules, LatestLocalStandsStillInTheRepeatedHour) {
  const ZoneRules zone = new_york_2026();
  EXPECT_EQ(zone.latest_local(utc(2026, 11, 1, 5, 30)), local(2026, 11, 1, 1, 30));
  EXPECT_EQ(zone.latest_local(utc(2026, 11, 1, 6)), local(2026, 11, 1, 1, 59, 59));
  EXPECT_EQ(zone.latest_local(utc(2026, 11, 1, 6, 30)), local(2026, 11, 1, 1, 59, 59));
  EXPECT_EQ(zone.latest_local(utc(2026, 11, 1, 7)), local(2026, 11, 1, 2));
  EXPECT_EQ(zone.latest_local(utc(2026, 3, 8, 7)), local(2026, 3, 8, 3));
}

TEST(ZoneRules, ValidateRefuses) {
  struct Case {
    const char* what;
    std::function<void(ZoneRules&)> spoil;
  };
  const Case cases[] = {
      {"empty name", [](ZoneRules& z) { z.name = ""; }},
      {"path", [](ZoneRules& z) { z.name = "../etc/passwd"; }},
      {"long name", [](ZoneRules& z) { z.name = std::string(kMaxZoneName + 1, 'a'); }},
      {"base offset", [](ZoneRules& z) { z.base_offset_s = kMaxOffset_s + 1; }},
      {"lowest base offset",
       [](ZoneRules& z) { z.base_offset_s = std::numeric_limits<std::int32_t>::min(); }},
      {"offset", [](ZoneRules& z) { z.transitions[0].offset_s = -kMaxOffset_s - 1; }},
      {"fraction of a second", [](ZoneRules& z) { z.transitions[0].at.ms += 1; }},
      {"order", [](ZoneRules& z) { std::swap(z.transitions[0], z.transitions[1]); }},
      {"same instant", [](ZoneRules& z) { z.transitions[1].at = z.transitions[0].at; }},
      {"too close",
       [](ZoneRules& z) { z.transitions[1].at.ms = z.transitions[0].at.ms + 7'200'000; }},
      {"never", [](ZoneRules& z) { z.transitions[1].at = base::kNever; }},
      {"year -1", [](ZoneRules& z) { z.transitions[0].at.ms = kMinZoneInstant.ms - 1000; }},
      {"too many",
       [](ZoneRules& z) {
         z.transitions.clear();
         for (std::int64_t i = 0; i <= std::int64_t{kMaxTransitions}; ++i)
           z.transitions.push_back({Instant{i * 86'400'000}, 0});
       }},
  };
  ASSERT_TRUE(new_york_2026().validate());
  for (const Case& c : cases) {
    ZoneRules zone = new_york_2026();
    c.spoil(zone);
    const auto valid = zone.validate();
    ASSERT_FALSE(valid) << c.what;
    EXPECT_EQ(valid.error().code, kBadZoneRules) << c.what;
  }
}

// Nobody should call these with unchecked rules, but if somebody does, nothing may overflow or
// hang.
TEST(ZoneRules, InvalidRulesAreHarmless) {
  constexpr auto kLow = std::numeric_limits<std::int64_t>::min();
  constexpr auto kHigh = std::numeric_limits<std::int64_t>::max();
  const ZoneRules zone{.name = "",
                       .base_offset_s = std::numeric_limits<std::int32_t>::min(),
                       .transitions = {{Instant{kHigh}, std::numeric_limits<std::int32_t>::max()},
                                       {Instant{kLow}, 1},
                                       {Instant{0}, -1}}};
  for (const std::int64_t value : {kLow, kLow + 1, std::int64_t{0}, kHigh - 1, kHigh}) {
    (void)zone.offset_at(Instant{value});
    (void)zone.to_local(Instant{value});
    (void)zone.latest_local(Instant{value});
    (void)zone.from_local(LocalSeconds{value});
  }
}

TEST(ZoneRules, Names) {
  for (const char* name :
       {"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+12", "EST5EDT"})
    EXPECT_TRUE(is_zone_name(name)) << name;
  for (const char* name : {"", "/etc/passwd", "Europe/", "Europe//Berlin", "..", "../UTC", "a b",
                           "Europe/B\xc3\xa9", "a\n"})
    EXPECT_FALSE(is_zone_name(name)) << name;
}

}  // namespace
}  // namespace jobbie::model
