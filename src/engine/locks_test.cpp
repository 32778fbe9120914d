// Locks on their own: who holds a key, and that a queue counts its locks.
#include "engine/locks.hpp"

#include <gtest/gtest.h>

namespace jobbie::engine {
namespace {

class LocksTest : public ::testing::Test {
 protected:
  Slot job(Slot queue, std::string_view key, Duration period = {}) {
    const Slot slot = jobs_.allocate();
    jobs_[slot].queue = queue;
    jobs_[slot].unique = std::make_unique<Unique>();
    jobs_[slot].unique->spec.key = Blob(key);
    jobs_[slot].unique->spec.period = period;
    return slot;
  }

  Slab<Job> jobs_;
  Locks locks_{jobs_, 3};
  Queue first_;
  Queue second_;
};

TEST_F(LocksTest, FindsTheHolderInItsQueueOnly) {
  const Slot slot = job(1, "k");
  locks_.take(slot, first_, Instant{10});
  EXPECT_EQ(locks_.find(1, "k"), slot);
  EXPECT_EQ(locks_.find(2, "k"), 0U);
  EXPECT_EQ(locks_.find(1, "other"), 0U);
  EXPECT_EQ(first_.unique_locks, 1U);
  EXPECT_EQ(jobs_[slot].unique->expires, Instant{});
}

TEST_F(LocksTest, APeriodBeginsWhenTheLockIsTaken) {
  const Slot slot = job(1, "k", Duration{5});
  locks_.take(slot, first_, Instant{10});
  EXPECT_EQ(jobs_[slot].unique->expires, Instant{15});
  locks_.release(slot, first_);
  EXPECT_FALSE(jobs_[slot].unique->held);
  EXPECT_EQ(jobs_[slot].unique->expires, Instant{});
  EXPECT_EQ(locks_.find(1, "k"), 0U);
  locks_.release(slot, first_);  // a second time is nothing
  EXPECT_EQ(first_.unique_locks, 0U);
}

TEST_F(LocksTest, AMoveTakesTheLockAlong) {
  const Slot slot = job(1, "k");
  locks_.take(slot, first_, Instant{10});
  locks_.unlink(slot, first_);
  jobs_[slot].queue = 2;
  locks_.link(slot, second_);
  EXPECT_TRUE(jobs_[slot].unique->held);
  EXPECT_EQ(locks_.find(1, "k"), 0U);
  EXPECT_EQ(locks_.find(2, "k"), slot);
  EXPECT_EQ(first_.unique_locks, 0U);
  EXPECT_EQ(second_.unique_locks, 1U);
}

}  // namespace
}  // namespace jobbie::engine
