// Frames that wait for one connection. Any thread puts in, the transport's takes out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "peer/frame_reader.hpp"

namespace jobbie::peer {

class Outbox {
 public:
  explicit Outbox(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  enum class Put : std::uint8_t {
    full,
    queued,
    first,  ///< queued, and nobody knows yet that something is here
  };
  Put put(Frame frame);
  /// Seals frames into `out`, until that is `batch` long or nothing is left.
  void take(Seal& seal, std::string& out, std::size_t batch);
  [[nodiscard]] std::size_t bytes() const;

 private:
  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  std::deque<Frame> frames_;
  std::size_t bytes_ = 0;
  bool noticed_ = false;  ///< from the first frame until all are taken
};

}  // namespace jobbie::peer
