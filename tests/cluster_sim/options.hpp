// What a run is asked for, what it counts, and the bugs that can be planted in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace jobbie::cluster_sim {

/// Deliberate faults, one at a time, to show that the simulation catches them.
enum class Plant : std::uint8_t {
  none = 0,
  ack_before_sync,       ///< a node answers its peers before its log is durable
  torn_record_accepted,  ///< recovery believes a record by its header
  send_before_sync,      ///< no message waits for the term, vote and entries that it speaks of
  disk_lost_id_kept,     ///< a node that lost its disk comes back under its old id
  snapshot_not_durable,  ///< a snapshot is adopted before its file is durable
  old_configuration,     ///< a snapshot comes with the configuration of an earlier entry
  snapshot_unreported,   ///< the leader is not told what became of a snapshot
  no_barrier,            ///< a new leader serves before it has applied an entry of its own term
  ours_by_index,         ///< an applied entry is taken for ours by its index alone
  answered_too_early,    ///< calls are answered when they are proposed
  nothing_happened,      ///< a leader that goes tells its callers that nothing happened
  stale_read,            ///< a strong read is answered without asking the leader
  own_write_unseen,      ///< a local read does not wait for what was written through its node
  time_from_wall,        ///< a new leader's log time is its wall clock, and leases are not extended
  no_resume,             ///< leases run while nobody leads
  cut_too_far,           ///< the log is cut beyond the durable checkpoint
  stale_checkpoint,      ///< a checkpoint claims a later entry than it holds
  ticks_on_followers,    ///< an engine is ticked outside of the log
};
inline constexpr std::size_t kPlants = 19;
std::string_view plant_name(Plant plant);
std::optional<Plant> plant_called(std::string_view name);

enum class Count : std::uint8_t {
  starts,
  kills,
  power_losses,
  blackouts,
  disk_errors,
  full_disks,
  slow_disks,
  pauses,
  partitions,
  one_way_cuts,
  bridges,
  lost_messages,
  doubled_messages,
  slow_links,
  clock_jumps,
  messages,
  elections,
  transfers,
  learners_added,
  promotions,
  removals,
  removed_nodes_seen,
  lost_disks,
  snapshots_offered,
  snapshots_adopted,
  snapshots_failed,
  swaps_finished,
  checkpoints,
  cuts,
  entries,
  overwritten,
  calls_ok,
  calls_refused,
  calls_unknown,
  forwarded,
  local_reads,
  strong_reads,
  jobs_enqueued,
  claims,
  leases_expired,
  schedule_runs,
  callbacks,
  hashes_compared,
  restarts_compared,
};
inline constexpr std::size_t kCounts = 44;
std::string_view count_name(Count count);

/// Plain counters, so that processes can share and add them.
struct Counts {
  std::array<std::uint64_t, kCounts> values{};
  std::uint64_t& operator[](Count c) { return values[static_cast<std::size_t>(c)]; }
  void add(const Counts& other) {
    for (std::size_t i = 0; i < kCounts; ++i) values[i] += other.values[i];
  }
};

struct SimOptions {
  std::uint64_t minutes = 5;  ///< of faults; then everything heals
  bool trace = false;
  Plant plant = Plant::none;
};

struct SimResult {
  std::string violation;  ///< empty: none
  std::int64_t at_us = 0;
  std::uint64_t trace_hash = 0;
};

/// Deterministic: the same seed and options do the same on every machine.
SimResult simulate(std::uint64_t seed, const SimOptions& options, Counts& counts);

}  // namespace jobbie::cluster_sim
