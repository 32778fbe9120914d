// Tasks: long work in slices, so that clearing a million jobs never holds up the log.
//
// A task that covers a list visits its head until the head is newer than the task's bound; what stays in
// the list goes to the end. So there is no cursor that another command could pull away.
#include <algorithm>

#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

bool is_queue_task(model::TaskKind kind) {
  return kind == model::TaskKind::clear_queue || kind == model::TaskKind::delete_queue ||
         kind == model::TaskKind::relane_queue;
}

}  // namespace

void Core::add_task(model::TaskRecord task) {
  task.number = meta.next_task++;
  if (is_queue_task(task.kind)) ++queues[find_queue(task.subject.view())]->tasks;
  changed_tasks.insert(task.number);
  tasks.push_back(std::move(task));
}

std::uint64_t Core::run_tasks() {
  std::uint64_t revived = 0;
  std::size_t budget = options.task_slice;
  while (!tasks.empty()) {
    // Steps may add tasks; a deque keeps the front where it is.
    model::TaskRecord& task = tasks.front();
    changed_tasks.insert(task.number);
    if (!step_task(task, budget, revived)) break;
    removals.emplace_back(command::RemovedTask{task.number});
    changed_tasks.erase(task.number);
    if (is_queue_task(task.kind)) finish_queue_task(task);
    tasks.pop_front();
  }
  return revived;
}

bool Core::step_task(model::TaskRecord& task, std::size_t& budget, std::uint64_t& revived) {
  switch (task.kind) {
    case model::TaskKind::clear_queue:
    case model::TaskKind::delete_queue:
    case model::TaskKind::relane_queue:
      return visit_queue(task, budget);
    case model::TaskKind::cancel_group:
      return visit_group(task, budget);
    case model::TaskKind::retry_group:
      return retry_group_page(task, budget, revived);
    case model::TaskKind::release_dependents:
      return release_dependents(task, budget);
  }
  return true;
}

bool Core::visit_queue(model::TaskRecord& task, std::size_t& budget) {
  Queue& queue = *queues[find_queue(task.subject.view())];
  while (queue.first != 0 && jobs[queue.first].arrival <= task.bound) {
    if (budget == 0) return false;
    --budget;
    const Slot slot = queue.first;
    // Deleted because this task means it, or ended or sent to the end of the list by a deadline.
    if (!settle(slot) || model::has_ended(jobs[slot].state) || jobs[slot].arrival > task.bound)
      continue;
    if (task.kind == model::TaskKind::relane_queue) relane_job(slot);
    unlink_from_queue(slot);
    jobs[slot].arrival = meta.next_arrival++;
    link_to_queue(slot);
    touch(slot);
  }
  return true;
}

void Core::relane_job(Slot slot) {
  const State state = jobs[slot].state;
  if (state == State::pending) leave_lane(slot);
  if (state == State::active) count_active(slot, false);
  drop_keys(slot);
  assign_keys(slot);
  if (state == State::pending) enter_lane(slot);
  if (state == State::active) count_active(slot, true);
}

void Core::finish_queue_task(model::TaskRecord& task) {
  const Slot slot = find_queue(task.subject.view());
  Queue& queue = *queues[slot];
  if (--queue.tasks == 0) mark_ready(queue);
  if (task.kind == model::TaskKind::clear_queue && queue.clear_bound == task.bound)
    queue.clear_bound = 0;
  if (task.kind != model::TaskKind::delete_queue) return;
  if (queue.destroy_bound == task.bound) queue.destroy_bound = 0;
  emit(EventType::queue_deleted, nullptr, queue.name);
  const auto sum = [&] {
    std::uint64_t total = 0;
    for (const auto count : queue.counts)
      total += count;
    return total;
  }();
  if (sum == 0 && queue.tasks == 0) {
    release_queue_parts(queue);
    return remove_queue(slot);
  }
  reset_queue(queue);
}

void Core::release_queue_parts(Queue& queue) {
  clear_windows(queue, false);
  clear_windows(queue, true);
  if (queue.plain_lane != 0) lanes.release(std::exchange(queue.plain_lane, 0));
}

void Core::reset_queue(Queue& queue) {
  const bool keyed = queue.settings.concurrency_per || queue.settings.throttle_per;
  clear_windows(queue, false);
  clear_windows(queue, true);
  set_fairness(queue, model::Fairness::priority);
  queue.settings = {};
  queue.totals = {};
  queue.last_served_group.reset();
  for (const State state : {State::completed, State::dead, State::cancelled})
    plan_sweep(queue, state);
  queue_changed(queue);
  if (keyed) relane(queue);
}

bool Core::visit_group(model::TaskRecord& task, std::size_t& budget) {
  while (true) {
    const Slot group = find_group(task.subject.view());
    if (group == 0) return true;
    const Slot slot = groups[group]->first;
    if (slot == 0 || jobs[slot].placement->group_arrival > task.bound) return true;
    if (budget == 0) return false;
    --budget;
    if (!settle(slot) || model::has_ended(jobs[slot].state)) continue;
    if (jobs[slot].placement->group_arrival > task.bound) continue;
    if (jobs[slot].state != State::active) {
      end_job(slot, State::cancelled, "cancelled");
      continue;
    }
    if (task.flag) cancel_job(slot);
    unlink_from_group(slot);
    jobs[slot].placement->group_arrival = meta.next_arrival++;
    link_to_group(slot);
    touch(slot);
  }
}

std::vector<model::JobRecord> Core::dead_of_group(const model::TaskRecord& task,
                                                  std::size_t limit) {
  // What memory holds is newer than what the port knows, in both directions.
  std::vector<model::JobRecord> found;
  for (auto after = task.cursor; found.size() < limit;) {
    auto page = ended_port.dead_in_group(task.subject.view(), after, task.bound, limit);
    for (auto& record : page) {
      after = record.id.sequence();
      if (index.find(after) == 0 && !is_gone(record)) found.push_back(std::move(record));
    }
    if (page.size() < limit) break;
  }
  for (const JobRef ref : ended_jobs) {
    if (!exists(ref.slot, ref.sequence)) continue;
    const Job& job = jobs[ref.slot];
    if (job.state != State::dead || !job.placement || job.placement->group != task.subject) continue;
    if (ref.sequence > task.cursor && ref.sequence <= task.bound) found.push_back(record_of(job));
  }
  const auto by_sequence = [](const model::JobRecord& a, const model::JobRecord& b) {
    return a.id.sequence() < b.id.sequence();
  };
  std::sort(found.begin(), found.end(), by_sequence);
  const auto same = [](const model::JobRecord& a, const model::JobRecord& b) { return a.id == b.id; };
  found.erase(std::unique(found.begin(), found.end(), same), found.end());
  if (found.size() > limit) found.resize(limit);
  return found;
}

bool Core::retry_group_page(model::TaskRecord& task, std::size_t& budget, std::uint64_t& revived) {
  const auto page = dead_of_group(task, budget + 1);
  for (const auto& record : page) {
    if (budget == 0) return false;
    --budget;
    task.cursor = record.id.sequence();
    const Slot slot = locate(record.id);
    if (slot == 0 || check_revival(slot)) continue;
    retry_job(slot);
    ++revived;
  }
  return true;
}

}  // namespace jobbie::engine
