// Tasks: long work in slices, so that clearing a million jobs never holds up the log.
//
// A task that covers a list walks it in order of arrival up to the task's bound. The job it comes
// to next is kept with the list, and moves on when that job leaves; the record holds the last
// arrival visited, from which the place is found again after loading.
#include <algorithm>
#include <numeric>

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
  // What an entry may do is shared by its commands: many of them must not add up to many slices.
  std::size_t slice = options.task_slice;
  std::size_t& budget = entry_work != 0 ? work_left : slice;
  if (options.plants(Plant::work_not_shared)) work_left = entry_work;
  if (entry_work != 0 && budget == 0) return revived;
  while (!tasks.empty()) {
    // A copy, since steps may add tasks, and the end of one may take others along.
    model::TaskRecord task = tasks.front();
    const bool done = step_task(task, budget, revived);
    tasks.front().cursor = task.cursor;
    changed_tasks.insert(task.number);
    if (!done) break;
    tasks.pop_front();
    forget_task(task);
    if (is_queue_task(task.kind)) finish_queue_task(task);
  }
  return revived;
}

void Core::forget_task(const model::TaskRecord& task) {
  changes.removed(command::RemovedTask{task.number});
  changed_tasks.erase(task.number);
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
  if (queue.visitor != task.number) {
    // Begun just now, or loaded halfway: what was visited before stands at the front.
    queue.visitor = task.number;
    queue.visit_next = queue.first;
    while (queue.visit_next != 0 && jobs[queue.visit_next].arrival <= task.cursor)
      queue.visit_next = jobs[queue.visit_next].queue_next;
  }
  while (queue.visit_next != 0 && jobs[queue.visit_next].arrival <= task.bound) {
    if (budget == 0) return false;
    --budget;
    const Slot slot = queue.visit_next;
    queue.visit_next = jobs[slot].queue_next;
    task.cursor = jobs[slot].arrival;
    // Deleted because this task means it, or ended or sent to the end of the list by a deadline.
    if (!settle(slot) || model::has_ended(jobs[slot].state)) continue;
    if (task.kind == model::TaskKind::relane_queue) relane_job(slot);
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
  const auto jobs_left =
      std::accumulate(queue.counts.begin(), queue.counts.end(), std::uint64_t{0});
  if (jobs_left > 0) return reset_queue(queue);
  // What else was to be done to it has nothing left to visit.
  std::erase_if(tasks, [&](const model::TaskRecord& other) {
    const bool meant = is_queue_task(other.kind) && other.subject == queue.name;
    if (meant) forget_task(other);
    return meant;
  });
  release_queue_parts(queue);
  remove_queue(slot);
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
    // Ending its last job removes a group.
    const Slot slot = find_group(task.subject.view());
    if (slot == 0) return true;
    Group& group = *groups[slot];
    if (group.visitor != task.number) {
      group.visitor = task.number;
      group.visit_next = group.first;
      while (group.visit_next != 0 &&
             jobs[group.visit_next].placement->group_arrival <= task.cursor)
        group.visit_next = jobs[group.visit_next].placement->group_next;
    }
    const Slot next = group.visit_next;
    if (next == 0 || jobs[next].placement->group_arrival > task.bound) return true;
    if (budget == 0) return false;
    --budget;
    group.visit_next = jobs[next].placement->group_next;
    task.cursor = jobs[next].placement->group_arrival;
    cancel_visited(task, next);
  }
}

void Core::cancel_visited(const model::TaskRecord& task, Slot slot) {
  if (!settle(slot) || model::has_ended(jobs[slot].state)) return;
  if (jobs[slot].placement->group_arrival > task.bound) return;  // a deadline sent it to the end
  if (jobs[slot].state != State::active || task.flag) cancel_job(slot);
}

std::vector<model::JobRecord> Core::dead_of_group(const model::TaskRecord& task,
                                                  std::size_t limit) {
  // What memory holds is newer than what the port knows, in both directions.
  std::vector<model::JobRecord> found;
  for (auto after = task.cursor; found.size() < limit;) {
    auto page = ended_port.dead_in_group(task.subject.view(), after, task.bound, limit);
    for (auto& record : page) {
      after = record.id.sequence();
      if (index.find(after) == 0 && !changes.is_gone(record)) found.push_back(std::move(record));
    }
    if (page.size() < limit) break;
  }
  for (const JobRef ref : changes.ended_jobs()) {
    if (!exists(ref.slot, ref.sequence)) continue;
    const Job& job = jobs[ref.slot];
    if (job.state != State::dead || !job.placement || job.placement->group != task.subject)
      continue;
    if (ref.sequence > task.cursor && ref.sequence <= task.bound) found.push_back(record_of(job));
  }
  const auto by_sequence = [](const model::JobRecord& a, const model::JobRecord& b) {
    return a.id.sequence() < b.id.sequence();
  };
  std::sort(found.begin(), found.end(), by_sequence);
  const auto same = [](const model::JobRecord& a, const model::JobRecord& b) {
    return a.id == b.id;
  };
  found.erase(std::unique(found.begin(), found.end(), same), found.end());
  if (found.size() > limit) found.resize(limit);
  return found;
}

bool Core::retry_group_page(model::TaskRecord& task, std::size_t& budget, std::uint64_t& revived) {
  while (true) {
    const auto page = dead_of_group(task, budget + 1);
    if (page.empty()) return true;
    const auto ended_before = changes.ended_jobs().size();
    for (const auto& record : page) {
      if (budget == 0) return false;
      --budget;
      task.cursor = record.id.sequence();
      const Slot slot = locate(record.id);
      if (slot == 0 || check_revival(slot)) continue;
      retry_job(slot);
      if (task.number == watched_task) ++revived;
      // Looking at a unique key may have ended its holder, which then belongs on the page.
      if (changes.ended_jobs().size() != ended_before) break;
    }
  }
}

}  // namespace jobbie::engine
