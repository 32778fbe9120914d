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
  if (left > 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, left);
    h = hash_combine(h, word);
  }
  return mix64(h);
}

}  // namespace jobbie::base
