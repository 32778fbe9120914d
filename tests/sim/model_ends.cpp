// The model's ends: how a job ends or is removed, and who is told (rule 7).
#include <algorithm>

#include <fmt/format.h>

#include "base/json.hpp"
#include "tests/sim/model.hpp"

namespace jobbie::sim {

/// Ends a live job. With a retention of zero the record is gone afterwards: do not use `job` again.
State Model::end(JobRecord& job, State to, std::string_view reason) {
  const JobId id = job.id;
  set_state(job, to);
  job.ended_at = now_;
  job.run_at = {};
  job.lease_expires_at = {};
  job.end_reason = Blob(reason);
  job.waiting_on.clear();
  release_lock(job);
  count_in_batch(job, to == State::completed);
  QueueState& queue = queue_of(job);
  auto& totals = queue.record.totals;
  ++(to == State::completed ? totals.completed
     : to == State::dead    ? totals.dead
                            : totals.cancelled);
  auto node = live_.extract(id.sequence());
  if (queue.record.settings.retention.of(to).ms != 0) {
    ended_.insert(std::move(node));
  } else {
    count_transition(static_cast<std::size_t>(to), kNoState);
  }
  tell_dependents(id, to == State::completed);
  return to;
}

/// Removes a job by hand or by a task. Those that wait for a live one hear that it failed.
void Model::remove(JobRecord& job) {
  const JobId id = job.id;
  count_transition(static_cast<std::size_t>(job.state), kNoState);
  note(job);
  if (model::has_ended(job.state)) {
    ended_.erase(id.sequence());
    return;
  }
  count_in_batch(job, false);
  live_.erase(id.sequence());
  tell_dependents(id, false);
}

void Model::count_in_batch(JobRecord& job, bool succeeded) {
  if (job.batch.is_nil() || job.batch_counted) return;
  job.batch_counted = true;
  model::BatchRecord& batch = batches_.at(job.batch.sequence());
  --batch.pending;
  ++(succeeded ? batch.succeeded : batch.failed);
  if (batch.pending == 0) finishing_.push_back(job.batch.sequence());
}

void Model::tell_dependents(JobId id, bool completed) {
  const bool waited_for = std::ranges::any_of(live_, [&](const auto& entry) {
    const auto& waiting_on = entry.second.waiting_on;
    return std::ranges::find(waiting_on, id) != waiting_on.end();
  });
  if (!waited_for) return;
  model::TaskRecord& task = add_task(model::TaskKind::release_dependents, {});
  task.job = id;
  task.flag = completed;
  task.bound = next_sequence_ - 1;  // those who came later wait for what comes after a retry
}

void Model::finish_batches() {
  for (const Seq seq : finishing_) {
    model::BatchRecord& batch = batches_.at(seq);
    batch.finished_at = now_;
    if (batch.callback_queue.empty()) continue;
    const std::string outcome =
        fmt::format(R"({{"id":"{}","total":{},"succeeded":{},"failed":{}}})", batch.id.text(),
                    batch.total, batch.succeeded, batch.failed);
    const auto payload = base::json::with_member(batch.callback_payload.view(), "batch", outcome);
    JobSpec spec;
    spec.queue = batch.callback_queue;
    spec.payload = Blob(payload.value_or("{}"));
    batch.callback_job = enqueue_plain(spec)->id;
  }
  finishing_.clear();
}

}  // namespace jobbie::sim
