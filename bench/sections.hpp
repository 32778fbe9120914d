// The sections of the benchmark beside full lives: memory, single commands, checkpoints.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/workload.hpp"

namespace jobbie::bench {

struct MemoryFigure {
  Variant variant = Variant::plain;
  std::size_t jobs = 0;
  double overhead_bytes = 0;  ///< heap in use for each pending job, less its 200 bytes of payload
  double fill_rate = 0;       ///< jobs a second, in requests of a thousand
};
/// Fills a new engine with pending jobs and compares the heap before and after.
[[nodiscard]] MemoryFigure measure_memory(Variant variant, std::size_t jobs);

struct CommandFigure {
  std::string kind;
  std::size_t count = 0;
  double mean_ns = 0;
  double p999_ns = 0;
  double max_ns = 0;
};
/// Times single commands of every common kind, one an entry, at a backlog of `jobs`.
[[nodiscard]] std::vector<CommandFigure> measure_commands(std::size_t jobs);

struct CheckpointFigure {
  std::size_t jobs = 0;
  std::size_t bytes = 0;
  double dump_seconds = 0;          ///< items handed out, nothing done with them
  double dump_encoded_seconds = 0;  ///< items handed out and encoded
  double load_seconds = 0;          ///< items decoded, added and finished
  double first_hash_seconds = 0;    ///< the whole state
  double next_hash_seconds = 0;     ///< after a thousand jobs more
};
[[nodiscard]] CheckpointFigure measure_checkpoint(std::size_t jobs);

/// What one reading of the clock costs; contained twice in every timed entry.
[[nodiscard]] double measure_clock_ns();

}  // namespace jobbie::bench
