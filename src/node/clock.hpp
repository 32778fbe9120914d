// The clocks of a node, and the log time that is made of them.
//
// Everything the engine knows of time is what the leader stamps on entries. That time must never go
// back, and a wall clock that somebody sets by an hour must not end every lease at once. So log
// time runs with the steady clock and leans towards the wall clock: small differences are followed
// at once, large ones at half speed, in either direction.
#pragma once

#include <cstdint>

#include "base/time.hpp"

namespace jobbie::node {

/// Where a node reads time. The system's in the product, a scripted one in tests.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual std::int64_t wall_us() = 0;    ///< since the epoch; may jump
  [[nodiscard]] virtual std::int64_t steady_us() = 0;  ///< never goes back; counts while suspended
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t wall_us() override;
  [[nodiscard]] std::int64_t steady_us() override;
};

class LogClock {
 public:
  /// Differences up to this are followed at once when the wall clock is ahead.
  static constexpr std::int64_t kFollowedAtOnceUs = 500'000;

  /// Begins at the wall clock, or at `last` where that is later: log time survives restarts.
  LogClock(Clock& clock, base::Instant last);

  /// Never less than what it gave before, unless it follows.
  base::Instant now();

  /// What another clock says, which is the one that counts. Whoever takes over from it goes on from
  /// there, however wrong the wall clock here is.
  void follow(base::Instant other);

 private:
  Clock& clock_;
  std::int64_t steady_us_;
  std::int64_t log_us_;
};

}  // namespace jobbie::node
