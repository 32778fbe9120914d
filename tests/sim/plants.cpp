// Every planted bug must be found, and nothing may be found where none is planted.
#include "tests/sim/plants.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

namespace jobbie::sim {
namespace {

constexpr std::array<std::string_view, engine::kPlants> kNames = {"none",
                                                                  "unfenced_ack",
                                                                  "lock_not_released",
                                                                  "tick_twice",
                                                                  "lease_not_counted",
                                                                  "batch_counts_twice",
                                                                  "limit_off_by_one",
                                                                  "window_forgets",
                                                                  "retry_to_the_back",
                                                                  "cancel_lost",
                                                                  "expiry_retries",
                                                                  "paused_group_leaks",
                                                                  "counter_drifts",
                                                                  "cron_fires_again",
                                                                  "dependents_forgotten",
                                                                  "checkpoint_loses_cancel",
                                                                  "resume_forgets",
                                                                  "bytes_not_counted",
                                                                  "work_not_shared"};

constexpr std::uint64_t kSecondsEach = 60;
constexpr std::uint64_t kCleanSeeds = 20;

#ifdef JOBBIE_PLANT_BUGS
constexpr bool kPlantsExist = true;
#else
constexpr bool kPlantsExist = false;
#endif

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string_view plant_name(engine::Plant plant) {
  return kNames[static_cast<std::size_t>(plant) % kNames.size()];
}

std::optional<engine::Plant> plant_called(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name && (i == 0 || kPlantsExist)) return static_cast<engine::Plant>(i);
  }
  return std::nullopt;
}

int test_plants(const RunOptions& given) {
  if (!kPlantsExist) {
    fmt::print("sim: this build has no planted bugs\n");
    return 1;
  }
  int missed = 0;
  for (std::size_t i = 0; i < engine::kPlants; ++i) {
    RunOptions options = given;
    options.progress = false;
    options.sim.plant = static_cast<engine::Plant>(i);
    const bool planted = i != 0;
    options.seeds = planted ? 1'000'000 : kCleanSeeds;
    options.seconds = kSecondsEach;
    const RunResult result = run_seeds(options);
    const bool right = result.failed == planted;
    if (!right) ++missed;
    fmt::print("{} {:<24} {:5.1f} s  {}\n", right ? "ok    " : "MISSED", kNames[i], result.seconds,
               result.failed ? fmt::format("seed {} entry {}: {}", result.failed_seed,
                                           result.failed_entry, first_line(result.violation))
                             : fmt::format("{} seeds, 0 violations", result.seeds));
  }
  fmt::print("sim: {} planted bugs, {} found\n", engine::kPlants - 1,
             static_cast<int>(engine::kPlants) - 1 - missed);
  return missed == 0 ? 0 : 1;
}

}  // namespace jobbie::sim
