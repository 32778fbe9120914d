// A request on its way between a face and the node: commands or a question in, replies out.
//
// A face makes a Call on the thread of its connection and submits it. The node puts its commands
// into one entry, waits until that is durable, applies it, and gives the call back to the inbox it
// came from, where `finish` runs on the face's own thread. So nothing here needs a lock: a call is
// owned by one thread at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/blob.hpp"
#include "base/id.hpp"
#include "base/time.hpp"
#include "call/backup.hpp"
#include "call/bell.hpp"
#include "call/event_feed.hpp"
#include "call/keys.hpp"
#include "call/principal.hpp"
#include "command/command.hpp"
#include "command/reply.hpp"
#include "model/job.hpp"
#include "model/log_line.hpp"
#include "model/queue.hpp"
#include "model/records.hpp"
#include "search/filter.hpp"
#include "stats/error_groups.hpp"
#include "stats/stats.hpp"

namespace jobbie::call {

/// Why a call comes back without an answer. It changed nothing, except for `lost_track`.
enum class Trouble : std::uint8_t {
  none = 0,
  overloaded,     ///< a bounded queue is full: 429, try again soon
  no_leader,      ///< 503, try again soon
  stopping,       ///< the node is shutting down: 503
  disk_full,      ///< 507: reads go on, writes wait for space
  lost_track,     ///< proposed, and the outcome is not known (leadership lost): 503
  unreadable,     ///< the database could not be read: 500
  too_slow,       ///< a search took longer than it may: 422
  behind,         ///< the database is too far behind to search in: 503
  revoked,        ///< the caller's key is gone: 401
  removed,        ///< the node is no longer in its cluster: 503, ask another one
  damaged,        ///< the database is damaged or its files are gone: 503, nothing is acknowledged
  cancelled,      ///< the client closed its side before a question was answered: 503
  memory_full,    ///< 429: nothing that stays is taken until there is memory
  out_of_memory,  ///< 503: there was no memory for this answer
};
inline constexpr Trouble kLastTrouble = Trouble::out_of_memory;

/// Questions that the node answers from its own state, after everything it has applied.
struct JobQuery {
  base::JobId job;
};
struct BatchQuery {
  base::BatchId batch;
};
struct StatusQuery {};

/// One page of names after `after`, ascending; an empty text is no condition.
struct NamePage {
  std::string after;
  std::string prefix;
  std::string glob;
  std::size_t limit = 1;
};
/// Each of the four below asks for a page, or for the one that `only` names.
struct QueuesQuery {
  NamePage page;
  std::string only;
};
struct GroupsQuery {
  NamePage page;
};
struct WorkersQuery {
  NamePage page;
  std::string only;
};
struct SchedulesQuery {
  base::ScheduleId after;  ///< nil: from the first
  std::size_t limit = 1;
  base::ScheduleId only;  ///< nil: a page
};
/// Why a job is not running.
struct WhyQuery {
  base::JobId job;
};
/// A time series: of one queue, or (empty) of all.
struct StatsQuery {
  base::Blob queue;
  stats::Resolution resolution = stats::Resolution::second;
  base::Instant since;
  base::Instant until = base::kMaxInstant;
};
struct MetricsQuery {};
// The following are answered from the database, after everything that was acknowledged before.
struct ErrorsQuery {
  base::Blob queue;  ///< empty: all
};
struct LogsQuery {
  base::JobId job;
  std::uint64_t after = 0;
  std::uint32_t limit = 0;
};
struct SearchQuery {
  search::Request request;
};
/// Batches by the order of their creation, the latest first.
struct BatchesQuery {
  std::optional<bool> finished;
  std::uint64_t before = base::kMaxSequence + 1;  ///< sequences below this one
  std::uint32_t limit = search::kDefaultLimit;
};
/// Jobs that match, in the order of their sequences: after < sequence ≤ upto.
struct SliceQuery {
  search::Filter filter;
  std::uint64_t after = 0;
  std::uint64_t upto = base::kMaxSequence;
  std::uint32_t limit = 1;
  bool count = false;  ///< count all that match instead
};
/// What the actions of bulk operations are called, in requests and in the audit log.
inline constexpr std::array<std::string_view, 6> kBulkActionNames = {
    "retry", "delete", "cancel", "move", "requeue", "change_priority"};
[[nodiscard]] constexpr std::string_view name_of(model::BulkAction action) {
  return kBulkActionNames.at(static_cast<std::size_t>(action));
}
/// A bulk operation: by ids, or by a filter. Up to search::kMaxTotal jobs are done before the
/// answer comes; more by filter become an operation of their own.
struct BulkQuery {
  model::BulkAction action = model::BulkAction::retry;
  base::Blob queue;
  std::int32_t priority = model::kNormal;
  std::vector<base::JobId> jobs;
  search::Filter filter;
  base::Blob filter_text;  ///< empty: by ids
  bool dry_run = false;
};
/// A nil id: all of them. With `seen`, the answer may wait a moment until the operation's cursor is
/// another one.
struct BulksQuery {
  base::BulkId bulk;
  std::optional<std::uint64_t> seen;
};
/// All keys there are: they are few.
struct KeysQuery {};
/// The audit log, newest first; an empty text is no condition.
struct AuditQuery {
  std::uint64_t before = 0;  ///< numbers below this one; zero: from the newest on
  std::uint32_t limit = 1;
  std::string key;  ///< a key's id or name
  std::string action;
  std::string target;
  base::Instant since;
  base::Instant until = base::kMaxInstant;
};
/// All webhooks, or the one that `only` names (nil: all).
struct WebhooksQuery {
  base::WebhookId only;
};
/// Deliveries of a webhook, newest first.
struct DeliveriesQuery {
  base::WebhookId webhook;
  std::uint64_t before = 0;  ///< sequences below this one; zero: from the newest on
  std::uint32_t limit = 1;
  std::optional<model::DeliveryState> state;
};
/// What is due to be sent, at most `each` for one webhook; nothing on a node that does not lead.
struct OutboxQuery {
  std::size_t each = 1;
};
/// A change of the cluster that somebody wants; the leader sees to it.
enum class ClusterAction : std::uint8_t {
  transfer = 0,  ///< leadership to the node called `target`; empty: to whoever is best prepared
  remove = 1,    ///< the node called `target`
  add = 2,       ///< the node without a log that listens on the address `target`
  snapshot = 3,  ///< of the state, now
};
inline constexpr ClusterAction kLastClusterAction = ClusterAction::snapshot;
struct ClusterChange {
  ClusterAction action = ClusterAction::transfer;
  std::string target;
};
using Query = std::variant<std::monostate, JobQuery, BatchQuery, StatusQuery, QueuesQuery,
                           GroupsQuery, WorkersQuery, SchedulesQuery, WhyQuery, StatsQuery,
                           MetricsQuery, ErrorsQuery, LogsQuery, SearchQuery, BatchesQuery,
                           SliceQuery, BulkQuery, BulksQuery, KeysQuery, AuditQuery, WebhooksQuery,
                           DeliveriesQuery, OutboxQuery, BackupQuery, ClusterChange>;

/// A member of the cluster, as the node that was asked sees it.
struct NodeRow {
  std::uint64_t id = 0;
  std::string name;
  std::string address;
  std::string http;
  bool voter = false;
  bool leader = false;
  bool self = false;
  bool connected = false;                      ///< both ways; of the node itself: always
  std::optional<std::uint64_t> matched_index;  ///< what it has of the log; known to the leader
  const char* replication = nullptr;           ///< probe, replicate or snapshot; on the leader
  std::optional<std::int64_t> round_trip_us;
  base::Instant since;     ///< when its connection last changed; zero: never
  std::string last_error;  ///< of the connection
};

/// How the node itself stands.
struct NodeStatus {
  std::uint64_t node_id = 0;
  std::uint64_t cluster_id = 0;
  std::string name;
  const char* role = "leader";  ///< leader, follower, learner, candidate, forming, removed
  std::uint64_t leader_id = 0;  ///< zero: none is known
  std::uint64_t commit_index = 0;
  std::uint64_t first_index = 0;  ///< of the log
  std::vector<NodeRow> nodes;
  std::uint64_t term = 0;
  std::uint64_t applied_index = 0;
  std::uint64_t stored_index = 0;   ///< in the database
  std::uint64_t durable_index = 0;  ///< in the database, and synced: the log is cut behind it
  std::uint64_t state_hash = 0;
  std::uint64_t live_jobs = 0;
  std::uint64_t waiting_fetches = 0;
  std::uint64_t store_lag_rows = 0;
  bool leader = false;
  bool disk_full = false;
  bool memory_full = false;        ///< new jobs are refused
  std::uint64_t memory_limit = 0;  ///< bytes; zero: none
  std::uint64_t memory_used = 0;
  base::Instant now;            ///< log time
  base::Duration clock_offset;  ///< by which the wall clock here is ahead of it
  base::Instant started_at;
};

/// What was asked for, and whether there is more behind it.
template <typename Record>
struct Page {
  std::vector<Record> rows;
  bool more = false;
  base::Instant now;  ///< log time
};
/// A queue as it stands, and what happened in it lately.
struct QueueRow : model::QueueView {
  stats::Rates rates;
};
using QueuePage = Page<QueueRow>;
using GroupPage = Page<model::GroupView>;
using WorkerPage = Page<model::WorkerRecord>;
using SchedulePage = Page<model::ScheduleRecord>;

struct WhyReason {
  const char* code = "";  ///< stable
  std::string detail;
  base::Instant until;             ///< zero: not known
  std::vector<base::JobId> jobs;   ///< that it waits for
  std::uint64_t ahead = 0;         ///< jobs that come first
  bool ahead_is_at_least = false;  ///< counting stopped at a bound
};
struct Why {
  bool found = false;
  model::State state = model::State::pending;
  std::vector<WhyReason> reasons;  ///< none: it is active, has ended, or is next
  base::Blob queue;
};

/// One queue as it stands.
struct QueueGauges {
  base::Blob name;
  std::array<std::uint64_t, model::kStates> jobs{};
  base::Instant oldest_pending;  ///< zero: nothing is pending
};
/// Everything that the metrics tell and the process alone does not know.
struct Metrics {
  NodeStatus status;
  std::vector<QueueGauges> queues;  ///< by name; at most kQueues
  std::uint64_t queue_count = 0;
  std::uint64_t workers = 0;
  std::uint64_t store_lag_bytes = 0;
  std::uint64_t log_bytes = 0;
  std::uint64_t log_segments = 0;
  stats::Timing log_syncs;  ///< of stats::kSyncBounds
  std::vector<stats::QueueCounters> counters;
  static constexpr std::size_t kQueues = 1'000;
};

/// A job's log, and how the job stands: one that has ended gets no more lines.
struct JobLog {
  bool found = false;
  model::State state = model::State::pending;
  model::LogPage page;
  base::Blob queue;
};

struct SearchAnswer {
  search::Page page;
  std::int64_t duration_us = 0;
};
struct BatchesAnswer {
  std::vector<model::BatchRecord> batches;
  bool more = false;
};
struct SliceAnswer {
  std::vector<base::JobId> jobs;
  std::uint64_t count = 0;
  std::uint64_t last = 0;  ///< with the count: the latest job's sequence
};
struct BulkAnswer {
  std::optional<model::BulkRecord> started;  ///< it goes on; else the rest says what came of it
  std::optional<command::Refusal> refusal;
  command::BulkStepped outcome;
  std::int64_t duration_us = 0;
};
struct BulksAnswer {
  std::vector<model::BulkRecord> bulks;  ///< the latest first
};
using KeyPage = Page<model::KeyRecord>;
/// An action of the audit log and its number there.
struct AuditRow : model::AuditRecord {
  std::uint64_t number = 0;
};
using AuditPage = Page<AuditRow>;
using WebhookPage = Page<model::WebhookRecord>;
/// Of a webhook that is not there: no rows, and not `found`.
struct DeliveryPage : Page<model::DeliveryRecord> {
  bool found = true;
};

/// What came of a change of the cluster. An empty code: it is done, or on its way.
struct ClusterAnswer {
  std::string code;
  std::string message;
};

using Answer =
    std::variant<std::monostate, std::optional<model::JobRecord>, std::optional<model::BatchRecord>,
                 NodeStatus, QueuePage, GroupPage, WorkerPage, SchedulePage, Why, stats::Curve,
                 Metrics, stats::ErrorGroups, JobLog, SearchAnswer, BatchesAnswer, SliceAnswer,
                 BulkAnswer, BulksAnswer, KeyPage, AuditPage, WebhookPage, DeliveryPage,
                 model::Outbox, BackupAnswer, ClusterAnswer>;

class Call;

/// Where finished calls of one thread arrive.
class Inbox {
 public:
  virtual ~Inbox() = default;
  /// From any thread. Soon `finish` of each runs on the inbox's own thread, in this order.
  virtual void deliver(std::vector<std::unique_ptr<Call>> calls) = 0;
};

class Call {
 public:
  /// `inbox` must outlive the call.
  explicit Call(Inbox& inbox) : inbox_(&inbox) {}
  virtual ~Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// On the inbox's thread, once: the out fields below are set.
  virtual void finish() = 0;

  [[nodiscard]] Inbox& inbox() const { return *inbox_; }

  // In. Either commands, applied one after the other in one entry, or a query.
  std::vector<command::Command> commands;
  Query query;
  /// How long the last command, if it is a Claim that finds nothing, may wait for a job. The
  /// commands before it are applied at once in any case.
  base::Duration wait;
  /// Set by the face when the client of a claim, or of a question that may take long, has gone.
  /// Shared, because the face sets it while the node owns the call. Null where nobody looks.
  std::shared_ptr<std::atomic<bool>> hung_up;
  [[nodiscard]] bool has_hung_up() const {
    return hung_up && hung_up->load(std::memory_order_relaxed);
  }
  /// Who asks. The gate has judged everything that the call names by itself; the node sees to it
  /// that jobs named by their ids are in allowed queues when their turn comes.
  Principal principal;
  /// A query that must show everything that was acknowledged before it, by whatever node.
  bool strong = false;
  /// The parts of the principal, by the names that the node has for them.
  GrantPtr& grant = principal.grant;
  std::uint64_t& caller = principal.caller;
  /// Goes into the log behind the commands: who wants them.
  std::optional<command::RecordAction> audit;

  /// It was sent to a leader that went away before it answered. Whatever comes of the next try, it
  /// may have been done.
  bool perhaps_done = false;

  // Out.
  Trouble trouble = Trouble::none;
  /// The answer comes from a database that lacks what was acknowledged last, and cannot get it.
  bool stale = false;
  std::vector<command::Reply> replies;  ///< one for each command
  Answer answer;

 private:
  Inbox* inbox_;
};

/// How the parts of the node stand, one by one.
struct Health {
  bool serving = false;      ///< requests are taken
  bool leader = true;        ///< somebody leads, and can be reached
  bool log_writable = true;  ///< the disk has room for the log
  bool database_writable = true;
};

/// What the node offers to faces.
class Service {
 public:
  virtual ~Service() = default;
  /// From any thread; never blocks. Every call comes back to its inbox, whatever happens. A node
  /// that sleeps need not notice before flush().
  virtual void submit(std::unique_ptr<Call> call) = 0;
  /// From any thread: wakes the node for what was submitted. A face calls it once for all requests
  /// that it read in one go: they then share one write to the disk.
  virtual void flush() {}
  /// From any thread: whether requests are served now (`/readyz`).
  [[nodiscard]] virtual bool ready() const = 0;
  /// From any thread: the parts that ready() is made of.
  [[nodiscard]] virtual Health health() const { return {.serving = ready()}; }
  /// From any thread: log time, as of a moment ago. The epoch: this service has none.
  [[nodiscard]] virtual base::Instant now() const { return {}; }
  /// The stream of events; null: this service has none.
  [[nodiscard]] virtual EventFeed* events() { return nullptr; }
  /// The keys that there are; null: this service knows none.
  [[nodiscard]] virtual const KeyBoard* keys() { return nullptr; }
  /// Rung when there may be something to send; null: this service has no outbox.
  [[nodiscard]] virtual Bell* outbox_bell() { return nullptr; }
};

}  // namespace jobbie::call
