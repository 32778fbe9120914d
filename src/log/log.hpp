// The log: drives the Raft core over the write-ahead log, and hands out what is committed.
//
// One thread drives it: propose, pump, tick. pump() does all the waiting. Nothing is handed out
// before it is durable here. After a failure of the disk every call fails with the same error and
// the process must end; has_room() tells a full disk in time. A single node is a cluster of one
// voter; peers will be fed in between the same calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "consensus/core.hpp"
#include "log/disk.hpp"
#include "log/wal.hpp"

namespace jobbie::log {

struct Options {
  std::string directory;
  std::uint64_t node_id = 1;
  std::size_t segment_bytes = 64u << 20;
  /// Of election time-outs and segment salts: random in the product, fixed in a simulation.
  std::uint64_t seed = 0;
  /// On a thread of its own, so that pump() does not wait for it; at once in a simulation.
  Preparer::Mode preparing = Preparer::Mode::thread;
  TestSwitches test;
  /// Told how long each write to the disk took, with its sync. Empty: nobody looks at the clock.
  std::function<void(std::int64_t us)> on_synced;
};

/// An entry that will never be taken back. `data` is valid during the call; empty for an entry of
/// the core's own.
struct Committed {
  std::uint64_t index = 0;
  std::uint64_t term = 0;
  std::string_view data;
};

// Error codes beside those of the disk (disk.hpp) and the record format:
/// The log no longer has, or never had, what start() asks for.
inline constexpr std::string_view kLogMismatch = "log_mismatch";
/// propose() on a node that does not lead.
inline constexpr std::string_view kNotLeader = "not_leader";
/// propose() of more than one record can take: pump() first.
inline constexpr std::string_view kLogBusy = "log_busy";

class Log {
 public:
  /// Recovers what is in the directory; begins a log of one voter where there is none. `disk` must
  /// outlive the log.
  [[nodiscard]] static base::Result<std::unique_ptr<Log>> open(Disk& disk, const Options& options);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Once, after open(): the caller's state is that after entry `applied` (0: no state at all), and
  /// pump() hands out what comes after it.
  [[nodiscard]] base::Result<void> start(std::uint64_t applied);

  [[nodiscard]] bool leader() const { return status_.role == consensus::Role::leader; }
  [[nodiscard]] std::uint64_t term() const { return status_.term; }
  [[nodiscard]] std::uint64_t commit_index() const { return status_.commit; }
  /// Also of entries that were proposed and not pumped yet.
  [[nodiscard]] std::uint64_t last_index() const { return status_.last_index; }
  /// The first entry that is still in the log.
  [[nodiscard]] std::uint64_t first_index() const;

  /// Whether an entry of `bytes` could be proposed now. False while the disk is full.
  [[nodiscard]] bool has_room(std::size_t bytes) const;
  /// The index that the entry will have. Copies `data`, which must not be empty.
  [[nodiscard]] base::Result<std::uint64_t> propose(std::string_view data);
  /// Writes, syncs, and hands out committed entries in order, until nothing is left to do.
  [[nodiscard]] base::Result<void> pump(const std::function<void(const Committed&)>& apply);
  /// Every 100 ms, before a pump().
  void tick();
  /// The caller's state up to `index`, which pump() has handed out, is durable elsewhere: the log
  /// before it may go.
  [[nodiscard]] base::Result<void> cut(std::uint64_t index);
  /// Makes the commit index durable. The log can still be destroyed without it.
  [[nodiscard]] base::Result<void> close();

  [[nodiscard]] std::size_t segment_count() const { return wal_->segment_count(); }
  /// What the segments take on the disk: they have their full size from the beginning.
  [[nodiscard]] std::uint64_t bytes() const {
    return std::uint64_t{wal_->segment_count()} * options_.segment_bytes;
  }

 private:
  explicit Log(std::unique_ptr<Wal> wal, const Options& options);

  [[nodiscard]] bool fetch(const consensus::FetchRange& range, const consensus::EntrySink& sink);
  [[nodiscard]] base::Result<bool> run_one_ready(
      const std::function<void(const Committed&)>& apply);
  [[nodiscard]] base::Result<void> persist(const consensus::Ready& ready);
  [[nodiscard]] base::Result<void> hand_out(std::span<const consensus::EntryView> committed,
                                            const std::function<void(const Committed&)>& apply);
  /// Makes a commit index durable that no entry carried so far.
  [[nodiscard]] base::Result<void> seal();

  Options options_;
  std::unique_ptr<Wal> wal_;
  std::unique_ptr<consensus::Core> core_;
  /// The core's, as of the last pump(), with what was proposed since.
  consensus::Status status_;
  consensus::HardState hard_state_;
  std::uint64_t applied_ = 0;
  std::size_t pending_entries_ = 0;  ///< proposed and not written yet
  std::size_t pending_bytes_ = 0;
  bool wrote_ = false;  ///< since the last tick
  bool seal_due_ = false;
  std::optional<base::Error> fetch_failure_;
};

}  // namespace jobbie::log
