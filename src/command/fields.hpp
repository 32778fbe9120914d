// The fields of commands and replies, listed once for encoder and decoder alike; those of the
// model's structs, and the rules of these lists, are in command/model_fields.hpp.
#pragma once

#include <tuple>

#include "command/command.hpp"
#include "command/item.hpp"
#include "command/model_fields.hpp"
#include "command/reply.hpp"

namespace jobbie::command {

constexpr auto last_value(QueueAction) { return QueueAction::destroy; }
constexpr auto last_value(GroupAction) { return GroupAction::cancel; }
constexpr auto last_value(ScheduleAction) { return ScheduleAction::remove; }
constexpr auto last_value(Refused) { return Refused::forbidden; }
constexpr auto last_value(BeatStatus) { return BeatStatus::unknown; }

template <>
struct Fields<Idempotency> {
  using S = Idempotency;
  static constexpr auto list = std::tuple(&S::key, FixedField<S>{&S::fingerprint}, &S::scope);
};
template <>
struct Fields<Enqueue> {
  using S = Enqueue;
  static constexpr auto list = std::tuple(&S::job, &S::idempotency);
};
template <>
struct Fields<BatchSpec> {
  using S = BatchSpec;
  static constexpr auto list = std::tuple(&S::callback_queue, &S::callback_payload);
};
template <>
struct Fields<EnqueueMany> {
  using S = EnqueueMany;
  static constexpr auto list = std::tuple(&S::jobs, &S::batch, &S::idempotency);
};
template <>
struct Fields<Claim> {
  using S = Claim;
  static constexpr auto list = std::tuple(&S::queues, &S::worker, &S::hostname, &S::count,
                                          &S::lease, &S::roles, &S::tags, &S::max_bytes);
};
template <>
struct Fields<LeaseRef> {
  using S = LeaseRef;
  static constexpr auto list = std::tuple(&S::job, &S::lease, &S::worker);
};
template <>
struct Fields<Ack> {
  using S = Ack;
  static constexpr auto list = std::tuple(&S::ref, &S::result);
};
template <>
struct Fields<Fail> {
  using S = Fail;
  static constexpr auto list =
      std::tuple(&S::ref, &S::error, &S::backtrace, &S::no_retry, &S::retry_in);
};
template <>
struct Fields<Beat> {
  using S = Beat;
  static constexpr auto list = std::tuple(&S::ref, &S::progress, &S::checkpoint);
};
template <>
struct Fields<Heartbeat> {
  using S = Heartbeat;
  static constexpr auto list = std::tuple(&S::worker, &S::beats);
};
template <>
struct Fields<Cancel> {
  using S = Cancel;
  static constexpr auto list = std::tuple(&S::job);
};
template <>
struct Fields<Retry> {
  using S = Retry;
  static constexpr auto list = std::tuple(&S::job, &S::payload);
};
template <>
struct Fields<Requeue> {
  using S = Requeue;
  static constexpr auto list = std::tuple(&S::job);
};
template <>
struct Fields<Move> {
  using S = Move;
  static constexpr auto list =
      std::tuple(&S::job, &S::queue, &S::reset_attempts, &S::keep_priority);
};
template <>
struct Fields<Delete> {
  using S = Delete;
  static constexpr auto list = std::tuple(&S::job);
};
template <>
struct Fields<SetPriority> {
  using S = SetPriority;
  static constexpr auto list = std::tuple(&S::job, &S::priority);
};
template <>
struct Fields<QueueCommand> {
  using S = QueueCommand;
  static constexpr auto list = std::tuple(&S::queue, &S::action);
};
template <>
struct Fields<SetConcurrency> {
  using S = SetConcurrency;
  static constexpr auto list = std::tuple(&S::queue, &S::max, &S::per);
};
template <>
struct Fields<SetThrottle> {
  using S = SetThrottle;
  static constexpr auto list = std::tuple(&S::queue, &S::rate, &S::period, &S::per);
};
template <>
struct Fields<SetRetention> {
  using S = SetRetention;
  static constexpr auto list = std::tuple(&S::queue, &S::completed, &S::dead, &S::cancelled);
};
template <>
struct Fields<SetLease> {
  using S = SetLease;
  static constexpr auto list = std::tuple(&S::queue, &S::lease);
};
template <>
struct Fields<SetFairness> {
  using S = SetFairness;
  static constexpr auto list = std::tuple(&S::queue, &S::fairness);
};
template <>
struct Fields<GroupCommand> {
  using S = GroupCommand;
  static constexpr auto list = std::tuple(&S::group, &S::action, &S::include_active);
};
template <>
struct Fields<CreateSchedule> {
  using S = CreateSchedule;
  static constexpr auto list = std::tuple(&S::spec);
};
template <>
struct Fields<UpdateSchedule> {
  using S = UpdateSchedule;
  static constexpr auto list = std::tuple(&S::schedule, &S::spec, &S::fields);
};
template <>
struct Fields<ScheduleCommand> {
  using S = ScheduleCommand;
  static constexpr auto list = std::tuple(&S::schedule, &S::action);
};
template <>
struct Fields<UpdateZone> {
  using S = UpdateZone;
  static constexpr auto list = std::tuple(&S::zone);
};
template <>
struct Fields<RegisterWorker> {
  using S = RegisterWorker;
  static constexpr auto list = std::tuple(&S::worker);
};
template <>
struct Fields<RemoveWorker> {
  using S = RemoveWorker;
  static constexpr auto list = std::tuple(&S::worker);
};
template <>
struct Fields<Tick> {
  static constexpr auto list = std::tuple();
};
template <>
struct Fields<StartBulk> {
  using S = StartBulk;
  static constexpr auto list =
      std::tuple(&S::action, &S::queue, &S::priority, &S::filter, &S::estimated);
};
template <>
struct Fields<BulkStep> {
  using S = BulkStep;
  static constexpr auto list = std::tuple(&S::bulk, &S::action, &S::queue, &S::priority, &S::jobs,
                                          &S::after, &S::upto, &S::last);
};
template <>
struct Fields<EndBulk> {
  using S = EndBulk;
  static constexpr auto list = std::tuple(&S::bulk, &S::reason);
};

template <>
struct Fields<AppendLogs> {
  using S = AppendLogs;
  static constexpr auto list = std::tuple(&S::ref, &S::lines);
};

template <>
struct Fields<Restrict> {
  using S = Restrict;
  static constexpr auto list = std::tuple(&S::queues, &S::commands, &S::key);
};
template <>
struct Fields<RecordAction> {
  using S = RecordAction;
  static constexpr auto list =
      std::tuple(&S::key, &S::name, &S::address, &S::action, &S::target, &S::commands);
};
template <>
struct Fields<CreateKey> {
  using S = CreateKey;
  static constexpr auto list = std::tuple(&S::key, &S::replace);
};
template <>
struct Fields<RevokeKey> {
  using S = RevokeKey;
  static constexpr auto list = std::tuple(&S::key);
};

template <>
struct Fields<PutWebhook> {
  using S = PutWebhook;
  static constexpr auto list = std::tuple(&S::webhook, &S::spec, &S::keep_secret);
};
template <>
struct Fields<RemoveWebhook> {
  using S = RemoveWebhook;
  static constexpr auto list = std::tuple(&S::webhook);
};
template <>
struct Fields<TestWebhook> {
  using S = TestWebhook;
  static constexpr auto list = std::tuple(&S::webhook);
};
template <>
struct Fields<RetryDelivery> {
  using S = RetryDelivery;
  static constexpr auto list = std::tuple(&S::delivery);
};
template <>
struct Fields<SettleDelivery> {
  using S = SettleDelivery;
  static constexpr auto list =
      std::tuple(&S::delivery, &S::attempt, &S::delivered, &S::status, &S::error);
};
template <>
struct Fields<Resume> {
  using S = Resume;
  static constexpr auto list = std::tuple(&S::lost);
};
template <>
struct Fields<SetLimits> {
  using S = SetLimits;
  static constexpr auto list =
      std::tuple(&S::queues, &S::queues_per_key, &S::idempotency_keys_per_key);
};
template <>
struct Fields<ForgetQueues> {
  using S = ForgetQueues;
  static constexpr auto list = std::tuple(&S::queues);
};

template <>
struct Fields<Refusal> {
  using S = Refusal;
  static constexpr auto list = std::tuple(&S::code, &S::field, &S::message);
};
template <>
struct Fields<Enqueued> {
  using S = Enqueued;
  static constexpr auto list = std::tuple(&S::job, &S::state, &S::existing);
};
template <>
struct Fields<EnqueuedMany> {
  using S = EnqueuedMany;
  static constexpr auto list = std::tuple(&S::jobs, &S::batch);
};
template <>
struct Fields<ClaimedJob> {
  using S = ClaimedJob;
  static constexpr auto list =
      std::tuple(&S::job, &S::queue, &S::payload, &S::tags, &S::checkpoint, &S::group,
                 &S::traceparent, &S::priority, &S::attempt, &S::max_retries, &S::lease,
                 &S::lease_duration, &S::lease_expires_at, &S::max_runtime, &S::batch);
};
template <>
struct Fields<Claimed> {
  using S = Claimed;
  static constexpr auto list = std::tuple(&S::jobs);
};
template <>
struct Fields<Settled> {
  using S = Settled;
  static constexpr auto list =
      std::tuple(&S::state, &S::next_attempt_at, &S::attempts_remaining, &S::repeated);
};
template <>
struct Fields<Beaten> {
  using S = Beaten;
  static constexpr auto list = std::tuple(&S::jobs);
};
template <>
struct Fields<JobChanged> {
  using S = JobChanged;
  static constexpr auto list = std::tuple(&S::job, &S::state);
};
template <>
struct Fields<Done> {
  using S = Done;
  static constexpr auto list = std::tuple(&S::affected);
};
template <>
struct Fields<ScheduleReply> {
  using S = ScheduleReply;
  static constexpr auto list = std::tuple(&S::schedule, &S::next_runs, &S::job);
};
template <>
struct Fields<KeyReply> {
  using S = KeyReply;
  static constexpr auto list = std::tuple(&S::key);
};
template <>
struct Fields<WebhookReply> {
  using S = WebhookReply;
  static constexpr auto list = std::tuple(&S::webhook);
};
template <>
struct Fields<DeliveryReply> {
  using S = DeliveryReply;
  static constexpr auto list = std::tuple(&S::delivery);
};

template <>
struct Fields<BulkReply> {
  using S = BulkReply;
  static constexpr auto list = std::tuple(&S::bulk);
};
template <>
struct Fields<BulkStepped> {
  using S = BulkStepped;
  static constexpr auto list = std::tuple(&S::affected, &S::skipped, &S::failed, &S::errors);
};

}  // namespace jobbie::command
