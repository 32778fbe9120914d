// Seeds of this simulator, and what they add up to.
#include "tests/sim/runner.hpp"

#include "tests/sim/seeds.hpp"

namespace jobbie::sim {
namespace {

struct Tally {
  std::uint64_t commands = 0;
  Coverage coverage;

  void add(const Tally& other) {
    commands += other.commands;
    coverage.add(other.coverage);
  }
};

}  // namespace

RunResult run_seeds(const RunOptions& options) {
  const SeedOptions seeds{.first_seed = options.first_seed,
                          .seeds = options.seeds,
                          .processes = options.processes,
                          .seconds = options.seconds,
                          .name = "sim",
                          .progress_every = options.progress ? 200U : 0U};
  const auto found =
      run_seeds_with<Tally>(seeds, [&](std::uint64_t seed, Tally& tally) -> SeedOutcome {
        const SimResult result = simulate(seed, options.sim, tally.coverage);
        tally.commands += result.commands;
        return {.violation = result.violation, .where = result.entry};
      });
  RunResult result{.seeds = found.seeds,
                   .commands = found.tally.commands,
                   .seconds = found.seconds,
                   .coverage = found.tally.coverage};
  if (found.failure) {
    result.failed = true;
    result.failed_seed = found.failure->seed;
    result.failed_entry = found.failure->outcome.where;
    result.violation = found.failure->outcome.violation;
  }
  return result;
}

}  // namespace jobbie::sim
