// Durations counted in buckets: fine ones for the quantiles of a moment, few for the metrics of a
// process.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace jobbie::stats {

/// Four buckets to each power of two: a value is known to within an eighth of itself. Values below
/// eight are exact; the last bucket begins past 17,000 years.
inline constexpr std::size_t kBuckets = 160;

constexpr std::uint8_t bucket_of(std::int64_t value) {
  if (value < 4) return static_cast<std::uint8_t>(std::max<std::int64_t>(value, 0));
  const auto bits = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
  const auto quarter = static_cast<unsigned>(value >> (bits - 2)) & 3U;
  return static_cast<std::uint8_t>(std::min<unsigned>((bits - 1) * 4 + quarter, kBuckets - 1));
}

/// The middle of a bucket.
constexpr std::int64_t value_of(std::uint8_t bucket) {
  if (bucket < 4) return bucket;
  const unsigned shift = bucket / 4U - 1;
  return ((std::int64_t{4} + (bucket & 3)) << shift) + ((std::int64_t{1} << shift) >> 1);
}

/// Buckets of the quantiles of one moment; kNoBucket where nothing was counted.
inline constexpr std::uint8_t kNoBucket = 255;
struct Quantiles {
  std::uint8_t p50 = kNoBucket;
  std::uint8_t p95 = kNoBucket;
  std::uint8_t p99 = kNoBucket;
  std::uint8_t max = kNoBucket;
};

class Histogram {
 public:
  void add(std::int64_t value) {
    ++counts_[bucket_of(value)];
    ++total_;
  }
  [[nodiscard]] Quantiles quantiles() const;
  void clear();

 private:
  std::array<std::uint32_t, kBuckets> counts_{};
  std::uint64_t total_ = 0;
};

/// Upper bounds of the buckets of a Timing; beyond the last one there is one more bucket.
inline constexpr std::size_t kBounds = 15;
using Bounds = std::array<std::int64_t, kBounds>;
/// Of waits and runs of jobs, in milliseconds.
inline constexpr Bounds kJobBounds = {5,    10,   25,     50,     100,    250,     500,      1'000,
                                      2500, 5000, 10'000, 30'000, 60'000, 300'000, 1'800'000};
/// Of syncs of the log, in microseconds.
inline constexpr Bounds kSyncBounds = {50,      100,     250,     500,       1'000,
                                       2'500,   5'000,   10'000,  25'000,    50'000,
                                       100'000, 250'000, 500'000, 1'000'000, 2'500'000};

/// Counts since the start of the process.
struct Timing {
  std::array<std::uint64_t, kBounds + 1> counts{};
  std::uint64_t sum = 0;

  void add(std::int64_t value, const Bounds& bounds) {
    value = std::max<std::int64_t>(value, 0);
    const auto bound = std::lower_bound(bounds.begin(), bounds.end(), value);
    ++counts[static_cast<std::size_t>(bound - bounds.begin())];
    sum += static_cast<std::uint64_t>(value);
  }
};

}  // namespace jobbie::stats
