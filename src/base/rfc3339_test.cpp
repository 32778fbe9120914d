// RFC 3339: good and bad text, offsets, bounds, and back again.
#include "base/rfc3339.hpp"

#include <random>

#include <gtest/gtest.h>

namespace jobbie::base {
namespace {

std::int64_t ms_of(std::string_view text) {
  const auto parsed = parse_rfc3339(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? parsed->ms : -1;
}

TEST(Rfc3339, ReadsWhatIsOne) {
  EXPECT_EQ(ms_of("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(ms_of("2026-02-11T10:00:15Z"), 1'770'804'015'000);
  EXPECT_EQ(ms_of("2026-02-11T10:00:15.25Z"), 1'770'804'015'250);
  EXPECT_EQ(ms_of("2026-02-11t10:00:15.2509999z"), 1'770'804'015'250);
  EXPECT_EQ(ms_of("2026-02-11 12:00:15+02:00"), 1'770'804'015'000);
  EXPECT_EQ(ms_of("2026-02-11T04:30:15-05:30"), 1'770'804'015'000);
  EXPECT_EQ(ms_of("2016-12-31T23:59:60Z"), ms_of("2017-01-01T00:00:00Z"));
  EXPECT_EQ(ms_of("2024-02-29T00:00:00Z"), 1'709'164'800'000);
  EXPECT_EQ(ms_of("9999-12-31T23:59:59.999Z"), kMaxInstant.ms);
  EXPECT_EQ(ms_of("0000-01-01T00:00:00Z"), -62'167'219'200'000);
}

TEST(Rfc3339, RefusesWhatIsNot) {
  for (const char* text : {"",
                           "now",
                           "2026-02-11",
                           "2026-02-11T10:00Z",
                           "2026-02-11T10:00:15",
                           "2026-2-11T10:00:15Z",
                           "2026-02-11T10:00:15.Z",
                           "2026-02-11T10:00:15+0200",
                           "2026-02-11T10:00:15+02",
                           "2026-02-11T10:00:15Zx",
                           "2026-13-01T00:00:00Z",
                           "2026-00-01T00:00:00Z",
                           "2026-02-29T00:00:00Z",
                           "1900-02-29T00:00:00Z",
                           "2026-02-11T24:00:00Z",
                           "2026-02-11T10:60:00Z",
                           "2026-02-11T10:00:61Z",
                           "2026-02-11T10:00:00+25:00",
                           "2026-02-11T10:00:00+02:60",
                           "9999-12-31T23:59:59-01:00",
                           "0000-01-01T00:00:00+01:00",
                           "+2026-02-11T10:00:15Z",
                           "20260211T100015Z",
                           " 2026-02-11T10:00:15Z"}) {
    const auto parsed = parse_rfc3339(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, kBadInstant);
    EXPECT_FALSE(parsed.error().message.empty());
  }
  EXPECT_FALSE(parse_rfc3339("2026-02-11T10:00:15." + std::string(100, '1') + "Z"));
}

TEST(Rfc3339, WritesMillisecondsInUtc) {
  EXPECT_EQ(format_rfc3339({0}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_rfc3339({-1}), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(format_rfc3339({1'709'164'800'007}), "2024-02-29T00:00:00.007Z");
  EXPECT_EQ(format_rfc3339(kNever), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(format_rfc3339({std::numeric_limits<std::int64_t>::min()}), "0000-01-01T00:00:00.000Z");
}

TEST(Rfc3339, ReadsBackWhatItWrote) {
  const std::uint64_t seed = 3339;
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20'000; ++round) {
    const Instant at{static_cast<std::int64_t>(random() % 315'569'520'000'000ULL) -
                     62'167'219'200'000};
    const std::string text = format_rfc3339(at);
    ASSERT_EQ(parse_rfc3339(text).value_or(Instant{-7}), at) << text << ", seed " << seed;
  }
}

}  // namespace
}  // namespace jobbie::base
