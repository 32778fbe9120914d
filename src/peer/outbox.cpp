// Frames are moved out under the lock and sealed outside of it.
#include "peer/outbox.hpp"

#include <utility>
#include <vector>

namespace jobbie::peer {

Outbox::Put Outbox::put(Frame frame) {
  const std::size_t size = frame.payload.size() + kHeadBytes;
  const std::lock_guard lock(mutex_);
  if (bytes_ > 0 && bytes_ + size > most_bytes_) return Put::full;
  bytes_ += size;
  frames_.push_back(std::move(frame));
  return std::exchange(noticed_, true) ? Put::queued : Put::first;
}

void Outbox::take(Seal& seal, std::string& out, std::size_t batch) {
  std::vector<Frame> taken;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t size = out.size(); size < batch && !frames_.empty();) {
      const std::size_t one = frames_.front().payload.size() + kHeadBytes;
      size += one;
      bytes_ -= one;
      taken.push_back(std::move(frames_.front()));
      frames_.pop_front();
    }
    noticed_ = !frames_.empty();
  }
  for (const Frame& frame : taken) seal.seal(frame.kind, frame.payload, out);
}

std::size_t Outbox::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace jobbie::peer
