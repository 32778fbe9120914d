// Bounds on the work of one call, and the faults that test builds can plant.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jobbie::engine {

/// Deliberate faults, one at a time, to show that the simulator catches them. They exist only where
/// JOBBIE_PLANT_BUGS is defined; in the product `Options::plants` is always false.
enum class Plant : std::uint8_t {
  none = 0,
  unfenced_ack,             ///< ack accepts any lease
  lock_not_released,        ///< a dead job keeps its unique key
  tick_twice,               ///< a due retry is promoted and counted twice
  lease_not_counted,        ///< a lost lease gives the attempt back
  batch_counts_twice,       ///< a retried member is counted again
  limit_off_by_one,         ///< one job too many is let through a concurrency limit
  window_forgets,           ///< the throttle forgets claims of its first millisecond
  retry_to_the_back,        ///< a retried job falls one priority lower
  cancel_lost,              ///< a lost lease forgets that cancellation was requested
  expiry_retries,           ///< an expired job is retried
  paused_group_leaks,       ///< a job enqueued into a paused group is claimable
  counter_drifts,           ///< moving an ended job does not move its count
  cron_fires_again,         ///< the schedule keeps its instant after firing
  dependents_forgotten,     ///< deleting a job does not tell those that wait for it
  checkpoint_loses_cancel,  ///< the dump leaves out cancel_requested
  resume_forgets,           ///< leases run on while nobody leads
  bytes_not_counted,        ///< a claim gives all it may by number, however large
  work_not_shared,          ///< each command of an entry may do all that the entry allows
};
inline constexpr std::size_t kPlants = 19;

struct Options {
  std::size_t timers_per_tick = 1000;  ///< deadlines of jobs that one Tick fires
  std::size_t task_slice = 1000;       ///< jobs that tasks visit after one command
  std::size_t cron_runs_per_tick = 100;
  std::size_t sweeps_per_tick = 10'000;  ///< minutes of ended jobs that one Tick forgets
  /// Varies the hash tables whose keys callers choose, so that nobody can aim at one bucket. Drawn
  /// by the process; no outcome depends on it.
  std::uint64_t hash_seed = 0;
#ifdef JOBBIE_PLANT_BUGS
  Plant plant = Plant::none;
  [[nodiscard]] bool plants(Plant p) const { return plant == p; }
#else
  [[nodiscard]] static constexpr bool plants(Plant) { return false; }
#endif
};

}  // namespace jobbie::engine
