// Random cron expressions over real zones, compared with a naive search that follows the words of
// the contract and shares no code with the parser or the search under test.
#include <array>
#include <bitset>
#include <chrono>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "model/cron.hpp"
#include "zone/load_zone.hpp"

namespace jobbie::zone {
namespace {

using base::Instant;
using model::CronExpr;
using model::ZoneRules;

Instant utc(int year, int month, int day, int hour = 0, int minute = 0, int second = 0) {
  const std::chrono::sys_days date{std::chrono::year{year} / month / day};
  return {(std::int64_t{date.time_since_epoch().count()} * 86'400 + hour * 3600 + minute * 60 +
           second) *
          1000};
}

using Values = std::bitset<64>;

// A random expression, and beside it the values of each field, found without the parser.
struct RandomCron {
  std::string text;
  std::array<Values, 6> values;  // second, minute, hour, day, month, weekday
  bool any_day = false;
  bool any_weekday = false;
};

using Random = std::mt19937_64;

int pick(Random& random, int min, int max) {
  return min + static_cast<int>(random() % static_cast<std::uint64_t>(max - min + 1));
}

std::string random_item(Random& random, int min, int max, Values& values) {
  int first = min;
  int last = max;
  int step = 1;
  std::string text = "*";
  const int form = pick(random, 0, 4);
  if (form >= 1) {
    first = pick(random, min, max);
    last = form == 1 ? first : max;
    text = std::to_string(first);
  }
  if (form == 2 || form == 3) {
    last = pick(random, first, max);
    text += "-" + std::to_string(last);
  }
  if (form == 0 || form == 2 || form == 4) {
    step = pick(random, 2, max - min);
    text += "/" + std::to_string(step);
  }
  for (int v = first; v <= last; v += step) values.set(static_cast<std::size_t>(v));
  return text;
}

RandomCron random_cron(Random& random, bool with_seconds) {
  constexpr std::array<std::array<int, 2>, 6> kLimits{
      {{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}};
  RandomCron cron;
  cron.values[0].set(0);
  for (std::size_t i = with_seconds ? 0 : 1; i < 6; ++i) {
    const auto [min, max] = kLimits[i];
    std::string text;
    Values values;
    // Days mostly any, else a random expression hardly ever runs in the days looked at.
    if (pick(random, 0, 9) < (i >= 3 ? 7 : 4)) {
      text = i == 3 || i == 5 ? (pick(random, 0, 1) == 0 ? "?" : "*") : "*";
      for (int v = min; v <= max; ++v) values.set(static_cast<std::size_t>(v));
      if (i == 3) cron.any_day = true;
      if (i == 5) cron.any_weekday = true;
    } else {
      for (int n = pick(random, 1, 3); n > 0; --n)
        text += (text.empty() ? "" : ",") + random_item(random, min, max, values);
    }
    cron.values[i] = values;
    cron.text += (cron.text.empty() ? "" : " ") + text;
  }
  return cron;
}

bool naive_match(const RandomCron& cron, std::int64_t local_s) {
  using namespace std::chrono;
  const sys_seconds at{seconds{local_s}};
  const sys_days day = floor<days>(at);
  const year_month_day ymd{day};
  const hh_mm_ss time{at - day};
  const auto has = [&](std::size_t field, std::int64_t value) {
    return cron.values[field].test(static_cast<std::size_t>(value));
  };
  if (!has(0, time.seconds().count()) || !has(1, time.minutes().count()) ||
      !has(2, time.hours().count()))
    return false;
  if (!has(4, unsigned{ymd.month()})) return false;
  const bool by_day = has(3, unsigned{ymd.day()});
  const bool by_weekday = has(5, weekday{day}.c_encoding());
  return cron.any_day || cron.any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

struct NaiveZone {
  ZoneRules rules;
  std::set<std::int32_t> offsets;

  explicit NaiveZone(ZoneRules zone) : rules(std::move(zone)), offsets{rules.base_offset_s} {
    for (const auto& transition : rules.transitions) offsets.insert(transition.offset_s);
  }

  // Where the contract says a local time runs: at the first of the instants at which the clock
  // shows it, or, if there is none, at the jump across it.
  Instant run(std::int64_t local_s) const {
    // The larger the offset, the earlier the instant.
    for (auto offset = offsets.rbegin(); offset != offsets.rend(); ++offset) {
      const Instant at{(local_s - *offset) * 1000};
      if (rules.offset_at(at) == *offset) return at;
    }
    std::int32_t before_s = rules.base_offset_s;
    for (const auto& transition : rules.transitions) {
      const std::int64_t at_s = transition.at.ms / 1000;
      if (at_s + before_s <= local_s && local_s < at_s + transition.offset_s) return transition.at;
      before_s = transition.offset_s;
    }
    ADD_FAILURE() << "no jump across " << local_s;
    return base::kNever;
  }
};

// Compares all runs in the days around a transition, or around any other time.
void compare(Random& random, const RandomCron& random_cron, const NaiveZone& naive,
             std::int64_t step_s) {
  const ZoneRules& zone = naive.rules;
  const auto parsed = CronExpr::parse(random_cron.text);
  if (!parsed) {
    ASSERT_NE(parsed.error().message.find("never run"), std::string::npos) << random_cron.text;
    return;
  }
  std::int64_t centre_s = utc(2026, 1, 1).ms / 1000 + pick(random, 0, 100'000) * 3600LL;
  if (!zone.transitions.empty() && pick(random, 0, 9) < 8)
    centre_s = zone.transitions[random() % zone.transitions.size()].at.ms / 1000;
  const std::int64_t half_s = step_s == 60 ? 2 * 86'400 : 5'400;
  const Instant from{(centre_s - half_s) * 1000};
  const Instant until{(centre_s + half_s) * 1000};

  std::set<Instant> expected;
  std::int64_t local_s = centre_s - half_s + *naive.offsets.begin();
  const std::int64_t last_s = centre_s + half_s + *naive.offsets.rbegin();
  local_s -= ((local_s % step_s) + step_s) % step_s;
  for (; local_s <= last_s; local_s += step_s) {
    if (!naive_match(random_cron, local_s)) continue;
    const Instant run = naive.run(local_s);
    if (run > from && run <= until) expected.insert(run);
  }
  std::vector<Instant> runs;
  Instant after = from;
  while (const auto run = parsed->next_after(after, zone)) {
    if (*run > until) break;
    ASSERT_GT(*run, after);
    runs.push_back(*run);
    after = *run;
  }
  ASSERT_EQ(runs, std::vector(expected.begin(), expected.end()))
      << zone.name << " " << random_cron.text << " around " << centre_s;
  // From any other instant too, such as one within a repeated hour.
  for (int i = 0; i < 50; ++i) {
    const Instant at{from.ms + pick(random, 0, static_cast<int>(until.ms - from.ms))};
    const auto next = expected.upper_bound(at);
    if (next == expected.end()) continue;
    ASSERT_EQ(parsed->next_after(at, zone), *next) << zone.name << " " << random_cron.text;
  }
}

TEST(ZoneCron, AgreesWithANaiveSearch) {
  const std::uint64_t seed =
      testing::UnitTest::GetInstance()->random_seed() != 0
          ? static_cast<std::uint64_t>(testing::UnitTest::GetInstance()->random_seed())
          : 20'260'722;
  SCOPED_TRACE("seed " + std::to_string(seed) + " (--gtest_random_seed)");
  Random random(seed);
  std::vector<NaiveZone> zones;
  for (const char* name :
       {"UTC", "America/New_York", "Europe/Berlin", "Europe/Dublin", "Australia/Lord_Howe",
        "Asia/Kathmandu", "Pacific/Apia", "Asia/Pyongyang", "Africa/Casablanca",
        "Pacific/Kiritimati", "America/St_Johns"}) {
    auto zone = load_zone(name, utc(1950, 1, 1), utc(2060, 1, 1));
    ASSERT_TRUE(zone) << name;
    zones.emplace_back(*std::move(zone));
  }
  for (int i = 0; i < 300 && !HasFatalFailure(); ++i) {
    const bool with_seconds = pick(random, 0, 3) == 0;
    const RandomCron cron = random_cron(random, with_seconds);
    compare(random, cron, zones[random() % zones.size()], with_seconds ? 1 : 60);
  }
}

}  // namespace
}  // namespace jobbie::zone
