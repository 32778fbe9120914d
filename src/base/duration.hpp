// Durations as people write them: text with units ("1h30m", "250ms") and JSON numbers of seconds.
//
// Everything is integer arithmetic on milliseconds, so that each replica and each platform reads
// the same text as the same duration. Bad text never aborts: it becomes an Error whose code tells a
// value that is malformed from one that is too large, because the API answers them differently.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"

namespace jobbie::base {

/// Not a duration at all (the API's 422).
inline constexpr std::string_view kBadDuration = "bad_duration";
/// A well-formed duration beyond kMaxDuration (the API's 400).
inline constexpr std::string_view kDurationOutOfRange = "duration_out_of_range";

/// Longer text is malformed without being read.
inline constexpr std::size_t kMaxDurationText = 64;
inline constexpr std::size_t kMaxSecondsText = 512;

/// Reads one or more components of digits and unit, units w d h m s ms in strictly descending
/// order, without sign or space: "7d", "1h30m", "250ms". The last component may carry a decimal
/// fraction
/// ("1.5s") if it comes to a whole number of milliseconds; "1.5ms" is malformed, never rounded.
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);

/// Reads the text of a JSON number as seconds: "30", "0.25", "1e3". Digits finer than a millisecond
/// are rounded to the nearest one, half upwards: clients print 0.3 as 0.29999999999999999. A
/// negative number is kBadDuration; minus zero is zero.
[[nodiscard]] Result<Duration> parse_seconds_number(std::string_view json_number);

/// The canonical text, in d h m s with a fraction on the seconds, or in ms below one second:
/// "1h30m", "1.5s", "250ms", "0s". parse_duration gives back the same duration for every one in
/// 0…kMaxDuration. A negative duration, which only subtraction makes, is shown with a leading minus
/// for logs.
[[nodiscard]] std::string format_duration(Duration duration);

}  // namespace jobbie::base
