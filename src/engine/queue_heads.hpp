// What claims over many queues go by: each queue's first job, and the smallest of each 64 queues.
//
// A claim over a hundred thousand queues looks at the blocks' smallest keys and opens few of them.
// The smallest key of a block is found when it is next asked for, so that a job that comes or goes
// costs one write here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/job.hpp"

namespace jobbie::engine {

/// Queues as bits, by slot. One that is shorter than there are queues holds none of the others.
using QueueSet = std::vector<std::uint64_t>;
using QueueSetView = std::span<const std::uint64_t>;
inline constexpr std::uint32_t kBlock = 64;

/// Calls `use` with each slot of one word of a set.
template <typename Use>
void for_each_queue(std::size_t word, std::uint64_t bits, Use&& use) {
  for (; bits != 0; bits &= bits - 1)
    use(static_cast<std::uint32_t>(word * kBlock) +
        static_cast<std::uint32_t>(__builtin_ctzll(bits)));
}

inline void insert(QueueSet& set, std::uint32_t slot) {
  if (slot / kBlock >= set.size()) set.resize(slot / kBlock + 1);
  set[slot / kBlock] |= std::uint64_t{1} << slot % kBlock;
}

class QueueHeads {
 public:
  /// Room for one queue more, without a job.
  void add() {
    bounds_.push_back(kNothingReady);
    if (bounds_.size() <= smallest_.size() * kBlock) return;
    smallest_.push_back(kNothingReady);
    stale_.push_back(false);
    pending_.push_back(0);
  }

  /// No job of the queue that could be claimed stands before this.
  [[nodiscard]] ReadyKey bound(std::uint32_t slot) const { return bounds_[slot]; }
  void set_bound(std::uint32_t slot, ReadyKey key) {
    if (bounds_[slot] == key) return;
    bounds_[slot] = key;
    stale_[slot / kBlock] = true;
  }

  /// Whether the queue has a pending job, claimable or not.
  void set_pending(std::uint32_t slot, bool any) {
    const auto bit = std::uint64_t{1} << slot % kBlock;
    if (any)
      pending_[slot / kBlock] |= bit;
    else
      pending_[slot / kBlock] &= ~bit;
  }
  [[nodiscard]] bool is_pending(std::uint32_t slot) const {
    return (pending_[slot / kBlock] >> slot % kBlock & 1) != 0;
  }
  /// Whether one of `set` has a pending job.
  [[nodiscard]] bool any_pending(QueueSetView set) const {
    for (std::size_t i = 0; i < set.size(); ++i)
      if ((set[i] & pending_[i]) != 0) return true;
    return false;
  }

  /// The smallest bound among the queues of a block.
  [[nodiscard]] ReadyKey smallest_in(std::size_t block) {
    if (stale_[block]) find_smallest(block);
    return smallest_[block];
  }

  /// The one of `set` and `first` whose bound is smallest; 0: none has anything.
  [[nodiscard]] std::uint32_t first_of(QueueSetView set, std::uint32_t first);

 private:
  void find_smallest(std::size_t block);

  std::vector<ReadyKey> bounds_;     ///< by slot
  std::vector<ReadyKey> smallest_;   ///< by block
  std::vector<std::uint8_t> stale_;  ///< by block: to be found again
  QueueSet pending_;
};

}  // namespace jobbie::engine
