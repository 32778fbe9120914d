// The bytes of a segment: its header and its records (docs/formats/wal.md).
//
// One record is one Ready of the Raft core: hard state and entries, written and found again
// together or not at all. Its checksums start from the segment's salt, its sequence number and the
// record's offset, so that bytes of an earlier life of the file, or bytes that a client chose, are
// never taken for a record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "consensus/core.hpp"
#include "log/disk.hpp"

namespace jobbie::log {

inline constexpr std::string_view kSegmentMagic = "JOBBIEWL";
/// Version 1 knew one voter: no record but a segment's first had a state, whose configuration was a
/// ConfState of raft-rs. It is still read.
inline constexpr std::uint32_t kSegmentVersion = 2;
inline constexpr std::uint32_t kFirstSegmentVersion = 1;
inline constexpr std::size_t kSegmentHeaderBytes = 4096;
inline constexpr std::size_t kRecordHeaderBytes = 56;
inline constexpr std::size_t kEntryHeaderBytes = 24;
inline constexpr std::size_t kStateHeaderBytes = 20;
/// Records start at multiples of this.
inline constexpr std::size_t kRecordAlignment = 8;
inline constexpr std::size_t kMinSegmentBytes = 8192;
inline constexpr std::size_t kMaxSegmentBytes = 1u << 30;
inline constexpr std::size_t kMaxConfStateBytes = 24u << 10;

struct SegmentHeader {
  std::uint64_t sequence = 0;  ///< of the segment, also in its name
  std::uint64_t salt = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t node_id = 0;
  std::uint32_t version = kSegmentVersion;
  bool operator==(const SegmentHeader&) const = default;
};

/// kSegmentHeaderBytes bytes.
[[nodiscard]] std::string encode_segment_header(const SegmentHeader& header);
/// Fails with `unknown_version` or `corrupt_log`.
[[nodiscard]] base::Result<SegmentHeader> decode_segment_header(std::string_view bytes);

/// What a segment's first record says, so that no older segment is needed to start; and any record
/// from which on there is another configuration.
struct StateView {
  consensus::Position base;     ///< the last entry before this record
  std::string_view conf_state;  ///< the configuration in force there
  /// The log begins anew behind `base`: nothing counts that was written before.
  bool reset = false;
};

struct RecordView {
  std::uint64_t number = 0;  ///< counts the records of a log from 1, without gaps
  consensus::HardState hard_state;
  std::optional<StateView> state;
  std::uint32_t entry_count = 0;
  std::string_view entries;  ///< encoded; walk them with EntryReader
  std::uint64_t end = 0;     ///< offset behind the record, aligned
};

/// Walks the entries of a record whose checksum was right.
class EntryReader {
 public:
  explicit EntryReader(const RecordView& record) : left_(record.entries) {}
  /// The next entry; nothing at the end, or if the bytes are not entries (then !sound()).
  [[nodiscard]] std::optional<consensus::EntryView> next();
  [[nodiscard]] bool sound() const { return sound_; }

 private:
  std::string_view left_;
  bool sound_ = true;
};

struct RecordPlace {
  const SegmentHeader& segment;
  std::uint64_t offset = 0;
};

struct RecordContent {
  std::uint64_t number = 0;
  consensus::HardState hard_state;
  std::optional<StateView> state;
  std::span<const consensus::EntryView> entries;
};

/// How many bytes the record takes in a segment.
[[nodiscard]] std::size_t record_bytes(const RecordContent& content);
/// Replaces `out` by the record, for this place and no other.
void encode_record(const RecordPlace& place, const RecordContent& content, std::string& out);

/// For tests that show that a check is needed: everything, or the header alone.
enum class Verify : std::uint8_t { everything, header_only };

/// Reads a segment's records through a buffer.
class SegmentReader {
 public:
  SegmentReader(File& file, const SegmentHeader& header, Verify verify = Verify::everything);

  /// The record at `offset`, valid until the next call; nothing if there is no sound one. Fails
  /// only if the file cannot be read.
  [[nodiscard]] base::Result<std::optional<RecordView>> read(std::uint64_t offset);
  /// The first offset from `from` on where there is a sound record whose number is at least
  /// `min_number`; nothing if there is none up to the segment's end.
  [[nodiscard]] base::Result<std::optional<std::uint64_t>> find(std::uint64_t from,
                                                                std::uint64_t min_number);
  /// What lies at `offset` or behind may change from now on.
  void forget_from(std::uint64_t offset);

 private:
  [[nodiscard]] base::Result<std::string_view> bytes(std::uint64_t offset, std::size_t count);

  File* file_;
  SegmentHeader header_;
  Verify verify_;
  std::string buffer_;
  std::uint64_t buffer_offset_ = 0;
};

}  // namespace jobbie::log
