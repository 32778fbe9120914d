// What the node's thread does, one turn at a time: calls and letters in, entries through the log,
// answers out.
//
// A driver lives from one database to the next: a node that gets its state from a leader closes
// this one and opens another.
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
#include "cluster/messages.hpp"
#include "engine/engine.hpp"
#include "log/log.hpp"
#include "node/clock.hpp"
#include "node/deliver.hpp"
#include "node/disk_room.hpp"
#include "node/forwarder.hpp"
#include "node/idle_queues.hpp"
#include "node/intake.hpp"
#include "node/mailbox.hpp"
#include "node/membership.hpp"
#include "node/memory_guard.hpp"
#include "node/node.hpp"
#include "node/remote.hpp"
#include "node/shared.hpp"
#include "node/snapshots.hpp"
#include "node/waiters.hpp"
#include "node/zone_watch.hpp"
#include "stats/stats.hpp"
#include "store/store.hpp"
#include "zone/load_zone.hpp"

namespace jobbie::node {

class Backups;
class BulkRunner;
class Readers;

/// What a driver stands on. All of it outlives the driver.
struct Ground {
  const Options& options;
  Clock& clock;
  Shared& shared;
  Intake& intake;    ///< to be woken
  Mailbox& mailbox;  ///< where its own threads report
};

/// A snapshot that a leader has sent, and that the node is to go on from.
struct Adoption {
  peer::Incoming incoming;
};

/// Owned by the node's thread from open() on; nothing here is shared.
class Driver {
 public:
  /// Loads the database and replays the log behind it. A node that is alone then leads.
  static base::Result<std::unique_ptr<Driver>> open(const Ground& ground,
                                                    const Beginning& beginning);
  ~Driver();

  [[nodiscard]] store::Store& store() { return *store_; }
  [[nodiscard]] std::uint64_t node_id() const { return log_->node_id(); }
  [[nodiscard]] const log::Configuration& configuration() const { return log_->configuration(); }
  /// Those that answer lookups, searches and bulk operations; they must outlive the last turn.
  void use(Readers& readers, Readers& searchers, BulkRunner& bulks) {
    readers_ = &readers;
    searchers_ = &searchers;
    bulks_ = &bulks;
  }
  /// The same for copies of the database.
  void use(Backups& backups) { backups_ = &backups; }
  /// From now on there are other nodes. `transport` must outlive the driver.
  void connect(peer::Transport& transport, const peer::Hello& self);
  /// Addresses of other nodes, as they were announced or found.
  void announce(std::vector<std::string> addresses);

  /// Handles `items`, `mail` and whatever is due. An error is final: the node must stop.
  base::Result<void> turn(std::vector<Intake::Item>& items, std::vector<Letter>& mail,
                          bool draining);

  /// Waits a little for the store if it is too far behind; whether it still is. Nothing may be
  /// taken in meanwhile: the intake fills, and callers are told to slow down.
  bool wait_for_store();

  /// How long the thread may sleep before the next turn.
  [[nodiscard]] std::int64_t patience_us();

  /// A snapshot that this node shall go on from; then adopt() it, and open another driver.
  [[nodiscard]] bool has_adoption();
  /// Gives back everything that waits, and swaps log and database for what the leader has sent.
  base::Result<void> adopt();

  /// Files of the database were removed, and what was open is saved: then put_back(), and open
  /// another driver.
  [[nodiscard]] bool wants_reopening() const { return reopens_; }
  /// Gives back everything that waits, lets the open files go and puts what was saved in place.
  base::Result<void> put_back();

  /// Whether nothing keeps the node from stopping: leadership has been handed over, or nobody can
  /// take it.
  [[nodiscard]] bool may_stop() const;

  /// Gives back what waits, writes the last checkpoint, closes the files.
  base::Result<void> close();

 private:
  /// What another node took log time to be.
  struct Reckoned {
    base::Instant log;
    std::int64_t at_us = 0;
  };
  /// A queue whose waiters are being tried, after something in it became claimable.
  struct Wake {
    Ticket after = 0;         ///< those up to here have been tried
    WaitersFound found = {};  ///< and these are next
    std::size_t burst = 1;
    std::size_t under_way = 0;  ///< that are being tried
    bool in_vain = false;
  };
  /// A call's share of an entry.
  struct Part {
    Waiter waiter;
    std::size_t first = 0;
    std::size_t count = 0;
    std::size_t audit = 0;  ///< where its note for the audit log is; zero: it has none
    std::string woken_for;  ///< the queue; empty: it was not woken
  };
  struct Proposal {
    command::Entry entry;
    std::vector<Part> parts;
    std::size_t bytes = 0;
    std::uint64_t index = 0;
    std::uint64_t term = 0;
    std::int64_t proposed_us = 0;
    bool ticks = false;
    bool sets_limits = false;
  };
  /// A question that waits until the state is new enough.
  struct Deferred {
    std::unique_ptr<call::Call> call;
    std::uint64_t context = 0;  ///< of the question to the leader; zero: it is answered
    std::uint64_t index = 0;    ///< that has to be applied
    std::int64_t since_us = 0;
    std::int64_t asked_us = 0;
  };

  /// A question for a page of a list that is being looked through.
  struct Listing {
    std::unique_ptr<call::Call> call;
    engine::NameScan scan;
  };

  /// A change of the cluster that another node is to make.
  struct Managing {
    std::unique_ptr<call::Call> call;
    std::int64_t since_us = 0;
  };

  explicit Driver(const Ground& ground);
  base::Result<void> open_log(const Beginning& beginning);
  base::Result<void> finish_adoption();
  base::Result<void> finish_saving();
  base::Result<void> load();
  [[nodiscard]] base::Error in_database(base::Error error) const;
  base::Result<void> replay();

  // Making entries (rounds.cpp).
  void assemble(std::vector<Intake::Item>& items);
  [[nodiscard]] bool finds_nothing(const Intake::Item& item);
  void wait(std::unique_ptr<call::Call> call);
  void take_call(Intake::Item item);
  void take_commands(Held held);
  void note_enqueues(const std::vector<command::Command>& commands);
  void append(Waiter waiter, std::size_t bytes, std::string_view woken_for = {});
  void append_duties();
  void append_upkeep(base::Instant now);
  [[nodiscard]] bool is_ticking() const;
  Proposal& open_entry();
  void close_entry();
  bool is_prepared(const call::Call& call, std::size_t& names);
  void go_on_preparing();
  void attach_waiters();
  std::optional<Waiter> next_waiter(std::string_view queue, Ticket& after, WaitersFound& found);
  std::uint32_t attach(Waiter waiter, std::string_view queue, Wake* wake);
  bool try_waiters(std::string_view queue, Wake& wake);
  void untry(const Part& part, bool in_vain);
  void attach_woken();

  // Through the log and back (driver.cpp).
  base::Result<void> commit();
  [[nodiscard]] std::uint32_t work_for(const Proposal& proposal) const;
  base::Result<std::uint64_t> propose();
  base::Result<void> pump();
  void apply(const log::Committed& committed);
  void finish(Part part, command::Entry& entry, std::vector<command::Reply>& replies);
  void note_ready(const std::vector<base::Blob>& ready);
  void publish_keys();
  [[nodiscard]] bool is_still_granted(const call::Call& call) const;
  void answer_questions();
  void answer_question(std::unique_ptr<call::Call> call);
  void go_on_listing();
  void answer_about_state();
  bool answer_bulks(call::Call& call, bool at_once);
  void answer_watchers();
  call::NodeStatus status(bool with_hash);
  /// The log's time, also while nothing is written.
  [[nodiscard]] base::Instant now();
  [[nodiscard]] const char* role() const;
  [[nodiscard]] std::vector<call::NodeRow> nodes() const;

  // The cluster: leading and following (leading.cpp).
  void note_role();
  void begin_term();
  void begin_time();
  [[nodiscard]] base::Instant agreed_time();
  void end_term();
  void wait_elsewhere(Waiter waiter, std::size_t bytes);
  void hear_of_leader();
  [[nodiscard]] base::Duration time_without_leader();
  [[nodiscard]] bool is_remote(const call::Call& call) const;
  void route(Held held);
  void hold(Held held);
  void route_held();
  void undo(Proposal proposal);
  void drop_overtaken(std::uint64_t index, std::uint64_t term);
  void expire_undecided();
  void leave_office();
  void note_removal();
  void note_alive();
  void note_clock();
  void report_jump();

  // Letters (letters.cpp).
  void take_mail(std::vector<Letter>& mail);
  void take_frame(Frame frame);
  void step(std::string_view message);
  void take_forward(const Frame& frame);
  void take_reply(const Frame& frame);
  void take_link(const Link& link);
  void lose_track(std::uint64_t node);
  void come_back_empty(std::vector<Held> calls);
  void take_snapshot(peer::Incoming incoming);
  void leave(const peer::Incoming& incoming);
  void send(const consensus::MessageView& message);
  void manage(std::unique_ptr<call::Call> call);
  void ask_leader_again();
  void write_down(call::Call& call);
  void take_manage(const Frame& frame);
  void take_managed(const Frame& frame);
  void upkeep_cluster();
  void upkeep_snapshots();
  void tell_time();
  void hear_time(base::Instant leader);
  [[nodiscard]] std::uint64_t cut_point() const;

  // Reading what is new enough (reading.cpp).
  void take_question(std::unique_ptr<call::Call> call);
  void answer_deferred();
  void note_read(std::uint64_t context, std::uint64_t index);

  // Webhooks (outbox.cpp).
  bool complete_retry(call::Call& call);
  bool answer_outbox(call::Call& call);
  void ring_outbox();

  // What others watch (watch.cpp).
  void tell(std::vector<command::Event>&& events);
  bool answer_figures(call::Call& call);
  call::Metrics metrics();
  void note_health();

  // Room on the disk, and files that are gone from it (disk.cpp).
  /// What a call is to the disk.
  struct Load {
    store::Unwritten added;
    bool grows = false;  ///< it adds content; else it ends, moves or removes something
  };
  [[nodiscard]] static Load load_of(const call::Call& call, std::size_t bytes);
  [[nodiscard]] bool disk_is_full(const Load& load);
  [[nodiscard]] bool has_space(const Load& load);
  void take_space(const Load& load);
  [[nodiscard]] std::uint64_t space_needed(const store::Unwritten& added) const;
  void look_at_disk();
  void hold_back();
  void note_room();
  void keep_reserve();
  void keep_files();
  void keep_database();
  void report(base::Level level, std::string_view event, std::string_view code,
              std::string_view message);
  /// What would be acknowledged now might not be there after the next start.
  [[nodiscard]] bool is_unsafe() const {
    return database_lost_ || log_lost_ || store_->is_damaged();
  }

  // Between rounds (upkeep.cpp).
  void expire_waiters(bool draining);
  base::Result<void> upkeep();
  void report_trouble();
  base::Result<void> cut_log();
  void hand_over();
  [[nodiscard]] bool store_is_behind() const;
  [[nodiscard]] bool store_is_blocked() const;
  [[nodiscard]] bool may_write();  ///< an entry of the node's own
  void look_at_memory(std::size_t coming = 0);
  [[nodiscard]] bool lacks_memory(const call::Call& call, std::size_t bytes);
  void report_memory();
  void give_back(std::unique_ptr<call::Call> call, call::Trouble trouble);
  void give_everything_back();
  void give_empty(Waiter waiter);

  const Options& options_;
  Clock& clock_;
  Shared& shared_;
  Intake& intake_;
  Mailbox& mailbox_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<engine::EndedJobs> ended_;
  std::optional<engine::Engine> engine_;
  std::unique_ptr<log::Disk> disk_;
  std::unique_ptr<log::Log> log_;
  std::optional<LogClock> log_clock_;
  LifeSignFile life_sign_;
  std::optional<LifeSign> last_sign_;  ///< of whoever worked in this directory before
  std::string boot_;
  bool knows_time_ = false;        ///< the clock goes as a leader's does, or did
  std::int64_t next_time_us_ = 0;  ///< when the others are told
  std::int64_t heard_time_us_ = 0;
  std::map<std::uint64_t, Reckoned> reckoned_;  ///< by node, while nobody led
  ZoneWatch zones_{zone::load_zone};
  IdleQueues idle_queues_;
  Readers* readers_ = nullptr;
  Readers* searchers_ = nullptr;
  BulkRunner* bulks_ = nullptr;
  Backups* backups_ = nullptr;
  std::mt19937_64 random_;

  MemoryGuard memory_;
  bool told_memory_ = false;  ///< that new jobs are refused

  stats::Stats stats_;
  std::shared_ptr<const call::KeyRing> ring_;  ///< that the board shows; faces hold it too
  std::uint64_t outbox_revision_ = 0;          ///< at which the bell was rung last
  std::uint64_t keys_revision_ = 0;            ///< that the board shows
  stats::Timing log_syncs_;

  log::Handlers handlers_;
  peer::Transport* transport_ = nullptr;  ///< null: there are no other nodes
  std::unique_ptr<RemoteInbox> remote_inbox_;
  std::unique_ptr<Forwarder> forwarder_;
  std::unique_ptr<Membership> membership_;
  std::unique_ptr<SnapshotMaker> snapshots_;
  RemoteWaiters remote_waiters_;
  Silence silence_;
  std::map<std::uint64_t, Managing> managing_;  ///< asked of the leader
  std::vector<Managing> asked_in_vain_;         ///< of one that leads no more
  std::uint64_t next_manage_ = 1;
  std::vector<std::uint64_t> unreachable_;  ///< found while the log was being pumped
  std::vector<std::unique_ptr<call::Call>> wanted_snapshots_;  ///< who asked for a copy by hand
  std::optional<Adoption> adoption_;
  bool serving_ = false;           ///< leads, has applied an entry of its term, and is to stay
  std::uint64_t served_term_ = 0;  ///< in which duties were begun
  std::uint64_t applied_term_ = 0;
  std::optional<base::Duration> lost_;  ///< to be told to the engine by the next entry
  std::int64_t heard_us_ = 0;           ///< of a leader, at last; zero: never
  std::int64_t led_us_ = 0;             ///< for which somebody led since the latest entry
  std::int64_t next_hand_over_try_us_ = 0;
  std::int64_t draining_since_us_ = 0;
  std::int64_t snapshot_used_us_ = 0;
  std::int64_t snapshot_retry_us_ = 0;
  bool lacks_room_for_snapshot_ = false;
  std::size_t snapshots_under_way_ = 0;
  std::uint64_t seen_index_ = 0;  ///< where calls that were forwarded were answered
  std::deque<Held> held_;
  std::size_t held_bytes_ = 0;
  std::deque<Deferred> deferred_;
  std::uint64_t next_context_ = 1;

  std::deque<Intake::Item> backlog_;
  std::vector<Intake::Item> round_;     ///< of the backlog, without those that claim
  std::vector<Intake::Item> claiming_;  ///< and these
  /// Claims whose globs have not been compared with all queues. They go on in turns.
  std::deque<Intake::Item> preparing_;
  std::size_t names_left_ = 0;      ///< to be compared for claims in this turn
  std::size_t globs_left_ = 0;      ///< and for waiting fetches
  std::size_t waiters_left_ = 0;    ///< of those, to be tried in this turn
  std::deque<Proposal> proposals_;  ///< assembled and not proposed
  std::deque<Proposal> under_way_;  ///< proposed and not applied, by index
  bool entry_is_open_ = false;
  std::vector<std::pair<std::string_view, std::uint32_t>> enqueued_;  ///< by the open entry
  std::deque<std::unique_ptr<call::Call>> questions_;
  std::deque<Listing> listing_;                            ///< take turns
  std::vector<std::unique_ptr<call::Call>> hash_waiters_;  ///< who asks how the node stands
  std::vector<std::unique_ptr<call::Call>> watchers_;      ///< of bulk operations
  Waiters waiters_;
  std::map<std::string, Wake, std::less<>> wakes_;
  std::string last_wake_;  ///< that was looked at
  Outbox outbox_;
  std::string encoded_;

  std::int64_t now_us_ = 0;  ///< steady, at the beginning of the turn
  bool draining_ = false;
  std::uint64_t applied_index_ = 0;
  std::uint64_t handed_index_ = 0;
  std::uint64_t cut_index_ = 0;
  std::uint64_t unhanded_rows_ = 0;   ///< about how many records have changed since the hand-over
  std::uint64_t unhanded_bytes_ = 0;  ///< of the commands that have changed them
  std::int64_t next_tick_us_ = 0;
  std::int64_t next_alive_us_ = 0;
  std::int64_t next_clock_report_us_ = 0;  ///< zero: there is nothing to report
  std::int64_t next_hand_over_us_ = 0;
  std::int64_t next_upkeep_us_ = 0;
  bool store_is_stuck_ = false;  ///< too far behind, and in trouble: it will not catch up
  bool was_full_ = false;
  std::optional<DiskRoom> room_;
  store::FileSpace files_;       ///< as of the latest look at the disk
  std::int64_t looked_us_ = -1;  ///< in which turn that was
  std::uint64_t to_spare_ = 0;   ///< what may be accepted before the disk is looked at again
  static constexpr std::uint64_t kNothingRefused = ~std::uint64_t{0};
  /// A call of this size that adds content found no space, and so do larger ones.
  std::uint64_t refused_bytes_ = kNothingRefused;
  bool store_is_full_ = false;  ///< it says so itself
  bool database_lost_ = false;  ///< its files were removed or replaced, and not saved yet
  bool log_lost_ = false;       ///< the same of the log's
  bool reopens_ = false;
  std::int64_t next_save_us_ = 0;
  bool told_removal_ = false;
  std::string told_trouble_;
  bool refused_for_room_ = false;  ///< somebody, since the last upkeep
  base::Instant started_at_;
  std::optional<base::Error> broken_;
};

}  // namespace jobbie::node
