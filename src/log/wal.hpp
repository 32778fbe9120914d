// The write-ahead log: segments of checksummed records, each durable before append() returns.
//
// One thread uses it; a second one, inside, prepares the next segment. After the first failed write
// or sync every call fails with the same error: nothing is known about the disk any more, so the
// process has to end and recover (fail-stop). A full disk is no failure as long as has_room() is
// asked before appending.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "consensus/core.hpp"
#include "log/configuration.hpp"
#include "log/disk.hpp"
#include "log/record.hpp"
#include "log/segment.hpp"
#include "log/term_runs.hpp"

namespace jobbie::log {

/// Faults that tests switch on to show that they would notice them. All off in the product.
struct TestSwitches {
  bool ack_before_sync = false;  ///< append() returns before its record is durable
  bool accept_torn = false;      ///< recovery believes a record by its header
  // Each breaks a rule of driving the core (DESIGN.md).
  bool split_records = false;      ///< 1: hard state and entries in records of their own
  bool forget_commit = false;      ///< 1: the commit index is not persisted
  bool send_before_sync = false;   ///< 2, 3: no message waits for a record
  bool keep_core = false;          ///< 5: the core goes on after our own removal
  bool old_configuration = false;  ///< 7: a snapshot comes with that of an earlier entry
  bool tick_always = false;        ///< 8
  bool clamp_nothing = false;      ///< 9
};

/// What a new log begins with: a snapshot of the empty state, because a core that starts without
/// one cannot take nodes in.
inline constexpr consensus::Position kBootstrap{1, 1};

struct WalOptions {
  std::string directory;
  // The four: of a log that is begun.
  std::uint64_t node_id = 1;
  consensus::Position begin_at = kBootstrap;
  Configuration founders;            ///< without members: this node alone
  std::uint64_t founders_index = 0;  ///< from which on they hold, if not from the beginning
  std::size_t segment_bytes = 64u << 20;
  /// What a segment that is made ahead must leave free on the disk, for the database behind the
  /// log.
  std::uint64_t leave_free_bytes = 0;
  /// Of the salts: unknown to clients, so that no payload can look like a record.
  std::uint64_t seed = 0;
  Preparer::Mode preparing = Preparer::Mode::thread;
  TestSwitches test;
};

/// Retired segments that are kept for use; more are removed.
inline constexpr std::size_t kMaxSpares = 2;
/// The latest segments stay open, so that they can be written anew should somebody remove them.
/// Older ones are opened to be read: descriptors must not run out however long the log is.
inline constexpr std::size_t kOpenSegments = 8;

class Wal {
 public:
  /// Recovers what is in the directory, or begins a new log there. `corrupt_log` if a record in the
  /// middle is damaged: the message names the file, the offset and what to do.
  [[nodiscard]] static base::Result<std::unique_ptr<Wal>> open(Disk& disk,
                                                               const WalOptions& options);

  [[nodiscard]] const consensus::HardState& hard_state() const { return hard_state_; }
  [[nodiscard]] std::uint64_t node_id() const { return node_id_; }
  [[nodiscard]] const Configured& configured() const { return configured_; }
  [[nodiscard]] const TermRuns& terms() const { return terms_; }
  /// Whether it was begun by this open().
  [[nodiscard]] bool fresh() const { return fresh_; }

  /// Writes one record and makes it durable. `entries` are consecutive and begin at most one behind
  /// the last; what was there and behind goes.
  [[nodiscard]] base::Result<void> append(const consensus::HardState& hard_state,
                                          std::span<const consensus::EntryView> entries);
  /// Another configuration: a record of its own, durable.
  [[nodiscard]] base::Result<void> configure(const consensus::HardState& hard_state,
                                             Configured configured);
  /// The log begins anew behind `at`, in one record, durable: a crash leaves either log.
  [[nodiscard]] base::Result<void> reset(const consensus::HardState& hard_state,
                                         const consensus::Position& at, Configured configured);
  /// Hands out entries as a fetch asks for them.
  [[nodiscard]] base::Result<void> read(const consensus::FetchRange& range,
                                        const consensus::EntrySink& sink);
  /// Whether a record with `entries` entries of `bytes` bytes in all would find its place, and
  /// `leave` bytes behind it or a whole segment. Waits for a segment that is being prepared, if it
  /// comes to that.
  [[nodiscard]] bool has_room(std::size_t entries, std::size_t bytes, std::size_t leave = 0) const;
  /// The same without waiting, and whether or not it is held back: a segment that is being prepared
  /// is taken to become one.
  [[nodiscard]] bool expects_room(std::size_t entries, std::size_t bytes, std::size_t leave) const;
  /// While `held`, there is no room for anybody, whatever the disk has.
  void hold_back(bool held) { held_back_ = held; }
  /// Looks whether the files still have their names. Those that were removed or replaced are
  /// written anew from what is open, durable when it returns; an error: not all of them could be.
  /// Whether there were any.
  [[nodiscard]] base::Result<bool> keep_files();
  /// The largest sum of payloads of `entries` entries that one record can hold.
  [[nodiscard]] std::size_t max_payload(std::size_t entries) const;
  /// Entries up to `index` are not needed any more.
  [[nodiscard]] base::Result<void> cut(std::uint64_t index);
  /// From time to time: tries again to prepare a segment where the disk was full.
  void retry();
  [[nodiscard]] const std::optional<base::Error>& failure() const { return failure_; }
  [[nodiscard]] std::size_t segment_count() const { return segments_.size(); }

 private:
  friend class WalRecovery;

  /// Where a record begins whose first entry is `index`.
  struct Mark {
    std::uint64_t index = 0;
    std::uint64_t offset = 0;
  };
  struct Segment {
    SegmentHeader header;
    std::unique_ptr<File> file;               ///< null: it is old, and not being read
    std::uint64_t end = kSegmentHeaderBytes;  ///< behind the last record
    std::uint64_t max_index = 0;              ///< the highest index of an entry in it
    std::vector<Mark> marks;                  ///< sparse, rising in both fields
  };

  /// Where a read goes on. Whoever catches up reads on where the last read ended, and several
  /// times from one record if that is large: it must not come from the disk each time.
  struct Reading {
    std::size_t segment = 0;              ///< in segments_
    std::uint64_t offset = 0;             ///< of a record: the entry is in it or behind it
    std::uint64_t index = 0;              ///< of the next entry
    std::uint64_t ahead = 0;              ///< up to here the segment has been asked for
    std::optional<SegmentReader> reader;  ///< of that segment
  };

  Wal(Disk& disk, const WalOptions& options);

  [[nodiscard]] base::Result<void> begin();
  [[nodiscard]] base::Result<void> roll();
  /// What a record tells beside hard state and entries; a segment's first one tells it always.
  enum class Tell : std::uint8_t { nothing, configuration, reset };
  [[nodiscard]] base::Result<void> write_record(std::span<const consensus::EntryView> entries,
                                                Tell tell = Tell::nothing);
  void set_configured(Configured configured);
  /// Whether the current segment is of an older version, into which nothing is written any more.
  [[nodiscard]] bool outdated() const { return segments_.back().header.version != kSegmentVersion; }
  [[nodiscard]] base::Result<void> retire_oldest();
  /// The record at `offset` of the current segment is durable.
  void note_entry(Segment& segment, const consensus::Position& at, std::uint64_t record_offset);
  void forget_marks_from(std::uint64_t index);
  /// Opens it if it is not open. However many segments there are, few are.
  [[nodiscard]] base::Result<File*> file_of(Segment& segment) const;
  void close_if_old(std::size_t segment);
  void end_reading();
  [[nodiscard]] Reading begin_reading(std::uint64_t index);
  void look_ahead(Reading& reading);
  base::Result<void> keep(Reading reading);
  void request_next();
  /// Whether a record finds its place in the current segment; nothing: it never will in any.
  [[nodiscard]] std::optional<bool> fits(std::size_t entries, std::size_t bytes,
                                         std::size_t leave) const;
  [[nodiscard]] base::Result<void> write_anew(Segment& segment);
  [[nodiscard]] std::unexpected<base::Error> fail(base::Error error);
  [[nodiscard]] std::size_t reserve_bytes() const;
  [[nodiscard]] std::string path_of(const Segment& segment) const;
  [[nodiscard]] SegmentHeader next_header() const;

  Disk& disk_;
  WalOptions options_;
  std::unique_ptr<DirectoryLock> lock_;
  std::unique_ptr<Preparer> preparer_;
  std::deque<Segment> segments_;  ///< oldest first; the last one is written into
  std::vector<std::uint64_t> spares_;
  std::uint64_t next_number_ = 1;
  std::uint64_t node_id_ = 0;
  consensus::HardState hard_state_;
  Configured configured_;
  std::string conf_state_;  ///< configured_ as records tell it
  TermRuns terms_;
  std::optional<Reading> reading_;  ///< the last one
  bool fresh_ = false;
  bool held_back_ = false;
  std::string buffer_;
  std::optional<base::Error> failure_;
};

}  // namespace jobbie::log
