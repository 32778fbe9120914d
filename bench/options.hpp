// What a run of the benchmark is asked to do.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <vector>

namespace jobbie::bench {

struct RunOptions {
  bool json = false;
  bool quick = false;  ///< plain jobs only, no backlog above a million
  std::vector<std::size_t> backlogs{1'000, 1'000'000, 5'000'000};
  std::size_t lives = 200'000;   ///< full lives in one timed run
  std::size_t jobs = 1'000'000;  ///< in the sections on memory, single commands and checkpoints
  std::size_t repeats = 3;
};

/// The options of a command line, or what is wrong with it.
[[nodiscard]] std::expected<RunOptions, std::string> read_options(int count, char** arguments);

}  // namespace jobbie::bench
