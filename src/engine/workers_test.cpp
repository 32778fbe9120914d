// Workers on their own: who becomes known, how long an entry stays, who has been silent.
#include "engine/workers.hpp"

#include <gtest/gtest.h>

namespace jobbie::engine {
namespace {

constexpr Instant kNow{1'000'000};
const Blob kId("w1");

command::Claim claim_of(const Blob& worker) {
  command::Claim claim;
  claim.worker = worker;
  claim.queues = {Blob("q")};
  return claim;
}

struct WorkersTest : testing::Test {
  MemoryAccount memory;
  Workers workers{memory, 1};
  ChangeLog changes;
  command::Claim claim = claim_of(kId);
};

TEST_F(WorkersTest, TheFirstClaimMakesOneKnown) {
  EXPECT_EQ(workers.see(kId, nullptr, kNow, {}).worker, nullptr);
  const auto seen = workers.see(kId, &claim, kNow, {});
  ASSERT_NE(seen.worker, nullptr);
  EXPECT_TRUE(seen.joined);
  EXPECT_FALSE(workers.see(kId, &claim, kNow, {}).joined);
  EXPECT_EQ(workers.count(), 1U);
  EXPECT_TRUE(workers.is_as_known(claim, kNow, {}));
  claim.queues = {Blob("other")};
  EXPECT_FALSE(workers.is_as_known(claim, kNow, {}));
}

TEST_F(WorkersTest, OneThatHoldsAJobKeepsItsEntryWhenItIsRemoved) {
  const Worker* worker = workers.see(kId, &claim, kNow, {}).worker;
  Job job;
  job.worker = kId;
  workers.begin_holding(job, worker);
  EXPECT_TRUE(workers.is_held_right(job));
  workers.remove(kId, changes);
  EXPECT_EQ(workers.find("w1"), nullptr);
  EXPECT_EQ(workers.entries().size(), 1U);
  const auto back = workers.see(kId, &claim, kNow, {});
  EXPECT_TRUE(back.joined);
  EXPECT_EQ(back.worker->record.active, 1U);
  workers.remove(kId, changes);
  workers.end_holding(job);
  EXPECT_TRUE(workers.entries().empty());
  EXPECT_EQ(memory.bytes(), 0U);
}

TEST_F(WorkersTest, OnlyIdleOnesAreSilent) {
  const Blob busy("busy");
  const auto other = claim_of(busy);
  workers.see(kId, &claim, kNow, {});
  Job job;
  job.worker = busy;
  workers.begin_holding(job, workers.see(busy, &other, kNow, {}).worker);
  const Instant later = kNow + model::limits::kWorkerSilence;
  EXPECT_EQ(workers.checked_at(), later);
  EXPECT_TRUE(workers.find_silent(later - base::milliseconds(1)).empty());
  EXPECT_EQ(workers.find_silent(later), std::vector<Blob>{kId});
  workers.remove(kId, changes);
  EXPECT_EQ(workers.checked_at(), base::kNever);
  workers.end_holding(job);
  EXPECT_EQ(workers.find_silent(later), std::vector<Blob>{busy});
}

TEST_F(WorkersTest, AChangedOneIsDrainedOnce) {
  workers.see(kId, &claim, kNow, {});
  workers.see(kId, &claim, kNow, {});
  EXPECT_EQ(workers.undrained(), 1U);
  command::Changes out;
  workers.drain(out);
  EXPECT_EQ(out.size(), 1U);
  EXPECT_EQ(workers.undrained(), 0U);
}

}  // namespace
}  // namespace jobbie::engine
