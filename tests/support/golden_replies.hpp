// Golden replies: every reply with every field set.
#pragma once

#include "command/reply.hpp"
#include "golden_values.hpp"

namespace jobbie::testing::golden {

inline command::ClaimedJob full_claimed_job() {
  return {.job = job_id(42),
          .queue = text("emails.send"),
          .payload = text("[1.0]"),
          .tags = text(R"({"tenant":"acme"})"),
          .checkpoint = text(R"({"offset":12})"),
          .group = text("import-7"),
          .traceparent = text("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
          .priority = 0,
          .attempt = 2,
          .max_retries = 5,
          .lease = 4242,
          .lease_duration = base::seconds(60),
          .lease_expires_at = {1'760'000'060'123},
          .max_runtime = base::minutes(30),
          .batch = id<base::BatchId>(41)};
}

inline Named<command::Reply> replies() {
  using namespace command;
  return {
      {"refusal", Refusal{.code = Refused::limit_reached, .field = "queue", .message = "Full."}},
      {"enqueued, plain", Enqueued{.job = job_id(42)}},
      {"enqueued", Enqueued{.job = job_id(42), .state = model::State::scheduled, .existing = true}},
      {"enqueued_many",
       EnqueuedMany{.jobs = {{.job = job_id(42)},
                             {.job = job_id(43), .state = model::State::waiting, .existing = true}},
                    .batch = id<base::BatchId>(41)}},
      {"claimed, nothing", Claimed{}},
      {"claimed", Claimed{.jobs = {full_claimed_job()}}},
      {"settled", Settled{.state = model::State::retrying,
                          .next_attempt_at = {1'760'000'005'123},
                          .attempts_remaining = 4,
                          .repeated = true}},
      {"beaten",
       Beaten{.jobs = {BeatStatus::ok, BeatStatus::cancel, BeatStatus::lost, BeatStatus::unknown}}},
      {"job_changed", JobChanged{.job = job_id(42), .state = model::State::cancelled}},
      {"done", Done{.affected = 1'000'000}},
      {"schedule_reply", ScheduleReply{.schedule = full_schedule_record(),
                                       .next_runs = {{1'760'100'000'000}, {1'760'200'000'000}},
                                       .job = job_id(99)}},
      {"bulk_reply", BulkReply{.bulk = full_bulk()}},
      {"bulk_stepped", BulkStepped{.affected = 9,
                                   .skipped = 8,
                                   .failed = 7,
                                   .errors = {{.job = job_id(42),
                                               .code = text("unique_conflict"),
                                               .message = text("held")}}}},
      {"key_reply", KeyReply{.key = {.id = id<base::KeyId>(78), .spec = full_key()}}},
      {"webhook_reply", WebhookReply{.webhook = {.id = id<base::WebhookId>(79),
                                                 .spec = full_webhook(),
                                                 .delivered = 10,
                                                 .failed = 11,
                                                 .dropped = 12}}},
      {"delivery_reply", DeliveryReply{.delivery = full_delivery()}},
      {"bulk_reply, owned", BulkReply{.bulk = owned_bulk()}},
  };
}

}  // namespace jobbie::testing::golden
