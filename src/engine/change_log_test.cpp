// The list of changes on its own.
#include "engine/change_log.hpp"

#include <gtest/gtest.h>

namespace jobbie::engine {
namespace {

JobId id_of(std::uint64_t sequence) { return JobId{base::Ulid::make(Instant{1'000}, sequence, 7)}; }

TEST(ChangeLog, ListsAChangedJobOnce) {
  ChangeLog changes;
  Job job;
  job.id = id_of(3);
  changes.job_changed(1, job);
  changes.job_changed(1, job);
  ASSERT_EQ(changes.changed_jobs().size(), 1U);
  EXPECT_EQ(changes.changed_jobs()[0].sequence, 3U);
  changes.forget_changed_jobs();
  EXPECT_TRUE(changes.changed_jobs().empty());
}

TEST(ChangeLog, KnowsWhatIsGoneUntilItIsDrained) {
  ChangeLog changes;
  changes.removed_job(id_of(3));
  changes.swept({Blob("q"), State::dead, Instant{100}});
  model::JobRecord record;
  record.id = id_of(3);
  EXPECT_TRUE(changes.is_gone(record));
  record.id = id_of(4);
  record.spec.queue = Blob("q");
  record.state = State::dead;
  record.ended_at = Instant{99};
  EXPECT_TRUE(changes.is_gone(record));
  record.ended_at = Instant{100};
  EXPECT_FALSE(changes.is_gone(record));
  record.ended_at = Instant{99};
  record.state = State::completed;
  EXPECT_FALSE(changes.is_gone(record));
  const auto removals = changes.take_removals();
  ASSERT_EQ(removals.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<command::RemovedJob>(removals[0]));
  EXPECT_TRUE(std::holds_alternative<command::SweptJobs>(removals[1]));
  record.id = id_of(3);
  EXPECT_FALSE(changes.is_gone(record));
  EXPECT_TRUE(changes.sweeps().empty());
}

}  // namespace
}  // namespace jobbie::engine
