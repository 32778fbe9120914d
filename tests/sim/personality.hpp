// What a seed is like: its bounds, the weights of its verbs, how its time goes, what its jobs ask
// for.
//
// Uniform noise finds little: races need a seed that does much of two things and nothing of the
// others. So each seed draws its own extremes, and thousands of seeds cover the combinations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "base/time.hpp"
#include "command/command.hpp"
#include "engine/options.hpp"
#include "tests/sim/rng.hpp"

namespace jobbie::sim {

inline constexpr std::size_t kVerbs = std::variant_size_v<command::Command>;

/// Where a verb stands in the variant.
template <typename Verb>
constexpr std::size_t verb_index() {
  return []<typename... All>(const std::variant<All...>*) {
    std::size_t index = 0;
    bool found = false;
    ((found = found || std::is_same_v<Verb, All>, index += found ? 0 : 1), ...);
    return index;
  }(static_cast<const command::Command*>(nullptr));
}

/// How often a job asks for something, in percent.
struct JobHabits {
  std::uint32_t unique = 0;
  std::uint32_t unique_period = 0;  ///< of unique ones
  std::uint32_t group = 0;
  std::uint32_t tags = 0;
  std::uint32_t requires_ = 0;
  std::uint32_t depends = 0;
  std::uint32_t run_on_failure = 0;
  std::uint32_t scheduled = 0;
  std::uint32_t expires = 0;
  std::uint32_t max_runtime = 0;
  std::uint32_t timeout = 0;
  std::uint32_t own_lease = 0;
  std::uint32_t priority = 0;
  std::uint32_t jitter = 0;
  std::uint32_t batch = 0;  ///< of requests of several
  std::uint32_t idempotent = 0;
};

struct Personality {
  engine::Options options;
  std::array<std::uint32_t, kVerbs> weights{};
  JobHabits jobs;
  std::uint32_t queues = 3;  ///< how many names are in use
  std::uint32_t live_cap = 30;
  std::uint32_t ended_cap = 100;
  std::uint32_t commands_per_entry = 3;  ///< at most
  std::uint32_t odd = 2;                 ///< percent of commands with an odd value
  std::uint32_t astray = 15;             ///< percent of ids, leases and workers that are wrong
  base::Instant start;
  std::uint32_t still = 40;  ///< percent of entries at the time of the one before
  std::uint32_t aim = 25;    ///< percent of entries that aim at a deadline
  std::uint32_t tick_when_due = 50;
  std::uint32_t tick_anyway = 3;
  std::uint32_t jump = 10;         ///< permille of entries after a long silence
  std::uint32_t bounded_work = 0;  ///< percent of entries that say how much tasks may do
  std::uint32_t resume = 5;        ///< permille of entries that begin after a time without a leader
  std::uint32_t retention = 0;     ///< 0 none, 1 short, 2 mixed, 3 the default
  std::uint32_t limits = 30;       ///< percent of queues that begin with limits
  std::uint32_t drain = 20;        ///< percent of entries followed by a drain
  std::uint32_t reload = 5;        ///< permille of entries followed by a reload
  std::uint32_t twin = 3;          ///< permille of entries at which a twin starts to run alongside
};

Personality draw_personality(Rng& rng);

}  // namespace jobbie::sim
