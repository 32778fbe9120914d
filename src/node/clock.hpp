// The clocks of a node, and the log time that is made of them.
//
// Everything the engine knows of time is what the leader stamps on entries. That time must never go
// back, and a wall clock that somebody sets by an hour must not end every lease at once. So log
// time runs with the steady clock and leans towards the wall clock: small differences are followed
// at once, large ones at half speed, in either direction. A log that is more than a day ahead is
// not slowed down: people would wait for months, with every lease twice as long, for nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "node/life_sign.hpp"

namespace jobbie::node {

/// Where a node reads time. The system's in the product, a scripted one in tests.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual std::int64_t wall_us() = 0;    ///< since the epoch; may jump
  [[nodiscard]] virtual std::int64_t steady_us() = 0;  ///< never goes back; counts while suspended
  /// Names the run of the machine within which steady_us() goes on from process to process; empty:
  /// not known.
  [[nodiscard]] virtual std::string boot() { return {}; }
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t wall_us() override;
  [[nodiscard]] std::int64_t steady_us() override;
  [[nodiscard]] std::string boot() override;
};

/// How long ago `sign` was left, by a clock that nobody sets; nothing: the machine was started
/// again since, or nobody knows.
[[nodiscard]] std::optional<base::Duration> passed_since(Clock& clock,
                                                         const std::optional<LifeSign>& sign);

class LogClock {
 public:
  /// Differences up to this are followed at once when the wall clock is ahead.
  static constexpr std::int64_t kFollowedAtOnceUs = 500'000;

  /// A log that is further ahead of the wall clock than this runs at the speed of time.
  static constexpr std::int64_t kSlowedUpToUs = 86'400'000'000;

  /// `last` is where the log ended, at the least. Where `sign` tells how long ago that was, log
  /// time goes on as if the process had never stopped. Else it begins at the wall clock, or at
  /// `last` where that is later: nobody knows how long the machine was off.
  LogClock(Clock& clock, base::Instant last, const std::optional<LifeSign>& sign = std::nullopt);

  /// Never less than what it gave before, unless it follows.
  base::Instant now();

  /// By how much the wall clock is ahead; negative: behind.
  base::Duration offset();

  /// What another clock says, which is the one that counts. Whoever takes over from it goes on from
  /// there, however wrong the wall clock here is.
  void follow(base::Instant other);

 private:
  Clock& clock_;
  std::int64_t steady_us_;
  std::int64_t log_us_;
};

}  // namespace jobbie::node
