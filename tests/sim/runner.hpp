// Many seeds of this simulator, over several processes.
#pragma once

#include <cstdint>
#include <string>

#include "tests/sim/coverage.hpp"
#include "tests/sim/simulation.hpp"

namespace jobbie::sim {

struct RunOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 2000;
  unsigned processes = 1;
  std::uint64_t seconds = 0;  ///< stop handing out seeds after this long; zero: no limit
  bool progress = true;
  SimOptions sim;
};

struct RunResult {
  bool failed = false;
  std::uint64_t failed_seed = 0;  ///< the lowest
  std::uint64_t failed_entry = 0;
  std::string violation;
  std::uint64_t seeds = 0;  ///< finished
  std::uint64_t commands = 0;
  double seconds = 0;
  Coverage coverage;
};

RunResult run_seeds(const RunOptions& options);

}  // namespace jobbie::sim
