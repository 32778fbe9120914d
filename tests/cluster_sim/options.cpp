// Names of what is planted and counted.
#include "tests/cluster_sim/options.hpp"

namespace jobbie::cluster_sim {
namespace {

constexpr std::array<std::string_view, kPlants> kPlantNames = {"none",
                                                               "ack_before_sync",
                                                               "torn_record_accepted",
                                                               "send_before_sync",
                                                               "disk_lost_id_kept",
                                                               "snapshot_not_durable",
                                                               "old_configuration",
                                                               "snapshot_unreported",
                                                               "no_barrier",
                                                               "ours_by_index",
                                                               "answered_too_early",
                                                               "nothing_happened",
                                                               "stale_read",
                                                               "own_write_unseen",
                                                               "time_from_wall",
                                                               "no_resume",
                                                               "cut_too_far",
                                                               "stale_checkpoint",
                                                               "ticks_on_followers"};

constexpr std::array<std::string_view, kCounts> kCountNames = {"starts",
                                                               "kills",
                                                               "power losses",
                                                               "blackouts",
                                                               "disk errors",
                                                               "full disks",
                                                               "slow disks",
                                                               "pauses",
                                                               "partitions",
                                                               "one way cuts",
                                                               "bridges",
                                                               "lost messages",
                                                               "doubled messages",
                                                               "slow links",
                                                               "clock jumps",
                                                               "messages",
                                                               "elections",
                                                               "transfers",
                                                               "learners added",
                                                               "promotions",
                                                               "removals",
                                                               "removed nodes seen",
                                                               "lost disks",
                                                               "snapshots offered",
                                                               "snapshots adopted",
                                                               "snapshots failed",
                                                               "swaps finished",
                                                               "checkpoints",
                                                               "cuts",
                                                               "entries",
                                                               "overwritten",
                                                               "calls ok",
                                                               "calls refused",
                                                               "calls unknown",
                                                               "forwarded",
                                                               "local reads",
                                                               "strong reads",
                                                               "jobs enqueued",
                                                               "claims",
                                                               "leases expired",
                                                               "schedule runs",
                                                               "callbacks",
                                                               "hashes compared",
                                                               "restarts compared"};

}  // namespace

std::string_view plant_name(Plant plant) { return kPlantNames[static_cast<std::size_t>(plant)]; }

std::optional<Plant> plant_called(std::string_view name) {
  for (std::size_t i = 0; i < kPlants; ++i)
    if (kPlantNames[i] == name) return static_cast<Plant>(i);
  return std::nullopt;
}

std::string_view count_name(Count count) { return kCountNames[static_cast<std::size_t>(count)]; }

}  // namespace jobbie::cluster_sim
