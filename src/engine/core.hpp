// The engine's state and the steps that its verbs are made of.
//
// Each command is a file of its own (enqueue.cpp, claim.cpp, …) with the members that only it uses;
// what they share is grouped below by topic, each topic again a file. Every change of a job's state
// goes through `set_state`, every end through `end_job` or `delete_job`: there, and only there,
// counters, lanes, locks, batches and dependents are kept in step.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "command/command.hpp"
#include "command/item.hpp"
#include "command/reply.hpp"
#include "engine/batches.hpp"
#include "engine/change_log.hpp"
#include "engine/dependents.hpp"
#include "engine/ended_jobs.hpp"
#include "engine/engine.hpp"
#include "engine/idempotency.hpp"
#include "engine/indexed_heap.hpp"
#include "engine/job.hpp"
#include "engine/keys.hpp"
#include "engine/locks.hpp"
#include "engine/memory_account.hpp"
#include "engine/options.hpp"
#include "engine/queue_heads.hpp"
#include "engine/queue_patterns.hpp"
#include "engine/queue_state.hpp"
#include "engine/restriction.hpp"
#include "engine/schedules.hpp"
#include "engine/sequence_index.hpp"
#include "engine/slab.hpp"
#include "engine/workers.hpp"
#include "model/limits.hpp"

namespace jobbie::engine {

using command::EventType;
using command::Refusal;
using command::Refused;
using command::Reply;

struct TimerPosition {
  Slab<Job>* jobs = nullptr;
  std::uint32_t& operator()(std::uint32_t slot) const { return (*jobs)[slot].timer_position; }
};

/// Ended jobs of one queue, state and minute whose count has changed.
struct TallyRef {
  Blob queue;
  State state = State::completed;
  std::int64_t minute = 0;
};

/// The deadlines of a job, in the order in which they happen at the same instant.
enum class Due : std::uint8_t { expiry, max_runtime, timeout, lease, run, unique, nothing };
struct NextDue {
  Instant at = base::kNever;
  Due what = Due::nothing;
};

inline constexpr std::int64_t kMinute = 60'000;
/// Jobs and lanes looked at when asking for the oldest pending jobs of a page of queues.
inline constexpr std::size_t kOldestLookups = 10'000;
/// Dependencies of a job that count as one job visited.
inline constexpr std::size_t kDependenciesPerWork = 64;

/// Completed, dead and cancelled as 0, 1 and 2.
constexpr std::size_t ended_index(State state) {
  return static_cast<std::size_t>(state) - static_cast<std::size_t>(State::completed);
}

/// A queue that a claim may take a job from, or a block of queues that has not been opened.
struct Candidate {
  ReadyKey key = kNothingReady;  ///< the job's, or a bound until that is looked for
  Slot queue = 0;                ///< 0: a block
  Slot job = 0;  ///< the queue's best job for the worker, 0: not looked for yet; or the block
};

Refusal refuse(Refused code, std::string_view field, std::string_view message);

using ItemSink = std::function<void(const command::Item&)>;

class Core {
 public:
  Core(EndedJobs& ended, const Options& options);

  void apply(const command::Entry& entry, Outcome& outcome);
  [[nodiscard]] Instant next_deadline() const;
  command::Changes drain_changes();
  std::uint64_t state_hash();
  void dump(const ItemSink& sink) const;
  void dump_queue(const Queue& queue, const ItemSink& sink) const;
  [[nodiscard]] Why why(JobId id) const;
  [[nodiscard]] std::string audit() const;
  [[nodiscard]] std::string audit_job(Slot slot, const Job& job) const;
  [[nodiscard]] std::string audit_lists() const;
  [[nodiscard]] std::string audit_owners() const;
  [[nodiscard]] bool audit_head(const Queue& queue) const;
  [[nodiscard]] std::string audit_memory() const;
  void why_limits(const Job& job, std::vector<WhyReason>& reasons) const;
  void why_order(Slot slot, std::vector<WhyReason>& reasons) const;

  // ---- verbs: one overload for each command
  // -------------------------------------------------------
  Reply run(const command::Enqueue& c);
  Reply run(const command::EnqueueMany& c);
  Reply run(const command::Claim& c);
  Reply run(const command::Ack& c);
  Reply run(const command::Fail& c);
  Reply run(const command::Heartbeat& c);
  Reply run(const command::Cancel& c);
  Reply run(const command::Retry& c);
  Reply run(const command::Requeue& c);
  Reply run(const command::Move& c);
  Reply run(const command::Delete& c);
  Reply run(const command::SetPriority& c);
  Reply run(const command::QueueCommand& c);
  Reply run(const command::SetConcurrency& c);
  Reply run(const command::SetThrottle& c);
  Reply run(const command::SetRetention& c);
  Reply run(const command::SetLease& c);
  Reply run(const command::SetFairness& c);
  Reply run(const command::GroupCommand& c);
  Reply run(const command::CreateSchedule& c);
  Reply run(const command::UpdateSchedule& c);
  Reply run(const command::ScheduleCommand& c);
  Reply run(const command::UpdateZone& c);
  Reply run(const command::RegisterWorker& c);
  Reply run(const command::RemoveWorker& c);
  Reply run(const command::Tick& c);
  Reply run(const command::AppendLogs& c);
  Reply run(const command::StartBulk& c);
  Reply run(const command::BulkStep& c);
  Reply run(const command::EndBulk& c);
  Reply run(const command::Restrict& c);
  Reply run(const command::RecordAction& c);
  Reply run(const command::CreateKey& c);
  Reply run(const command::RevokeKey& c);
  Reply run(const command::PutWebhook& c);
  Reply run(const command::RemoveWebhook& c);
  Reply run(const command::TestWebhook& c);
  Reply run(const command::RetryDelivery& c);
  Reply run(const command::SettleDelivery& c);
  Reply run(const command::Resume& c);
  Reply run(const command::SetLimits& c);
  Reply run(const command::ForgetQueues& c);

  // ---- keys and what they allow (key_commands.cpp)
  // --------------------------------------------------------
  /// Why the restriction that holds now does not let the command happen; nothing: it may.
  std::optional<Refusal> forbid(const command::Command& command);
  std::optional<Refusal> forbid_queue(std::string_view queue, std::string_view field) const;
  /// Whether the worker belongs to somebody else than the restricted caller.
  [[nodiscard]] bool is_foreign(const Worker& worker) const;
  std::optional<Refusal> forbid_worker(const command::Command& command);

  // ---- webhooks (webhooks.cpp)
  // --------------------------------------------------------------------
  /// After a webhook has come, gone or changed: which events anybody wants.
  void note_webhooks();
  void tell_webhooks(const command::Event& event);
  model::DeliveryRecord& add_delivery(model::DeliveryRecord delivery);
  model::DeliveryRecord& place_delivery(model::DeliveryRecord delivery);
  void remove_delivery(std::uint64_t sequence);
  [[nodiscard]] model::WebhookRecord* find_webhook(base::WebhookId id);
  [[nodiscard]] model::Outbox due_deliveries(Instant now, std::size_t each) const;
  void drain_webhooks(command::Changes& out);

  // ---- jobs: finding and transitions (jobs.cpp, ends.cpp)
  // -----------------------------------------
  /// The job's slot, asking the port for an ended one; 0: there is no such job.
  Slot locate(JobId id);
  /// The same after the job's passed deadlines have happened.
  Slot locate_settled(JobId id);
  /// Lets passed deadlines happen; whether the job still exists.
  bool settle(Slot slot);
  /// Whether a running clear or destroy means the (live) job.
  [[nodiscard]] bool is_doomed(const Job& job) const;
  [[nodiscard]] bool exists(Slot slot, std::uint64_t sequence) const {
    return index.find(sequence) == slot;
  }
  /// Makes a job of `spec`, without a state: `open_job` gives it one.
  Slot create_job(const model::JobSpec& spec);
  void open_job(Slot slot);
  void set_state(Slot slot, State to);
  void end_job(Slot slot, State to, std::string_view reason);
  void delete_job(Slot slot);
  /// Takes an ended job back among the live ones (retry, requeue), as pending.
  void revive_job(Slot slot);
  void forget_job(Slot slot);
  /// The common part of an end and a deletion: out of every live structure.
  void detach(Slot slot, State to);
  void forget_digest(Slot slot);
  /// Does up to `budget` of what the state hash has to do for jobs, and takes it off `budget`;
  /// whether nothing of it is left.
  bool hash_jobs(std::size_t& budget);
  void hash_job(Job& job);
  void touch(Slot slot);
  [[nodiscard]] model::JobRecord record_of(const Job& job) const;
  /// The same into a fresh record.
  void fill_record(const Job& job, model::JobRecord& record) const;
  /// What every job has.
  void fill_plain(const Job& job, model::PlainJob& plain) const;
  /// The same of a job that is about to go: its texts go along, which spares counting them.
  void give_plain(Job& job, model::PlainJob& plain) const;
  /// The same without its own texts: payload, worker and hostname.
  void fill_without_texts(const Job& job, model::PlainJob& plain) const;
  /// A job built from a record, linked to nothing yet.
  Slot adopt(const model::JobRecord& record);
  /// Nothing if `ref` names the live lease of the job; else why not.
  std::optional<Refusal> check_lease(const Job& job, const command::LeaseRef& ref) const;
  void add_error(Job& job, std::string_view error, const Blob& backtrace);
  /// What follows a failed attempt: dead, or another try after `delay` (nothing: the backoff).
  void fail_attempt(Slot slot, bool no_retry, std::optional<Duration> delay);
  [[nodiscard]] Duration backoff(const Job& job) const;

  // ---- the account of memory (footprint.cpp)
  // ------------------------------------------------------
  /// About how many bytes the state takes.
  [[nodiscard]] std::uint64_t memory() const;
  void weigh_new(Job& job);
  /// What of a job changes while it lives; touch() does it.
  void weigh_parts(Job& job);
  /// Gives up a job's slot and its entry in the index.
  void release_job(Slot slot);

  // ---- deadlines (timers.cpp)
  // ---------------------------------------------------------------------
  [[nodiscard]] static NextDue next_due(const Job& job);
  void rearm(Slot slot);
  void fire(Slot slot, Due what);
  void lose_lease(Slot slot);

  // ---- unique keys (unique.cpp)
  // -------------------------------------------------------------------
  /// The job that holds the key now, after its passed deadlines; 0: nobody.
  Slot lock_holder(Slot queue, std::string_view key);
  /// The same for the key that a job asks for; 0 also if it asks for none.
  Slot lock_holder_of(const model::JobSpec& spec);
  void release_lock(Slot slot) { locks.release(slot, queue_of(jobs[slot])); }

  // ---- batches and dependencies (batches.cpp, dependencies.cpp)
  // -----------------------------------
  base::BatchId open_batch(const command::BatchSpec& spec);
  void count_in_batch(Job& job, bool succeeded);
  void finish_batches();
  void wait_for(Slot slot, JobId dependency);
  void stop_waiting(Slot slot);
  void tell_dependents(const Job& job, bool completed);
  [[nodiscard]] std::size_t work_of_release(Slot waiter) const;
  void dependency_ended(Slot waiter, JobId dependency, bool completed);

  // ---- queues and groups (queues.cpp, groups.cpp)
  // -------------------------------------------------
  [[nodiscard]] Slot find_queue(std::string_view name) const;
  Slot make_queue(const Blob& name);
  [[nodiscard]] Queue& queue_of(const Job& job) { return *queues[job.queue]; }
  [[nodiscard]] const Queue& queue_of(const Job& job) const { return *queues[job.queue]; }
  void remove_queue(Slot queue);
  void set_owner(Queue& queue, base::KeyId owner);
  /// Whether nothing would be missed but the name.
  [[nodiscard]] bool is_forgettable(const Queue& queue) const;
  /// A schedule or a callback is to enqueue into the queue of that name, or no longer.
  void expect_jobs_in(const Blob& queue);
  void expect_no_jobs_in(const Blob& queue);
  void link_to_queue(Slot slot);
  void unlink_from_queue(Slot slot);
  /// To the end of its queue's and its group's list.
  void arrive_again(Slot slot);
  void tally(Queue& queue, State state, Instant ended_at, bool add);
  void plan_sweep(Queue& queue, State state);
  static Instant sweep_due(const Queue& queue, State state, std::int64_t minute);
  void queue_changed(Queue& queue);
  void mark_ready(Queue& queue);
  [[nodiscard]] Slot find_group(std::string_view name) const;
  Slot make_group(const Blob& name);
  void leave_group(Slot slot);
  void join_group(Slot slot);
  /// Counts the job in its group, without a place in the list.
  void enrol_in_group(Slot slot);
  void unlink_from_group(Slot slot);
  void link_to_group(Slot slot);
  void drop_group_if_idle(Slot group);
  void set_group_paused(Slot group, bool paused);

  Reply clear_queue(Queue& queue);
  Reply destroy_queue(Queue& queue);
  void relane(Queue& queue);
  void setting_changed(Queue& queue);
  void clear_windows(Queue& queue, bool keyed);
  void update_limiters(const TextMap<Slot>& keys);

  // ---- claimable order (ready.cpp) and limits (limits.cpp)
  // ----------------------------------------
  void enter_lane(Slot slot);
  void leave_lane(Slot slot);
  Need* need_of(Queue& queue, const Job& job);
  Slot make_lane(Queue& queue, const LaneKey& key);
  void drop_lane(Queue& queue, Slot lane);
  /// Puts a lane where its head and its limits want it, or out of the order while it is closed.
  void place_lane(Slot lane);
  void place_bucket(Need& need, Slot bucket);
  /// Keeps what claims go by in step with the queue's order.
  void note_head(const Queue& queue);
  void start_ordering(Queue& queue);
  void stop_ordering(Queue& queue);
  void set_fairness(Queue& queue, model::Fairness fairness);
  [[nodiscard]] bool lane_is_open(const Lane& lane) const;
  [[nodiscard]] bool has_room(Queue& queue);
  /// The keys under which the queue's keyed limits count a job; makes the limiters.
  /// Claims that the throttle counts now (`limiter` null: the queue's own).
  std::uint64_t claims_in_window(Queue& queue, Limiter* limiter);
  Slot join_limiter(Queue& queue, bool throttle, const std::string& key);
  void assign_keys(Slot slot);
  void drop_keys(Slot slot);
  void count_active(Slot slot, bool begins);
  void count_claim(Slot slot);
  void window_changed(Queue& queue, Limiter* limiter);
  void update_limiter(Slot limiter);
  void drop_limiter_if_idle(Slot limiter);
  void wake_throttles();
  void wake_queue(Queue& queue);
  /// After loading: windows may have opened unheard.
  void wake_throttled_queues();
  /// `limiter` 0: the queue's own throttle.
  void schedule_wake(Instant at, Queue& queue, Slot limiter);

  // ---- tasks (tasks.cpp)
  // --------------------------------------------------------------------------
  void add_task(model::TaskRecord task);
  /// Does up to a slice of work; the number of jobs that the watched group retry brought back.
  std::uint64_t run_tasks();
  void forget_task(const model::TaskRecord& task);
  bool step_task(model::TaskRecord& task, std::size_t& budget, std::uint64_t& revived);
  bool visit_queue(model::TaskRecord& task, std::size_t& budget);
  void relane_job(Slot slot);
  void release_queue_parts(Queue& queue);
  void reset_queue(Queue& queue);
  bool visit_group(model::TaskRecord& task, std::size_t& budget);
  void cancel_visited(const model::TaskRecord& task, Slot slot);
  bool retry_group_page(model::TaskRecord& task, std::size_t& budget, std::uint64_t& revived);
  bool release_dependents(model::TaskRecord& task, std::size_t& budget);
  void finish_queue_task(model::TaskRecord& task);
  std::vector<model::JobRecord> dead_of_group(const model::TaskRecord& task, std::size_t limit);

  command::BeatStatus beat(const command::Beat& beat);

  model::BulkRecord* find_bulk(base::BulkId id);
  Reply bulk_act(const command::BulkStep& c, JobId job);
  command::BulkStepped bulk_act_on_all(const command::BulkStep& c);

  State cancel_job(Slot slot);
  std::optional<Refusal> check_revival(Slot slot);
  void retry_job(Slot slot);
  void move_live(Slot slot, Slot to, std::int32_t priority);
  void move_ended(Slot slot, Slot to);

  // ---- claims (claim.cpp)
  // ---------------------------------------------------------------------------
  /// The queues that the claim's globs match, or with `all` those it names too.
  QueueSetView queues_of(const command::Claim& c, bool all);
  bool has_nothing_for(const command::Claim& c);
  /// Looks at up to `budget` names for the claim's globs; whether nothing is left to look at.
  bool knows_globs(const command::Claim& c, std::size_t& budget);
  /// The queue with the smallest bound among those that the claim names; 0: nothing is pending.
  Slot first_queue(const command::Claim& c);
  /// Fills `candidates`; the queues that their blocks stand for.
  QueueSetView collect_candidates(const command::Claim& c);
  void claim_job(Slot slot, const command::Claim& c, const Worker* worker,
                 command::ClaimedJob& out);

  // ---- the rest
  // -----------------------------------------------------------------------------------
  std::optional<Refusal> check_dependencies(std::span<const model::JobSpec> specs, bool in_list);
  /// For each job of a request the position that its unique key comes to: its own, an earlier one,
  /// or a job that was there before (whose reply is filled in).
  std::vector<std::uint32_t> find_takers(std::span<const model::JobSpec> specs,
                                         std::span<command::Enqueued> request);
  std::optional<Refusal> check_cycles(std::span<const model::JobSpec> specs,
                                      std::span<const std::uint32_t> taker) const;
  bool settle_dependencies(Slot slot, const model::JobSpec& spec,
                           std::span<const command::Enqueued> request);
  void open_jobs(std::span<const model::JobSpec> specs, std::span<command::Enqueued> request);
  /// Gives a job just made its first state, and says which.
  State open_new_job(Slot slot, const model::JobSpec& spec,
                     std::span<const command::Enqueued> request);
  std::optional<Refusal> room_for(std::span<const model::JobSpec> specs, const Blob& callback = {});
  std::optional<Refusal> room_for_queue(const Blob& name, std::string_view field);
  /// What a restricted key names for later is made at once, so that it counts; nothing for others.
  std::optional<Refusal> make_owned_queue(const Blob& name);
  /// Whether so many queues that are not there yet may be made.
  [[nodiscard]] std::optional<Refusal> room_for_queues(std::size_t count,
                                                       std::string_view field) const;
  std::optional<Reply> replay_idempotent(const command::Idempotency& idempotency);
  void remember_idempotent(const command::Idempotency& idempotency, const Reply& reply);
  /// As Workers::see, and tells of one that has joined.
  const Worker* see_worker(const Blob& id, const command::Claim* claim);
  void remove_worker(const Blob& id);
  void fire_schedules();
  void fire_schedule(const Schedule& schedule, std::size_t& budget);
  [[nodiscard]] command::ScheduleReply show_schedule(const Schedule& schedule) const;
  JobId run_schedule(const Schedule& schedule, Instant nominal);
  void sweep_ended();
  void forget_swept(const std::set<Slot>& swept);
  [[nodiscard]] std::optional<Refusal> room_for_idempotent(base::KeyId scope) const;
  void drop_silent_workers();
  [[nodiscard]] std::vector<const Queue*> queues_by_name() const;
  void drain_queues(command::Changes& out);
  void drain_jobs(command::Changes& out);
  void release_ended();
  /// Tables that hold little of what they once held give memory back.
  void shrink_tables();
  /// What loading made is not a change.
  void forget_changes();
  /// Looks at up to `looks` jobs and lanes for the oldest job, and takes them off it.
  [[nodiscard]] model::QueueView view_of(const Queue& queue, std::size_t& looks) const;
  [[nodiscard]] static model::QueueRecord queue_record(const Queue& queue);
  /// The claims that still count; empty: there is nothing to keep.
  [[nodiscard]] model::WindowRecord window_record(const Queue& queue, bool keyed, const Blob& key,
                                                  const Window* window) const;
  [[nodiscard]] std::uint32_t draw(std::uint64_t salt) const;
  base::Ulid next_ulid(std::uint64_t sequence) const;
  [[nodiscard]] Duration elapsed_at(EventType type, const Job* job) const;
  void emit(EventType type, const Job* job, const Blob& queue, Blob detail = {});
  void emit(EventType type, const Job& job, Blob detail = {}) {
    emit(type, &job, queue_of(job).name, std::move(detail));
  }

  // ---- state
  // --------------------------------------------------------------------------------------
  EndedJobs& ended_port;
  Options options;
  model::MetaRecord meta;
  std::uint64_t random = 0;      ///< of the entry being applied
  Instant time_before;           ///< log time when the entry being applied came
  std::uint32_t entry_work = 0;  ///< that the entry being applied allows; 0: as the options say
  std::size_t work_left = 0;     ///< of that
  Outcome* outcome = nullptr;

  MemoryAccount account;  ///< of jobs, batches, schedules and workers
  ChangeLog changes;

  Slab<Job> jobs;
  SequenceIndex index;  ///< sequence → slot, also of ended jobs that are not drained
  IndexedHeap<TimerKey, TimerPosition> timers{TimerPosition{&jobs}};
  std::size_t live = 0;

  std::vector<std::unique_ptr<Queue>> queues;  ///< by slot; slot 0 is nobody
  QueueHeads heads;                            ///< of queues, by slot
  std::vector<Slot> free_queues;
  mutable Slot last_found = 0;  ///< the queue last asked for by name, or 0. A memo, not state.
  TextMap<Slot> queue_names{0, TextHash{options.hash_seed}};
  QueuePatterns queue_patterns{options.hash_seed};
  std::unordered_map<base::KeyId, std::uint64_t> owned_queues;  ///< by owner: how many
  /// By name: schedules and unfinished batches that are to enqueue into that queue.
  TextMap<std::uint32_t> expected_queues{0, TextHash{options.hash_seed}};
  Slab<Lane> lanes;
  Slab<Bucket> buckets;
  Slab<Limiter> limiters;
  /// Throttles that will have room: (when, queue, limiter or 0 for the queue's own).
  std::set<std::tuple<Instant, Slot, Slot>> wakes;

  std::vector<std::unique_ptr<Group>> groups;
  std::vector<Slot> free_groups;
  TextMap<Slot> group_names{0, TextHash{options.hash_seed}};

  Locks locks{jobs, options.hash_seed};
  Batches batches{account};
  Dependents dependents;

  Schedules schedules{account, options.hash_seed};
  Workers workers{account, options.hash_seed};

  Idempotency idempotency{options.hash_seed};

  Keys api_keys;
  Restriction restriction;  ///< of the commands being applied
  base::KeyId caller;       ///< the restricted key that the command at work is from; nil: none

  std::map<std::uint64_t, model::WebhookRecord> webhooks;  ///< by sequence
  std::uint64_t webhook_events = 0;  ///< that any of them wants: bits of EventType
  std::map<std::uint64_t, model::DeliveryRecord> outbox;  ///< waiting deliveries, by sequence
  /// By webhook: (when, delivery).
  std::map<std::uint64_t, std::set<std::pair<Instant, std::uint64_t>>> outbox_times;
  std::uint64_t outbox_revision = 0;  ///< rises when a sender should look; not state

  std::set<std::tuple<Instant, Slot, State>> sweep_times;  ///< (due, queue, ended state)
  std::deque<model::TaskRecord> tasks;
  std::map<std::uint64_t, model::BulkRecord> bulks;  ///< by sequence
  std::uint64_t watched_task = 0;  ///< the group retry whose first slice is reported

  // ---- what has changed since the last drain (changes.cpp)
  // ----------------------------------------
  std::vector<Slot> changed_queues;
  std::vector<TallyRef> changed_tallies;
  std::set<std::tuple<std::string, bool, std::string>> changed_windows;  ///< (queue, keyed, key)
  std::vector<std::string> changed_groups;
  std::set<std::uint64_t> changed_tasks;
  std::set<std::uint64_t> changed_bulks;
  std::set<std::uint64_t> changed_webhooks;
  std::set<std::uint64_t> changed_deliveries;
  std::vector<model::DeliveryRecord> ended_deliveries;

  // ---- the state hash (state_hash.cpp)
  // ------------------------------------------------------------
  bool hashing = false;  ///< digests of jobs are kept up to date,
  Slot hash_next = 0;    ///< of those in slots below this one
  std::uint64_t job_digests = 0;
  std::vector<JobRef> unhashed_jobs;

  // Of the claim being made: kept for their memory.
  std::vector<Candidate> candidates;
  QueueSet claimed_queues;
};

}  // namespace jobbie::engine
