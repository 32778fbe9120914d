// The reference model: a second reading of docs/lifecycle.md, made to be obviously right.
//
// Plain maps, linear scans and sorts; nothing is indexed, cached or counted ahead. It shares with
// the engine only the values (src/model), the stateless validation and cron's calendar. The
// simulator feeds both with the same entries and compares everything they say.
//
// Rule numbers in the sources of the model are those of docs/lifecycle.md.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command/command.hpp"
#include "command/event.hpp"
#include "command/reply.hpp"
#include "engine/options.hpp"
#include "model/access.hpp"
#include "model/cron.hpp"
#include "model/job.hpp"
#include "model/queue.hpp"
#include "model/records.hpp"
#include "model/webhook.hpp"

namespace jobbie::sim {

using base::Blob;
using base::Duration;
using base::Instant;
using base::JobId;
using command::Command;
using command::Entry;
using command::Refusal;
using command::Refused;
using command::Reply;
using model::JobRecord;
using model::JobSpec;
using model::State;

/// Number of a job, batch or schedule.
using Seq = std::uint64_t;
using Jobs = std::map<Seq, JobRecord>;

/// A job's deadlines, in the order of rule 1.4.
enum class Deadline : std::uint8_t { expiry, max_runtime, timeout, lease, run_at, unique };

struct DueAt {
  Instant at;
  Deadline kind = Deadline::expiry;
  auto operator<=>(const DueAt&) const = default;
};

/// The deadlines that a job has now, ascending; in a fixed array because this is asked all the
/// time.
struct DeadlineList {
  std::array<DueAt, 6> items{};
  std::size_t count = 0;
  void add(Instant at, Deadline kind) { items[count++] = {at, kind}; }
  [[nodiscard]] const DueAt* begin() const { return items.data(); }
  [[nodiscard]] const DueAt* end() const { return items.data() + count; }
  [[nodiscard]] std::optional<DueAt> earliest() const;
};
DeadlineList deadlines_of(const JobRecord& job);

/// Claims that a throttle counts, since it was set.
using ClaimTimes = std::vector<Instant>;

struct QueueState {
  model::QueueRecord record;
  ClaimTimes claims;
  std::map<std::string, ClaimTimes> keyed_claims;
};

struct ScheduleState {
  model::ScheduleRecord record;
  model::CronExpr cron;
};

/// An idempotency key and whose it is.
using ScopedKey = std::pair<base::KeyId, std::string>;
struct RememberedReply {
  std::uint64_t fingerprint = 0;
  Instant expires_at;
  Reply reply;
};

/// Changes of state seen, `kNoState` standing for a job that is not there.
inline constexpr std::size_t kNoState = model::kStates;
using Transitions = std::array<std::array<std::uint64_t, model::kStates + 1>, model::kStates + 1>;

/// What a model went through, for coverage.
struct Reached {
  Transitions transitions{};
  std::array<std::array<std::uint64_t, 2>, 6>
      fired{};                            ///< by deadline; second: asked to stop before
  std::array<std::uint64_t, 6> visits{};  ///< by kind of task
  std::uint64_t sliced_tasks = 0;         ///< outlived a slice
  std::uint64_t doomed = 0;   ///< deleted because touched while a clear or destroy was running
  std::uint64_t dropped = 0;  ///< candidates of claims whose time was over
};

class Model {
 public:
  explicit Model(const engine::Options& options) : options_(options) {}

  /// The replies that the engine must give.
  std::vector<Reply> apply(const Entry& entry);

  /// Moves the clock without doing anything: what an entry of no commands does to time.
  void advance(Instant now) { now_ = std::max(now_, now); }

  // What the auditor and the workload look at.
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] std::uint64_t entries() const { return entries_; }
  [[nodiscard]] std::uint64_t next_sequence() const { return next_sequence_; }
  [[nodiscard]] std::uint64_t next_lease() const { return next_lease_; }
  [[nodiscard]] const Jobs& live() const { return live_; }
  [[nodiscard]] const Jobs& ended() const { return ended_; }
  [[nodiscard]] const std::map<std::string, QueueState, std::less<>>& queues() const {
    return queues_;
  }
  [[nodiscard]] const std::set<std::string, std::less<>>& paused_groups() const {
    return paused_groups_;
  }
  [[nodiscard]] const std::map<Seq, model::BatchRecord>& batches() const { return batches_; }
  [[nodiscard]] const std::map<Seq, ScheduleState>& schedules() const { return schedules_; }
  [[nodiscard]] const std::map<std::string, model::WorkerRecord, std::less<>>& workers() const {
    return workers_;
  }
  [[nodiscard]] const std::map<ScopedKey, RememberedReply>& remembered() const {
    return remembered_;
  }
  [[nodiscard]] const command::SetLimits& limits() const { return limits_; }
  [[nodiscard]] const std::deque<model::TaskRecord>& tasks() const { return tasks_; }
  [[nodiscard]] const std::map<Seq, model::BulkRecord>& bulks() const { return bulks_; }
  [[nodiscard]] const std::map<Seq, model::KeyRecord>& keys() const { return keys_; }
  [[nodiscard]] const std::map<Seq, model::WebhookRecord>& webhooks() const { return webhooks_; }
  [[nodiscard]] const std::map<Seq, model::DeliveryRecord>& outbox() const { return outbox_; }
  /// The latest ones.
  [[nodiscard]] const std::vector<model::DeliveryRecord>& ended_deliveries() const {
    return ended_deliveries_;
  }
  [[nodiscard]] const Reached& reached() const { return reached_; }
  /// Jobs that the latest entry may have changed, made or removed; with repeats.
  [[nodiscard]] const std::vector<JobId>& touched() const { return touched_; }

  [[nodiscard]] const JobRecord* find(JobId id) const;  ///< live or ended
  /// When a worker that has everything a job may require can claim this job if nothing but time
  /// goes on: now, when a throttle opens, or never.
  [[nodiscard]] Instant claimable_at(const JobRecord& job) const;
  [[nodiscard]] bool has_queue_task(std::string_view queue) const;
  /// When the sweep may take this ended job.
  [[nodiscard]] Instant kept_until(const JobRecord& job) const;
  /// The earliest moment at which something of a job, schedule, task or sweep is due.
  [[nodiscard]] Instant next_deadline() const;
  [[nodiscard]] std::uint32_t active_of_worker(std::string_view worker) const;

 private:
  /// What a worker has, for routing.
  struct Capabilities {
    std::string worker;
    std::vector<Blob> roles;
    std::vector<Blob> tags;
  };
  struct FailedAttempt {
    std::string_view error;
    Blob backtrace;
    bool no_retry = false;
    std::optional<Duration> retry_in;
    model::LeaseEnd lease_end = model::LeaseEnd::failed;
  };

  Reply run(const Command& command);

  // model.cpp: numbers and the small things.
  base::Ulid next_ulid();
  void note(const JobRecord& job) { touched_.push_back(job.id); }
  void count_transition(std::size_t from, std::size_t to) { ++reached_.transitions[from][to]; }
  void set_state(JobRecord& job, State to);
  void arrive(JobRecord& job);
  QueueState& make_queue(std::string_view name);
  QueueState& queue_of(const JobRecord& job);
  [[nodiscard]] const QueueState& queue_of(const JobRecord& job) const;
  JobRecord* find_live(JobId id);
  JobRecord* find_any(JobId id);

  // model_enqueue.cpp
  struct Request;
  Reply on(const command::Enqueue& c);
  Reply on(const command::EnqueueMany& c);
  std::optional<Reply> recall(const command::Idempotency& idempotency) const;
  std::optional<Refusal> room_for_key(base::KeyId scope) const;
  std::optional<Refusal> room_for_request(const Request& request) const;
  void forget_remembered();
  void remember(const command::Idempotency& idempotency, const Reply& reply);
  std::optional<Refusal> enqueue_all(Request& request);
  std::optional<Refusal> check_dependencies(const std::vector<const JobSpec*>& jobs);
  static bool has_cycle(const Request& request, bool resolved);
  JobRecord& create(const JobSpec& spec);
  State place(JobRecord& job, const Request& request);
  JobRecord* enqueue_plain(const JobSpec& spec);

  // model_unique.cpp
  JobRecord* holder(std::string_view queue, std::string_view key);
  JobRecord* touch_holder(std::string_view queue, std::string_view key);
  void take_lock(JobRecord& job);
  void release_lock(JobRecord& job);

  // model_deadlines.cpp
  JobRecord* touch(JobId id);
  bool is_doomed(const JobRecord& job) const;
  void fire(JobRecord& job, Deadline kind);
  void expire(JobRecord& job);
  void lose_lease(JobRecord& job);
  void exceed_runtime(JobRecord& job);
  Reply on(const command::Tick& c);
  Reply on(const command::Resume& c);
  void sweep();

  // model_claim.cpp
  Reply on(const command::Claim& c);
  Capabilities capabilities_of(const command::Claim& c) const;
  static bool suits(const JobRecord& job, const Capabilities& worker);
  bool queue_runs(const QueueState& queue) const;
  bool key_runs(const QueueState& queue, const JobRecord& job) const;
  bool key_in_time(const QueueState& queue, const JobRecord& job) const;
  JobRecord* candidate_in(const QueueState& queue, const Capabilities& worker);
  JobRecord* candidate(const command::Claim& c, const Capabilities& worker);
  command::ClaimedJob start(JobRecord& job, const command::Claim& c);
  void see_worker(const command::Claim& c);

  // model_settle.cpp
  Reply on(const command::Ack& c);
  Reply on(const command::AppendLogs& c);
  Reply on(const command::Fail& c);
  Reply on(const command::Heartbeat& c);
  command::BeatStatus beat(const command::Beat& b);
  command::Settled fail_attempt(JobRecord& job, const FailedAttempt& how);
  void add_error(JobRecord& job, std::string_view error, const Blob& backtrace);
  void back_to_idle(JobRecord& job, State to);
  Duration backoff(const JobRecord& job) const;

  // model_ends.cpp
  State end(JobRecord& job, State to, std::string_view reason);
  void remove(JobRecord& job);
  void count_in_batch(JobRecord& job, bool succeeded);
  void tell_dependents(JobId id, bool completed);
  void finish_batches();

  // model_by_hand.cpp
  Reply on(const command::Cancel& c);
  Reply on(const command::Retry& c);
  Reply on(const command::Requeue& c);
  Reply on(const command::Move& c);
  Reply on(const command::Delete& c);
  Reply on(const command::SetPriority& c);
  bool can_take_lock(const JobRecord& job);
  void revive(JobRecord& job, bool keep_attempt, const Blob& payload);

  // model_queues.cpp
  Reply on(const command::QueueCommand& c);
  Reply on(const command::SetConcurrency& c);
  Reply on(const command::SetThrottle& c);
  Reply on(const command::SetRetention& c);
  Reply on(const command::SetLease& c);
  Reply on(const command::SetFairness& c);
  Reply on(const command::GroupCommand& c);
  Reply on(const command::RegisterWorker& c);
  Reply on(const command::RemoveWorker& c);
  Reply on(const command::SetLimits& c);
  Reply on(const command::ForgetQueues& c);
  [[nodiscard]] bool is_forgettable(const QueueState& queue) const;
  /// Whether those of the queues that are not there may be made, all of them.
  std::optional<Refusal> room_for_queues(const std::vector<Blob>& names,
                                         std::string_view field) const;
  std::optional<Refusal> room_for_queue(const Blob& name) const {
    return room_for_queues({name}, "queue");
  }
  std::uint64_t count_in_queue(std::string_view queue, bool idle_only) const;
  void forget_ended(std::string_view queue);

  // model_tasks.cpp
  model::TaskRecord& add_task(model::TaskKind kind, std::string_view subject);
  void run_tasks();
  [[nodiscard]] std::size_t units_of(const model::TaskRecord& task, const JobRecord& visited) const;
  JobRecord* next_visit(const model::TaskRecord& task);
  void visit(model::TaskRecord& task, JobRecord& visited);
  void visit_dependent(const model::TaskRecord& task, JobRecord& job);
  void finish_task(const model::TaskRecord& task);
  JobRecord* head_of_queue(const model::TaskRecord& task);
  JobRecord* head_of_group(const model::TaskRecord& task);

  // model_schedules.cpp
  Reply on(const command::CreateSchedule& c);
  Reply on(const command::UpdateSchedule& c);
  Reply on(const command::ScheduleCommand& c);
  Reply on(const command::UpdateZone& c);

  // model_bulk.cpp
  Reply on(const command::StartBulk& c);
  Reply on(const command::BulkStep& c);
  Reply on(const command::EndBulk& c);
  model::BulkRecord* find_bulk(base::BulkId id);
  Reply act(const command::BulkStep& c, JobId job);
  command::BulkStepped act_on_all(const command::BulkStep& c);

  // model_access.cpp
  Reply on(const command::Restrict& c);
  Reply on(const command::RecordAction& c);
  Reply on(const command::CreateKey& c);
  Reply on(const command::RevokeKey& c);
  [[nodiscard]] bool may_touch(const Blob& queue) const;
  [[nodiscard]] std::optional<Refusal> forbid(const Command& command) const;
  [[nodiscard]] bool may_remove(const command::RemoveWorker& c) const;
  [[nodiscard]] bool covers_queues_of(const model::WorkerRecord& worker) const;
  [[nodiscard]] bool may_use_worker(const Command& command) const;

  // model_webhooks.cpp
  Reply on(const command::PutWebhook& c);
  Reply on(const command::RemoveWebhook& c);
  Reply on(const command::TestWebhook& c);
  Reply on(const command::RetryDelivery& c);
  Reply on(const command::SettleDelivery& c);
  model::WebhookRecord* find_webhook(base::WebhookId id);
  model::DeliveryRecord& deliver(model::DeliveryRecord delivery);
  void tell(command::EventType type, const JobRecord* job, const Blob& queue,
            const Blob& detail = {});

  bool name_taken(std::string_view name, Seq by_other_than) const;
  Instant first_run_after(const ScheduleState& schedule, Instant after) const;
  command::ScheduleReply shown(const ScheduleState& schedule) const;
  void run_schedules();
  std::optional<Instant> due_instant(ScheduleState& schedule) const;
  void run_schedule(ScheduleState& schedule, Instant nominal);

  engine::Options options_;
  Instant now_;
  Instant before_;  ///< the time when the latest entry came
  std::uint64_t random_ = 0;
  std::uint64_t entries_ = 0;
  std::uint64_t next_sequence_ = 1;
  std::uint64_t next_lease_ = 1;
  std::uint64_t next_arrival_ = 1;
  std::uint64_t next_task_ = 1;
  std::size_t entry_work_ = 0;  ///< that the entry allows; 0: as the options say
  std::size_t work_left_ = 0;   ///< of that

  Jobs live_;
  Jobs ended_;  ///< those that are kept
  std::map<std::string, QueueState, std::less<>> queues_;
  std::set<std::string, std::less<>> paused_groups_;
  std::map<Seq, model::BatchRecord> batches_;  ///< finished ones too
  std::map<Seq, ScheduleState> schedules_;
  std::map<std::string, model::WorkerRecord, std::less<>> workers_;
  std::map<ScopedKey, RememberedReply> remembered_;
  std::deque<model::TaskRecord> tasks_;
  std::map<Seq, model::BulkRecord> bulks_;
  std::map<Seq, model::KeyRecord> keys_;
  std::map<Seq, model::WebhookRecord> webhooks_;
  std::map<Seq, model::DeliveryRecord> outbox_;
  std::vector<model::DeliveryRecord> ended_deliveries_;
  std::vector<Blob> allowed_;     ///< queues of the commands that are restricted
  std::uint64_t restricted_ = 0;  ///< how many those are still
  base::KeyId restricting_;       ///< of these
  base::KeyId caller_;            ///< of the command being applied, if it is restricted by a key
  command::SetLimits limits_;
  std::vector<Seq> finishing_;  ///< batches whose last member was counted in this command

  std::uint64_t group_retry_ = 0;    ///< number of the task that this command made
  std::uint64_t group_retried_ = 0;  ///< what its first slice did

  std::vector<JobId> touched_;
  Reached reached_;
};

/// Text fields compared as text.
inline bool is(const Blob& blob, std::string_view text) { return blob.view() == text; }
/// The value that a keyed limit counts this job by; nothing: the job has none.
std::optional<std::string> limit_key(const JobRecord& job, const Blob& per);
/// Attempts that a job may have.
inline std::uint32_t allowed_attempts(const JobRecord& job) {
  return std::max<std::uint32_t>(1, job.spec.max_retries);
}

}  // namespace jobbie::sim
