// Who waits for whom: the jobs that depend on one which has not ended, in order of their sequences.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "engine/sequence_list.hpp"
#include "engine/shrink.hpp"

namespace jobbie::engine {

/// Jobs are named by their sequences. No job has an empty list.
class Dependents {
 public:
  /// Whether `waiter` did not wait for `job` before.
  bool add(std::uint64_t job, std::uint64_t waiter) { return waiters_[job].insert(waiter); }
  /// Nothing happens if it does not wait.
  void remove(std::uint64_t job, std::uint64_t waiter) {
    const auto found = waiters_.find(job);
    if (found == waiters_.end()) return;
    found->second.erase(waiter);
    if (found->second.empty()) waiters_.erase(found);
  }
  [[nodiscard]] bool any(std::uint64_t job) const { return waiters_.contains(job); }
  /// The first that waits for `job`, if it is not after `bound`; 0: there is none.
  [[nodiscard]] std::uint64_t first(std::uint64_t job, std::uint64_t bound) const {
    const auto found = waiters_.find(job);
    return found == waiters_.end() || found->second.front() > bound ? 0 : found->second.front();
  }
  /// Gives memory back if few are left of many.
  void shrink() { shrink_table(waiters_); }

 private:
  std::unordered_map<std::uint64_t, SequenceList> waiters_;
};

}  // namespace jobbie::engine
