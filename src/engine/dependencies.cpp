// Dependencies: who waits for whom, and telling them when it ends.
#include <algorithm>

#include "engine/core.hpp"

namespace jobbie::engine {

void Core::wait_for(Slot slot, JobId dependency) {
  Job& job = jobs[slot];
  auto& waiting_on = job.place().waiting_on;
  if (std::find(waiting_on.begin(), waiting_on.end(), dependency) != waiting_on.end()) return;
  waiting_on.push_back(dependency);
  dependents[dependency.sequence()].insert(job.sequence());
}

void Core::stop_waiting(Slot slot) {
  Job& job = jobs[slot];
  if (!job.placement) return;
  for (const JobId dependency : job.placement->waiting_on) {
    const auto found = dependents.find(dependency.sequence());
    if (found == dependents.end()) continue;
    found->second.erase(job.sequence());
    if (found->second.empty()) dependents.erase(found);
  }
  job.placement->waiting_on.clear();
}

void Core::tell_dependents(const Job& job, bool completed) {
  if (!dependents.contains(job.sequence())) return;
  add_task({.kind = model::TaskKind::release_dependents,
            .bound = meta.next_sequence - 1,
            .flag = completed,
            .job = job.id});
}

bool Core::release_dependents(model::TaskRecord& task, std::size_t& budget) {
  while (true) {
    const auto found = dependents.find(task.job.sequence());
    if (found == dependents.end() || *found->second.begin() > task.bound) return true;
    if (budget == 0) return false;
    --budget;
    const auto waiter = *found->second.begin();
    found->second.erase(found->second.begin());
    if (found->second.empty()) dependents.erase(found);
    dependency_ended(index.find(waiter), task.job, task.flag);
  }
}

void Core::dependency_ended(Slot waiter, JobId dependency, bool completed) {
  Job& job = jobs[waiter];
  Placement& place = *job.placement;
  std::erase(place.waiting_on, dependency);
  touch(waiter);
  if (!settle(waiter) || jobs[waiter].state != State::waiting) return;
  if (!completed && place.on_failure == model::OnFailure::cancel)
    return end_job(waiter, State::cancelled, "dependency_failed");
  if (!place.waiting_on.empty()) return;
  const bool later = job.details && job.details->scheduled_at > meta.now;
  if (later) job.run_at = job.details->scheduled_at;
  set_state(waiter, later ? State::scheduled : State::pending);
  if (!later) emit(EventType::promoted, job);
  rearm(waiter);
}

}  // namespace jobbie::engine
