// Commands: everything that can change the state, and the entry that carries them through the log.
//
// A command is what a face made of a request. The leader puts one or many into an Entry and stamps
// it with the log time and random bits; from then on every replica reads the same bytes and does
// the same.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/blob.hpp"
#include "base/id.hpp"
#include "base/time.hpp"
#include "model/access.hpp"
#include "model/job.hpp"
#include "model/limits.hpp"
#include "model/log_line.hpp"
#include "model/queue.hpp"
#include "model/records.hpp"
#include "model/webhook.hpp"

namespace jobbie::command {

using base::Blob;
using base::Duration;
using base::Instant;
using base::JobId;
using base::ScheduleId;

/// An `Idempotency-Key` and the fingerprint of the body it came with. An empty key: none.
struct Idempotency {
  Blob key;
  std::uint64_t fingerprint = 0;
  base::KeyId scope;  ///< the caller's API key: the same text of another one is another key
  bool operator==(const Idempotency&) const = default;
};

struct Enqueue {
  model::JobSpec job;
  Idempotency idempotency;
  bool operator==(const Enqueue&) const = default;
};

struct BatchSpec {
  Blob callback_queue;    ///< empty: count only
  Blob callback_payload;  ///< JSON object, or empty
  bool operator==(const BatchSpec&) const = default;
};

/// All or nothing.
struct EnqueueMany {
  std::vector<model::JobSpec> jobs;
  std::optional<BatchSpec> batch;
  Idempotency idempotency;
  bool operator==(const EnqueueMany&) const = default;
};

struct Claim {
  std::vector<Blob> queues;  ///< names or globs
  Blob worker;
  Blob hostname;
  std::uint32_t count = 1;
  Duration lease;           ///< zero: the job's, the queue's, or the default
  std::vector<Blob> roles;  ///< what the worker has
  std::vector<Blob> tags;
  std::uint64_t max_bytes = 0;  ///< no further job once what was given has as many; 0: no bound
  bool operator==(const Claim&) const = default;
};

/// Names a job and, where the caller knows them, the lease and the worker it believes to hold it.
struct LeaseRef {
  JobId job;
  std::uint64_t lease = 0;  ///< zero: judge by state alone
  Blob worker;              ///< empty: any
  bool operator==(const LeaseRef&) const = default;
};

struct Ack {
  LeaseRef ref;
  Blob result;
  bool operator==(const Ack&) const = default;
};

struct Fail {
  LeaseRef ref;
  Blob error;
  Blob backtrace;
  bool no_retry = false;
  std::optional<Duration> retry_in;  ///< instead of the backoff, once
  bool operator==(const Fail&) const = default;
};

struct Beat {
  LeaseRef ref;
  Blob progress;
  Blob checkpoint;
  bool operator==(const Beat&) const = default;
};

struct Heartbeat {
  Blob worker;  ///< empty: not stated
  std::vector<Beat> beats;
  bool operator==(const Heartbeat&) const = default;
};

struct Cancel {
  JobId job;
  bool operator==(const Cancel&) const = default;
};
struct Retry {
  JobId job;
  Blob payload;  ///< empty: as it was
  bool operator==(const Retry&) const = default;
};
struct Requeue {
  JobId job;
  bool operator==(const Requeue&) const = default;
};
struct Move {
  JobId job;
  Blob queue;
  bool reset_attempts = true;
  bool keep_priority = false;
  bool operator==(const Move&) const = default;
};
struct Delete {
  JobId job;
  bool operator==(const Delete&) const = default;
};
struct SetPriority {
  JobId job;
  std::int32_t priority = model::kNormal;
  bool operator==(const SetPriority&) const = default;
};

enum class QueueAction : std::uint8_t { pause = 0, resume = 1, drain = 2, clear = 3, destroy = 4 };
struct QueueCommand {
  Blob queue;
  QueueAction action = QueueAction::pause;
  bool operator==(const QueueCommand&) const = default;
};
/// `max` nothing: the limit goes (the keyed one when `per` is given, else the queue's own).
struct SetConcurrency {
  Blob queue;
  std::optional<std::uint32_t> max;
  Blob per;
  bool operator==(const SetConcurrency&) const = default;
};
struct SetThrottle {
  Blob queue;
  std::optional<std::uint32_t> rate;
  Duration period;
  Blob per;
  bool operator==(const SetThrottle&) const = default;
};
struct SetRetention {
  Blob queue;
  std::optional<Duration> completed;  ///< nothing: stays as it is
  std::optional<Duration> dead;
  std::optional<Duration> cancelled;
  bool operator==(const SetRetention&) const = default;
};
struct SetLease {
  Blob queue;
  Duration lease;  ///< zero: back to the default
  bool operator==(const SetLease&) const = default;
};
struct SetFairness {
  Blob queue;
  model::Fairness fairness = model::Fairness::priority;
  bool operator==(const SetFairness&) const = default;
};

enum class GroupAction : std::uint8_t { pause = 0, resume = 1, retry_failed = 2, cancel = 3 };
struct GroupCommand {
  Blob group;
  GroupAction action = GroupAction::pause;
  bool include_active = true;  ///< cancel: ask active jobs to stop as well
  bool operator==(const GroupCommand&) const = default;
};

struct CreateSchedule {
  model::ScheduleSpec spec;
  bool operator==(const CreateSchedule&) const = default;
};
/// Replaces a schedule, or the named fields of it: what they come to together is judged as a whole.
struct UpdateSchedule {
  ScheduleId schedule;
  model::ScheduleSpec spec;
  std::uint64_t fields = 0;  ///< bits of model::ScheduleField; zero: all
  bool operator==(const UpdateSchedule&) const = default;
};
enum class ScheduleAction : std::uint8_t { pause = 0, resume = 1, run_now = 2, remove = 3 };
struct ScheduleCommand {
  ScheduleId schedule;
  ScheduleAction action = ScheduleAction::pause;
  bool operator==(const ScheduleCommand&) const = default;
};
/// New rules for a zone: every schedule in it computes its next run again.
struct UpdateZone {
  model::ZoneRules zone;
  bool operator==(const UpdateZone&) const = default;
};

struct RegisterWorker {
  model::WorkerSpec worker;
  bool operator==(const RegisterWorker&) const = default;
};
struct RemoveWorker {
  Blob worker;
  bool operator==(const RemoveWorker&) const = default;
};

/// Everything that is due happens, up to a bound.
struct Tick {
  bool operator==(const Tick&) const = default;
};

/// Lines for the log of a job that the caller is running.
struct AppendLogs {
  LeaseRef ref;
  std::vector<model::LogLine> lines;
  bool operator==(const AppendLogs&) const = default;
};

/// Begins a bulk operation over the jobs that there are now.
struct StartBulk {
  model::BulkAction action = model::BulkAction::retry;
  Blob queue;                              ///< of move
  std::int32_t priority = model::kNormal;  ///< of change_priority
  Blob filter;                             ///< JSON
  std::uint64_t estimated = 0;
  bool operator==(const StartBulk&) const = default;
};
/// Applies an action to the named jobs. As a step of an operation (`bulk` not nil) the action is
/// the operation's; it counts only if that stands at `after`, and moves it on to `upto`: a step
/// that is proposed again changes nothing.
struct BulkStep {
  base::BulkId bulk;
  model::BulkAction action = model::BulkAction::retry;
  Blob queue;
  std::int32_t priority = model::kNormal;
  std::vector<JobId> jobs;
  std::uint64_t after = 0;
  std::uint64_t upto = 0;
  bool last = false;  ///< nothing is left behind it
  bool operator==(const BulkStep&) const = default;
};
/// Ends an operation before its time. With a reason it has failed, else somebody cancelled it.
struct EndBulk {
  base::BulkId bulk;
  Blob reason;
  bool operator==(const EndBulk&) const = default;
};

/// The commands that follow it in the entry, so many of them, may touch jobs, schedules and workers
/// of these queues alone; others are refused as `forbidden`, and are unknown as dependencies. The
/// leader puts it before what the holder of a restricted key asked for, so that the judgement sees
/// the job where it is when its turn comes. With the key's id, what they make belongs to that key,
/// counts against its limits, and workers and bulk operations of other keys are out of its reach.
struct Restrict {
  std::vector<Blob> queues;  ///< names or globs
  std::uint32_t commands = 1;
  base::KeyId key;  ///< nil in what was written before keys owned anything
  bool operator==(const Restrict&) const = default;
};

/// Writes down for the audit log who wanted the commands before it, so many of them, and what came
/// of them.
struct RecordAction {
  Blob key;  ///< the key's id; empty: none
  Blob name;
  Blob address;
  Blob action;
  Blob target;
  std::uint32_t commands = 1;
  bool operator==(const RecordAction&) const = default;
};

struct CreateKey {
  model::KeySpec key;
  bool replace = false;  ///< a key of the same name goes
  bool operator==(const CreateKey&) const = default;
};
struct RevokeKey {
  base::KeyId key;
  bool operator==(const RevokeKey&) const = default;
};

/// Makes a webhook, or changes one.
struct PutWebhook {
  base::WebhookId webhook;  ///< nil: a new one
  model::WebhookSpec spec;
  bool keep_secret = false;  ///< the spec has none: the one that is there stays
  bool operator==(const PutWebhook&) const = default;
};
/// Its deliveries go with it.
struct RemoveWebhook {
  base::WebhookId webhook;
  bool operator==(const RemoveWebhook&) const = default;
};
struct TestWebhook {
  base::WebhookId webhook;
  bool operator==(const TestWebhook&) const = default;
};
/// Sends a delivery once more. One that has ended is only known to the store: the leader puts it
/// into the command.
struct RetryDelivery {
  model::DeliveryRecord delivery;
  bool operator==(const RetryDelivery&) const = default;
};
/// What came of an attempt to send.
struct SettleDelivery {
  base::DeliveryId delivery;
  std::uint32_t attempt = 0;  ///< attempts before this one
  bool delivered = false;
  std::uint32_t status = 0;
  Blob error;
  bool operator==(const SettleDelivery&) const = default;
};

/// Nobody led for `lost`, so that no worker could heartbeat: every lease that had not ended before
/// this entry is extended by it. Stands first in a leader's first entry, because what comes before
/// it in an entry is judged as if the time had been lost to nobody.
struct Resume {
  Duration lost;
  bool operator==(const Resume&) const = default;
};

/// The bounds that the server was started with. They travel in the log because every replica must
/// refuse the same commands; a leader proposes them where those in force are others.
struct SetLimits {
  std::uint32_t queues = model::limits::kQueues;
  std::uint32_t queues_per_key = model::limits::kQueuesPerKey;  ///< made by one restricted key
  std::uint32_t idempotency_keys_per_key = model::limits::kIdempotencyKeysPerKey;
  bool operator==(const SetLimits&) const = default;
};

/// Removes those of these queues that hold no job, live or kept, have no settings of their own, and
/// that nothing is to enqueue into. How long they have been like that is the leader's judgement.
struct ForgetQueues {
  std::vector<Blob> queues;
  bool operator==(const ForgetQueues&) const = default;
};

/// The order of the alternatives is part of the log's format: append only.
using Command =
    std::variant<Enqueue, EnqueueMany, Claim, Ack, Fail, Heartbeat, Cancel, Retry, Requeue, Move,
                 Delete, SetPriority, QueueCommand, SetConcurrency, SetThrottle, SetRetention,
                 SetLease, SetFairness, GroupCommand, CreateSchedule, UpdateSchedule,
                 ScheduleCommand, UpdateZone, RegisterWorker, RemoveWorker, Tick, AppendLogs,
                 StartBulk, BulkStep, EndBulk, Restrict, RecordAction, CreateKey, RevokeKey,
                 PutWebhook, RemoveWebhook, TestWebhook, RetryDelivery, SettleDelivery, Resume,
                 SetLimits, ForgetQueues>;

/// One record of the log: commands that are applied together at one log time.
struct Entry {
  Instant now;               ///< stamped by the leader
  std::uint64_t random = 0;  ///< drawn by the leader; ids and jitter come from it
  std::vector<Command> commands;
  /// How much tasks may do in all commands of the entry together, and how many deadlines a tick may
  /// fire: chosen by the leader. Zero: the engine's own bounds after each command.
  std::uint32_t work = 0;
  bool operator==(const Entry&) const = default;
};

}  // namespace jobbie::command
