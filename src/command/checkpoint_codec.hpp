// Checkpoints: the whole state as one stream of items, with checksums that find any damage.
//
// docs/formats/checkpoint.md describes the bytes: a header, a frame of length and CRC-32C for each
// item, and a trailer with the number of items and a checksum over all frames. Neither side holds
// more than one item and one buffer, however large the state is. Neither does any I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "command/item.hpp"

namespace jobbie::command {

inline constexpr std::string_view kCheckpointMagic = "JOBBIECP";
inline constexpr std::uint32_t kCheckpointVersion = 1;
/// No item comes near: a job is at most its payload, checkpoint and result of 16 MiB each.
inline constexpr std::size_t kMaxCheckpointItem = std::size_t{64} << 20;

inline constexpr std::string_view kCorruptCheckpoint = "corrupt_checkpoint";
inline constexpr std::string_view kTruncatedCheckpoint = "truncated_checkpoint";

/// Not thread-safe. `sink` is called with pieces of the file in order, of about kFlushBytes; if it
/// can fail, it must remember that by itself.
class CheckpointWriter {
 public:
  static constexpr std::size_t kFlushBytes = std::size_t{256} << 10;

  explicit CheckpointWriter(std::function<void(std::string_view)> sink);

  void add(const Item& item);

  /// Writes the trailer. A checkpoint without it is not one. Nothing may be added afterwards.
  void finish();

 private:
  void flush();

  std::function<void(std::string_view)> sink_;
  std::string buffer_;
  std::uint64_t items_ = 0;
  std::uint32_t frames_crc_ = 0;
  bool finished_ = false;
};

/// Takes a checkpoint in chunks of any size. Not thread-safe.
///
/// Items reach the callback before the trailer has been seen: what was built from them may be used
/// only once finish() has succeeded. After a fault every call gives the same error again.
class CheckpointReader {
 public:
  /// `on_item` may refuse an item; its error is then the reader's.
  explicit CheckpointReader(std::function<base::Result<void>(Item)> on_item);

  [[nodiscard]] base::Result<void> feed(std::string_view chunk);

  /// Fails unless everything, trailer included, has been fed.
  [[nodiscard]] base::Result<void> finish();

  [[nodiscard]] std::uint64_t items() const { return items_; }

 private:
  enum class Part : std::uint8_t { header, length, item, trailer, done };

  base::Result<void> take(std::string_view part);
  base::Result<void> take_header(std::string_view part);
  base::Result<void> take_length(std::string_view part);
  base::Result<void> take_item(std::string_view part);
  base::Result<void> take_trailer(std::string_view part);
  void expect(Part part, std::size_t bytes);

  std::function<base::Result<void>(Item)> on_item_;
  Part part_ = Part::header;
  std::size_t needed_ = 0;    ///< bytes of the part that is being read
  std::uint32_t length_ = 0;  ///< of the item that is being read
  std::string partial_;       ///< the beginning of that part, when a chunk ended inside of it
  std::uint64_t items_ = 0;
  std::uint32_t frames_crc_ = 0;
  std::uint64_t offset_ = 0;  ///< in the file, of the part that is being read
  base::Result<void> state_;  ///< the first fault
};

}  // namespace jobbie::command
