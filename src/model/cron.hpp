// Cron expressions: parsed once into bitmasks, then asked for the next run.
//
// Pure: no clock and no tzdata; the time and the zone's rules come in as arguments, so that every
// replica finds the same runs.
//
// Five fields, `minute hour day-of-month month weekday`, or six with seconds in front. Each is a
// comma list of `*`, `a`, `a-b`, `*/n`, `a-b/n`, `a/n` (from a to the field's end). Months and
// weekdays take names (JAN, mon); weekday 7 is Sunday; ranges of months and weekdays may wrap
// (FRI-MON, NOV-FEB).
// `?` stands for `*` in the two day fields. Macros: @yearly @annually @monthly @weekly @daily
// @midnight @hourly. `L`, `W`, `#`, @reboot and @every are refused by name.
//
// When both day fields are given, a day that fits either runs. A day field counts as given unless
// `*` or `?` (or `*/1`) is among its list; `*/2` is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/zone_rules.hpp"

namespace jobbie::model {

inline constexpr std::string_view kBadCron = "bad_cron";
inline constexpr std::size_t kMaxCronText = 256;
inline constexpr std::size_t kMaxNextRuns = 1000;
/// The rarest expression that parses, 29 February, waits at most 8 years (1896 to 1904, 2096 to
/// 2104).
inline constexpr int kCronHorizonYears = 40;

/// Bit v is set when value v matches. Weekdays are 0…6 from Sunday, days and months start at bit 1.
struct CronFields {
  std::uint64_t seconds = 0;
  std::uint64_t minutes = 0;
  std::uint32_t hours = 0;
  std::uint32_t days = 0;
  std::uint16_t months = 0;
  std::uint8_t weekdays = 0;
  bool any_day = false;      // day-of-month is `*`
  bool any_weekday = false;  // weekday is `*`
  bool operator==(const CronFields&) const = default;
};

/// An immutable value; only parse() makes one, so every CronExpr has at least one matching local
/// time within kCronHorizonYears of any other.
class CronExpr {
 public:
  /// On failure the Error (code kBadCron) names the field, and its position is the offset in
  /// `text`. An expression that can never run, such as 31 February, is refused too.
  [[nodiscard]] static base::Result<CronExpr> parse(std::string_view text);

  /// The text given to parse().
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const CronFields& fields() const { return fields_; }

  [[nodiscard]] bool matches(LocalSeconds local) const;

  /// The first matching local time strictly after `after`; nothing past the year 9999.
  [[nodiscard]] std::optional<LocalSeconds> next_local(LocalSeconds after) const;

  /// The smallest instant strictly after `after` at which the expression runs: the first instant at
  /// which the wall clock reaches or passes a matching local time. So a local time skipped by a
  /// jump runs at the jump (several skipped ones are one run), and one that occurs twice runs at
  /// the first. Nothing past the year 9999. Always on a whole second.
  [[nodiscard]] std::optional<base::Instant> next_after(base::Instant after,
                                                        const ZoneRules& zone) const;

  /// Up to `count` runs after `after`, ascending; `count` is capped at kMaxNextRuns.
  [[nodiscard]] std::vector<base::Instant> next_runs(base::Instant after, const ZoneRules& zone,
                                                     std::size_t count) const;

  bool operator==(const CronExpr&) const = default;

 private:
  CronExpr(std::string text, const CronFields& fields) : text_(std::move(text)), fields_(fields) {}

  std::string text_;
  CronFields fields_;
};

}  // namespace jobbie::model
