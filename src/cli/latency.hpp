// Latencies of many requests and what they add up to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace jobbie::cli {

/// Of one thread; merged at the end.
class Latencies {
 public:
  void add(std::int64_t microseconds) {
    if (all_.size() < kMost) all_.push_back(microseconds);
  }
  void merge(const Latencies& other) {
    all_.insert(all_.end(), other.all_.begin(), other.all_.end());
  }
  std::size_t size() const { return all_.size(); }

  /// The value that a share of `q` (0…1) does not exceed; 0 without values.
  std::int64_t quantile(double q) {
    if (all_.empty()) return 0;
    std::sort(all_.begin(), all_.end());
    const auto at = static_cast<std::size_t>(q * static_cast<double>(all_.size() - 1));
    return all_[at];
  }
  std::string text() {
    const auto ms = [&](double q) { return static_cast<double>(quantile(q)) / 1000; };
    return fmt::format("p50 {:.2f}ms  p95 {:.2f}ms  p99 {:.2f}ms  max {:.2f}ms", ms(0.5), ms(0.95),
                       ms(0.99), ms(1));
  }
  std::string json() {
    return fmt::format("{{\"p50\":{},\"p95\":{},\"p99\":{},\"max\":{}}}", quantile(0.5),
                       quantile(0.95), quantile(0.99), quantile(1));
  }

 private:
  static constexpr std::size_t kMost = 5'000'000;
  std::vector<std::int64_t> all_;
};

}  // namespace jobbie::cli
