// Log-linear buckets: 64 to each power of two.
#include "bench/load/histogram.hpp"

#include <bit>
#include <iterator>

#include <fmt/format.h>

namespace jobbie::bench::load {
namespace {

constexpr unsigned kFineBits = 6;
constexpr std::uint64_t kFine = 1ULL << kFineBits;
constexpr std::size_t kBuckets = (64 - kFineBits + 1) * kFine;

std::size_t bucket_of(std::uint64_t ns) {
  if (ns < kFine) return ns;
  const auto shift = static_cast<unsigned>(std::bit_width(ns)) - kFineBits - 1;
  return (shift + 1) * kFine + ((ns >> shift) - kFine);
}

std::uint64_t upper_end(std::size_t bucket) {
  if (bucket < kFine) return bucket;
  const auto shift = bucket / kFine - 1;
  return ((kFine + bucket % kFine + 1) << shift) - 1;
}

}  // namespace

Histogram::Histogram() : counts_(kBuckets) {}

void Histogram::add(std::uint64_t ns) {
  ++counts_[bucket_of(ns)];
  ++samples_;
}

std::uint64_t Histogram::quantile_ns(double share) const {
  const auto wanted = share * static_cast<double>(samples_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen > 0 && static_cast<double>(seen) >= wanted) return upper_end(i);
  }
  return 0;
}

std::string Histogram::json() const {
  std::string out = "[";
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    fmt::format_to(std::back_inserter(out), "{}[{},{}]", out.size() > 1 ? "," : "", upper_end(i),
                   counts_[i]);
  }
  return out + "]";
}

}  // namespace jobbie::bench::load
