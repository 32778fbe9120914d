// Reads a zone's file and cuts the wanted window out of it; see load_zone.hpp.
#include "zone/load_zone.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "zone/posix_tz.hpp"
#include "zone/tzif.hpp"

namespace jobbie::zone {
namespace {

// Where systems keep the compiled files, the usual place first.
constexpr std::array<const char*, 3> kFolders{"/usr/share/zoneinfo", "/usr/lib/zoneinfo",
                                              "/etc/zoneinfo"};

std::unexpected<base::Error> unknown_zone(std::string_view name) {
  // A name that is no name is not repeated: it may be long or unprintable.
  std::string message = "unknown time zone";
  if (model::is_zone_name(name)) message += " " + std::string(name);
  message += "; give an IANA name such as Europe/Berlin or UTC";
  return std::unexpected(base::Error{std::string(kUnknownZone), std::move(message), 0});
}

std::unexpected<base::Error> data_error(std::string message) {
  return std::unexpected(base::Error{std::string(kZoneDataError), std::move(message), 0});
}

// Files that lie among the zones but are not IANA names: the host's own zone, and copies with and
// without leap seconds.
bool is_foreign(std::string_view name) {
  return name == "localtime" || name == "posixrules" || name.starts_with("right/") ||
         name.starts_with("posix/");
}

base::Result<Tzif> read_tzif(const std::filesystem::path& folder, std::string_view name) {
  const std::filesystem::path path = folder / name;
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    return data_error("the time zone data is missing; install tzdata");
  if (!std::filesystem::is_regular_file(path, error)) return unknown_zone(name);
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kMaxTzifBytes + 1, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (file.bad() || !file.eof()) return data_error("cannot read " + path.string());
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  if (!bytes.starts_with("TZif")) return unknown_zone(name);  // a table that lies among the zones
  auto tzif = decode_tzif(bytes);
  if (!tzif) return data_error(path.string() + ": " + tzif.error().message);
  return tzif;
}

// Clamped to the years our instants have, since a file may hold any number.
int year_of(std::int64_t at_s) {
  namespace chrono = std::chrono;
  at_s = std::clamp(at_s, model::kMinZoneInstant.ms / 1000, base::kMaxInstant.ms / 1000);
  const chrono::sys_seconds at{chrono::seconds{at_s}};
  return int{chrono::year_month_day{chrono::floor<chrono::days>(at)}.year()};
}

struct Window {
  std::int64_t from_s = 0;
  std::int64_t until_s = 0;
};

// In whole seconds, rounded down, which loses nothing: changes are on whole seconds.
Window window_of(base::Instant from, base::Instant until) {
  from = std::clamp(from, model::kMinZoneInstant, base::kMaxInstant);
  until = std::clamp(until, from, base::kMaxInstant);
  namespace chrono = std::chrono;
  return {chrono::floor<chrono::seconds>(chrono::milliseconds{from.ms}).count(),
          chrono::floor<chrono::seconds>(chrono::milliseconds{until.ms}).count()};
}

// Appends what the footer says about the years after the last listed change, as far as the window
// needs: from the year before its beginning, so that the offset in force there is known, to its
// end.
void extend(std::vector<OffsetChange>& changes, const PosixTz& rule, const Window& window) {
  if (!rule.summer) return;
  int year = year_of(window.from_s) - 1;
  if (!changes.empty()) year = std::max(year, year_of(changes.back().at_s));
  const int last_year =
      std::min(year_of(window.until_s), year + static_cast<int>(model::kMaxTransitions));
  for (; year <= last_year; ++year) {
    for (const OffsetChange& change : rule.changes_in(year)) {
      if (changes.empty() || change.at_s > changes.back().at_s)
        changes.push_back(change);
      else if (change.at_s == changes.back().at_s)
        changes.back() = change;  // summer time that lasts all year: the end is the next beginning
    }
  }
}

model::ZoneRules cut(std::string_view name, const Tzif& tzif, const Window& window) {
  model::ZoneRules rules{.name = std::string(name), .base_offset_s = tzif.base_offset_s};
  std::int32_t offset_s = tzif.base_offset_s;
  for (const OffsetChange& change : tzif.changes) {
    if (change.at_s > window.until_s || rules.transitions.size() == model::kMaxTransitions) break;
    // Many changes are only of the abbreviation.
    const bool same = std::exchange(offset_s, change.offset_s) == change.offset_s;
    if (change.at_s <= window.from_s)
      rules.base_offset_s = change.offset_s;
    else if (!same)
      rules.transitions.push_back({base::Instant{change.at_s * 1000}, change.offset_s});
  }
  return rules;
}

}  // namespace

base::Result<model::ZoneRules> load_zone_from(const std::filesystem::path& folder,
                                              std::string_view iana_name, base::Instant from,
                                              base::Instant until) {
  if (!model::is_zone_name(iana_name) || is_foreign(iana_name)) return unknown_zone(iana_name);
  if (iana_name == "UTC" || iana_name == "Etc/UTC")
    return model::ZoneRules{.name = std::string(iana_name)};
  auto tzif = read_tzif(folder, iana_name);
  if (!tzif) return std::unexpected(tzif.error());

  const Window window = window_of(from, until);
  if (!tzif->footer.empty()) {
    const auto rule = parse_posix_tz(tzif->footer);
    if (!rule) return data_error(std::string(iana_name) + ": " + rule.error().message);
    extend(tzif->changes, *rule, window);
  }
  model::ZoneRules rules = cut(iana_name, *tzif, window);
  if (const auto valid = rules.validate(); !valid)
    return data_error(std::string(iana_name) + ": " + valid.error().message);
  return rules;
}

base::Result<model::ZoneRules> load_zone(std::string_view iana_name, base::Instant from,
                                         base::Instant until) {
  std::error_code error;
  for (const char* folder : kFolders)
    if (std::filesystem::is_directory(folder, error))
      return load_zone_from(folder, iana_name, from, until);
  return load_zone_from(kFolders[0], iana_name, from, until);
}

}  // namespace jobbie::zone
