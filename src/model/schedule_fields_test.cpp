// Each field is taken by its own bit, and all bits together are all of a schedule.
#include "model/schedule_fields.hpp"

#include <gtest/gtest.h>

namespace jobbie::model {
namespace {

/// Nothing in it is as by default.
ScheduleSpec full() {
  ScheduleSpec spec;
  spec.name = Blob("n");
  spec.cron = Blob("@daily");
  spec.zone = {.name = "A/B", .base_offset_s = 3600, .transitions = {}};
  spec.catch_up = CatchUp::all;
  spec.paused = true;
  JobSpec& job = spec.job;
  job.queue = Blob("q");
  job.payload = Blob("1");
  job.priority = 7;
  job.max_retries = 9;
  job.unique = {.key = Blob("k"), .until = UniqueUntil::start, .period = {8}};
  job.tags = Blob("{}");
  job.expire_after = {1};
  job.retry = {.backoff = Backoff::linear, .base = {1}, .max = {2}, .jitter = 3};
  job.lease = {100};
  job.max_runtime = {2};
  job.timeout = {3};
  job.group = Blob("g");
  job.requires_ = {.roles = {Blob("r")}, .tags = {Blob("t")}, .target_worker = Blob("w")};
  job.on_failure = OnFailure::run;
  job.traceparent = Blob("p");
  return spec;
}

TEST(ScheduleFields, AllOfThemAreAllOfASchedule) {
  ScheduleSpec spec;
  take_fields(spec, full(), kAllScheduleFields);
  EXPECT_EQ(spec, full());
  take_fields(spec, {}, 0);
  EXPECT_EQ(spec, full());
  take_fields(spec, {}, kAllScheduleFields);
  EXPECT_EQ(spec, ScheduleSpec{});
}

TEST(ScheduleFields, EachIsTakenAlone) {
  for (unsigned i = 0; i < kScheduleFields; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    ScheduleSpec with;
    take_fields(with, full(), bit);
    EXPECT_NE(with, ScheduleSpec{}) << i;
    ScheduleSpec without = full();
    take_fields(without, {}, bit);
    EXPECT_NE(without, full()) << i;
    // The one lacks what the other has, and nothing else.
    take_fields(without, with, bit);
    EXPECT_EQ(without, full()) << i;
    take_fields(with, {}, bit);
    EXPECT_EQ(with, ScheduleSpec{}) << i;
  }
}

}  // namespace
}  // namespace jobbie::model
