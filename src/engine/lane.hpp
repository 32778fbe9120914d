// A lane: pending jobs of one queue that are claimable under the same conditions, in order.
//
// Jobs of one lane share their group, their requirements and their limit keys, so whether the lane
// is open answers for all of them. The three named priorities each have a linked list, which new
// jobs join at the end for O(1); a job that comes late (retried, promoted, of another priority)
// goes into a heap. The head is the best of the four. Nothing is ever marked dead and skipped:
// leaving is O(1) from a list and O(log n) from the heap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/indexed_heap.hpp"
#include "engine/job.hpp"
#include "engine/slab.hpp"

namespace jobbie::engine {

struct Need;

struct LatePosition {
  Slab<Job>* jobs = nullptr;
  std::uint32_t& operator()(std::uint32_t slot) const { return (*jobs)[slot].late_position; }
};

class Lane {
 public:
  explicit Lane(Slab<Job>& jobs) : jobs_(&jobs), late_(LatePosition{&jobs}) {}

  // What its jobs have in common.
  std::uint32_t queue = 0;
  std::uint32_t group = 0;  ///< group slot; 0: jobs without a group
  Need* need = nullptr;     ///< null: no requirements
  std::uint32_t concurrency_key = 0;
  std::uint32_t throttle_key = 0;

  // Its place among the queue's open lanes.
  std::uint32_t bucket = 0;  ///< 0: not open, or the queue needs no order among lanes
  std::uint32_t order_position = kAbsent;

  void insert(std::uint32_t slot);
  void remove(std::uint32_t slot);

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Slot of the first job; the lane must not be empty.
  [[nodiscard]] std::uint32_t head() const { return head_; }
  [[nodiscard]] ReadyKey head_key() const { return head_key_; }

  /// How many jobs stand before `slot`; looks at no more than `looks`, and takes them off it.
  [[nodiscard]] std::size_t ahead_of(std::uint32_t slot, std::size_t& looks) const;
  /// The smallest sequence in the lane; looks at no more than `looks` latecomers, and takes them
  /// off it.
  [[nodiscard]] std::uint64_t oldest(std::size_t& looks) const;
  /// Whether links, heap and size agree (for audits).
  [[nodiscard]] bool audit() const;

 private:
  static constexpr std::size_t kTiers = 3;
  struct Tier {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::uint64_t last_sequence = 0;
  };
  using LateHeap = IndexedHeap<ReadyKey, LatePosition>;

  [[nodiscard]] Tier* tier_for(const Job& job);
  void find_head();

  Slab<Job>* jobs_;
  std::array<Tier, kTiers> tiers_{};
  LateHeap late_;
  std::size_t size_ = 0;
  std::uint32_t head_ = 0;
  ReadyKey head_key_;
};

}  // namespace jobbie::engine
