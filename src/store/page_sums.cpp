// Sums of pages, one at a time and four side by side.
#include "store/page_sums.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/hash.hpp"
#include "base/wide.hpp"

namespace jobbie::store {
namespace {

constexpr std::size_t kSummedBytes = kPageBytes - kPageSumBytes;
static_assert(kSummedBytes % 8 == 0, "hash_bytes has no tail to hash");
constexpr std::size_t kSideBySide = 4;
static_assert(kPagesAtOnce % kSideBySide == 0);

bool carries(const char* page, std::uint64_t sum) {
  std::uint64_t kept = 0;
  std::memcpy(&kept, page + kSummedBytes, kPageSumBytes);
  return kept == sum || std::all_of(page, page + kPageBytes, [](char c) { return c == 0; });
}

/// One step of base::hash_bytes.
std::uint64_t hash_word(std::uint64_t h, std::uint64_t word) {
  const auto product = static_cast<base::Uint128>(h ^ word) * 0xa0761d6478bd642fULL;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// base::hash_bytes of four pages, their steps interleaved.
std::array<std::uint64_t, kSideBySide> sums_of(const char* pages, std::uint64_t first) {
  std::array<std::uint64_t, kSideBySide> sums{};
  for (std::size_t i = 0; i < kSideBySide; ++i)
    sums[i] = (first + i) ^ (kSummedBytes * 0x9e3779b97f4a7c15ULL);
  for (std::size_t at = 0; at < kSummedBytes; at += 8) {
    for (std::size_t i = 0; i < kSideBySide; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, pages + i * kPageBytes + at, 8);
      sums[i] = hash_word(sums[i], word);
    }
  }
  for (auto& sum : sums) sum = base::mix64(sum);
  return sums;
}

}  // namespace

std::uint64_t page_sum(const char* page, std::uint64_t number) {
  return base::hash_bytes({page, kSummedBytes}, number);
}

bool is_sound(const char* page, std::uint64_t number) {
  return carries(page, page_sum(page, number));
}

std::uint32_t sound_pages(const char* pages, std::uint64_t first) {
  std::uint32_t sound = 0;
  for (std::size_t i = 0; i < kPagesAtOnce; i += kSideBySide) {
    const auto sums = sums_of(pages + i * kPageBytes, first + i);
    for (std::size_t k = 0; k < kSideBySide; ++k)
      if (carries(pages + (i + k) * kPageBytes, sums[k])) sound |= 1U << (i + k);
  }
  return sound;
}

}  // namespace jobbie::store
