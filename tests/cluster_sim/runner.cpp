// Seeds of this simulator, what they add up to, and the tests of the simulator itself.
#include "tests/cluster_sim/runner.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "tests/sim/seeds.hpp"

namespace jobbie::cluster_sim {
namespace {

constexpr std::uint64_t kSecondsEach = 60;
constexpr std::uint64_t kCleanSeeds = 10;

struct Tally {
  std::int64_t simulated_us = 0;
  Counts counts;

  void add(const Tally& other) {
    simulated_us += other.simulated_us;
    counts.add(other.counts);
  }
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

RunResult run_seeds(const RunOptions& options) {
  const sim::SeedOptions seeds{.first_seed = options.first_seed,
                               .seeds = options.seeds,
                               .processes = options.processes,
                               .seconds = options.seconds,
                               .name = "cluster sim",
                               .progress_every = options.progress ? 50U : 0U};
  const auto found =
      sim::run_seeds_with<Tally>(seeds, [&](std::uint64_t seed, Tally& tally) -> sim::SeedOutcome {
        const SimResult result = simulate(seed, options.sim, tally.counts);
        tally.simulated_us += result.at_us;
        return {.violation = result.violation, .where = static_cast<std::uint64_t>(result.at_us)};
      });
  RunResult result{.seeds = found.seeds,
                   .simulated_us = found.tally.simulated_us,
                   .seconds = found.seconds,
                   .counts = found.tally.counts};
  if (found.failure) {
    result.failed = true;
    result.failed_seed = found.failure->seed;
    result.failed_at_us = static_cast<std::int64_t>(found.failure->outcome.where);
    result.violation = found.failure->outcome.violation;
  }
  return result;
}

int test_plants(const RunOptions& given) {
  int wrong = 0;
  for (std::size_t i = 0; i < kPlants; ++i) {
    RunOptions options = given;
    options.progress = false;
    options.sim.plant = static_cast<Plant>(i);
    const bool planted = i != 0;
    options.seeds = planted ? 1'000'000 : kCleanSeeds;
    options.seconds = kSecondsEach;
    const RunResult result = run_seeds(options);
    const bool right = result.failed == planted;
    if (!right) ++wrong;
    fmt::print("{} {:<22} {:5.1f} s  {}\n", right ? "ok    " : "WRONG ",
               plant_name(options.sim.plant), result.seconds,
               result.failed
                   ? fmt::format("seed {}: {}", result.failed_seed, first_line(result.violation))
                   : fmt::format("{} seeds, no violation", result.seeds));
    std::fflush(stdout);
  }
  fmt::print("cluster sim: {} planted bugs, {} wrong\n", kPlants - 1, wrong);
  return wrong == 0 ? 0 : 1;
}

int test_replay(const RunOptions& options) {
  for (std::uint64_t seed = options.first_seed; seed < options.first_seed + options.seeds; ++seed) {
    Counts counts;
    const SimResult first = simulate(seed, options.sim, counts);
    const SimResult second = simulate(seed, options.sim, counts);
    if (first.trace_hash == second.trace_hash && first.violation == second.violation &&
        first.at_us == second.at_us)
      continue;
    fmt::print("cluster sim: seed {} does not replay\n", seed);
    return 1;
  }
  fmt::print("cluster sim: {} seeds replay\n", options.seeds);
  return 0;
}

}  // namespace jobbie::cluster_sim
