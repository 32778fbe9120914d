// One seed: workload, model, engine, store and auditor together, from the first entry to the last
// job.
#pragma once

#include <cstdint>
#include <string>

#include "engine/options.hpp"
#include "tests/sim/coverage.hpp"

namespace jobbie::sim {

struct SimOptions {
  std::uint64_t commands = 5000;
  bool trace = false;         ///< print every command and reply
  bool history_only = false;  ///< leave the model out: what do the other checks find by themselves?
  bool paranoid = false;  ///< compare everything after every entry; slow, to find where it began
  engine::Plant plant = engine::Plant::none;
};

struct SimResult {
  std::string violation;  ///< empty: none
  std::uint64_t entry = 0;
  std::uint64_t commands = 0;  ///< applied
};

/// Deterministic: the same seed and options do the same on every machine.
SimResult simulate(std::uint64_t seed, const SimOptions& options, Coverage& coverage);

}  // namespace jobbie::sim
