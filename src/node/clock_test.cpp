// Log time under a wall clock that somebody turns.
#include "node/clock.hpp"

#include <gtest/gtest.h>

namespace jobbie::node {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kHour = 3600 * kSecond;

struct HandClock final : Clock {
  std::int64_t wall = 1'700'000'000 * kSecond;
  std::int64_t steady = 5 * kSecond;
  std::string booted = "one";
  [[nodiscard]] LifeSign sign(base::Instant log) const {
    return {.boot = booted, .steady_us = steady, .wall_us = wall, .log = log};
  }
  std::int64_t wall_us() override { return wall; }
  std::int64_t steady_us() override { return steady; }
  std::string boot() override { return booted; }
  void pass(std::int64_t us) {
    wall += us;
    steady += us;
  }
};

TEST(LogClock, RunsWithTheWallClock) {
  HandClock hand;
  LogClock clock(hand, {});
  EXPECT_EQ(clock.now().ms, hand.wall / 1000);
  hand.pass(1234 * 1000);
  EXPECT_EQ(clock.now().ms, hand.wall / 1000);
}

TEST(LogClock, BeginsWhereTheLogEnded) {
  HandClock hand;
  const base::Instant last{hand.wall / 1000 + 10'000};
  LogClock clock(hand, last);
  EXPECT_EQ(clock.now(), last);
  hand.pass(kSecond);
  EXPECT_EQ(clock.now().ms, last.ms + 500) << "it leans back at half speed";
}

TEST(LogClock, AJumpForwardIsFollowedSlowly) {
  HandClock hand;
  LogClock clock(hand, {});
  const auto before = clock.now();
  hand.wall += kHour;
  EXPECT_EQ(clock.now(), before);
  hand.pass(10 * kSecond);
  EXPECT_EQ(clock.now().ms, before.ms + 15'000);
  hand.pass(3 * kHour);
  EXPECT_EQ(clock.now().ms, hand.wall / 1000);
}

TEST(LogClock, AJumpBackNeverTurnsTimeBack) {
  HandClock hand;
  LogClock clock(hand, {});
  auto last = clock.now();
  hand.wall -= kHour;
  for (int i = 0; i < 1000; ++i) {
    hand.pass(i * 37);
    const auto now = clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
  hand.pass(3 * kHour);
  EXPECT_EQ(clock.now().ms, hand.wall / 1000);
}

TEST(LogClock, GoesOnFromTheClockItFollows) {
  HandClock hand;
  LogClock clock(hand, {});
  const base::Instant other{hand.wall / 1000 - 3'600'000};
  clock.follow(other);
  EXPECT_EQ(clock.now(), other) << "the wall clock here is an hour ahead";
  hand.pass(kSecond);
  EXPECT_EQ(clock.now().ms, other.ms + 1500);
}

TEST(LogClock, ARestartIsNoJumpWhereTheMachineRanOn) {
  for (const std::int64_t jump : {std::int64_t{0}, 400 * 24 * kHour, -kHour}) {
    HandClock hand;
    const base::Instant log{hand.wall / 1000};
    const auto sign = hand.sign(log);
    hand.pass(10 * kSecond);
    hand.wall += jump;
    LogClock clock(hand, log, sign);
    EXPECT_EQ(clock.now().ms, log.ms + 10'000) << jump;
    EXPECT_EQ(clock.offset().ms, jump / 1000);
  }
}

TEST(LogClock, NobodyKnowsHowLongAMachineWasOff) {
  HandClock hand;
  const base::Instant log{hand.wall / 1000};
  const auto sign = hand.sign(log);
  hand.wall += 3 * 24 * kHour;
  hand.booted = "two";
  EXPECT_EQ(LogClock(hand, log, sign).now().ms, hand.wall / 1000);
  EXPECT_FALSE(passed_since(hand, sign));
  hand.booted = "one";
  hand.steady -= 1;
  EXPECT_FALSE(passed_since(hand, sign)) << "a clock that went back is another one";
  EXPECT_FALSE(passed_since(hand, std::nullopt));
}

TEST(LogClock, ALogThatIsDaysAheadRunsAtFullSpeed) {
  HandClock hand;
  const base::Instant last{hand.wall / 1000 + 400LL * 86'400'000};
  LogClock clock(hand, last);
  hand.pass(kHour);
  EXPECT_EQ(clock.now().ms, last.ms + 3'600'000);
  // Half a day ahead is made up for.
  hand.wall = (last.ms + 3'600'000) * 1000 - 12 * kHour;
  hand.pass(kHour);
  EXPECT_EQ(clock.now().ms, last.ms + 3'600'000 + 1'800'000);
}

TEST(LogClock, SmallCorrectionsAreFollowedAtOnce) {
  HandClock hand;
  LogClock clock(hand, {});
  static_cast<void>(clock.now());
  hand.wall += 300'000;
  EXPECT_EQ(clock.now().ms, hand.wall / 1000);
}

}  // namespace
}  // namespace jobbie::node
