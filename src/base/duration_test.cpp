// Durations: what is read, what is refused and as which kind of mistake, and the way back to text.
#include "base/duration.hpp"

#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace jobbie::base {
namespace {

constexpr std::int64_t kDay = 86'400'000;

struct Good {
  std::string_view text;
  std::int64_t ms;
};

struct Bad {
  std::string_view text;
  std::string_view code;
  std::size_t position;
};

TEST(ParseDuration, ReadsUnits) {
  const Good cases[] = {
      {"5s", 5'000},
      {"10m", 600'000},
      {"1h30m", 5'400'000},
      {"250ms", 250},
      {"7d", 7 * kDay},
      {"2w", 14 * kDay},
      {"0s", 0},
      {"0ms", 0},
      {"1w2d3h4m5s6ms", 9 * kDay + 3 * 3'600'000 + 4 * 60'000 + 5'006},
      {"90m", 5'400'000},
      {"36h", 129'600'000},
      {"007s", 7'000},
      {"1m1ms", 60'001},
      {"36600d", kMaxDuration.ms},
      {"3162240000000ms", kMaxDuration.ms},
      {"00000000000000000000000000000000000000000000000000000000000001s", 1'000},
  };
  for (const Good& c : cases) {
    const auto parsed = parse_duration(c.text);
    ASSERT_TRUE(parsed) << c.text << ": " << parsed.error().message;
    EXPECT_EQ(parsed->ms, c.ms) << c.text;
  }
}

TEST(ParseDuration, ReadsExactFractionsOnly) {
  const Good cases[] = {
      {"1.5s", 1'500},
      {"0.25s", 250},
      {"1.5h", 5'400'000},
      {"1h1.5m", 3'690'000},
      {"1.500000000000s", 1'500},
      {"2.0ms", 2},
      {"0.001s", 1},
      {"0.00005m", 3},
      {"0.0009765625w", 590'625},
      {"0.5d", kDay / 2},
      {"0.125s", 125},
      {"1.1d", 95'040'000},
  };
  for (const Good& c : cases) {
    const auto parsed = parse_duration(c.text);
    ASSERT_TRUE(parsed) << c.text << ": " << parsed.error().message;
    EXPECT_EQ(parsed->ms, c.ms) << c.text;
  }
  for (const std::string_view text :
       {"1.5ms", "0.0001s", "0.33333m", "0.00000000001w", "1.0000001h"}) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, kBadDuration) << text;
  }
}

TEST(ParseDuration, RefusesWithPosition) {
  const Bad cases[] = {
      {"", kBadDuration, 0},     {"5", kBadDuration, 1},          {"s", kBadDuration, 0},
      {"-5s", kBadDuration, 0},  {"+5s", kBadDuration, 0},        {" 5s", kBadDuration, 0},
      {"5s ", kBadDuration, 2},  {"5 s", kBadDuration, 1},        {"5S", kBadDuration, 1},
      {"5x", kBadDuration, 1},   {"5sec", kBadDuration, 1},       {"1.s", kBadDuration, 2},
      {".5s", kBadDuration, 0},  {"1.2.3s", kBadDuration, 3},     {"1m1h", kBadDuration, 2},
      {"1s1s", kBadDuration, 2}, {"1.5h3m", kBadDuration, 0},     {"1h30", kBadDuration, 4},
      {"1e3s", kBadDuration, 1}, {"0x10s", kBadDuration, 1},      {"PT5S", kBadDuration, 0},
      {"5s\n", kBadDuration, 2}, {"5\xc2\xb5s", kBadDuration, 1},
  };
  for (const Bad& c : cases) {
    const auto parsed = parse_duration(c.text);
    ASSERT_FALSE(parsed) << c.text;
    EXPECT_EQ(parsed.error().code, c.code) << c.text;
    EXPECT_EQ(parsed.error().position, c.position) << c.text;
    EXPECT_FALSE(parsed.error().message.empty());
  }
  EXPECT_EQ(parse_duration(std::string_view("5s\0", 3)).error().code, kBadDuration);
  EXPECT_EQ(parse_duration(std::string(kMaxDurationText, '1') + "s").error().code, kBadDuration);
}

TEST(ParseDuration, TellsOverflowFromNonsense) {
  for (const std::string_view text :
       {"36601d", "36600d1ms", "36600d0.001s", "3162240000001ms", "9223372036854775807ms",
        "9223372036854775808ms", "99999999999999999999999999999w", "5229w",
        "1d99999999999999h1s"}) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, kDurationOutOfRange) << text;
  }
  // Nonsense behind too large a number is still nonsense.
  EXPECT_EQ(parse_duration("99999999999999999999w!").error().code, kBadDuration);
  EXPECT_EQ(parse_duration("99999999999999999999w1").error().code, kBadDuration);
}

TEST(ParseSecondsNumber, ReadsJsonNumbers) {
  const Good cases[] = {
      {"30", 30'000},
      {"0", 0},
      {"0.25", 250},
      {"1e3", 1'000'000},
      {"1E+3", 1'000'000},
      {"1.5e-3", 2},  // half a millisecond goes up
      {"2.5e-3", 3},
      {"1.4e-3", 1},
      {"0.0004", 0},
      {"0.0005", 1},
      {"0.00049999999999999999999", 0},
      {"0.29999999999999998", 300},
      {"0.30000000000000004", 300},
      {"-0", 0},
      {"-0.0e9", 0},
      {"0e999999999999999999999", 0},
      {"1e-999999999999999999999", 0},
      {"123.456789", 123'457},
      {"0.000000001e12", 1'000'000},
      {"1000000000000e-12", 1'000},
      {"3162240000", kMaxDuration.ms},
      {"3162240000.0004", kMaxDuration.ms},
      {"31622400e2", kMaxDuration.ms},
      {"0.00000000000000000000000000031622400e37", kMaxDuration.ms},
  };
  for (const Good& c : cases) {
    const auto parsed = parse_seconds_number(c.text);
    ASSERT_TRUE(parsed) << c.text << ": " << parsed.error().message;
    EXPECT_EQ(parsed->ms, c.ms) << c.text;
  }
}

TEST(ParseSecondsNumber, Refuses) {
  const Bad cases[] = {
      {"", kBadDuration, 0},
      {"-", kBadDuration, 1},
      {"+1", kBadDuration, 0},
      {"01", kBadDuration, 0},
      {"1.", kBadDuration, 2},
      {".5", kBadDuration, 0},
      {"1e", kBadDuration, 2},
      {"1e+", kBadDuration, 3},
      {"1 ", kBadDuration, 1},
      {"NaN", kBadDuration, 0},
      {"Infinity", kBadDuration, 0},
      {"5s", kBadDuration, 1},
      {"-1", kBadDuration, 0},
      {"-0.0001", kBadDuration, 0},
      {"-1e400", kBadDuration, 0},
      {"3162240000.0005", kDurationOutOfRange, 0},
      {"3162240001", kDurationOutOfRange, 0},
      {"1e400", kDurationOutOfRange, 0},
      {"1e999999999999999999999", kDurationOutOfRange, 0},
      {"9223372036854775808", kDurationOutOfRange, 0},
      {"0.0000001e99", kDurationOutOfRange, 0},
  };
  for (const Bad& c : cases) {
    const auto parsed = parse_seconds_number(c.text);
    ASSERT_FALSE(parsed) << c.text;
    EXPECT_EQ(parsed.error().code, c.code) << c.text;
    EXPECT_EQ(parsed.error().position, c.position) << c.text;
  }
  EXPECT_EQ(parse_seconds_number(std::string(kMaxSecondsText + 1, '1')).error().code, kBadDuration);
}

TEST(FormatDuration, IsCanonical) {
  const Good cases[] = {
      {"0s", 0},
      {"1ms", 1},
      {"250ms", 250},
      {"1s", 1'000},
      {"1.5s", 1'500},
      {"1.005s", 1'005},
      {"1m", 60'000},
      {"1m0.25s", 60'250},
      {"1h30m", 5'400'000},
      {"1h1s", 3'601'000},
      {"7d", 7 * kDay},
      {"36600d", kMaxDuration.ms},
      {"-1.5s", -1'500},
      {"-7ms", -7},
      {"106751991167d7h12m55.807s", std::numeric_limits<std::int64_t>::max()},
      {"-106751991167d7h12m55.808s", std::numeric_limits<std::int64_t>::min()},
  };
  for (const Good& c : cases) EXPECT_EQ(format_duration(Duration{c.ms}), c.text);
}

TEST(FormatDuration, ComesBackUnchanged) {
  const std::uint64_t seed = 20'260'101;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    // All magnitudes alike, so that short durations come up too.
    const std::int64_t limit = std::int64_t{1} << (random() % 42);
    const Duration duration{
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit)) %
        (kMaxDuration.ms + 1)};
    const auto parsed = parse_duration(format_duration(duration));
    ASSERT_TRUE(parsed) << duration.ms;
    ASSERT_EQ(*parsed, duration);
  }
}

}  // namespace
}  // namespace jobbie::base
