// One measurement: producers and workers on one thread, each waiting for its answer before it goes
// on.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "bench/load/histogram.hpp"
#include "bench/load/options.hpp"

namespace jobbie::bench::load {

struct Figures {
  double seconds = 0;  ///< measured, without warm-up and without the time to empty the queue
  std::uint64_t enqueued = 0;    ///< answered within those seconds
  std::uint64_t acked = 0;       ///< likewise
  std::uint64_t busy = 0;        ///< answers that asked to come again, in the whole run
  std::uint64_t late = 0;        ///< latency: jobs that found no free connection when they were due
  std::int64_t unaccounted = 0;  ///< both, latency: enqueued in the run and never handed out
  double client_cpu = 0;         ///< share of one core that this program used
  Histogram latency;             ///< from sending the enqueue to having the job
};

/// Runs what the options say, or tells what went wrong.
[[nodiscard]] std::expected<Figures, std::string> run(const Options& options);

}  // namespace jobbie::bench::load
