// Encoding and decoding of segments and records.
#include "log/record.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/crc32c.hpp"

namespace jobbie::log {
namespace {

constexpr std::size_t kSegmentFieldsEnd = 48;
constexpr std::size_t kSegmentCrcOffset = 12;
// A record's flags.
constexpr std::uint32_t kHasState = 1;
constexpr std::uint32_t kReset = 2;
/// Segments are read in pieces of this size.
constexpr std::size_t kReadBytes = 1u << 20;

/// Fixed numbers, written in place.
template <typename T>
void put(std::string& out, std::size_t at, T value) {
  std::memcpy(out.data() + at, &value, sizeof value);  // little-endian machines only, as crc32c
}

template <typename T>
T take(std::string_view bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::size_t aligned(std::size_t bytes) {
  return (bytes + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment;
}

std::uint32_t checksum_seed(const SegmentHeader& segment, std::uint64_t offset) {
  const std::array<std::uint64_t, 3> place{segment.salt, segment.sequence, offset};
  std::array<char, sizeof place> bytes{};
  std::memcpy(bytes.data(), place.data(), bytes.size());
  return base::crc32c({bytes.data(), bytes.size()});
}

base::Error corrupt_header(std::string message) { return {"corrupt_log", std::move(message)}; }

/// The state section and the entries of a body whose checksum was right.
bool split_body(std::string_view body, std::uint32_t flags, RecordView& record) {
  if ((flags & kHasState) != 0) {
    if (body.size() < kStateHeaderBytes) return false;
    const auto conf_bytes = take<std::uint32_t>(body, 16);
    if (conf_bytes > body.size() - kStateHeaderBytes) return false;
    record.state = StateView{{take<std::uint64_t>(body, 0), take<std::uint64_t>(body, 8)},
                             body.substr(kStateHeaderBytes, conf_bytes),
                             (flags & kReset) != 0};
    body.remove_prefix(kStateHeaderBytes + conf_bytes);
  }
  record.entries = body;
  return true;
}

}  // namespace

std::string encode_segment_header(const SegmentHeader& header) {
  std::string out(kSegmentHeaderBytes, '\0');
  std::memcpy(out.data(), kSegmentMagic.data(), kSegmentMagic.size());
  put(out, 8, header.version);
  put(out, 16, header.sequence);
  put(out, 24, header.salt);
  put(out, 32, header.segment_bytes);
  put(out, 40, header.node_id);
  const auto fields = std::string_view(out);
  const auto crc = base::crc32c(fields.substr(16, kSegmentFieldsEnd - 16),
                                base::crc32c(fields.substr(0, kSegmentCrcOffset)));
  put(out, kSegmentCrcOffset, crc);
  return out;
}

base::Result<SegmentHeader> decode_segment_header(std::string_view bytes) {
  if (bytes.size() < kSegmentHeaderBytes || !bytes.starts_with(kSegmentMagic))
    return std::unexpected(corrupt_header("not a segment of the log"));
  const auto crc = base::crc32c(bytes.substr(16, kSegmentFieldsEnd - 16),
                                base::crc32c(bytes.substr(0, kSegmentCrcOffset)));
  if (take<std::uint32_t>(bytes, kSegmentCrcOffset) != crc)
    return std::unexpected(corrupt_header("the segment's header has a wrong checksum"));
  const auto version = take<std::uint32_t>(bytes, 8);
  if (version < kFirstSegmentVersion || version > kSegmentVersion)
    return std::unexpected(
        base::Error{"unknown_version", "the segment was written by another version"});
  const SegmentHeader header{
      .sequence = take<std::uint64_t>(bytes, 16),
      .salt = take<std::uint64_t>(bytes, 24),
      .segment_bytes = take<std::uint64_t>(bytes, 32),
      .node_id = take<std::uint64_t>(bytes, 40),
      .version = version,
  };
  if (header.segment_bytes < kMinSegmentBytes || header.segment_bytes > kMaxSegmentBytes ||
      header.segment_bytes % kRecordAlignment != 0)
    return std::unexpected(corrupt_header("the segment's header has an impossible size"));
  return header;
}

std::size_t record_bytes(const RecordContent& content) {
  std::size_t bytes = kRecordHeaderBytes;
  if (content.state) bytes += kStateHeaderBytes + content.state->conf_state.size();
  for (const auto& entry : content.entries) bytes += kEntryHeaderBytes + entry.data.size();
  return aligned(bytes);
}

void encode_record(const RecordPlace& place, const RecordContent& content, std::string& out) {
  const auto total = record_bytes(content);
  out.clear();
  out.reserve(total);
  out.resize(kRecordHeaderBytes);
  base::ByteWriter writer(out);
  if (content.state) {
    writer.u64(content.state->base.index);
    writer.u64(content.state->base.term);
    writer.u32(static_cast<std::uint32_t>(content.state->conf_state.size()));
    out.append(content.state->conf_state);
  }
  for (const auto& entry : content.entries) {
    writer.u64(entry.index);
    writer.u64(entry.term);
    writer.u32(static_cast<std::uint32_t>(entry.type));
    writer.u32(static_cast<std::uint32_t>(entry.data.size()));
    out.append(entry.data);
  }
  const auto body_bytes = out.size() - kRecordHeaderBytes;
  const auto seed = checksum_seed(place.segment, place.offset);
  const auto body = std::string_view(out).substr(kRecordHeaderBytes);
  put(out, 4, base::crc32c(body, seed));
  put(out, 8, static_cast<std::uint32_t>(body_bytes));
  put(out, 12, static_cast<std::uint32_t>(content.entries.size()));
  put(out, 16, content.number);
  put(out, 24, content.hard_state.term);
  put(out, 32, content.hard_state.vote);
  put(out, 40, content.hard_state.commit);
  const auto reset = content.state && content.state->reset ? kReset : 0;
  put(out, 48, content.state ? kHasState | reset : 0);
  put(out, 52, std::uint32_t{0});
  put(out, 0, base::crc32c(std::string_view(out).substr(4, kRecordHeaderBytes - 4), seed));
  out.resize(total);
}

std::optional<consensus::EntryView> EntryReader::next() {
  if (left_.empty() || !sound_) return std::nullopt;
  sound_ = left_.size() >= kEntryHeaderBytes;
  if (!sound_) return std::nullopt;
  const auto type = take<std::uint32_t>(left_, 16);
  const auto bytes = take<std::uint32_t>(left_, 20);
  sound_ = bytes <= left_.size() - kEntryHeaderBytes &&
           type <= static_cast<std::uint32_t>(consensus::EntryType::conf_change_v2);
  if (!sound_) return std::nullopt;
  const consensus::EntryView entry{take<std::uint64_t>(left_, 0), take<std::uint64_t>(left_, 8),
                                   consensus::EntryType{type},
                                   left_.substr(kEntryHeaderBytes, bytes)};
  left_.remove_prefix(kEntryHeaderBytes + bytes);
  return entry;
}

SegmentReader::SegmentReader(File& file, const SegmentHeader& header, Verify verify)
    : file_(&file), header_(header), verify_(verify) {}

base::Result<std::string_view> SegmentReader::bytes(std::uint64_t offset, std::size_t count) {
  JOBBIE_CHECK(offset + count <= header_.segment_bytes);
  if (offset < buffer_offset_ || offset + count > buffer_offset_ + buffer_.size()) {
    const auto left = static_cast<std::size_t>(header_.segment_bytes - offset);
    buffer_.resize(std::min(std::max(count, kReadBytes), left));
    buffer_offset_ = offset;
    const auto got = file_->read_at(offset, buffer_);
    if (!got) {
      buffer_.clear();
      return std::unexpected(got.error());
    }
    std::fill(buffer_.begin() + static_cast<std::ptrdiff_t>(*got), buffer_.end(), '\0');
  }
  return std::string_view(buffer_).substr(static_cast<std::size_t>(offset - buffer_offset_), count);
}

base::Result<std::optional<RecordView>> SegmentReader::read(std::uint64_t offset) {
  const auto none = std::optional<RecordView>{};
  if (offset + kRecordHeaderBytes > header_.segment_bytes) return none;
  const auto head = bytes(offset, kRecordHeaderBytes);
  if (!head) return std::unexpected(head.error());
  const auto body_bytes = take<std::uint32_t>(*head, 8);
  const auto flags = take<std::uint32_t>(*head, 48);
  // Cheap looks first: this runs at every eighth byte of a segment when the tail is judged.
  const auto known = header_.version == kFirstSegmentVersion ? kHasState : kHasState | kReset;
  if (flags > known || flags == kReset || take<std::uint32_t>(*head, 52) != 0) return none;
  if (take<std::uint64_t>(*head, 16) == 0) return none;
  if (body_bytes > header_.segment_bytes - offset - kRecordHeaderBytes) return none;
  const auto seed = checksum_seed(header_, offset);
  if (take<std::uint32_t>(*head, 0) != base::crc32c(head->substr(4), seed)) return none;

  RecordView record;
  record.entry_count = take<std::uint32_t>(*head, 12);
  record.number = take<std::uint64_t>(*head, 16);
  record.hard_state = {take<std::uint64_t>(*head, 24), take<std::uint64_t>(*head, 32),
                       take<std::uint64_t>(*head, 40)};
  record.end = aligned(static_cast<std::size_t>(offset) + kRecordHeaderBytes + body_bytes);
  const auto body_crc = take<std::uint32_t>(*head, 4);
  const auto whole = bytes(offset, kRecordHeaderBytes + body_bytes);
  if (!whole) return std::unexpected(whole.error());
  const auto body = whole->substr(kRecordHeaderBytes);
  if (verify_ == Verify::everything && body_crc != base::crc32c(body, seed)) return none;
  if (!split_body(body, flags, record)) return none;
  return record;
}

void SegmentReader::forget_from(std::uint64_t offset) {
  const auto kept = offset > buffer_offset_ ? offset - buffer_offset_ : 0;
  if (kept < buffer_.size()) buffer_.resize(static_cast<std::size_t>(kept));
}

base::Result<std::optional<std::uint64_t>> SegmentReader::find(std::uint64_t from,
                                                               std::uint64_t min_number) {
  for (auto at = from; at + kRecordHeaderBytes <= header_.segment_bytes; at += kRecordAlignment) {
    const auto record = read(at);
    if (!record) return std::unexpected(record.error());
    if (*record && (*record)->number >= min_number) return at;
  }
  return std::optional<std::uint64_t>{};
}

}  // namespace jobbie::log
