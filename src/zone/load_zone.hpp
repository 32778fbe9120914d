// Time zones from the system's tzdata: the one place that reads it.
//
// The leader loads the rules when a schedule is made or refreshed; from there on they are a value
// (model::ZoneRules) inside the command.
//
// The compiled files are read by our own small reader (tzif, posix_tz), because the date library
// that Debian has ignores their footer. Without the footer daylight saving ends with 2037, and on
// systems whose files are "slim" (Alpine, Fedora) it ended in 2007.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/zone_rules.hpp"

namespace jobbie::zone {

/// No such zone, or not a name a zone could have (the caller's mistake, 422).
inline constexpr std::string_view kUnknownZone = "unknown_zone";
/// tzdata is missing or damaged (the host's fault, 500).
inline constexpr std::string_view kZoneDataError = "zone_data_error";

/// The rules of an IANA zone, exact for every instant in [from, until]; outside that window the
/// nearest offset goes on. The window is clamped to kMinZoneInstant…kMaxInstant and is cut short
/// when it holds more than kMaxTransitions (500 years of daylight saving). "UTC" and "Etc/UTC" need
/// no tzdata. Names are case-sensitive. The result passes validate(). Thread-safe.
[[nodiscard]] base::Result<model::ZoneRules> load_zone(std::string_view iana_name,
                                                       base::Instant from, base::Instant until);

/// The same from a given zoneinfo folder.
[[nodiscard]] base::Result<model::ZoneRules> load_zone_from(const std::filesystem::path& folder,
                                                            std::string_view iana_name,
                                                            base::Instant from,
                                                            base::Instant until);

}  // namespace jobbie::zone
