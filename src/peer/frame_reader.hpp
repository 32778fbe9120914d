// Bytes as they come, cut into frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.hpp"
#include "peer/seal.hpp"

namespace jobbie::peer {

struct Frame {
  std::uint8_t kind = 0;
  std::string payload;
};

/// Holds what has come and was not taken yet: less than one frame, and what one read brought. It
/// grows with what really comes, not with what a head promises.
class FrameReader {
 public:
  explicit FrameReader(std::size_t longest) : longest_(longest) {}

  /// Where the next bytes may be put; never empty.
  std::span<char> space();
  /// So many were put there.
  void filled(std::size_t bytes) { end_ += bytes; }

  /// Frames may be longer from now on.
  void allow(std::size_t longest) { longest_ = longest; }
  /// `bytes` bytes that are no frame, if so many have come.
  std::optional<std::string> take(std::size_t bytes);
  /// What has come, looked at without being taken.
  [[nodiscard]] std::string_view held() const { return {buffer_.data() + begin_, end_ - begin_}; }
  /// The next frame, if it has come whole. Errors: `malformed`, `frame_too_long`, `bad_seal`.
  base::Result<std::optional<Frame>> next(Seal& seal);

 private:
  static constexpr std::size_t kReadBytes = std::size_t{64} << 10;
  static constexpr std::size_t kGrowBytes = std::size_t{1} << 20;

  std::size_t longest_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t missing_ = 0;  ///< of the frame whose head has come
};

}  // namespace jobbie::peer
