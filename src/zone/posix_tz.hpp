// The rule at the end of a compiled zone file, a POSIX TZ string such as "EST5EDT,M3.2.0,M11.1.0":
// it says how the clock changes in all years after the last listed transition.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "zone/tzif.hpp"

namespace jobbie::zone {

inline constexpr std::string_view kBadPosixTz = "bad_posix_tz";

/// A moment that comes every year, on the clock that is in force until then.
struct YearlyMoment {
  enum class Kind {
    month_week_day,  // Mm.w.d: weekday d of week w in month m, week 5 the last
    julian,          // Jn: day n of 1…365, 29 February never counted
    zero_based,      // n: day n of 0…365, 29 February counted
  };
  Kind kind = Kind::month_week_day;
  int month = 1;    // 1…12
  int week = 1;     // 1…5
  int weekday = 0;  // 0…6 from Sunday
  int day = 0;      // of julian and zero_based
  std::int32_t time_s = 2 * 3600;

  /// Seconds since the epoch of the wall clock, in that year.
  [[nodiscard]] std::int64_t local_seconds(int year) const;
};

/// Summer time as the string gives it. In Dublin it is the other way round, "summer" time is
/// winter's and lies behind the standard; nothing here depends on which is which.
struct SummerTime {
  std::int32_t offset_s = 0;
  YearlyMoment begin;
  YearlyMoment end;
};

struct PosixTz {
  std::int32_t standard_offset_s = 0;  // seconds east of UTC
  std::optional<SummerTime> summer;

  /// The two changes of that year in order of time; meaningful only with summer time.
  [[nodiscard]] std::array<OffsetChange, 2> changes_in(int year) const;
};

/// Reads the whole of `text` or fails. Summer time without a rule is refused: POSIX leaves it open.
[[nodiscard]] base::Result<PosixTz> parse_posix_tz(std::string_view text);

}  // namespace jobbie::zone
