// The simulator's random numbers: xoshiro256**, seeded by splitmix64.
//
// The standard library's distributions differ between implementations; a seed must replay the same
// way everywhere, so everything is drawn with the few integer operations below.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace jobbie::sim {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) {
    for (auto& word : state_) {
      seed += 0x9e3779b97f4a7c15ULL;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
      word = z ^ (z >> 31);
    }
  }

  std::uint64_t next() {
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  /// 0 … n-1; the tiny bias of the multiplication does no harm here. `n` must not be zero.
  std::uint64_t below(std::uint64_t n) {
    return static_cast<std::uint64_t>(((next() >> 32) * (n & 0xffffffffULL)) >> 32);
  }
  /// low … high, both included; the distance must be below 2^32.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  bool percent(std::uint32_t share) { return below(100) < share; }
  bool permille(std::uint32_t share) { return below(1000) < share; }
  bool coin() { return (next() >> 63) != 0; }

  template <typename Range>
  const auto& pick(const Range& range) {
    return range[static_cast<std::size_t>(below(range.size()))];
  }

 private:
  static constexpr std::uint64_t rotate(std::uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
  }
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace jobbie::sim
