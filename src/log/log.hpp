// The log: drives the Raft core over the write-ahead log, and hands out what is committed.
//
// One thread drives it: propose, step, tick, pump. pump() does all the waiting, and only pump()
// calls the handlers. Nothing is handed out before it is committed, and nothing is promised to a
// peer before it is durable here. After a failure of the disk every call fails with the same error
// and the process must end; has_room() tells a full disk in time. A single node is a cluster of one
// voter. The log knows no socket: messages come in through step() and go out through a handler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "consensus/core.hpp"
#include "log/configuration.hpp"
#include "log/disk.hpp"
#include "log/snapshot.hpp"
#include "log/wal.hpp"

namespace jobbie::log {

struct Options {
  std::string directory;
  /// Of a log that is begun. One that is there knows its own: see Log::node_id().
  std::uint64_t node_id = 1;
  /// What a log is begun with. Without members: this node alone, a voter. Nodes that form a cluster
  /// begin with the same; one that joins begins with what it was told, in which it may be missing.
  Configuration founders;
  /// Of one that joins: the entry from which on that holds, the teller's configuration_index().
  /// Entries up to it, which are still to come, do not change it.
  std::uint64_t founders_index = 0;
  /// About the same on all nodes: a node cannot take an entry that its segments cannot hold.
  std::size_t segment_bytes = 64u << 20;
  /// What a segment that is made ahead must leave free on the disk.
  std::uint64_t leave_free_bytes = 0;
  /// Of election time-outs, segment salts and reads: random in the product, another one for every
  /// start in a simulation.
  std::uint64_t seed = 0;
  /// A follower that hears nothing for this many ticks, up to twice as many, stands for election.
  std::uint64_t election_ticks = consensus::kElectionTicks;
  /// On a thread of its own, so that pump() does not wait for it; at once in a simulation.
  Preparer::Mode preparing = Preparer::Mode::thread;
  TestSwitches test;
  /// Told how long each write to the disk took, with its sync. Empty: nobody looks at the clock.
  std::function<void(std::int64_t us)> on_synced;
};

/// An entry that will never be taken back. `data` is valid during the call; empty for an entry of
/// the core's own and for a change of the configuration.
struct Committed {
  std::uint64_t index = 0;
  std::uint64_t term = 0;
  std::string_view data;
};

/// Where pump() puts things. None of them may call the log, but for its getters. Those that are
/// empty are not called.
struct Handlers {
  /// Every committed entry, in order.
  std::function<void(const Committed&)> apply;
  /// A message for the peer `to`, whose bytes go into its step(). Best in order, and may be lost.
  /// If `snapshot_index` is set, it asks for the state that was offered for that index to be sent
  /// along: the receiver asks judge(), and this node is told by report_snapshot(), always.
  std::function<void(const consensus::MessageView&)> send;
  /// The configuration from entry `index` on; it is durable. Before apply() of that entry.
  std::function<void(const Configuration&, std::uint64_t index)> configured;
  /// A read_index() is answered: a state at `index` or later shows all that was committed when it
  /// was asked.
  std::function<void(std::uint64_t context, std::uint64_t index)> read;
};

// Error codes beside those of the disk (disk.hpp) and the record format:
/// The log no longer has, or never had, what start() asks for; or what a leader counts on.
inline constexpr std::string_view kLogMismatch = "log_mismatch";
/// On a node that does not lead.
inline constexpr std::string_view kNotLeader = "not_leader";
/// propose() of more than one record can take: pump() first.
inline constexpr std::string_view kLogBusy = "log_busy";
/// Leadership is on its way to another node, and nothing can be proposed.
inline constexpr std::string_view kTransferring = "transferring";
/// propose_change() while another change, or an entry from before this leader's time, is not
/// applied yet.
inline constexpr std::string_view kChangePending = "change_pending";
/// propose_change() that would remove the leader: transfer() first.
inline constexpr std::string_view kIsLeader = "is_leader";
/// propose_change() that would do nothing or make no sense; the message says why.
inline constexpr std::string_view kBadChange = "bad_change";
/// step() of a message for another node.
inline constexpr std::string_view kOtherNode = "other_node";
/// adopt() of a snapshot that is not wanted.
inline constexpr std::string_view kNotWanted = "not_wanted";
/// There is a log already, or there is none.
inline constexpr std::string_view kLogExists = "log_exists";
inline constexpr std::string_view kNoLog = "no_log";
/// offer_snapshot() of a state whose place in the log is not known any more.
inline constexpr std::string_view kUnknownState = "unknown_state";

/// What is to be done with a state that a leader wants to send.
enum class Verdict : std::uint8_t {
  stale,    ///< nothing: it comes from an old leader, or is older than what is here
  present,  ///< nothing: the log has that entry. The leader is told that it arrived
  wanted,   ///< it is taken, made durable, and then adopted
};

class Log {
 public:
  /// Whether there is a log. One that a crash kept from being begun is none. Makes the directory.
  [[nodiscard]] static base::Result<bool> exists(Disk& disk, const std::string& directory);
  /// Recovers what is in the directory; begins a log with `options.founders` where there is none.
  /// `disk` must outlive the log.
  [[nodiscard]] static base::Result<std::unique_ptr<Log>> open(Disk& disk, const Options& options);
  /// Begins a log behind a state that somebody has: entries come after `at`. For a restored backup.
  /// The term of a new cluster's log may be any that is at least 1.
  [[nodiscard]] static base::Result<void> begin_at(Disk& disk, const Options& options,
                                                   const consensus::Position& at,
                                                   const Configuration& configuration);
  /// For a cluster whose majority is lost for good. This node goes on alone, as the only voter and
  /// member of `configuration`, with everything that its log has: entries that were never committed
  /// become so, and entries that only the others had are lost, although they may have been
  /// acknowledged. The other nodes must never run again with their logs; another cluster id keeps
  /// them away.
  [[nodiscard]] static base::Result<void> recover_alone(Disk& disk, const Options& options,
                                                        const Configuration& configuration);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Once, after open(): the caller's state is that after entry `applied` (0: no state at all), and
  /// pump() hands out what comes after it.
  [[nodiscard]] base::Result<void> start(std::uint64_t applied);

  [[nodiscard]] std::uint64_t node_id() const { return wal_->node_id(); }
  [[nodiscard]] bool leader() const { return status_.role == consensus::Role::leader; }
  /// 0 while none is known, and on a node that was removed: whoever leads the others is not its
  /// leader.
  [[nodiscard]] std::uint64_t leader_id() const { return removed() ? 0 : status_.leader; }
  [[nodiscard]] std::uint64_t term() const { return status_.term; }
  [[nodiscard]] std::uint64_t commit_index() const { return status_.commit; }
  [[nodiscard]] std::uint64_t applied_index() const { return applied_; }
  /// Also of entries that were proposed and not pumped yet.
  [[nodiscard]] std::uint64_t last_index() const { return status_.last_index; }
  /// The first entry that is still in the log. The state before it is not in the log: after a crash
  /// within adopt() the caller's own may be older, and is then replaced by the one that was sent.
  [[nodiscard]] std::uint64_t first_index() const;
  /// The configuration in force; durable.
  [[nodiscard]] const Configuration& configuration() const;
  /// The entry from which on it holds. At a start it may be ahead of what is applied.
  [[nodiscard]] std::uint64_t configuration_index() const;
  /// This node was a member and is none any more. It never leads again; it still answers peers that
  /// do not know of its removal yet, and may be stopped at any time. Who comes back needs a new id.
  [[nodiscard]] bool removed() const;
  /// Another member says which configuration holds from `index` on. A node that was away when it
  /// was removed learns of it in no other way. Not kept: after a start it is told again.
  void hear_of(const Configuration& configuration, std::uint64_t index);

  /// Whether an entry of `bytes` could be proposed now, and `leave` more after it. False while the
  /// disk is full.
  [[nodiscard]] bool has_room(std::size_t bytes, std::size_t leave = 0) const;
  /// The same without waiting for a segment that is being prepared, which is taken to become one,
  /// and whether or not it is held back.
  [[nodiscard]] bool expects_room(std::size_t bytes, std::size_t leave) const;
  /// The largest entry that there may ever be room for.
  [[nodiscard]] std::size_t largest_entry() const { return wal_->max_payload(1); }
  /// While `held`, nothing is proposed and no entry of a leader is taken; votes are still given.
  void hold_back(bool held) { wal_->hold_back(held); }
  /// Files that were removed or replaced are written anew; whether there were any.
  [[nodiscard]] base::Result<bool> keep_files() { return wal_->keep_files(); }
  /// The index that the entry will have, if it is ever committed: it is ours if the entry with that
  /// index has the term() of now. Copies `data`, which must not be empty.
  [[nodiscard]] base::Result<std::uint64_t> propose(std::string_view data);
  /// On the leader, one at a time: the next one when this one is applied. The entry's index.
  [[nodiscard]] base::Result<std::uint64_t> propose_change(const Change& change);
  /// A message of a peer, authenticated. An error says that nothing was done with it. `log_busy`:
  /// it can be stepped again after a pump(). `log_mismatch` is for people. All others are for the
  /// journal at most: whatever is lost comes again.
  [[nodiscard]] base::Result<void> step(std::string_view message);
  /// Writes, syncs, sends, and hands out committed entries in order, until nothing is left to do.
  [[nodiscard]] base::Result<void> pump(const Handlers& handlers);
  /// Every 100 ms, before a pump().
  void tick();
  /// The caller's state up to `index`, which pump() has handed out, is durable elsewhere: the log
  /// before it may go.
  [[nodiscard]] base::Result<void> cut(std::uint64_t index);
  /// Makes the commit index durable. The log can still be destroyed without it.
  [[nodiscard]] base::Result<void> close();

  /// Hands leadership over to a voter, once that has the whole log. Given up after an election's
  /// time. transferring() tells.
  [[nodiscard]] base::Result<void> transfer(std::uint64_t to);
  [[nodiscard]] bool transferring() const { return status_.transferee != 0; }
  /// Stands for election now. For tests, and where waiting would be silly.
  [[nodiscard]] base::Result<void> campaign();
  /// Asks the leader for a place in the log such that a state there shows all that is committed
  /// now. Answered through Handlers::read, or never: the question may be lost. On any member.
  void read_index(std::uint64_t context);
  /// Whether a peer of the leader keeps up; nothing on another node, or for a stranger.
  [[nodiscard]] std::optional<consensus::Progress> progress(std::uint64_t id) const;
  /// A message to that peer was lost.
  void report_unreachable(std::uint64_t id);

  // Snapshots, sending: a follower needs what is no longer in the log.
  /// A state should be made and offered.
  [[nodiscard]] bool wants_snapshot() const;
  /// The caller has, and keeps for now, a copy of the state after entry `index`. `unknown_state` if
  /// that is too long ago: a newer one is needed then.
  [[nodiscard]] base::Result<void> offer_snapshot(std::uint64_t index);
  /// The copy is gone.
  void withdraw_snapshot();
  /// What became of a snapshot that was to be sent: always, also after a time-out. `arrived`: the
  /// peer has adopted it, or has no need of it.
  void report_snapshot(std::uint64_t id, bool arrived);

  // Snapshots, receiving.
  /// What to do with a snapshot message of a leader, and with the state that comes with it.
  [[nodiscard]] base::Result<Verdict> judge(std::string_view message) const;
  /// The state of a wanted snapshot is durable. The log begins anew behind it: when this returns,
  /// that is durable, and pump() hands out what comes after. A crash leaves the old log or the new
  /// one; the latter begins behind what the caller's old state has.
  [[nodiscard]] base::Result<void> adopt(std::string_view message);

  [[nodiscard]] std::size_t segment_count() const { return wal_->segment_count(); }
  /// What the segments take on the disk: they have their full size from the beginning.
  [[nodiscard]] std::uint64_t bytes() const {
    return std::uint64_t{wal_->segment_count()} * options_.segment_bytes;
  }

 private:
  explicit Log(std::unique_ptr<Wal> wal, const Options& options);

  [[nodiscard]] static WalOptions wal_options(const Options& options);
  [[nodiscard]] base::Result<void> make_core();
  [[nodiscard]] bool fetch(const consensus::FetchRange& range, const consensus::EntrySink& sink);
  /// Why an entry of `bytes` cannot be proposed now.
  [[nodiscard]] std::optional<base::Error> refusal(std::size_t bytes) const;
  [[nodiscard]] base::Result<bool> run_one_ready(const Handlers& handlers);
  [[nodiscard]] base::Result<void> persist(const consensus::Ready& ready);
  [[nodiscard]] base::Result<void> write(std::span<const consensus::EntryView> entries);
  static void send(std::span<const consensus::MessageView> messages, const Handlers& handlers);
  void answer_reads(std::span<const consensus::ReadView> reads, const Handlers& handlers);
  [[nodiscard]] base::Result<void> hand_out(std::span<const consensus::EntryView> committed,
                                            const Handlers& handlers);
  [[nodiscard]] base::Result<void> reconfigure(const consensus::EntryView& entry,
                                               const Handlers& handlers);
  [[nodiscard]] base::Result<bool> remade();
  void remember(const Configured& configured);
  [[nodiscard]] base::Result<void> check_change(const Change& change) const;
  /// Makes a commit index durable that no entry carried so far.
  [[nodiscard]] base::Result<void> seal();

  Options options_;
  std::unique_ptr<Wal> wal_;
  std::unique_ptr<consensus::Core> core_;
  /// The core's, as of the last call.
  consensus::Status status_;
  consensus::HardState hard_state_;
  std::uint64_t applied_ = 0;
  /// The configuration in force, and those before it that a snapshot may still need.
  std::deque<Configured> configurations_;
  std::size_t pending_entries_ = 0;  ///< proposed or received, and not written yet
  std::size_t pending_bytes_ = 0;
  std::uint64_t read_salt_ = 0;  ///< tells this start's reads from those of others
  bool wrote_ = false;           ///< since the last tick
  bool seal_due_ = false;
  bool remake_core_ = false;  ///< it has applied our own removal
  bool told_of_removal_ = false;
  unsigned ticks_since_step_ = 0;
  std::optional<base::Error> fetch_failure_;
};

}  // namespace jobbie::log
