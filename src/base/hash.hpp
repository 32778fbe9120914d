// A 64-bit hash of bytes and numbers, the same on every machine and in every version.
//
// It proves that replicas agree and picks buckets. It is not meant to withstand an attacker who
// chooses keys; tables keyed by callers' text use it over bounded input only.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/wide.hpp"

namespace jobbie::base {

constexpr std::uint64_t mix64(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  return x;
}

constexpr std::uint64_t hash_combine(std::uint64_t seed, std::uint64_t value) {
  return mix64(seed * 0x9e3779b97f4a7c15ULL + value + 0x632be59bd9b4e019ULL);
}

/// The last `left` (1 to 7) of `size` bytes that end before `end`, as a little-endian number. Reads
/// that overlap bytes already hashed are cheaper than a copy of variable length.
inline std::uint64_t hash_tail(const char* end, std::size_t left, std::size_t size) {
  if (size >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, end - 8, 8);
    return word >> (8 * (8 - left));
  }
  if (left >= 4) {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::memcpy(&low, end - left, 4);
    std::memcpy(&high, end - 4, 4);
    return low | (static_cast<std::uint64_t>(high) << (8 * (left - 4)));
  }
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint64_t>(static_cast<unsigned char>(*(end - left + i))) << (8 * i);
  };
  return byte(0) | byte(left / 2) | byte(left - 1);
}

inline std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed = 0) {
  std::uint64_t h = seed ^ (bytes.size() * 0x9e3779b97f4a7c15ULL);
  const char* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, p += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, 8);  // every supported machine is little-endian
    const auto product = static_cast<Uint128>(h ^ word) * 0xa0761d6478bd642fULL;
    h = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  if (left > 0) h = hash_combine(h, hash_tail(p + left, left, bytes.size()));
  return mix64(h);
}

}  // namespace jobbie::base
