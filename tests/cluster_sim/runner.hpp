// Many seeds of this simulator, over several processes.
#pragma once

#include <cstdint>
#include <string>

#include "tests/cluster_sim/options.hpp"

namespace jobbie::cluster_sim {

struct RunOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 100;
  unsigned processes = 1;
  std::uint64_t seconds = 0;  ///< start no new seed after this long; zero: no limit
  bool progress = true;
  SimOptions sim;
};

struct RunResult {
  bool failed = false;
  std::uint64_t failed_seed = 0;  ///< the lowest
  std::int64_t failed_at_us = 0;
  std::string violation;
  std::uint64_t seeds = 0;  ///< finished
  std::int64_t simulated_us = 0;
  double seconds = 0;
  Counts counts;
};

RunResult run_seeds(const RunOptions& options);

/// Runs every plant until it is found, 60 seconds at most, and then none for a few seeds. The
/// process's exit code.
int test_plants(const RunOptions& options);

/// Runs seeds twice each, and compares. The process's exit code.
int test_replay(const RunOptions& options);

}  // namespace jobbie::cluster_sim
