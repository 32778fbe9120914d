// The sum of what the engine's objects take in memory.
//
// Each object remembers what it was last weighed at, so that the sum follows it in O(1).
#pragma once

#include <cstddef>
#include <cstdint>

namespace jobbie::engine {

class MemoryAccount {
 public:
  /// Something takes `now` bytes, and took `known` when it was last weighed.
  void weigh(std::uint32_t& known, std::size_t now) {
    bytes_ += now;
    bytes_ -= known;
    known = static_cast<std::uint32_t>(now);
  }
  void add(std::size_t bytes) { bytes_ += bytes; }
  void subtract(std::size_t bytes) { bytes_ -= bytes; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

}  // namespace jobbie::engine
