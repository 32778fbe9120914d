// Limits: a sliding window of claims, and the state of one key under a keyed limit.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/blob.hpp"
#include "base/time.hpp"

namespace jobbie::engine {

/// The claims of the last period, exact to the millisecond, which is the clock's own grain.
class Window {
 public:
  using Claims = std::pair<base::Instant, std::uint32_t>;

  /// Forgets what is no longer in (now - period, now]; whether there was any.
  bool prune(base::Instant now, base::Duration period) {
    const auto before = total_;
    while (!empty() && claims_[first_].first <= now - period) forget_first();
    return total_ != before;
  }
  /// Claims that are remembered; exact after a prune.
  [[nodiscard]] std::uint64_t total() const { return total_; }
  void add(base::Instant now) {
    if (empty() || claims_.back().first != now) claims_.emplace_back(now, 0);
    ++claims_.back().second;
    ++total_;
  }
  void restore(base::Instant at, std::uint32_t claims) {
    claims_.emplace_back(at, claims);
    total_ += claims;
  }
  /// When the oldest claim leaves; the window must not be empty.
  [[nodiscard]] base::Instant frees_at(base::Duration period) const {
    return claims_[first_].first + period;
  }
  [[nodiscard]] bool empty() const { return first_ == claims_.size(); }
  [[nodiscard]] std::span<const Claims> claims() const {
    return std::span(claims_).subspan(first_);
  }
  void clear() { *this = {}; }

  /// Forgets the oldest millisecond; the window must not be empty.
  void forget_first() {
    total_ -= claims_[first_++].second;
    if (first_ < kSlack || first_ * 2 < claims_.size()) return;
    claims_.erase(claims_.begin(), claims_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }

 private:
  static constexpr std::size_t kSlack = 64;  ///< forgotten claims that are not worth moving for
  std::vector<Claims> claims_;               ///< ascending from first_ on
  std::size_t first_ = 0;
  std::uint64_t total_ = 0;
};

/// One value of a queue's keyed concurrency or throttle limit. It exists while a live job has that
/// key or its window still counts a claim.
struct Limiter {
  base::Blob key;
  std::uint32_t queue = 0;
  bool throttle = false;      ///< which of the two limits
  std::uint32_t members = 0;  ///< live jobs with this key
  std::uint32_t active = 0;
  Window window;
  std::vector<std::uint32_t> lanes;
  bool full = false;       ///< its lanes are closed
  bool changed = false;    ///< the window differs from what was drained
  base::Instant wakes_at;  ///< registered wake-up; zero: none
};

}  // namespace jobbie::engine
