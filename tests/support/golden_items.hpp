// Golden items: every record of a checkpoint with every field set.
#pragma once

#include "command/item.hpp"
#include "golden_values.hpp"

namespace jobbie::testing::golden {

inline model::JobError full_error() {
  return {.ordinal = 3,
          .attempt = 2,
          .at = {1'760'000'050'000},
          .error = text("boom"),
          .backtrace = text("a\nb"),
          .worker = text("worker-8")};
}

inline model::JobRecord full_job_record() {
  return {.id = job_id(42),
          .state = model::State::dead,
          .spec = full_job(),
          .attempt = 2,
          .run_at = {1'760'000'000'201},
          .started_at = {1'760'000'000'202},
          .ended_at = {1'760'000'000'203},
          .failed_at = {1'760'000'000'204},
          .expire_at = {1'760'000'000'205},
          .lease = 4242,
          .lease_end = model::LeaseEnd::lost,
          .lease_duration = base::seconds(60),
          .lease_expires_at = {1'760'000'000'206},
          .worker = text("worker-9"),
          .hostname = text("host-a"),
          .heartbeaten = true,
          .cancel_requested = true,
          .holds_unique = true,
          .unique_until = {1'760'000'000'207},
          .batch = id<base::BatchId>(41),
          .batch_counted = true,
          .schedule = id<base::ScheduleId>(40),
          .nominal_at = {1'760'000'000'208},
          .waiting_on = {job_id(11)},
          .progress = text("[1]"),
          .checkpoint = text("[2]"),
          .result = text("[3]"),
          .end_reason = text("lease_expired"),
          .errors = {full_error(), {.ordinal = 4}},
          .error_count = 4,
          .arrival = 501,
          .group_arrival = 502};
}

inline model::QueueRecord full_queue() {
  return {
      .name = text("emails.send"),
      .created_at = {1'759'000'000'000},
      .settings = {.paused = true,
                   .draining = true,
                   .concurrency = model::ConcurrencyLimit{.max = 10, .per = text("x")},
                   .concurrency_per = model::ConcurrencyLimit{.max = 1, .per = text("tags.tenant")},
                   .throttle =
                       model::Throttle{.rate = 100, .period = base::seconds(1), .per = text("y")},
                   .throttle_per =
                       model::Throttle{.rate = 5, .period = base::minutes(1), .per = text("group")},
                   .retention = {.completed = base::Duration{0},
                                 .dead = base::days(1),
                                 .cancelled = base::days(2)},
                   .lease = base::seconds(45),
                   .fairness = model::Fairness::group},
      .totals = {.enqueued = 700,
                 .started = 600,
                 .completed = 500,
                 .failed = 400,
                 .dead = 300,
                 .cancelled = 200,
                 .leases_expired = 100},
      .last_served_group = text("import-7")};
}

inline Named<command::Item> items() {
  using namespace model;
  return {
      {"meta", MetaRecord{.now = {1'760'000'000'123},
                          .next_sequence = 1001,
                          .next_lease = 1002,
                          .next_arrival = 1003,
                          .next_task = 1004,
                          .entries = 1005}},
      {"queue, plain", QueueRecord{.name = text("sms"), .last_served_group = Blob()}},
      {"queue", full_queue()},
      {"tally", TallyRecord{.queue = text("emails.send"),
                            .state = State::cancelled,
                            .minute = 29'333'333,
                            .count = 17}},
      {"window", WindowRecord{.queue = text("emails.send"),
                              .keyed = true,
                              .key = text(R"("acme")"),
                              .claims = {{{1'760'000'000'000}, 3}, {{1'760'000'000'001}, 1}}}},
      {"group", GroupRecord{.name = text("import-7"), .paused = true}},
      {"job, plain", JobRecord{.id = job_id(41), .spec = plain_job(), .arrival = 9}},
      {"job", full_job_record()},
      {"batch", BatchRecord{.id = id<BatchId>(41),
                            .total = 10,
                            .pending = 3,
                            .succeeded = 5,
                            .failed = 2,
                            .callback_queue = text("done"),
                            .callback_payload = text(R"({"a":1})"),
                            .callback_job = job_id(60),
                            .finished_at = {1'760'000'000'300}}},
      {"schedule", full_schedule_record()},
      {"worker", WorkerRecord{.spec = full_worker(),
                              .started_at = {1'760'000'000'001},
                              .last_seen = {1'760'000'000'002},
                              .active = 4}},
      {"idempotency", IdempotencyRecord{.key = text("order-1"),
                                        .fingerprint = 0xfedcba9876543210,
                                        .expires_at = {1'760'086'400'000},
                                        .reply = text("\x01\x01")}},
      {"task", TaskRecord{.number = 12,
                          .kind = TaskKind::release_dependents,
                          .subject = text("import-7"),
                          .bound = 90,
                          .cursor = 80,
                          .flag = true,
                          .job = job_id(42)}},
  };
}

/// With the fields of an error that came later.
inline model::JobRecord told_job_record() {
  auto job = full_job_record();
  job.errors.front().started_at = {1'760'000'049'000};
  job.errors.front().retry_at = {1'760'000'060'000};
  return job;
}

/// Records have no delay, but the format of a job does.
inline model::JobRecord delayed_job_record() {
  auto job = told_job_record();
  job.spec = delayed_job();
  return job;
}

/// With owners, which came later.
inline model::QueueRecord owned_queue() {
  auto queue = full_queue();
  queue.owner = id<base::KeyId>(78);
  return queue;
}

/// Items that came later: not in the golden checkpoint, whose bytes stay as they were.
inline Named<command::Item> later_items() {
  using namespace model;
  return {
      {"bulk", full_bulk()},
      {"key", KeyRecord{.id = id<base::KeyId>(78), .spec = full_key()}},
      {"webhook", WebhookRecord{.id = id<base::WebhookId>(79),
                                .spec = full_webhook(),
                                .delivered = 10,
                                .failed = 11,
                                .dropped = 12}},
      {"delivery", full_delivery()},
      {"job, with starts of attempts", told_job_record()},
      {"job, with a delay", delayed_job_record()},
      {"meta, with limits", MetaRecord{.now = {1'760'000'000'123},
                                       .next_sequence = 1001,
                                       .next_lease = 1002,
                                       .next_arrival = 1003,
                                       .next_task = 1004,
                                       .entries = 1005,
                                       .max_queues = 1006,
                                       .max_queues_per_key = 1007,
                                       .max_idempotency_keys_per_key = 1008}},
      {"queue, owned", owned_queue()},
      {"worker, owned", WorkerRecord{.spec = full_worker(),
                                     .started_at = {1'760'000'000'001},
                                     .last_seen = {1'760'000'000'002},
                                     .active = 4,
                                     .owner = id<base::KeyId>(78)}},
      {"idempotency, scoped", IdempotencyRecord{.key = text("order-1"),
                                                .fingerprint = 0xfedcba9876543210,
                                                .expires_at = {1'760'086'400'000},
                                                .reply = text("\x01\x01"),
                                                .scope = id<base::KeyId>(78)}},
      {"bulk, owned", owned_bulk()},
  };
}

inline Named<command::Item> all_items() {
  auto all = items();
  for (auto& later : later_items()) all.push_back(std::move(later));
  return all;
}

}  // namespace jobbie::testing::golden
