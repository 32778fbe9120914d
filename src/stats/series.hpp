// A time series of one queue at one resolution: counts and quantiles by the second or the minute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/time.hpp"
#include "stats/histogram.hpp"

namespace jobbie::stats {

/// What happened within one step. Kept for days, so it is small: 36 bytes.
struct Point {
  std::uint32_t tick = 0;  ///< the step's number since 1970
  std::uint32_t enqueued = 0;
  std::uint32_t started = 0;
  std::uint32_t completed = 0;
  std::uint32_t failed = 0;  ///< attempts, not jobs
  std::uint32_t dead = 0;
  std::uint32_t cancelled = 0;
  Quantiles wait;  ///< milliseconds from claimable to claimed
  Quantiles run;   ///< milliseconds from claimed to settled
};

/// Steps in which nothing happened take no room. One thread owns it. Time must not go back; a point
/// of an earlier step is counted in the latest one.
class Series {
 public:
  Series(base::Duration step, std::size_t kept) : step_ms_(step.ms), kept_(kept) {}

  /// The point that `at` falls into, to be counted in.
  Point& at(base::Instant at) {
    if (at.ms >= next_ms_) turn_to(at);
    return open_;
  }
  // Of the point that at() gave last.
  void add_wait(std::int64_t ms) { wait_.add(ms); }
  void add_run(std::int64_t ms) { run_.add(ms); }

  [[nodiscard]] base::Duration step() const { return {step_ms_}; }
  /// The points with since ≤ time ≤ until, oldest first.
  [[nodiscard]] std::vector<Point> points(base::Instant since, base::Instant until) const;
  [[nodiscard]] base::Instant latest() const { return {open_.tick * step_ms_}; }

 private:
  void turn_to(base::Instant at);
  [[nodiscard]] Point present() const;

  std::int64_t step_ms_;
  std::size_t kept_;
  std::deque<Point> closed_;  ///< oldest first, none older than `kept_` steps before the open one
  Point open_;
  std::int64_t next_ms_ = 0;  ///< when the open step ends
  Histogram wait_;
  Histogram run_;
};

}  // namespace jobbie::stats
