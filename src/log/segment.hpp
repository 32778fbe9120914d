// Segment files: their names, and how one is made ready to be written into.
//
// A segment is prewritten: every block of it has been written before its first record comes, so
// that a record's sync has no metadata to write and can never find the disk full. Segments that are
// no longer needed become spares and are used again under a new sequence number and salt.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "log/disk.hpp"
#include "log/record.hpp"

namespace jobbie::log {

/// What a file in the log's directory is, by its name: `<16 hex digits>.wal`, `.spare` or `.new`.
enum class SegmentKind : std::uint8_t { active, spare, unfinished };

struct SegmentName {
  std::uint64_t sequence = 0;
  SegmentKind kind = SegmentKind::active;
};

[[nodiscard]] std::string segment_path(const std::string& directory, const SegmentName& name);
[[nodiscard]] std::optional<SegmentName> parse_segment_name(std::string_view name);

/// A segment that is on disk under its own name, with its header and nothing else.
struct PreparedSegment {
  SegmentHeader header;
  std::unique_ptr<File> file;
};

struct PrepareRequest {
  SegmentHeader header;
  /// Sequence of a spare to be used; none: a new file.
  std::optional<std::uint64_t> spare;
  /// What a new file must leave free on the disk.
  std::uint64_t leave_free = 0;
};

/// Makes a segment. A spare of another size is removed and a new file made, as for one that is not
/// there any more.
[[nodiscard]] base::Result<PreparedSegment> prepare_segment(Disk& disk,
                                                            const std::string& directory,
                                                            const PrepareRequest& request);

/// Prepares one segment at a time, on a thread of its own or at once. Used from one thread.
class Preparer {
 public:
  enum class Mode : std::uint8_t { thread, at_once };

  Preparer(Disk& disk, std::string directory, Mode mode);
  ~Preparer();
  Preparer(const Preparer&) = delete;
  Preparer& operator=(const Preparer&) = delete;

  /// Only while idle().
  void request(const PrepareRequest& request);
  /// As if `segment` had been requested and made. Only while idle().
  void offer(PreparedSegment segment);
  /// Nothing is asked for and no result waits to be taken.
  [[nodiscard]] bool idle() const;
  /// Whether a result could be taken without waiting.
  [[nodiscard]] bool done() const;
  /// Waits for what was requested. Null while nothing is. Stays until it is taken.
  [[nodiscard]] const base::Result<PreparedSegment>* wait() const;
  /// The result of wait().
  [[nodiscard]] base::Result<PreparedSegment> take();

 private:
  void run();

  Disk& disk_;
  const std::string directory_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<PrepareRequest> wanted_;
  std::optional<base::Result<PreparedSegment>> result_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace jobbie::log
