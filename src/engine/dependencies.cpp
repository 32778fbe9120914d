// Dependencies: who waits for whom, and telling them when it ends.
#include <algorithm>

#include "engine/core.hpp"

namespace jobbie::engine {

void Core::wait_for(Slot slot, JobId dependency) {
  Job& job = jobs[slot];
  // Named twice it is waited for once.
  if (!dependents.add(dependency.sequence(), job.sequence())) return;
  job.place().waiting_on.push_back(dependency);
}

void Core::stop_waiting(Slot slot) {
  Job& job = jobs[slot];
  if (!job.placement) return;
  for (const JobId dependency : job.placement->waiting_on)
    dependents.remove(dependency.sequence(), job.sequence());
  job.placement->waiting_on.clear();
}

void Core::tell_dependents(const Job& job, bool completed) {
  if (!dependents.any(job.sequence())) return;
  add_task({.kind = model::TaskKind::release_dependents,
            .bound = meta.next_sequence - 1,
            .flag = completed,
            .job = job.id});
}

bool Core::release_dependents(model::TaskRecord& task, std::size_t& budget) {
  while (true) {
    const auto waiter = dependents.first(task.job.sequence(), task.bound);
    if (waiter == 0) return true;
    if (budget == 0) return false;
    budget -= std::min(budget, work_of_release(index.find(waiter)));
    dependents.remove(task.job.sequence(), waiter);
    dependency_ended(index.find(waiter), task.job, task.flag);
  }
}

/// To tell a job that a dependency has ended takes the longer, the more of them it has: its list is
/// searched, and its record, which holds them all, is written again.
std::size_t Core::work_of_release(Slot waiter) const {
  if (entry_work == 0) return 1;
  const Placement& place = *jobs[waiter].placement;
  return 1 + (place.depends_on.size() + place.waiting_on.size()) / kDependenciesPerWork;
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
