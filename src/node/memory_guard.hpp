// Whether there is memory for more: the leader asks before it takes on anything that stays.
//
// Three gauges, each with its bound: what the state takes by the engine's account, or the process
// by the system's, against the limit that the operator gave; what the process takes against what
// the machine or its control group has; and address space against the limits of the process. A
// request is refused if it would pass any bound. When one is nearly reached, everything that stays
// is refused until there is clearly room again. What is left of the system's memory above the
// bounds is for answers, searches, copies and whatever else goes on meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "node/memory_bounds.hpp"

namespace jobbie::node {

/// What the allocator says of itself.
struct HeapUse {
  std::uint64_t allocated = 0;  ///< handed out
  std::uint64_t reusable = 0;   ///< address space that it keeps and would use first
};

struct MemoryOptions {
  /// What the process should take at most; zero: only the system's bounds count.
  std::uint64_t limit = 0;
  MemoryBounds bounds;
  /// Asked only when a bound is near; may take a millisecond. Empty: nobody knows.
  std::function<HeapUse()> heap;
  /// Gives back to the system what the allocator keeps for later; asked for when address space is
  /// short. What one thread has freed may be of no use to the next otherwise. May be empty.
  std::function<void()> release_unused;
  /// Empty: /proc is asked.
  std::function<ProcessMemory()> process;
};

/// Used by one thread.
class MemoryGuard {
 public:
  explicit MemoryGuard(MemoryOptions options);

  /// Looks again, unless that was a moment ago and little came since. `state`: what the engine
  /// holds; `coming`: what is to be judged next.
  void look(std::int64_t now_us, std::uint64_t state, std::size_t coming = 0);
  /// Whether something that takes so many bytes for long must be refused.
  [[nodiscard]] bool refuses(std::size_t bytes) const {
    return refusing_ || taken_ + bytes > room_;
  }
  void took(std::size_t bytes) { taken_ += bytes; }

  [[nodiscard]] bool is_refusing() const { return refusing_; }
  /// Past every bound that was meant to hold: what may wait has to.
  [[nodiscard]] bool is_critical() const { return critical_; }
  [[nodiscard]] std::uint64_t limit() const { return limit_; }
  [[nodiscard]] std::uint64_t used() const { return used_; }
  [[nodiscard]] std::uint64_t room() const { return room_ - (taken_ < room_ ? taken_ : room_); }

 private:
  struct Gauge {
    std::uint64_t used = 0;
    std::uint64_t bound = 0;
  };
  void note(const Gauge& gauge);
  [[nodiscard]] HeapUse heap_use(std::int64_t now_us);
  [[nodiscard]] ProcessMemory process_memory(std::int64_t now_us);
  [[nodiscard]] bool lacks_address_space(const ProcessMemory& process) const;

  MemoryOptions options_;
  ProcessMemoryReader reader_;
  std::uint64_t limit_;  ///< the smallest bound for memory in use
  std::int64_t looked_us_;
  std::int64_t asked_us_;  ///< the allocator
  std::int64_t released_us_;
  HeapUse heap_;
  std::uint64_t used_ = 0;
  std::uint64_t room_ = 0;
  std::uint64_t taken_ = 0;  ///< since the last look
  bool refusing_ = false;
  bool critical_ = false;
  bool full_ = false;    ///< while looking: some gauge is nearly at its bound
  bool cleared_ = true;  ///< while looking: every gauge is well below its bound
};

}  // namespace jobbie::node
