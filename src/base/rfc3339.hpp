// Instants as text: RFC 3339, "2026-02-11T10:00:15.250Z".
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"

namespace jobbie::base {

/// Not a date and time (the API's 422).
inline constexpr std::string_view kBadInstant = "bad_instant";

/// Longer text is malformed without being read.
inline constexpr std::size_t kMaxInstantText = 64;

/// Reads a date, `T` (or `t`, or a space), a time with any fraction of a second, and `Z` or an
/// offset such as +02:00; the zone must be there. Digits finer than a millisecond are dropped. A
/// leap second counts as the first second of the next minute. The result lies in the years 0000 to
/// 9999.
[[nodiscard]] Result<Instant> parse_rfc3339(std::string_view text);

/// Appends 24 characters, always UTC with milliseconds. Instants outside the years 0000 to 9999 are
/// shown as the nearest one inside.
void append_rfc3339(std::string& out, Instant at);
[[nodiscard]] std::string format_rfc3339(Instant at);

}  // namespace jobbie::base
