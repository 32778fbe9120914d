// Queues, groups, batches, schedules and workers as the engine holds them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.hpp"
#include "engine/indexed_heap.hpp"
#include "engine/lane.hpp"
#include "engine/limiter.hpp"
#include "model/cron.hpp"
#include "model/queue.hpp"
#include "model/records.hpp"

namespace jobbie::engine {

/// Lets a map keyed by std::string be asked with a view.
struct TextHash {
  using is_transparent = void;
  std::uint64_t seed = 0;
  std::size_t operator()(std::string_view text) const noexcept {
    return static_cast<std::size_t>(base::hash_bytes(text, seed));
  }
};
template <typename T>
using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

/// Open lanes of one queue and one requirement that compete by (priority, sequence): all of them,
/// or under `fairness=group` those of one group.
struct LanePosition {
  Slab<Lane>* lanes = nullptr;
  std::uint32_t& operator()(std::uint32_t slot) const { return (*lanes)[slot].order_position; }
};
struct Bucket {
  std::uint32_t group = 0;
  std::uint32_t position = kAbsent;  ///< place in the need's order
  IndexedHeap<ReadyKey, LanePosition> lanes;
};
struct BucketPosition {
  Slab<Bucket>* buckets = nullptr;
  std::uint32_t& operator()(std::uint32_t slot) const { return (*buckets)[slot].position; }
};

/// One set of requirements among a queue's pending jobs. Buckets stand in order of their head: by
/// sequence alone, which is what fairness between groups wants; without it there is one bucket.
struct Need {
  model::Requirements requirements;
  std::string key;  ///< its key in Queue::needs
  std::uint32_t lanes = 0;
  std::map<std::uint32_t, std::uint32_t> buckets;  ///< group → bucket slot
  IndexedHeap<std::uint64_t, BucketPosition> order;
};

/// What tells lanes of one queue apart.
struct LaneKey {
  std::uint32_t group = 0;
  std::uint32_t concurrency_key = 0;
  std::uint32_t throttle_key = 0;
  const Need* need = nullptr;
  bool operator==(const LaneKey&) const = default;
};
struct LaneKeyHash {
  std::size_t operator()(const LaneKey& k) const noexcept {
    const auto a = (std::uint64_t{k.group} << 32) | k.concurrency_key;
    const auto b = reinterpret_cast<std::uintptr_t>(k.need) ^ (std::uint64_t{k.throttle_key} << 32);
    return static_cast<std::size_t>(base::hash_combine(a, b));
  }
};

/// Ended jobs of one state that ended in one minute.
struct Tally {
  std::uint64_t count = 0;
  bool changed = false;
};

struct Queue {
  std::uint32_t slot = 0;
  Blob name;
  Instant created_at;
  base::KeyId owner;  ///< the restricted key that made it; nil: none
  model::QueueSettings settings;
  model::QueueTotals totals;
  std::optional<Blob> last_served_group;
  std::array<std::uint64_t, model::kStates> counts{};
  std::uint32_t first = 0;  ///< live jobs by arrival
  std::uint32_t last = 0;

  std::uint32_t plain_lane = 0;  ///< of jobs without group, requirements and limit keys
  std::unordered_map<LaneKey, std::uint32_t, LaneKeyHash> lanes;    ///< the others
  std::map<std::string, std::unique_ptr<Need>, std::less<>> needs;  ///< by target worker first
  Need no_need;  ///< of lanes without requirements
  bool ordered =
      false;  ///< lanes are kept in needs and buckets; else the plain lane is all there is

  Window window;
  TextMap<std::uint32_t> concurrency_keys;  ///< value → limiter slot
  TextMap<std::uint32_t> throttle_keys;
  Instant wakes_at;

  std::array<std::map<std::int64_t, Tally>, 3> tallies;  ///< ended jobs kept, by state and minute
  std::array<Instant, 3> sweeps_at{};                    ///< when the oldest of them is due to go
  std::array<Instant, 3> swept_before{};  ///< during a sweep: what ended earlier goes
  std::uint64_t unique_locks = 0;
  std::uint32_t tasks = 0;       ///< clear, destroy and relane tasks; none may be claimed meanwhile
  std::uint64_t visitor = 0;     ///< number of the task that `visit_next` belongs to
  std::uint32_t visit_next = 0;  ///< the job that it comes to next
  std::uint64_t clear_bound = 0;    ///< idle jobs up to this arrival are to be deleted
  std::uint64_t destroy_bound = 0;  ///< live jobs up to this arrival are to be deleted
  std::uint64_t ready_mark = 0;     ///< the entry in which it was last reported ready
  bool changed = false;
  bool window_changed = false;
};

struct Group {
  Blob name;
  bool paused = false;
  std::uint32_t members = 0;  ///< live jobs
  std::uint32_t first = 0;    ///< live jobs by arrival in the group
  std::uint32_t last = 0;
  std::array<std::uint64_t, model::kStates> counts{};
  std::vector<std::uint32_t> lanes;
  std::uint64_t visitor = 0;  ///< as for queues
  std::uint32_t visit_next = 0;
};

struct Schedule {
  model::ScheduleRecord record;
  model::CronExpr cron;
  std::uint32_t bytes = 0;  ///< in the account of memory
  bool changed = false;
};

/// Kept while the worker is known or holds a job: one that was dropped may come back and find its
/// jobs counted.
struct Worker {
  model::WorkerRecord record;
  /// What its latest claim stated, beside what it registered. Told as a reason and nothing else, so
  /// it is no part of the state: a loaded engine learns it again from the next claim.
  std::vector<Blob> stated_roles;
  std::vector<Blob> stated_tags;
  std::uint32_t slot = 0;   ///< names it in the jobs that it holds
  std::uint32_t bytes = 0;  ///< in the account of memory
  bool known = false;
  bool changed = false;
};

}  // namespace jobbie::engine
