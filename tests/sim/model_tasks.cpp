// The model's tasks: long work in slices, one unit a job visited (rules 1.5, 7, 9.2, 9.5).
#include <algorithm>

#include "tests/sim/model.hpp"

namespace jobbie::sim {

using model::TaskKind;
using model::TaskRecord;

TaskRecord& Model::add_task(TaskKind kind, std::string_view subject) {
  TaskRecord task{.number = next_task_++, .kind = kind, .subject = Blob(subject)};
  task.bound = next_arrival_ - 1;
  tasks_.push_back(task);
  return tasks_.back();
}

/// 1.5: what a visit counts for where the entry says how much may be done.
std::size_t Model::units_of(const TaskRecord& task, const JobRecord& visited) const {
  if (entry_work_ == 0 || task.kind != TaskKind::release_dependents) return 1;
  return 1 + (visited.spec.depends_on.size() + visited.waiting_on.size()) / 64;
}

void Model::run_tasks() {
  std::size_t slice = options_.task_slice;
  std::size_t& units = entry_work_ != 0 ? work_left_ : slice;
  if (entry_work_ != 0 && units == 0) return;
  while (!tasks_.empty()) {
    JobRecord* job = next_visit(tasks_.front());
    if (job == nullptr) {
      const TaskRecord done = tasks_.front();
      tasks_.pop_front();
      finish_task(done);
      continue;
    }
    if (units == 0) {
      ++reached_.sliced_tasks;
      break;
    }
    units -= std::min(units, units_of(tasks_.front(), *job));
    visit(tasks_.front(), *job);
  }
}

JobRecord* Model::head_of_queue(const TaskRecord& task) {
  JobRecord* head = nullptr;
  for (auto& [seq, job] : live_) {
    if (job.spec.queue != task.subject || job.arrival <= task.cursor) continue;
    if (head == nullptr || job.arrival < head->arrival) head = &job;
  }
  return head != nullptr && head->arrival <= task.bound ? head : nullptr;
}

JobRecord* Model::head_of_group(const TaskRecord& task) {
  JobRecord* head = nullptr;
  for (auto& [seq, job] : live_) {
    if (job.spec.group != task.subject || job.group_arrival <= task.cursor) continue;
    if (head == nullptr || job.group_arrival < head->group_arrival) head = &job;
  }
  return head != nullptr && head->group_arrival <= task.bound ? head : nullptr;
}

/// The job that a task comes to next; nothing: it is finished.
JobRecord* Model::next_visit(const TaskRecord& task) {
  switch (task.kind) {
    case TaskKind::clear_queue:
    case TaskKind::delete_queue:
    case TaskKind::relane_queue:
      return head_of_queue(task);
    case TaskKind::cancel_group:
      return head_of_group(task);
    case TaskKind::retry_group:
      for (auto& [seq, job] : ended_) {
        if (seq > task.cursor && seq <= task.bound && job.state == State::dead &&
            job.spec.group == task.subject)
          return &job;
      }
      return nullptr;
    case TaskKind::release_dependents:
      for (auto& [seq, job] : live_) {
        if (seq <= task.bound &&
            std::ranges::find(job.waiting_on, task.job) != job.waiting_on.end())
          return &job;
      }
      return nullptr;
  }
  return nullptr;
}

void Model::visit(TaskRecord& task, JobRecord& visited) {
  note(visited);
  ++reached_.visits[static_cast<std::size_t>(task.kind)];
  if (task.kind <= TaskKind::relane_queue) task.cursor = visited.arrival;
  if (task.kind == TaskKind::cancel_group) task.cursor = visited.group_arrival;
  JobRecord* touched = touch(visited.id);
  if (touched == nullptr) return;
  JobRecord& job = *touched;
  const bool of_group = task.kind == TaskKind::cancel_group;
  const bool of_list = of_group || task.kind <= TaskKind::relane_queue;
  if (model::has_ended(job.state) && task.kind != TaskKind::retry_group) return;
  // A deadline that sent it back to the end of the list took it out of the task's reach.
  if (of_list && (of_group ? job.group_arrival : job.arrival) > task.bound) return;
  switch (task.kind) {
    case TaskKind::clear_queue:
      if (job.state != State::active) return remove(job);
      return;
    case TaskKind::delete_queue:
      return remove(job);
    case TaskKind::relane_queue:
      return;
    case TaskKind::cancel_group:
      if (job.state != State::active) {
        end(job, State::cancelled, "cancelled");
        return;
      }
      if (task.flag) job.cancel_requested = true;
      return;
    case TaskKind::retry_group:
      task.cursor = job.id.sequence();
      if (!can_take_lock(job)) return;
      if (task.number == group_retry_) ++group_retried_;
      return revive(job, false, {});
    case TaskKind::release_dependents:
      return visit_dependent(task, job);
  }
}

/// 7: one that waited hears that what it waited for has ended.
void Model::visit_dependent(const TaskRecord& task, JobRecord& job) {
  std::erase(job.waiting_on, task.job);
  if (!task.flag && job.spec.on_failure == model::OnFailure::cancel) {
    end(job, State::cancelled, "dependency_failed");
    return;
  }
  if (!job.waiting_on.empty()) return;
  if (job.spec.scheduled_at > now_) {
    job.run_at = job.spec.scheduled_at;
    set_state(job, State::scheduled);
  } else {
    set_state(job, State::pending);
  }
}

void Model::finish_task(const TaskRecord& task) {
  if (task.kind != TaskKind::delete_queue) return;
  const auto it = queues_.find(std::string(task.subject.view()));
  if (it == queues_.end()) return;
  if (count_in_queue(task.subject.view(), false) == 0) {
    queues_.erase(it);
    // Nothing is left to do for the other tasks of that queue.
    std::erase_if(tasks_, [&](const TaskRecord& other) {
      return other.kind <= TaskKind::relane_queue && other.subject == task.subject;
    });
    return;
  }
  QueueState fresh;  // 9.2: newer jobs are in it
  fresh.record.name = it->second.record.name;
  fresh.record.created_at = it->second.record.created_at;
  fresh.record.owner = it->second.record.owner;
  const bool keyed = it->second.record.settings.concurrency_per.has_value() ||
                     it->second.record.settings.throttle_per.has_value();
  it->second = fresh;
  if (keyed) add_task(TaskKind::relane_queue, task.subject.view());  // 4.6: `per` has changed
}

}  // namespace jobbie::sim
