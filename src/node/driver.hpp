// What the node's thread does, one turn at a time: calls in, entries through the log, answers out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "call/call.hpp"
#include "engine/engine.hpp"
#include "log/log.hpp"
#include "node/clock.hpp"
#include "node/deliver.hpp"
#include "node/intake.hpp"
#include "node/node.hpp"
#include "node/waiters.hpp"
#include "stats/stats.hpp"
#include "store/store.hpp"

namespace jobbie::node {

class Backups;
class BulkRunner;
class Readers;

/// Owned by the node's thread from open() on; nothing here is shared.
class Driver {
 public:
  /// Loads the database, replays the log behind it and becomes leader.
  static base::Result<std::unique_ptr<Driver>> open(const Options& options, Clock& clock);
  ~Driver();

  [[nodiscard]] store::Store& store() { return *store_; }
  [[nodiscard]] call::EventFeed& feed() { return feed_; }
  [[nodiscard]] const call::KeyBoard& keys() const { return keys_; }
  [[nodiscard]] call::Bell& outbox_bell() { return outbox_bell_; }
  /// From any thread.
  [[nodiscard]] call::Health health() const;
  /// Those that answer lookups, searches and bulk operations; they must outlive the last turn.
  void use(Readers& readers, Readers& searchers, BulkRunner& bulks) {
    readers_ = &readers;
    searchers_ = &searchers;
    bulks_ = &bulks;
  }
  /// The same for copies of the database.
  void use(Backups& backups) { backups_ = &backups; }

  /// Handles `items` and whatever is due. An error is final: the node must stop.
  base::Result<void> turn(std::vector<Intake::Item>& items, bool draining);

  /// Waits a little for the store if it is too far behind; whether it still is. Nothing may be
  /// taken in meanwhile: the intake fills, and callers are told to slow down.
  bool wait_for_store();

  /// How long the thread may sleep before the next turn.
  [[nodiscard]] std::int64_t patience_us();

  /// Gives back what waits, writes the last checkpoint, closes the files.
  base::Result<void> close();

 private:
  /// A queue whose waiters are being tried, after something in it became claimable.
  struct Wake {
    Ticket after = 0;  ///< those up to here have been tried
    std::size_t burst = 1;
    bool in_vain = false;
  };
  /// A call's share of an entry.
  struct Part {
    Waiter waiter;
    std::size_t first = 0;
    std::size_t count = 0;
    Wake* wake = nullptr;  ///< where it was woken for that queue
  };
  struct Proposal {
    command::Entry entry;
    std::vector<Part> parts;
    std::size_t bytes = 0;
    std::uint64_t index = 0;
  };

  Driver(const Options& options, Clock& clock);
  base::Result<void> open_log();
  base::Result<void> load();
  [[nodiscard]] base::Error in_database(base::Error error) const;
  base::Result<void> replay();

  // Making entries (rounds.cpp).
  void assemble(std::vector<Intake::Item>& items);
  void take_call(Intake::Item item);
  void note_enqueues(const std::vector<command::Command>& commands);
  void append(Waiter waiter, std::size_t bytes, Wake* wake = nullptr);
  void append_tick();
  Proposal& open_entry();
  void close_entry();
  void attach_waiters();
  bool attach_one(std::string_view queue, Ticket& after, Wake* wake, std::uint32_t& wanted);
  void attach_woken();
  void settle_wakes();

  // Through the log and back (driver.cpp).
  base::Result<void> commit();
  base::Result<std::uint64_t> propose();
  base::Result<void> pump();
  void apply(const log::Committed& committed);
  void finish(Part part, command::Entry& entry, std::vector<command::Reply>& replies);
  void note_ready(const std::vector<base::Blob>& ready);
  void publish_keys();
  [[nodiscard]] bool is_still_granted(const call::Call& call) const;
  void answer_questions();
  void answer_question(std::unique_ptr<call::Call> call);
  bool answer_bulks(call::Call& call, bool at_once);
  void answer_watchers();
  call::NodeStatus status(bool with_hash);

  // Webhooks (outbox.cpp).
  bool complete_retry(call::Call& call);
  bool answer_outbox(call::Call& call);
  void ring_outbox();

  // What others watch (watch.cpp).
  void tell(std::vector<command::Event>&& events);
  bool answer_figures(call::Call& call);
  call::Metrics metrics();
  void note_health();

  // Between rounds (upkeep.cpp).
  void expire_waiters(bool draining);
  base::Result<void> upkeep();
  void report_trouble();
  void hand_over();
  [[nodiscard]] bool store_is_behind() const;
  [[nodiscard]] bool disk_is_full(std::size_t bytes) const;
  [[nodiscard]] bool may_write() const;  ///< an entry of the node's own
  void give_back(std::unique_ptr<call::Call> call, call::Trouble trouble);
  void give_empty(Waiter waiter);

  const Options& options_;
  Clock& clock_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<engine::EndedJobs> ended_;
  std::optional<engine::Engine> engine_;
  std::unique_ptr<log::Disk> disk_;
  std::unique_ptr<log::Log> log_;
  std::optional<LogClock> log_clock_;
  Readers* readers_ = nullptr;
  Readers* searchers_ = nullptr;
  BulkRunner* bulks_ = nullptr;
  Backups* backups_ = nullptr;
  std::mt19937_64 random_;

  call::EventFeed feed_;
  stats::Stats stats_;
  call::KeyBoard keys_;
  std::shared_ptr<const call::KeyRing> ring_;  ///< that the board shows; faces hold it too
  call::Bell outbox_bell_;
  std::uint64_t outbox_revision_ = 0;  ///< at which the bell was rung last
  std::uint64_t keys_revision_ = 0;    ///< that the board shows
  stats::Timing log_syncs_;
  std::atomic<bool> leads_ = true;
  std::atomic<bool> log_has_room_ = true;
  std::atomic<bool> store_is_well_ = true;

  std::deque<Intake::Item> backlog_;
  std::deque<Proposal> proposals_;
  bool entry_is_open_ = false;
  std::vector<std::pair<std::string_view, std::uint32_t>> enqueued_;  ///< by the open entry
  std::vector<std::unique_ptr<call::Call>> questions_;
  std::vector<std::unique_ptr<call::Call>> watchers_;  ///< of bulk operations
  Waiters waiters_;
  std::map<std::string, Wake, std::less<>> wakes_;
  Outbox outbox_;
  std::string encoded_;

  std::int64_t now_us_ = 0;  ///< steady, at the beginning of the turn
  bool draining_ = false;
  std::uint64_t applied_index_ = 0;
  std::uint64_t handed_index_ = 0;
  std::uint64_t cut_index_ = 0;
  std::uint64_t unhanded_rows_ = 0;  ///< about how many records have changed since the hand-over
  std::int64_t next_tick_us_ = 0;
  std::int64_t next_hand_over_us_ = 0;
  std::int64_t next_upkeep_us_ = 0;
  bool store_is_stuck_ = false;  ///< too far behind, and in trouble: it will not catch up
  bool was_full_ = false;
  std::string told_trouble_;
  bool refused_for_room_ = false;  ///< somebody, since the last upkeep
  base::Instant started_at_;
  std::optional<base::Error> broken_;
};

}  // namespace jobbie::node
