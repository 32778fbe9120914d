// The engine: a deterministic state machine that holds every rule of a job's life.
//
// Entries go in; replies, events and changes come out. It reads no clock, draws no random number,
// does no I/O and starts no thread: time and random bits arrive with the entry, and ended jobs are
// asked for through a port. Two engines that applied the same entries hold the same state. The
// rules are in docs/lifecycle.md; DESIGN.md beside this file says how the state is laid out.
//
// Not thread-safe: one thread owns an engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "command/command.hpp"
#include "command/event.hpp"
#include "command/item.hpp"
#include "command/reply.hpp"
#include "engine/ended_jobs.hpp"
#include "engine/options.hpp"
#include "engine/why.hpp"

namespace jobbie::engine {

class Core;

/// What one entry came to.
struct Outcome {
  std::vector<command::Reply> replies;  ///< one for each command, in order
  std::vector<command::Event> events;   ///< in the order they happened
  std::vector<base::Blob> ready;        ///< queues in which something may have become claimable
};

/// What a queue holds for those who wait for it.
struct Demand {
  std::uint64_t pending = 0;
  bool picky = false;  ///< some of its jobs require a role, a tag or a certain worker
};

/// A queue in which nothing is, and by what one sees that nothing was since.
struct EmptyQueue {
  base::Blob name;
  base::Instant created_at;
  std::uint64_t enqueued = 0;
};

/// Up to `limit` names after `after`, ascending, that begin with `prefix` and match `glob`; an
/// empty text is no condition. With `among`, a queue must match one of these as well, and a worker
/// must listen on one that does.
struct NamePage {
  std::string_view after;
  std::string_view prefix;
  std::string_view glob;
  std::size_t limit = 1;
  const std::vector<base::Blob>* among = nullptr;
};

/// A list being looked through for a page of it, a part at a time. What comes or goes meanwhile may
/// be on the page or not.
struct NameScan {
  enum class List : std::uint8_t { queues, groups, workers };
  List list = List::queues;
  NamePage page;  ///< its texts must outlive the scan

  std::uint32_t next = 0;                                    ///< slot
  std::vector<std::pair<std::string, std::uint32_t>> first;  ///< names with their slots
};

class Engine {
 public:
  /// `ended` must outlive the engine.
  explicit Engine(EndedJobs& ended, const Options& options = {});
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  /// Total: every entry is applied, whatever it says; odd commands are refused one by one.
  Outcome apply(const command::Entry& entry);

  /// The moment at which a Tick is due; base::kNever when nothing waits for time.
  [[nodiscard]] base::Instant next_deadline() const;

  /// What has changed since the last call, with only the final version of each record. Ended jobs
  /// leave memory here: from now on the port is asked for them.
  command::Changes drain_changes();

  /// Equal on all replicas after the same entries; does not depend on when changes were drained.
  [[nodiscard]] std::uint64_t state_hash();

  /// The whole live state as items, one call each. Ended jobs that are not drained are not part of
  /// it: drain first when dumping for the store.
  void dump(const std::function<void(const command::Item&)>& sink) const;

  /// Reads. Records are copies.
  [[nodiscard]] base::Instant now() const;
  [[nodiscard]] std::optional<model::JobRecord> job(base::JobId id) const;  ///< live or not drained
  [[nodiscard]] std::optional<model::QueueView> queue(std::string_view name) const;
  [[nodiscard]] std::vector<model::QueueView> queues() const;  ///< by name
  [[nodiscard]] std::vector<model::GroupView> groups() const;  ///< by name
  [[nodiscard]] std::optional<model::BatchRecord> batch(
      base::BatchId id) const;                                         ///< unfinished ones
  [[nodiscard]] std::vector<model::ScheduleRecord> schedules() const;  ///< by sequence
  [[nodiscard]] std::vector<model::WorkerRecord> workers() const;      ///< by id
  // The same a page at a time: these copy no more than they return.
  /// Looks at up to `budget` names, and takes them off it; whether the scan is complete.
  bool look_through(NameScan& scan, std::size_t& budget) const;
  /// What a complete scan has found, by name.
  [[nodiscard]] std::vector<model::QueueView> queues(NameScan scan) const;
  [[nodiscard]] std::vector<model::GroupView> groups(NameScan scan) const;
  [[nodiscard]] std::vector<model::WorkerRecord> workers(NameScan scan) const;
  [[nodiscard]] std::vector<model::ScheduleRecord> schedules(base::ScheduleId after,
                                                             std::size_t limit) const;
  [[nodiscard]] std::optional<model::WorkerRecord> worker(std::string_view id) const;
  [[nodiscard]] std::optional<model::ScheduleRecord> schedule(base::ScheduleId id) const;
  [[nodiscard]] std::vector<model::KeyRecord> keys() const;  ///< by sequence
  /// Rises with every change of the keys.
  [[nodiscard]] std::uint64_t keys_revision() const;
  [[nodiscard]] std::vector<model::WebhookRecord> webhooks() const;  ///< by sequence
  [[nodiscard]] std::optional<model::WebhookRecord> webhook(base::WebhookId id) const;
  /// Whether the delivery waits to be sent.
  [[nodiscard]] bool is_in_outbox(base::DeliveryId id) const;
  /// Deliveries that are due at `now`, at most `each` for one webhook.
  [[nodiscard]] model::Outbox due_deliveries(base::Instant now, std::size_t each) const;
  /// Rises when there may be something to send.
  [[nodiscard]] std::uint64_t outbox_revision() const;
  [[nodiscard]] Why why(base::JobId id) const;  ///< why a job is not running
  /// What the store may still know although it is gone, because changes have not been drained: the
  /// job itself, and ended jobs that were swept.
  [[nodiscard]] bool is_removed(base::JobId id) const;
  [[nodiscard]] const std::vector<command::SweptJobs>& undrained_sweeps() const;
  [[nodiscard]] std::vector<model::BulkRecord> bulks() const;  ///< by sequence
  [[nodiscard]] Demand demand(std::string_view queue) const;
  /// Whether the command is a claim that would change nothing: its queues have no pending job, and
  /// its worker is known as it says, was heard of at `since` or later, and is that of `key` (nil:
  /// the caller's key is not restricted).
  [[nodiscard]] bool is_idle_claim(const command::Command& command, base::Instant since,
                                   base::KeyId key = {}) const;
  /// Does up to `budget` of what a claim's globs will have to look at, and takes it off `budget`;
  /// whether the claim will find all of it done. Changes no outcome.
  [[nodiscard]] bool prepare(const command::Claim& claim, std::size_t& budget);
  /// The same for the state hash, which then has no jobs left to look at.
  [[nodiscard]] bool prepare_hash(std::size_t& budget);
  /// About how many records drain_changes() would give now.
  [[nodiscard]] std::size_t undrained() const;
  [[nodiscard]] std::size_t live_jobs() const;
  /// About how many bytes the state takes: a function of the contents, kept up to date.
  [[nodiscard]] std::uint64_t memory() const;
  /// Whether any job is active. Looks at every queue.
  [[nodiscard]] bool any_active() const;
  /// Of at most `limit` queues, those made first; for those who must not take long.
  [[nodiscard]] std::vector<model::QueueView> first_queues(std::size_t limit) const;
  [[nodiscard]] std::size_t queue_count() const;
  /// Queues have numbers below this; each keeps its own while it is there.
  [[nodiscard]] std::size_t queue_slots() const;
  /// The queue of that number if command::ForgetQueues would remove it.
  [[nodiscard]] std::optional<EmptyQueue> empty_queue(std::size_t slot) const;
  /// What command::SetLimits set last.
  [[nodiscard]] command::SetLimits limits() const;
  [[nodiscard]] std::size_t worker_count() const;

  /// Compares every index, list, heap and counter with a recount; the first contradiction found, or
  /// an empty string. For tests: takes time in proportion to the state.
  [[nodiscard]] std::string audit() const;

 private:
  friend class Loader;
  std::unique_ptr<Core> core_;
};

/// Builds an engine from items, in any order. Items are data from outside: a contradiction is an
/// error, never a crash.
class Loader {
 public:
  explicit Loader(EndedJobs& ended, const Options& options = {});
  ~Loader();
  base::Result<void> add(command::Item item);
  /// A promise that spares memory: everything but jobs has been added. From here on each job goes
  /// into the engine at once, instead of waiting for all others.
  base::Result<void> only_jobs_follow();
  base::Result<Engine> finish();

 private:
  struct Pending;
  std::unique_ptr<Pending> pending_;
};

}  // namespace jobbie::engine
