// Writing and reading the checkpoint's frames.
#include "command/checkpoint_codec.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/crc32c.hpp"
#include "command/codec.hpp"

namespace jobbie::command {
namespace {

constexpr std::size_t kHeaderBytes = 8 + 4;
constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kCrcBytes = 4;
constexpr std::size_t kTrailerBytes = 8 + 4;  // after its length field, which is zero

std::string fixed32(std::uint32_t v) {
  std::string out;
  base::ByteWriter(out).u32(v);
  return out;
}

std::string header() { return std::string(kCheckpointMagic) + fixed32(kCheckpointVersion); }

/// An item's checksum covers its length as well, so that a damaged length cannot make other bytes
/// pass for an item.
std::uint32_t item_crc(std::string_view length, std::string_view body) {
  return base::crc32c(body, base::crc32c(length));
}

/// The running checksum over all frames takes in each frame's length and checksum, not its body
/// again: that is enough to see frames that are missing, doubled or out of order.
std::uint32_t add_frame(std::uint32_t frames_crc, std::string_view length, std::uint32_t crc) {
  return base::crc32c(fixed32(crc), base::crc32c(length, frames_crc));
}

/// What the trailer's checksum covers beyond the frames: a zero length and the number of items.
std::uint32_t trailer_crc(std::uint32_t frames_crc, std::uint64_t items) {
  std::string covered = fixed32(0);
  base::ByteWriter(covered).u64(items);
  return base::crc32c(covered, frames_crc);
}

std::unexpected<base::Error> fail(std::string_view code, std::string message) {
  return std::unexpected(base::Error{.code = std::string(code), .message = std::move(message)});
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::function<void(std::string_view)> sink)
    : sink_(std::move(sink)), buffer_(header()), frames_crc_(base::crc32c(buffer_)) {}

void CheckpointWriter::add(const Item& item) {
  JOBBIE_CHECK(!finished_);
  const auto frame = buffer_.size();
  const auto body = frame + kLengthBytes + kCrcBytes;
  buffer_.resize(body);
  encode(item, buffer_);
  const auto size = buffer_.size() - body;
  JOBBIE_CHECK(size <= kMaxCheckpointItem);
  const auto length = fixed32(static_cast<std::uint32_t>(size));
  const auto crc = item_crc(length, std::string_view(buffer_).substr(body));
  buffer_.replace(frame, kLengthBytes, length);
  buffer_.replace(frame + kLengthBytes, kCrcBytes, fixed32(crc));
  frames_crc_ = add_frame(frames_crc_, length, crc);
  ++items_;
  if (buffer_.size() >= kFlushBytes) flush();
}

void CheckpointWriter::finish() {
  JOBBIE_CHECK(!finished_);
  finished_ = true;
  base::ByteWriter writer(buffer_);
  writer.u32(0);
  writer.u64(items_);
  writer.u32(trailer_crc(frames_crc_, items_));
  flush();
}

void CheckpointWriter::flush() {
  sink_(buffer_);
  buffer_.clear();
}

CheckpointReader::CheckpointReader(std::function<base::Result<void>(Item)> on_item)
    : on_item_(std::move(on_item)) {
  expect(Part::header, kHeaderBytes);
}

void CheckpointReader::expect(Part part, std::size_t bytes) {
  part_ = part;
  needed_ = bytes;
}

base::Result<void> CheckpointReader::feed(std::string_view chunk) {
  while (state_ && !chunk.empty()) {
    if (part_ == Part::done) {
      state_ = fail(kCorruptCheckpoint, "The checkpoint goes on after its trailer.");
      break;
    }
    // Memory grows with what has arrived, never with what a length promises.
    const auto missing = needed_ - partial_.size();
    const auto piece = chunk.substr(0, std::min(missing, chunk.size()));
    chunk.remove_prefix(piece.size());
    if (piece.size() < missing) {
      partial_.append(piece);
      break;
    }
    const auto bytes = needed_;
    if (partial_.empty()) {
      state_ = take(piece);
    } else {
      partial_.append(piece);
      const auto whole = std::exchange(partial_, {});
      state_ = take(whole);
    }
    offset_ += bytes;
  }
  return state_;
}

base::Result<void> CheckpointReader::finish() {
  if (state_ && part_ != Part::done)
    state_ =
        fail(kTruncatedCheckpoint,
             fmt::format("The checkpoint ends inside the part that begins at byte {}.", offset_));
  return state_;
}

base::Result<void> CheckpointReader::take(std::string_view part) {
  switch (part_) {
    case Part::header:
      return take_header(part);
    case Part::length:
      return take_length(part);
    case Part::item:
      return take_item(part);
    case Part::trailer:
      return take_trailer(part);
    case Part::done:
      break;
  }
  return {};
}

base::Result<void> CheckpointReader::take_header(std::string_view part) {
  if (!part.starts_with(kCheckpointMagic))
    return fail(kCorruptCheckpoint, "This is not a checkpoint: it does not begin as one.");
  base::ByteReader reader(part.substr(kCheckpointMagic.size()));
  if (const auto version = reader.u32(); version != kCheckpointVersion)
    return fail(kUnknownVersion,
                fmt::format("Checkpoint version {} was written by another release; "
                            "this one reads version {}.",
                            version, kCheckpointVersion));
  frames_crc_ = base::crc32c(part);
  expect(Part::length, kLengthBytes);
  return {};
}

base::Result<void> CheckpointReader::take_length(std::string_view part) {
  length_ = base::ByteReader(part).u32();
  if (length_ > kMaxCheckpointItem)
    return fail(kCorruptCheckpoint,
                fmt::format("The item at byte {} claims to be {} bytes long.", offset_, length_));
  if (length_ == 0) {
    expect(Part::trailer, kTrailerBytes);
  } else {
    expect(Part::item, kCrcBytes + length_);
  }
  return {};
}

base::Result<void> CheckpointReader::take_item(std::string_view part) {
  const auto crc = base::ByteReader(part).u32();
  const auto body = part.substr(kCrcBytes);
  const auto length = fixed32(length_);
  if (item_crc(length, body) != crc)
    return fail(kCorruptCheckpoint, fmt::format("The item at byte {} is damaged.", offset_));
  auto item = decode_item(body);
  if (!item) return std::unexpected(std::move(item).error());
  frames_crc_ = add_frame(frames_crc_, length, crc);
  ++items_;
  expect(Part::length, kLengthBytes);
  return on_item_(*std::move(item));
}

base::Result<void> CheckpointReader::take_trailer(std::string_view part) {
  base::ByteReader reader(part);
  const auto items = reader.u64();
  const auto crc = reader.u32();
  if (items != items_ || crc != trailer_crc(frames_crc_, items))
    return fail(
        kCorruptCheckpoint,
        fmt::format("The trailer tells of {} items, {} were read, or its checksum is wrong.", items,
                    items_));
  expect(Part::done, 0);
  return {};
}

}  // namespace jobbie::command
