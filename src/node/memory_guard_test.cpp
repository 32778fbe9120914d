// When things are refused, and when they are taken again.
#include "node/memory_guard.hpp"

#include <gtest/gtest.h>

namespace jobbie::node {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class MemoryGuardTest : public ::testing::Test {
 protected:
  MemoryGuard make(std::uint64_t limit, MemoryBounds bounds = {}, bool asks_heap = false) {
    MemoryOptions options{
        .limit = limit, .bounds = bounds, .heap = {}, .release_unused = {}, .process = {}};
    options.process = [this] { return process_; };
    if (asks_heap)
      options.heap = [this] {
        ++asked_;
        return heap_;
      };
    return MemoryGuard(std::move(options));
  }
  void look(MemoryGuard& guard, std::uint64_t state) { guard.look(now_us_ += 200'000, state); }

  ProcessMemory process_;
  HeapUse heap_;
  int asked_ = 0;
  std::int64_t now_us_ = 0;
};

TEST_F(MemoryGuardTest, NothingIsRefusedWithoutBounds) {
  auto guard = make(0);
  look(guard, 1'000'000 * kMiB);
  EXPECT_FALSE(guard.refuses(kMiB));
  EXPECT_EQ(guard.limit(), 0U);
}

TEST_F(MemoryGuardTest, ALargeRequestIsRefusedAloneASmallOneGoesOn) {
  auto guard = make(100 * kMiB);
  look(guard, 60 * kMiB);
  EXPECT_TRUE(guard.refuses(41 * kMiB));
  EXPECT_FALSE(guard.refuses(kMiB));
  EXPECT_FALSE(guard.is_refusing());
  // What was taken since the last look counts, although nobody has measured it.
  guard.took(30 * kMiB);
  EXPECT_TRUE(guard.refuses(11 * kMiB));
  EXPECT_EQ(guard.room(), 10 * kMiB);
  guard.took(20 * kMiB);
  EXPECT_EQ(guard.room(), 0U);
}

TEST_F(MemoryGuardTest, RefusesFromNearlyFullUntilThereIsClearlyRoom) {
  auto guard = make(128 * kMiB);
  look(guard, 123 * kMiB);
  EXPECT_FALSE(guard.is_refusing());
  look(guard, 124 * kMiB);
  EXPECT_TRUE(guard.is_refusing());
  EXPECT_TRUE(guard.refuses(1));
  look(guard, 113 * kMiB);
  EXPECT_TRUE(guard.is_refusing());
  look(guard, 111 * kMiB);
  EXPECT_FALSE(guard.is_refusing());
  EXPECT_FALSE(guard.refuses(1));
  EXPECT_FALSE(guard.is_critical());
  look(guard, 136 * kMiB);
  EXPECT_TRUE(guard.is_critical());
}

TEST_F(MemoryGuardTest, TheProcessCountsAsWellAsTheState) {
  auto guard = make(100 * kMiB);
  process_.resident = 99 * kMiB;
  look(guard, 10 * kMiB);
  EXPECT_TRUE(guard.is_refusing());
  EXPECT_EQ(guard.used(), 99 * kMiB);
}

TEST_F(MemoryGuardTest, WhatTheAllocatorWouldUseAgainDoesNotCount) {
  auto guard = make(100 * kMiB, {}, true);
  process_.resident = 50 * kMiB;
  look(guard, 10 * kMiB);
  EXPECT_EQ(asked_, 0);
  process_.resident = 99 * kMiB;
  heap_.allocated = 32 * kMiB;
  look(guard, 10 * kMiB);
  EXPECT_EQ(asked_, 1);
  EXPECT_FALSE(guard.is_refusing());
  EXPECT_EQ(guard.used(), 42 * kMiB);
}

TEST_F(MemoryGuardTest, TheSystemsBoundsHoldWhateverTheLimit) {
  auto guard = make(1000 * kMiB, {.machine = 4000 * kMiB, .cgroup = 200 * kMiB});
  EXPECT_EQ(guard.limit(), 180 * kMiB);
  process_.resident = 179 * kMiB;
  look(guard, kMiB);
  EXPECT_TRUE(guard.is_refusing());
}

TEST_F(MemoryGuardTest, AddressSpaceCountsWithoutWhatIsKeptForLater) {
  auto guard = make(1000 * kMiB, {.data = 600 * kMiB}, true);
  process_.data = 490 * kMiB;
  heap_.reusable = 200 * kMiB;
  look(guard, kMiB);
  EXPECT_FALSE(guard.is_refusing());
  EXPECT_EQ(guard.room(), 210 * kMiB);
  heap_.reusable = 0;
  look(guard, kMiB);
  EXPECT_TRUE(guard.is_refusing());
}

TEST_F(MemoryGuardTest, WhatIsUnusedIsReleasedWhenAddressSpaceIsShort) {
  int released = 0;
  MemoryGuard guard({.limit = 1000 * kMiB,
                     .bounds = {.data = 600 * kMiB},
                     .heap = {},
                     .release_unused =
                         [&] {
                           ++released;
                           process_.data = 300 * kMiB;
                         },
                     .process = [this] { return process_; }});
  process_.data = 400 * kMiB;
  look(guard, kMiB);
  EXPECT_EQ(released, 0);
  process_.data = 495 * kMiB;
  look(guard, kMiB);
  EXPECT_EQ(released, 1);
  EXPECT_FALSE(guard.is_refusing());
  EXPECT_EQ(guard.room(), 200 * kMiB);
  // Not again in the same moment, whatever comes.
  process_.data = 495 * kMiB;
  guard.look(now_us_ + 1, kMiB, 5 * kMiB);
  EXPECT_EQ(released, 1);
  EXPECT_TRUE(guard.is_refusing());
}

TEST_F(MemoryGuardTest, LooksNoMoreOftenThanNeeded) {
  auto guard = make(100 * kMiB);
  look(guard, 10 * kMiB);
  guard.look(now_us_ + 1, 99 * kMiB);
  EXPECT_FALSE(guard.is_refusing());
  guard.took(3 * kMiB);
  guard.look(now_us_ + 2, 99 * kMiB);
  EXPECT_TRUE(guard.is_refusing());
  // Nor is a large request judged by what was seen before.
  guard.look(now_us_ + 3, 50 * kMiB);
  EXPECT_TRUE(guard.is_refusing());
  guard.look(now_us_ + 4, 50 * kMiB, 5 * kMiB);
  EXPECT_FALSE(guard.is_refusing());
}

}  // namespace
}  // namespace jobbie::node
