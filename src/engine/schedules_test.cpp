// Schedules on their own: names, the order of times, what is listed as changed.
#include "engine/schedules.hpp"

#include <gtest/gtest.h>

namespace jobbie::engine {
namespace {

constexpr Instant kNow{1'000'000'000};

ScheduleId id_of(std::uint64_t sequence) { return ScheduleId{base::Ulid::make(kNow, sequence, 7)}; }

model::ScheduleRecord record_of(std::uint64_t sequence, std::string_view name) {
  model::ScheduleRecord record;
  record.id = id_of(sequence);
  record.spec.name = Blob(name);
  return record;
}

model::CronExpr cron_of(std::string_view text) {
  auto cron = model::CronExpr::parse(text);
  EXPECT_TRUE(cron.has_value());
  return *std::move(cron);
}

TEST(Schedules, TheFirstDueIsTheOneWhoseTimeComesFirst) {
  MemoryAccount memory;
  Schedules schedules(memory, 1);
  schedules.add(record_of(1, "hourly"), cron_of("0 * * * *"));
  schedules.add(record_of(2, "minutely"), cron_of("* * * * *"));
  EXPECT_EQ(schedules.next_run(), base::kNever);
  schedules.plan(id_of(1), kNow);
  schedules.plan(id_of(2), kNow);
  const Instant next = schedules.next_run();
  EXPECT_GT(next, kNow);
  EXPECT_EQ(schedules.first_due(next - base::milliseconds(1)), nullptr);
  ASSERT_NE(schedules.first_due(next), nullptr);
  EXPECT_EQ(schedules.first_due(next)->record.id, id_of(2));
}

TEST(Schedules, APausedOneHasNoNextRun) {
  MemoryAccount memory;
  Schedules schedules(memory, 1);
  schedules.add(record_of(1, "a"), cron_of("* * * * *"));
  schedules.plan(id_of(1), kNow);
  schedules.set_paused(id_of(1), true);
  schedules.plan(id_of(1), kNow);
  EXPECT_EQ(schedules.next_run(), base::kNever);
}

TEST(Schedules, AReplacedOneStandsUnderItsNewNameOnly) {
  MemoryAccount memory;
  Schedules schedules(memory, 1);
  schedules.add(record_of(1, "old"), cron_of("* * * * *"));
  schedules.replace(id_of(1), record_of(1, "new").spec, cron_of("* * * * *"));
  EXPECT_EQ(schedules.named("old"), 0U);
  EXPECT_EQ(schedules.named("new"), 1U);
}

TEST(Schedules, ARemovedOneLeavesNothing) {
  MemoryAccount memory;
  Schedules schedules(memory, 1);
  ChangeLog changes;
  schedules.add(record_of(1, "a"), cron_of("* * * * *"));
  schedules.plan(id_of(1), kNow);
  EXPECT_GT(memory.bytes(), 0U);
  schedules.remove(id_of(1), changes);
  EXPECT_EQ(memory.bytes(), 0U);
  EXPECT_EQ(schedules.find(id_of(1)), nullptr);
  EXPECT_EQ(schedules.named("a"), 0U);
  EXPECT_EQ(schedules.next_run(), base::kNever);
  EXPECT_EQ(changes.take_removals().size(), 1U);
  command::Changes out;
  schedules.drain(out);
  EXPECT_TRUE(out.empty());
}

TEST(Schedules, AChangedOneIsDrainedOnce) {
  MemoryAccount memory;
  Schedules schedules(memory, 1);
  schedules.add(record_of(1, "a"), cron_of("* * * * *"));
  schedules.plan(id_of(1), kNow);
  schedules.set_last_run(id_of(1), kNow);
  command::Changes out;
  schedules.drain(out);
  EXPECT_EQ(out.size(), 1U);
  schedules.drain(out);
  EXPECT_EQ(out.size(), 1U);
}

TEST(Schedules, ALoadedOneMustHaveAFreeNameAndNumber) {
  MemoryAccount memory;
  Schedules schedules(memory, 1);
  EXPECT_TRUE(schedules.restore(record_of(1, "a"), cron_of("* * * * *")));
  EXPECT_FALSE(schedules.restore(record_of(2, "a"), cron_of("* * * * *")));
  EXPECT_FALSE(schedules.restore(record_of(1, "b"), cron_of("* * * * *")));
  EXPECT_EQ(schedules.size(), 1U);
}

}  // namespace
}  // namespace jobbie::engine
