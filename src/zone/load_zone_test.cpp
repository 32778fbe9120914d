// Zones of the system's tzdata, compared with the C library's reading of the same files.
#include "zone/load_zone.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace jobbie::zone {
namespace {

using base::Instant;

Instant utc(int year, int month, int day, int hour = 0, int minute = 0) {
  const std::chrono::sys_days date{std::chrono::year{year} / month / day};
  return {(std::int64_t{date.time_since_epoch().count()} * 86'400 + hour * 3600 + minute * 60) *
          1000};
}

std::vector<std::string> all_zones() {
  std::ifstream table("/usr/share/zoneinfo/tzdata.zi");
  std::vector<std::string> names;
  std::string line;
  while (std::getline(table, line)) {
    // "Z name offset …" begins a zone, "L target name" a link.
    const std::size_t end = line.find(' ', 2);
    if (line.starts_with("Z ")) names.push_back(line.substr(2, end - 2));
    if (line.starts_with("L ")) names.push_back(line.substr(end + 1));
  }
  return names;
}

std::int32_t offset_by_libc(Instant at) {
  const std::time_t time = at.ms / 1000;
  std::tm parts{};
  localtime_r(&time, &parts);
  return static_cast<std::int32_t>(parts.tm_gmtoff);
}

TEST(LoadZone, AgreesWithTheCLibraryOnEveryZone) {
  const std::uint64_t seed = 2026;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::vector<std::string> names = all_zones();
  ASSERT_FALSE(names.empty()) << "tzdata, which ./dev setup installs, has no list of zones";
  const Instant from = utc(1902, 1, 1);
  const Instant until = utc(2150, 1, 1);
  const auto span_s = static_cast<std::uint64_t>((until - from).ms / 1000);
  for (const std::string& name : names) {
    const auto zone = load_zone(name, from, until);
    ASSERT_TRUE(zone) << name << ": " << zone.error().message;
    setenv("TZ", (":" + name).c_str(), 1);
    tzset();
    for (const model::ZoneTransition& transition : zone->transitions)
      for (const std::int64_t shift_ms : {-1000, 0}) {
        const Instant at{transition.at.ms + shift_ms};
        ASSERT_EQ(zone->offset_at(at), offset_by_libc(at)) << name << " at " << at.ms;
      }
    for (int i = 0; i < 50; ++i) {
      const Instant at{from.ms + static_cast<std::int64_t>(random() % span_s) * 1000};
      ASSERT_EQ(zone->offset_at(at), offset_by_libc(at)) << name << " at " << at.ms;
    }
  }
  unsetenv("TZ");
  tzset();
}

TEST(LoadZone, CutsTheWindow) {
  const auto zone = load_zone("America/New_York", utc(2026, 1, 1), utc(2026, 12, 31));
  ASSERT_TRUE(zone);
  const model::ZoneRules expected{
      .name = "America/New_York",
      .base_offset_s = -5 * 3600,
      .transitions = {{utc(2026, 3, 8, 7), -4 * 3600}, {utc(2026, 11, 1, 6), -5 * 3600}}};
  EXPECT_EQ(*zone, expected);
  // Both ends lie on a transition: the first is the base, the second still belongs to the window.
  const auto between = load_zone("America/New_York", utc(2026, 3, 8, 7), utc(2026, 11, 1, 6));
  ASSERT_TRUE(between);
  EXPECT_EQ(between->base_offset_s, -4 * 3600);
  EXPECT_EQ(between->transitions.size(), 1U);
  const auto backwards = load_zone("America/New_York", utc(2026, 7, 1), utc(2020, 1, 1));
  ASSERT_TRUE(backwards);
  EXPECT_EQ(backwards->base_offset_s, -4 * 3600);
  EXPECT_TRUE(backwards->transitions.empty());
}

TEST(LoadZone, GoesOnAfter2037) {
  const auto zone = load_zone("Europe/Berlin", utc(2090, 1, 1), utc(2091, 1, 1));
  ASSERT_TRUE(zone);
  ASSERT_EQ(zone->transitions.size(), 2U);
  EXPECT_EQ(zone->transitions[0].at, utc(2090, 3, 26, 1));
  EXPECT_EQ(zone->transitions[1].at, utc(2090, 10, 29, 1));
}

TEST(LoadZone, AnyWindowIsBounded) {
  for (const std::string& name : all_zones()) {
    const auto zone = load_zone(name, Instant{INT64_MIN}, base::kNever);
    ASSERT_TRUE(zone) << name << ": " << zone.error().message;
    EXPECT_LE(zone->transitions.size(), model::kMaxTransitions);
    const auto late = load_zone(name, base::kNever, base::kNever);
    ASSERT_TRUE(late) << name << ": " << late.error().message;
  }
}

TEST(LoadZone, UtcNeedsNoFiles) {
  const auto zone = load_zone_from("/nonexistent", "UTC", Instant{}, base::kNever);
  ASSERT_TRUE(zone);
  EXPECT_EQ(*zone, model::ZoneRules{});
  EXPECT_EQ(load_zone_from("/nonexistent", "Etc/UTC", Instant{}, Instant{})->name, "Etc/UTC");
}

TEST(LoadZone, RefusesUnknownNames) {
  for (const char* name :
       {"", "Foo/Bar", "europe/berlin", "America", "../../../etc/passwd", "/etc/localtime",
        "Europe/../UTC", "Europe/Berlin/", "localtime", "posixrules", "right/UTC",
        "posix/Europe/Berlin", "leapseconds", "zone.tab", "Europe/Berlin\n", "\xff"}) {
    const auto zone = load_zone(name, Instant{}, Instant{});
    ASSERT_FALSE(zone) << name;
    EXPECT_EQ(zone.error().code, kUnknownZone) << name;
  }
  EXPECT_FALSE(load_zone(std::string(5'000, 'A'), Instant{}, Instant{}));
  EXPECT_FALSE(load_zone(std::string_view("UTC\0", 4), Instant{}, Instant{}));
}

TEST(LoadZone, TellsBadFilesFromBadNames) {
  const auto missing = load_zone_from("/nonexistent", "Europe/Berlin", Instant{}, Instant{});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, kZoneDataError);

  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "load_zone_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "Cut") << "TZif2";
  std::ofstream(folder / "Huge") << "TZif2" << std::string(200'000, 'x');
  std::ofstream(folder / "Table") << "# not a zone";
  EXPECT_EQ(load_zone_from(folder, "Cut", Instant{}, Instant{}).error().code, kZoneDataError);
  EXPECT_EQ(load_zone_from(folder, "Huge", Instant{}, Instant{}).error().code, kZoneDataError);
  EXPECT_EQ(load_zone_from(folder, "Table", Instant{}, Instant{}).error().code, kUnknownZone);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace jobbie::zone
