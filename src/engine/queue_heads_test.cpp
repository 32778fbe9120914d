// The first of many queues, compared with looking at all of them.
#include "engine/queue_heads.hpp"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace jobbie::engine {
namespace {

TEST(QueueHeads, TheFirstOfASetIsTheSmallest) {
  constexpr std::uint32_t kQueues = 1000;
  std::mt19937_64 random(3);
  QueueHeads heads;
  for (std::uint32_t slot = 0; slot < kQueues; ++slot) heads.add();
  std::map<std::uint32_t, ReadyKey> bounds;
  for (int round = 0; round < 2000; ++round) {
    const auto slot = static_cast<std::uint32_t>(1 + random() % (kQueues - 1));
    const bool any = random() % 2 == 0;
    const ReadyKey key{static_cast<std::int32_t>(random() % 3), 1 + random() % 1'000'000};
    heads.set_bound(slot, any ? key : kNothingReady);
    heads.set_pending(slot, any);
    bounds.erase(slot);
    if (any) bounds[slot] = key;

    QueueSet set;
    const auto share = 1 + random() % 50;
    for (std::uint32_t i = 1; i < kQueues; ++i)
      if (random() % share == 0) insert(set, i);
    ReadyKey best = kNothingReady;
    for (const auto& [queue, bound] : bounds) {
      const bool in = queue / kBlock < set.size() && (set[queue / kBlock] >> queue % kBlock & 1);
      if (in && bound < best) best = bound;
    }
    const auto first = heads.first_of(set, 0);
    ASSERT_EQ(heads.bound(first), best);
    ASSERT_EQ(first == 0, best == kNothingReady);
    ASSERT_EQ(heads.any_pending(set), best != kNothingReady);
  }
}

TEST(QueueHeads, OneGivenBesideTheSetCountsToo) {
  QueueHeads heads;
  for (int i = 0; i < 70; ++i) heads.add();
  heads.set_bound(3, {2, 30});
  heads.set_bound(69, {2, 20});
  QueueSet set;
  insert(set, 3);
  EXPECT_EQ(heads.first_of(set, 0), 3U);
  EXPECT_EQ(heads.first_of(set, 69), 69U);
  heads.set_bound(3, {1, 40});
  EXPECT_EQ(heads.first_of(set, 69), 3U);
}

}  // namespace
}  // namespace jobbie::engine
