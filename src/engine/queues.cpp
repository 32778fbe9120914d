// Queues: making and removing them, their lists of live jobs, their counts of ended ones.
#include <algorithm>

#include "engine/core.hpp"

namespace jobbie::engine {

Slot Core::find_queue(std::string_view name) const {
  // A command asks for its queue several times, and the next command often means the same one.
  if (last_found != 0 && queues[last_found]->name.view() == name) return last_found;
  const auto found = queue_names.find(name);
  if (found == queue_names.end()) return 0;
  last_found = found->second;
  return last_found;
}

Slot Core::make_queue(const Blob& name) {
  if (const Slot slot = find_queue(name.view()); slot != 0) return slot;
  Slot slot = 0;
  if (free_queues.empty()) {
    slot = static_cast<Slot>(queues.size());
    queues.emplace_back();
    heads.add();
  } else {
    slot = free_queues.back();
    free_queues.pop_back();
  }
  queues[slot] = std::make_unique<Queue>();
  queues[slot]->slot = slot;
  queues[slot]->name = name;
  queues[slot]->created_at = meta.now;
  queue_names.emplace(name.view(), slot);
  queue_patterns.add(slot, name);
  set_owner(*queues[slot], caller);
  queue_changed(*queues[slot]);
  return slot;
}

void Core::set_owner(Queue& queue, base::KeyId owner) {
  if (!queue.owner.is_nil() && --owned_queues[queue.owner] == 0) owned_queues.erase(queue.owner);
  queue.owner = owner;
  if (!owner.is_nil()) ++owned_queues[owner];
}

void Core::remove_queue(Slot slot) {
  Queue& queue = *queues[slot];
  if (queue.wakes_at != Instant{}) wakes.erase({queue.wakes_at, slot, 0});
  for (const State state : {State::completed, State::dead, State::cancelled}) {
    queue.tallies[ended_index(state)].clear();
    plan_sweep(queue, state);
  }
  set_owner(queue, {});
  changes.removed(command::RemovedQueue{queue.name});
  queue_names.erase(std::string(queue.name.view()));
  queue_patterns.remove(slot);
  last_found = 0;
  heads.set_bound(slot, kNothingReady);
  queues[slot].reset();
  free_queues.push_back(slot);
}

void Core::queue_changed(Queue& queue) {
  if (queue.changed) return;
  queue.changed = true;
  changed_queues.push_back(queue.slot);
}

void Core::mark_ready(Queue& queue) {
  if (queue.ready_mark == meta.entries || outcome == nullptr) return;
  queue.ready_mark = meta.entries;
  outcome->ready.push_back(queue.name);
}

void Core::link_to_queue(Slot slot) {
  Job& job = jobs[slot];
  Queue& queue = queue_of(job);
  job.queue_prev = queue.last;
  job.queue_next = 0;
  (queue.last == 0 ? queue.first : jobs[queue.last].queue_next) = slot;
  queue.last = slot;
}

void Core::unlink_from_queue(Slot slot) {
  Job& job = jobs[slot];
  Queue& queue = queue_of(job);
  if (queue.visit_next == slot) queue.visit_next = job.queue_next;
  (job.queue_prev == 0 ? queue.first : jobs[job.queue_prev].queue_next) = job.queue_next;
  (job.queue_next == 0 ? queue.last : jobs[job.queue_next].queue_prev) = job.queue_prev;
  job.queue_prev = job.queue_next = 0;
}

void Core::arrive_again(Slot slot) {
  unlink_from_queue(slot);
  jobs[slot].arrival = meta.next_arrival++;
  link_to_queue(slot);
  if (jobs[slot].group_slot() == 0) return;
  unlink_from_group(slot);
  jobs[slot].placement->group_arrival = meta.next_arrival++;
  link_to_group(slot);
}

void Core::tally(Queue& queue, State state, Instant ended_at, bool add) {
  const auto minute = ended_at.ms / kMinute;
  auto& minutes = queue.tallies[ended_index(state)];
  auto& entry = minutes[minute];
  if (!entry.changed) {
    entry.changed = true;
    changed_tallies.push_back({queue.name, state, minute});
  }
  if (add) {
    if (++entry.count == 1 && minutes.begin()->first == minute) plan_sweep(queue, state);
  } else if (--entry.count == 0) {
    minutes.erase(minute);
  }
}

void Core::plan_sweep(Queue& queue, State state) {
  const auto which = ended_index(state);
  Instant& planned = queue.sweeps_at[which];
  if (planned != Instant{}) sweep_times.erase({planned, queue.slot, state});
  planned = {};
  if (queue.tallies[which].empty()) return;
  planned = sweep_due(queue, state, queue.tallies[which].begin()->first);
  sweep_times.insert({planned, queue.slot, state});
}

Instant Core::sweep_due(const Queue& queue, State state, std::int64_t minute) {
  return Instant{(minute + 1) * kMinute} + queue.settings.retention.of(state);
}

void Core::sweep_ended() {
  std::set<Slot> swept;
  for (std::size_t budget = options.sweeps_per_tick; budget > 0 && !sweep_times.empty();) {
    const auto [due, slot, state] = *sweep_times.begin();
    if (due > meta.now) break;
    Queue& queue = *queues[slot];
    auto& minutes = queue.tallies[ended_index(state)];
    std::int64_t last = -1;
    while (budget > 0 && !minutes.empty() &&
           sweep_due(queue, state, minutes.begin()->first) <= meta.now) {
      --budget;
      last = minutes.begin()->first;
      queue.counts[static_cast<std::size_t>(state)] -= minutes.begin()->second.count;
      changed_tallies.push_back({queue.name, state, last});
      minutes.erase(minutes.begin());
    }
    if (last >= 0) {
      const Instant before{(last + 1) * kMinute};
      changes.swept({queue.name, state, before});
      queue.swept_before[ended_index(state)] = before;
      swept.insert(slot);
      queue_changed(queue);
    }
    plan_sweep(queue, state);
  }
  if (!swept.empty()) forget_swept(swept);
}

void Core::forget_swept(const std::set<Slot>& swept) {
  for (const JobRef ref : changes.ended_jobs()) {
    if (!exists(ref.slot, ref.sequence)) continue;
    const Job& job = jobs[ref.slot];
    if (!model::has_ended(job.state) || !swept.contains(job.queue)) continue;
    if (job.ended_at < queue_of(job).swept_before[ended_index(job.state)]) forget_job(ref.slot);
  }
  for (const Slot slot : swept) queues[slot]->swept_before = {};
}

}  // namespace jobbie::engine
