// Quantiles out of buckets.
#include "stats/histogram.hpp"

namespace jobbie::stats {
namespace {

/// The rank, from 1, of a share in per cent: the smallest that is not below it.
std::uint64_t rank_of(std::uint64_t total, std::uint64_t per_cent) {
  return std::max<std::uint64_t>((total * per_cent + 99) / 100, 1);
}

}  // namespace

Quantiles Histogram::quantiles() const {
  Quantiles out;
  if (total_ == 0) return out;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    if (counts_[i] == 0) continue;
    seen += counts_[i];
    const auto bucket = static_cast<std::uint8_t>(i);
    if (out.p50 == kNoBucket && seen >= rank_of(total_, 50)) out.p50 = bucket;
    if (out.p95 == kNoBucket && seen >= rank_of(total_, 95)) out.p95 = bucket;
    if (out.p99 == kNoBucket && seen >= rank_of(total_, 99)) out.p99 = bucket;
    out.max = bucket;
  }
  return out;
}

void Histogram::clear() {
  if (total_ == 0) return;
  counts_.fill(0);
  total_ = 0;
}

}  // namespace jobbie::stats
