// Looking for the smallest key, block by block.
#include "engine/queue_heads.hpp"

#include <algorithm>

namespace jobbie::engine {

void QueueHeads::find_smallest(std::size_t block) {
  const auto begin = bounds_.begin() + static_cast<std::ptrdiff_t>(block * kBlock);
  const auto left = static_cast<std::ptrdiff_t>(bounds_.size() - block * kBlock);
  smallest_[block] = *std::min_element(begin, begin + std::min<std::ptrdiff_t>(left, kBlock));
  stale_[block] = false;
}

std::uint32_t QueueHeads::first_of(QueueSetView set, std::uint32_t first) {
  ReadyKey best = bounds_[first];
  for (std::size_t block = 0; block < set.size(); ++block) {
    if (set[block] == 0 || !(smallest_in(block) < best)) continue;
    for_each_queue(block, set[block], [&](std::uint32_t slot) {
      if (!(bounds_[slot] < best)) return;
      best = bounds_[slot];
      first = slot;
    });
  }
  return first;
}

}  // namespace jobbie::engine
