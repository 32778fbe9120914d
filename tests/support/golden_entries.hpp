// Golden entries: every command with every field set, some plain ones, and several in one entry.
#pragma once

#include "command/command.hpp"
#include "golden_values.hpp"

namespace jobbie::testing::golden {

inline Named<command::Command> job_commands() {
  using namespace command;
  const LeaseRef ref = {.job = job_id(42), .lease = 4242, .worker = text("worker-9")};
  const Idempotency idempotency = {.key = text("order-1"), .fingerprint = 0xfedcba9876543210};
  return {
      {"enqueue, plain", Enqueue{.job = plain_job()}},
      {"enqueue", Enqueue{.job = full_job(), .idempotency = idempotency}},
      {"enqueue_many, plain", EnqueueMany{.jobs = {plain_job(), plain_job()}}},
      {"enqueue_many", EnqueueMany{.jobs = {plain_job(), full_job()},
                                   .batch = BatchSpec{.callback_queue = text("done"),
                                                      .callback_payload = text(R"({"a":1})")},
                                   .idempotency = idempotency}},
      {"claim, plain", Claim{.queues = {text("emails.send")}}},
      {"claim", Claim{.queues = {text("emails.*"), text("sms")},
                      .worker = text("worker-9"),
                      .hostname = text("host-a"),
                      .count = 100,
                      .lease = base::seconds(30),
                      .roles = {text("gpu")},
                      .tags = {text("eu"), text("fast")}}},
      {"ack, plain", Ack{.ref = {.job = job_id(42)}}},
      {"ack", Ack{.ref = ref, .result = text(R"({"ok":true})")}},
      {"fail, plain", Fail{.ref = {.job = job_id(42), .lease = 7}, .error = text("boom")}},
      {"fail", Fail{.ref = ref,
                    .error = text("boom"),
                    .backtrace = text("a\nb"),
                    .no_retry = true,
                    .retry_in = base::seconds(0)}},
      {"heartbeat", Heartbeat{.worker = text("worker-9"),
                              .beats = {{.ref = ref,
                                         .progress = text(R"({"current":3})"),
                                         .checkpoint = text(R"({"offset":12})")},
                                        {.ref = {.job = job_id(43)}}}}},
      {"cancel", Cancel{.job = job_id(42)}},
      {"retry", Retry{.job = job_id(42), .payload = text("[1.0]")}},
      {"requeue", Requeue{.job = job_id(42)}},
      {"move", Move{.job = job_id(42),
                    .queue = text("slow"),
                    .reset_attempts = false,
                    .keep_priority = true}},
      {"delete", Delete{.job = job_id(42)}},
      {"set_priority", SetPriority{.job = job_id(42), .priority = -2'147'483'648}},
  };
}

inline Named<command::Command> other_commands() {
  using namespace command;
  const auto queue = text("emails.send");
  return {
      {"queue_command", QueueCommand{.queue = queue, .action = QueueAction::destroy}},
      {"set_concurrency", SetConcurrency{.queue = queue, .max = 3, .per = text("tags.tenant")}},
      {"set_throttle",
       SetThrottle{.queue = queue, .rate = 100, .period = base::seconds(10), .per = text("group")}},
      {"set_retention", SetRetention{.queue = queue,
                                     .completed = base::Duration{0},
                                     .dead = base::days(1),
                                     .cancelled = base::days(2)}},
      {"set_lease", SetLease{.queue = queue, .lease = base::seconds(45)}},
      {"set_fairness", SetFairness{.queue = queue, .fairness = model::Fairness::group}},
      {"group_command",
       GroupCommand{
           .group = text("import-7"), .action = GroupAction::cancel, .include_active = false}},
      {"create_schedule", CreateSchedule{.spec = full_schedule()}},
      {"update_schedule",
       UpdateSchedule{.schedule = id<base::ScheduleId>(77), .spec = full_schedule()}},
      {"schedule_command",
       ScheduleCommand{.schedule = id<base::ScheduleId>(77), .action = ScheduleAction::remove}},
      {"update_zone", UpdateZone{.zone = full_zone()}},
      {"register_worker", RegisterWorker{.worker = full_worker()}},
      {"remove_worker", RemoveWorker{.worker = text("worker-9")}},
      {"tick", Tick{}},
  };
}

/// Commands that came later: not in the entry of all, whose bytes stay as they were.
inline Named<command::Command> later_commands() {
  using namespace command;
  const Idempotency scoped = {
      .key = text("order-1"), .fingerprint = 0xfedcba9876543210, .scope = id<base::KeyId>(78)};
  return {
      {"append_logs",
       AppendLogs{.ref = {.job = job_id(42), .lease = 4242, .worker = text("worker-9")},
                  .lines = {{.at = {1'760'000'000'123},
                             .level = model::LogLevel::warning,
                             .message = text("slow")},
                            {.at = {}, .level = model::LogLevel::info, .message = text("plain")}}}},
      {"start_bulk", StartBulk{.action = model::BulkAction::move,
                               .queue = text("emails.legacy"),
                               .priority = model::kHigh,
                               .filter = text(R"({"state":["dead"]})"),
                               .estimated = 142'000}},
      {"bulk_step", BulkStep{.bulk = id<base::BulkId>(78),
                             .action = model::BulkAction::change_priority,
                             .queue = text("emails.legacy"),
                             .priority = model::kCritical,
                             .jobs = {job_id(42), job_id(43)},
                             .after = 41,
                             .upto = 43,
                             .last = true}},
      {"end_bulk", EndBulk{.bulk = id<base::BulkId>(78), .reason = text("its filter is odd")}},
      {"restrict", Restrict{.queues = {text("mail.*"), text("sms")}, .commands = 3}},
      {"record_action", RecordAction{.key = text("key_1"),
                                     .name = text("ops"),
                                     .address = text("10.0.0.1"),
                                     .action = text("queue.pause"),
                                     .target = text("emails"),
                                     .commands = 2}},
      {"create_key", CreateKey{.key = full_key(), .replace = true}},
      {"revoke_key", RevokeKey{.key = id<base::KeyId>(78)}},
      {"put_webhook",
       PutWebhook{.webhook = id<base::WebhookId>(79), .spec = full_webhook(), .keep_secret = true}},
      {"remove_webhook", RemoveWebhook{.webhook = id<base::WebhookId>(79)}},
      {"test_webhook", TestWebhook{.webhook = id<base::WebhookId>(79)}},
      {"retry_delivery", RetryDelivery{.delivery = full_delivery()}},
      {"settle_delivery", SettleDelivery{.delivery = id<base::DeliveryId>(80),
                                         .attempt = 2,
                                         .delivered = true,
                                         .status = 204,
                                         .error = text("slow")}},
      {"resume", Resume{.lost = base::seconds(12)}},
      {"update_part_of_schedule",
       UpdateSchedule{
           .schedule = id<base::ScheduleId>(77), .spec = full_schedule(), .fields = 0x5}},
      {"claim_up_to_bytes", Claim{.queues = {text("emails.*"), text("sms")},
                                  .worker = text("worker-9"),
                                  .hostname = text("host-a"),
                                  .count = 100,
                                  .lease = base::seconds(30),
                                  .roles = {text("gpu")},
                                  .tags = {text("eu"), text("fast")},
                                  .max_bytes = 8u << 20}},
      {"enqueue_delayed", Enqueue{.job = delayed_job(), .idempotency = scoped}},
      {"enqueue, scoped", Enqueue{.job = full_job(), .idempotency = scoped}},
      {"enqueue_many, scoped",
       EnqueueMany{.jobs = {plain_job(), full_job()},
                   .batch = BatchSpec{.callback_queue = text("done"),
                                      .callback_payload = text(R"({"a":1})")},
                   .idempotency = scoped}},
      {"restrict, with a key",
       Restrict{
           .queues = {text("mail.*"), text("sms")}, .commands = 3, .key = id<base::KeyId>(78)}},
      {"set_limits",
       SetLimits{.queues = 1000, .queues_per_key = 200, .idempotency_keys_per_key = 30}},
      {"forget_queues", ForgetQueues{.queues = {text("mail.a"), text("mail.b")}}},
  };
}

inline Named<command::Entry> entries() {
  constexpr base::Instant kNow{1'760'000'000'123};
  constexpr std::uint64_t kRandom = 0x0123456789abcdef;
  Named<command::Entry> entries = {{"nothing", {}}};
  command::Entry all{.now = kNow, .random = kRandom, .commands = {}};
  for (const auto& commands : {job_commands(), other_commands()}) {
    for (const auto& [name, command] : commands) {
      entries.push_back({name, {.now = kNow, .random = kRandom, .commands = {command}}});
      all.commands.push_back(command);
    }
  }
  entries.push_back({"all commands together", all});
  for (const auto& [name, command] : later_commands())
    entries.push_back({name, {.now = kNow, .random = kRandom, .commands = {command}}});
  entries.push_back(
      {"bounded", {.now = kNow, .random = kRandom, .commands = {command::Tick{}}, .work = 500}});
  return entries;
}

}  // namespace jobbie::testing::golden
