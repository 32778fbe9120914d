// The node is woken by the first letter; the others find it awake.
#include "node/mailbox.hpp"

#include <utility>

namespace jobbie::node {

void Mailbox::put(Letter letter) {
  {
    const std::lock_guard lock(mutex_);
    letters_.push_back(std::move(letter));
    if (letters_.size() > 1) return;
  }
  intake_.wake();
}

void Mailbox::on_frame(std::uint64_t from, std::uint8_t kind, std::string bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (frame_bytes_ + bytes.size() > kFrameBytes) return;
    frame_bytes_ += bytes.size();
  }
  put(Frame{.from = from, .kind = kind, .bytes = std::move(bytes)});
}

void Mailbox::take(std::vector<Letter>& into) {
  into.clear();
  const std::lock_guard lock(mutex_);
  std::swap(into, letters_);
  frame_bytes_ = 0;
}

}  // namespace jobbie::node
