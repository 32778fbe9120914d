// Full lives at a steady backlog: each step enqueues one job at the tail, claims one at the head
// and acknowledges one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/workload.hpp"
#include "engine/engine.hpp"

namespace jobbie::bench {

/// How commands come to the engine.
enum class Feed {
  grouped,  ///< 63 commands an entry (21 lives), as group commit makes them
  single,   ///< one command an entry
  any,      ///< grouped, each claim over all queues by a glob
  bulk,     ///< enqueues of 100 jobs a request, claims of 100, 100 acks, in one entry
};
[[nodiscard]] const char* to_string(Feed feed);

/// Of one timed run. Timed is `apply` and `next_deadline` for every entry and `drain_changes` about
/// every thousand commands. `all_in` is the whole loop: building commands, reading replies and
/// freeing everything too. Where other programs took the core away meanwhile, the thread had it for
/// only a share of that time, and `rate` counts that share: lives a second of a core.
struct SteadyRun {
  std::size_t lives = 0;
  double seconds = 0;
  double all_in_seconds = 0;
  double drain_seconds = 0;
  double core_share = 1;           ///< CPU time over time, of the whole loop
  std::uint64_t apply_p50_ns = 0;  ///< of one entry
  std::uint64_t apply_p999_ns = 0;
  std::uint64_t apply_max_ns = 0;
  std::uint64_t drain_max_ns = 0;
  std::uint64_t preemptions = 0;  ///< how often other programs took the core away meanwhile

  [[nodiscard]] double wall_rate() const { return static_cast<double>(lives) / seconds; }
  [[nodiscard]] double rate() const { return wall_rate() / core_share; }
  [[nodiscard]] double all_in_rate() const {
    return static_cast<double>(lives) / all_in_seconds / core_share;
  }
};

[[nodiscard]] SteadyRun run_steady(engine::Engine& engine, Workload& workload, Feed feed,
                                   std::size_t lives);

}  // namespace jobbie::bench
