// Unique keys: a lock is a mark on the job that holds it, found by the hash of queue and key.
//
// The table maps 48 bits of the hash to a job; jobs whose bits are equal hang on one chain. A lock
// cannot outlive its job, since there is nothing else that it could be. At most one job holds the
// same key of the same queue, and each queue counts its locks.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/job.hpp"
#include "engine/queue_state.hpp"
#include "engine/sequence_index.hpp"
#include "engine/slab.hpp"

namespace jobbie::engine {

class Locks {
 public:
  /// `seed` varies the hash; no outcome depends on it.
  Locks(Slab<Job>& jobs, std::uint64_t seed) : jobs_(jobs), seed_(seed) {}
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;

  /// The job that holds the key; 0: nobody. Its deadlines may have passed.
  [[nodiscard]] Slot find(Slot queue, std::string_view key) const;
  /// Marks a job that has a key, and holds no lock, as the holder; nobody else may be.
  void take(Slot slot, Queue& queue, Instant now);
  /// The same for a job that was loaded.
  void restore(Slot slot, Queue& queue, Instant until);
  /// Nothing happens if the job holds no lock.
  void release(Slot slot, Queue& queue);
  /// Around a move to another queue: the job keeps its mark.
  void unlink(Slot slot, Queue& queue);
  void link(Slot slot, Queue& queue);

 private:
  [[nodiscard]] std::uint64_t hash_of(Slot queue, std::string_view key) const;

  Slab<Job>& jobs_;
  std::uint64_t seed_;
  ScatteredIndex table_;  ///< 48 bits of the hash → first job of the chain
};

}  // namespace jobbie::engine
