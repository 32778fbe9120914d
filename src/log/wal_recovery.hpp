// Finding the log again after a stop of any kind.
//
// Records are read in order of their numbers. Where the next one cannot be found the log ends, if
// nothing sound comes after it: at most one record is ever on its way to the disk, so a power loss
// can tear the last record and no other. A sound record after a gap means that something durable
// was damaged, and then the log refuses to start rather than lose what was acknowledged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "log/segment.hpp"
#include "log/wal.hpp"

namespace jobbie::log {

/// The refusal to start: where the damage is, and what can be done.
[[nodiscard]] base::Error damaged(const std::string& path, std::uint64_t offset);

/// Fills a Wal from its directory. Nothing on disk is changed before all of it was found sound.
class WalRecovery {
 public:
  explicit WalRecovery(Wal& wal) : wal_(wal) {}

  [[nodiscard]] base::Result<void> run();
  /// A prepared segment behind the last one, if there is one.
  [[nodiscard]] std::optional<PreparedSegment>& next_segment() { return next_segment_; }

 private:
  [[nodiscard]] base::Result<void> look_around();
  [[nodiscard]] base::Result<void> open_segment(std::uint64_t sequence);
  [[nodiscard]] base::Result<void> walk();
  /// Takes the records of a segment; false if it has none that continues the log.
  [[nodiscard]] base::Result<bool> walk_segment(Wal::Segment& segment);
  [[nodiscard]] base::Result<void> accept(Wal::Segment& segment, const RecordView& record,
                                          std::uint64_t offset);
  [[nodiscard]] bool accept_state(const Wal::Segment& segment, const StateView& state);
  void forget_entries(const consensus::Position& base);
  [[nodiscard]] base::Result<Configured> configured_by_core(const StateView& state) const;
  [[nodiscard]] base::Result<void> check_nothing_follows(std::size_t last);
  [[nodiscard]] base::Result<void> rewrite_last_record();
  [[nodiscard]] base::Result<void> clean_up();

  Wal& wal_;
  std::vector<std::uint64_t> active_;     ///< sequences of the segments that make up the log
  std::vector<std::uint64_t> left_over_;  ///< segments that no longer count, or never did
  std::vector<SegmentName> other_;        ///< spares and unfinished files
  std::vector<Wal::Segment> found_;
  std::optional<std::uint64_t> expected_;  ///< number of the next record
  std::uint64_t last_offset_ = 0;          ///< of the last record
  std::optional<PreparedSegment> next_segment_;
};

}  // namespace jobbie::log
