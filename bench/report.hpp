// The figures of a run, as a table to read or as one JSON object.
#pragma once

#include <string>
#include <vector>

#include "bench/options.hpp"
#include "bench/sections.hpp"
#include "bench/steady.hpp"
#include "bench/workload.hpp"

namespace jobbie::bench {

/// One scenario of full lives, run several times on the same backlog.
struct SteadyFigure {
  std::size_t backlog = 0;
  std::size_t queues = 0;
  Variant variant = Variant::plain;
  Feed feed = Feed::grouped;
  std::vector<SteadyRun> runs;

  [[nodiscard]] const SteadyRun& best() const;
  [[nodiscard]] double best_rate() const { return best().rate(); }
  [[nodiscard]] double median_rate() const;
};

struct Report {
  RunOptions options;
  double clock_ns = 0;
  std::vector<SteadyFigure> steady;
  std::vector<MemoryFigure> memory;
  std::vector<CommandFigure> commands;
  CheckpointFigure checkpoint;
};

/// What was promised and what was seen.
struct Target {
  std::string what;
  double promised = 0;
  double seen = 0;  ///< negative: not measured in this run
  bool at_most = false;
  [[nodiscard]] bool measured() const { return seen >= 0; }
  [[nodiscard]] bool reached() const { return at_most ? seen <= promised : seen >= promised; }
};
[[nodiscard]] std::vector<Target> targets(const Report& report);

[[nodiscard]] std::string to_table(const Report& report);
[[nodiscard]] std::string to_json(const Report& report);

/// What is inside the timed part, in words; part of both forms.
[[nodiscard]] const char* what_is_timed();

}  // namespace jobbie::bench
