// The rules of one time zone as a plain value: a base offset and the moments at which it changes.
//
// Replicas may have different versions of tzdata. So only the leader reads tzdata (src/zone), the
// rules travel inside the command, and every replica computes the same local times from the same
// value.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace jobbie::model {

inline constexpr std::string_view kBadZoneRules = "bad_zone_rules";
inline constexpr std::size_t kMaxTransitions = 1024;
inline constexpr std::size_t kMaxZoneName = 64;
/// No zone was ever further from UTC than 16 hours; 26 leaves room and keeps the arithmetic small.
inline constexpr std::int32_t kMaxOffset_s = 26 * 3600;

/// The earliest instant that rules and cron deal with (year 0000); the latest is base::kMaxInstant.
inline constexpr base::Instant kMinZoneInstant{-62'167'219'200'000};

/// What a wall clock shows, as seconds since its own 1970-01-01 00:00:00.
struct LocalSeconds {
  std::int64_t s = 0;
  auto operator<=>(const LocalSeconds&) const = default;
};

/// From `at` on the zone is `offset_s` seconds east of UTC.
struct ZoneTransition {
  base::Instant at;
  std::int32_t offset_s = 0;
  bool operator==(const ZoneTransition&) const = default;
};

/// Where a local time falls. `first` is always the first instant at which the wall clock reaches or
/// passes the local time; that is the instant at which cron runs.
struct LocalMapping {
  enum class Kind {
    unique,     // first == second
    gap,        // skipped by a jump forward; first == second == the jump
    ambiguous,  // shown twice; first < second
  };
  Kind kind = Kind::unique;
  base::Instant first;
  base::Instant second;
  bool operator==(const LocalMapping&) const = default;
};

/// A value. The default is UTC. Rules that came from outside must pass validate() before they are
/// kept; every other member function is total all the same, it just means less on rules that would
/// not pass.
struct ZoneRules {
  std::string name = "UTC";
  std::int32_t base_offset_s = 0;           // in force before the first transition
  std::vector<ZoneTransition> transitions;  // ascending by `at`

  bool operator==(const ZoneRules&) const = default;

  /// Checks the name, the bounds, that transitions ascend on whole seconds, and that two of them
  /// are further apart than the clock jumps, so that a local time occurs twice at most.
  [[nodiscard]] base::Result<void> validate() const;

  /// Seconds east of UTC at that instant.
  [[nodiscard]] std::int32_t offset_at(base::Instant at) const;

  /// What the wall clock shows, milliseconds dropped.
  [[nodiscard]] LocalSeconds to_local(base::Instant at) const;

  /// The latest local time the wall clock has shown up to and including `at`. It differs from
  /// to_local in the repeated hour after a jump back: there it stands still, which is why a local
  /// time that occurs twice counts once.
  [[nodiscard]] LocalSeconds latest_local(base::Instant at) const;

  [[nodiscard]] LocalMapping from_local(LocalSeconds local) const;
};

/// Whether `name` may be the name of an IANA zone: 1…kMaxZoneName of A–Z a–z 0–9 _ + - / and no
/// path tricks (no leading, trailing or double slash; dots are not among the characters).
[[nodiscard]] bool is_zone_name(std::string_view name);

}  // namespace jobbie::model
