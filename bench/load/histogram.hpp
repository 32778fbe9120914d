// Counts of durations in buckets 1.6 % wide: fixed memory however long the run, and runs add up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace jobbie::bench::load {

class Histogram {
 public:
  Histogram();
  void add(std::uint64_t ns);
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  /// The upper end of the bucket that holds the given share of the samples; 0 without samples.
  [[nodiscard]] std::uint64_t quantile_ns(double share) const;
  /// `[[upper end in ns, count], …]` of the buckets in use.
  [[nodiscard]] std::string json() const;

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t samples_ = 0;
};

}  // namespace jobbie::bench::load
