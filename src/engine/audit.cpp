// The audit: every list, heap, index and counter against a recount from the jobs themselves.
#include <algorithm>

#include <fmt/format.h>

#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

/// Collects what a walk over all jobs says, to be compared with what the engine keeps.
struct Recount {
  std::map<Slot, std::array<std::uint64_t, model::kStates>> queues;
  std::map<Slot, std::array<std::uint64_t, model::kStates>> groups;
  std::map<Slot, std::uint64_t> locks;
  std::map<Slot, std::pair<std::uint32_t, std::uint32_t>> limiters;  // members, active
  std::map<Slot, std::size_t> lanes;
  std::map<std::string_view, std::uint32_t> workers;
  std::size_t live = 0;
  std::size_t timers = 0;
};

std::string fault(std::string_view what, const Job& job) {
  return fmt::format("{} {}: {}", job.id.text(), model::to_string(job.state), what);
}

}  // namespace

std::string Core::audit_job(Slot slot, const Job& job) const {
  if (index.find(job.sequence()) != slot) return fault("not in the index", job);
  const bool ended = model::has_ended(job.state);
  const Slot lane_slot = job.lane();
  if ((job.state == State::pending) != (lane_slot != 0)) return fault("has no lane", job);
  if (job.state == State::active ? !workers.is_held_right(job) : lane_slot != job.seat)
    return fault("not where it should be", job);
  const auto due = next_due(job);
  if ((due.what != Due::nothing) != timers.contains(slot)) return fault("wrong timer", job);
  if (due.what != Due::nothing && timers.key(slot).at != due.at) return fault("stale timer", job);
  if (ended && job.unique && job.unique->held) return fault("ended with a lock", job);
  if ((job.state == State::waiting) != (job.placement && !job.placement->waiting_on.empty()))
    return fault("waiting and waiting_on disagree", job);
  if (ended) return {};
  if (job.unique && job.unique->held && locks.find(job.queue, job.unique->spec.key.view()) == 0)
    return fault("its lock cannot be found", job);
  if (job.placement && !job.placement->group.empty() && job.group_slot() == 0)
    return fault("not in its group", job);
  if (lane_slot == 0) return {};
  const Lane& lane = lanes[lane_slot];
  if (lane.queue != job.queue || lane.group != job.group_slot()) return fault("wrong lane", job);
  if (queue_of(job).ordered && lane_is_open(lane) != (lane.bucket != 0))
    return fault("its lane is closed and ordered, or open and not", job);
  if (lane.bucket != 0 && buckets[lane.bucket].lanes.key(lane_slot) != lane.head_key())
    return fault("its lane stands in the wrong place", job);
  return {};
}

/// What claims go by must never lie behind a queue's first job.
bool Core::audit_head(const Queue& queue) const {
  const bool any_pending = queue.counts[static_cast<std::size_t>(State::pending)] > 0;
  if (heads.is_pending(queue.slot) != any_pending) return false;
  const ReadyKey seen = heads.bound(queue.slot);
  const auto behind = [&](Slot lane) {
    return !lanes[lane].empty() && lanes[lane].head_key() < seen;
  };
  if (!queue.ordered) {
    const bool any = queue.plain_lane != 0 && !lanes[queue.plain_lane].empty();
    return seen == (any ? lanes[queue.plain_lane].head_key() : kNothingReady);
  }
  if (queue.plain_lane != 0 && lane_is_open(lanes[queue.plain_lane]) && behind(queue.plain_lane))
    return false;
  return std::none_of(queue.lanes.begin(), queue.lanes.end(), [&](const auto& entry) {
    return lane_is_open(lanes[entry.second]) && behind(entry.second);
  });
}

std::string Core::audit_lists() const {
  for (const auto& queue : queues) {
    if (!queue) continue;
    if (!audit_head(*queue)) return fmt::format("queue {}: wrong head", queue->name.view());
    std::uint64_t arrival = 0;
    std::uint64_t length = 0;
    Slot previous = 0;
    for (Slot slot = queue->first; slot != 0; slot = jobs[slot].queue_next) {
      const Job& job = jobs[slot];
      if (job.queue_prev != previous || job.arrival <= arrival || job.queue != queue->slot)
        return fault("queue list is broken", job);
      previous = slot;
      arrival = job.arrival;
      ++length;
    }
    std::uint64_t counted = 0;
    for (std::size_t state = 0; state < static_cast<std::size_t>(State::completed); ++state)
      counted += queue->counts[state];
    if (previous != queue->last || length != counted)
      return fmt::format("queue {}: {} jobs in the list, {} counted", queue->name.view(), length,
                         counted);
    for (const State state : {State::completed, State::dead, State::cancelled}) {
      std::uint64_t kept = 0;
      for (const auto& [minute, entry] : queue->tallies[ended_index(state)]) kept += entry.count;
      if (kept != queue->counts[static_cast<std::size_t>(state)])
        return fmt::format("queue {}: {} {} jobs tallied, {} counted", queue->name.view(), kept,
                           model::to_string(state), queue->counts[static_cast<std::size_t>(state)]);
    }
  }
  return {};
}

std::string Core::audit() const {
  Recount sum;
  std::string found;
  jobs.for_each_live([&](Slot slot, const Job& job) {
    if (!found.empty()) return;
    found = audit_job(slot, job);
    if (timers.contains(slot)) ++sum.timers;
    if (model::has_ended(job.state)) return;
    ++sum.live;
    ++sum.queues[job.queue][static_cast<std::size_t>(job.state)];
    if (job.group_slot() != 0) ++sum.groups[job.group_slot()][static_cast<std::size_t>(job.state)];
    if (job.unique && job.unique->held) ++sum.locks[job.queue];
    if (job.lane() != 0) ++sum.lanes[job.lane()];
    if (job.placement) {
      const bool active = job.state == State::active;
      for (const Slot key : {job.placement->concurrency_key, job.placement->throttle_key}) {
        if (key == 0) continue;
        ++sum.limiters[key].first;
        if (key == job.placement->concurrency_key && active) ++sum.limiters[key].second;
      }
    }
    if (job.state == State::active && !job.worker.empty()) ++sum.workers[job.worker.view()];
  });
  if (!found.empty()) return found;
  if (found = audit_lists(); !found.empty()) return found;
  if (found = audit_memory(); !found.empty()) return found;
  if (found = audit_owners(); !found.empty()) return found;
  if (sum.live != live || sum.timers != timers.size() || !timers.audit())
    return fmt::format("{} live jobs counted {}; {} timers found {}", sum.live, live, timers.size(),
                       sum.timers);
  lanes.for_each_live([&](Slot slot, const Lane& lane) {
    if (!lane.audit() || lane.size() != sum.lanes[slot])
      found = fmt::format("lane {} is broken", slot);
  });
  limiters.for_each_live([&](Slot slot, const Limiter& limiter) {
    const auto [members, active] = sum.limiters[slot];
    if (limiter.members != members || (!limiter.throttle && limiter.active != active))
      found = fmt::format("limiter {}: {} members counted {}, {} active counted {}",
                          limiter.key.view(), members, limiter.members, active, limiter.active);
    const auto& throttle = queues[limiter.queue]->settings.throttle_per;
    if (limiter.throttle && throttle && limiter.full != (limiter.window.total() >= throttle->rate))
      found = fmt::format("limiter {}: full or not, against its window", limiter.key.view());
  });
  for (const auto& queue : queues) {
    if (!queue) continue;
    for (std::size_t state = 0; state < static_cast<std::size_t>(State::completed); ++state)
      if (queue->counts[state] != sum.queues[queue->slot][state])
        found = fmt::format("queue {}: count of state {} drifted", queue->name.view(), state);
    if (queue->unique_locks != sum.locks[queue->slot])
      found = fmt::format("queue {}: {} locks counted {}", queue->name.view(),
                          sum.locks[queue->slot], queue->unique_locks);
  }
  for (std::size_t slot = 1; slot < groups.size(); ++slot)
    if (groups[slot] && groups[slot]->counts != sum.groups[static_cast<Slot>(slot)])
      found = fmt::format("group {}: counts drifted", groups[slot]->name.view());
  for (const auto& [id, worker] : workers.entries())
    if (worker.record.active != sum.workers[id])
      found = fmt::format("worker {}: count drifted", id);
  return found;
}

}  // namespace jobbie::engine
