// Time arithmetic at its edges: saturation, and an instant that never comes.
#include "base/time.hpp"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace jobbie::base {
namespace {

constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
constexpr auto kMin = std::numeric_limits<std::int64_t>::min();

TEST(Time, UnitsAreMilliseconds) {
  EXPECT_EQ(milliseconds(3).ms, 3);
  EXPECT_EQ(seconds(3).ms, 3'000);
  EXPECT_EQ(minutes(3).ms, 180'000);
  EXPECT_EQ(hours(3), minutes(180));
  EXPECT_EQ(days(2), hours(48));
  EXPECT_LT(seconds(1), minutes(1));
}

TEST(Time, AddsAndSubtracts) {
  EXPECT_EQ(Instant{100} + Duration{20}, Instant{120});
  EXPECT_EQ(Instant{100} + Duration{-20}, Instant{80});
  EXPECT_EQ(Instant{100} - Duration{20}, Instant{80});
  EXPECT_EQ(Instant{100} - Duration{200}, Instant{-100});
  EXPECT_EQ(Instant{100} - Instant{30}, Duration{70});
  EXPECT_EQ(Instant{30} - Instant{100}, Duration{-70});
}

TEST(Time, SaturatesInsteadOfWrapping) {
  static_assert(saturating_add(kMax, 1) == kMax);
  static_assert(saturating_add(kMax, kMax) == kMax);
  static_assert(saturating_add(kMin, -1) == kMin);
  static_assert(saturating_add(kMin, kMin) == kMin);
  static_assert(saturating_add(kMax, kMin) == -1);
  static_assert(saturating_add(kMax - 1, 1) == kMax);
  EXPECT_EQ(Instant{kMax - 1} + Duration{kMax}, kNever);
  EXPECT_EQ(Instant{kMin} + Duration{-1}, Instant{kMin});
  EXPECT_EQ(Instant{kMin} - Duration{kMax}, Instant{kMin});
  EXPECT_EQ(Instant{kMax - 1} - Duration{-5}, kNever);
  EXPECT_EQ(Instant{kMax} - Instant{-1}, Duration{kMax});
  EXPECT_EQ(Instant{kMin} - Instant{1}, Duration{kMin});
}

TEST(Time, NeverStaysNever) {
  EXPECT_EQ(kNever + Duration{-1}, kNever);
  EXPECT_EQ(kNever + Duration{kMin}, kNever);
  EXPECT_EQ(kNever - Duration{1}, kNever);
  EXPECT_EQ(kNever - Duration{kMax}, kNever);
}

TEST(Time, WhatCallersMayNameStaysBelowNever) {
  EXPECT_LT(kMaxInstant, kNever);
  EXPECT_LT(kMaxInstant + kMaxDuration, kNever);
  EXPECT_EQ((kMaxInstant + kMaxDuration) - kMaxInstant, kMaxDuration);
  EXPECT_EQ(kMaxDuration, days(36'600));
}

}  // namespace
}  // namespace jobbie::base
