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
#include "node/forwarder.hpp"
#include "node/intake.hpp"
#include "node/mailbox.hpp"
#include "node/membership.hpp"
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

  /// Whether nothing keeps the node from stopping: leadership has been handed over, or nobody can
  /// take it.
  [[nodiscard]] bool may_stop() const;

  /// Gives back what waits, writes the last checkpoint, closes the files.
  base::Result<void> close();

 private:
  /// A queue whose waiters are being tried, after something in it became claimable.
  struct Wake {
    Ticket after = 0;  ///< those up to here have been tried
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
  };
  /// A question that waits until the state is new enough.
  struct Deferred {
    std::unique_ptr<call::Call> call;
    std::uint64_t context = 0;  ///< of the question to the leader; zero: it is answered
    std::uint64_t index = 0;    ///< that has to be applied
    std::int64_t since_us = 0;
    std::int64_t asked_us = 0;
  };

  /// A change of the cluster that another node is to make.
  struct Managing {
    std::unique_ptr<call::Call> call;
    std::int64_t since_us = 0;
  };

  explicit Driver(const Ground& ground);
  base::Result<void> open_log(const Beginning& beginning);
  base::Result<void> finish_adoption();
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
  [[nodiscard]] bool is_ticking() const;
  Proposal& open_entry();
  void close_entry();
  void attach_waiters();
  bool attach_one(std::string_view queue, Ticket& after, Wake* wake, std::uint32_t& wanted);
  void untry(const Part& part, bool in_vain);
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
  /// The log's time, also while nothing is written.
  [[nodiscard]] base::Instant now();
  [[nodiscard]] const char* role() const;
  [[nodiscard]] std::vector<call::NodeRow> nodes() const;

  // The cluster: leading and following (leading.cpp).
  void note_role();
  void begin_term();
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

  // Between rounds (upkeep.cpp).
  void expire_waiters(bool draining);
  base::Result<void> upkeep();
  void report_trouble();
  void hand_over();
  [[nodiscard]] bool store_is_behind() const;
  [[nodiscard]] bool disk_is_full(std::size_t bytes) const;
  [[nodiscard]] bool may_write() const;  ///< an entry of the node's own
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
  bool knows_time_ = false;        ///< the clock goes as a leader's does, or did
  std::int64_t next_time_us_ = 0;  ///< when the others are told
  std::int64_t heard_time_us_ = 0;
  ZoneWatch zones_{zone::load_zone};
  Readers* readers_ = nullptr;
  Readers* searchers_ = nullptr;
  BulkRunner* bulks_ = nullptr;
  Backups* backups_ = nullptr;
  std::mt19937_64 random_;

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
  std::deque<Proposal> proposals_;      ///< assembled and not proposed
  std::deque<Proposal> under_way_;      ///< proposed and not applied, by index
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
  std::int64_t next_alive_us_ = 0;
  std::int64_t next_hand_over_us_ = 0;
  std::int64_t next_upkeep_us_ = 0;
  bool store_is_stuck_ = false;  ///< too far behind, and in trouble: it will not catch up
  bool was_full_ = false;
  bool told_removal_ = false;
  std::string told_trouble_;
  bool refused_for_room_ = false;  ///< somebody, since the last upkeep
  base::Instant started_at_;
  std::optional<base::Error> broken_;
};

}  // namespace jobbie::node
