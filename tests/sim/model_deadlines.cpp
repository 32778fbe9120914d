// The model's deadlines: which a job has, what each does, and when they happen (rules 1.3, 1.4,
// 6, 9.3).
#include <algorithm>

#include "model/limits.hpp"
#include "tests/sim/model.hpp"

namespace jobbie::sim {

DeadlineList deadlines_of(const JobRecord& job) {
  DeadlineList list;
  if (model::has_ended(job.state)) return list;
  if (job.expire_at.ms != 0) list.add(job.expire_at, Deadline::expiry);
  if (job.state == State::active) {
    if (job.spec.max_runtime.ms != 0)
      list.add(job.started_at + job.spec.max_runtime, Deadline::max_runtime);
    if (job.spec.timeout.ms != 0)
      list.add(job.started_at + Duration{job.spec.timeout.ms * 5 / 4}, Deadline::timeout);
    list.add(job.lease_expires_at, Deadline::lease);
  }
  if (job.state == State::scheduled || job.state == State::retrying)
    list.add(job.run_at, Deadline::run_at);
  if (job.holds_unique && job.unique_until.ms != 0) list.add(job.unique_until, Deadline::unique);
  return list;
}

std::optional<DueAt> DeadlineList::earliest() const {
  if (count == 0) return std::nullopt;
  return *std::min_element(begin(), end());
}

/// 1.3 and 9.2: what is to happen before a command looks at a job. Nothing if the job is not there.
JobRecord* Model::touch(JobId id) {
  JobRecord* job = find_live(id);
  if (job != nullptr && is_doomed(*job)) {
    ++reached_.doomed;
    remove(*job);
    return nullptr;
  }
  while (job != nullptr) {
    const auto due = deadlines_of(*job).earliest();
    if (!due || due->at > now_) return job;
    fire(*job, due->kind);
    job = find_live(id);
  }
  return find_any(id);
}

/// 9.2: meant by a clear or destroy that has not come to it yet.
bool Model::is_doomed(const JobRecord& job) const {
  return std::ranges::any_of(tasks_, [&](const model::TaskRecord& task) {
    if (task.subject != job.spec.queue || job.arrival > task.bound) return false;
    if (task.kind == model::TaskKind::delete_queue) return true;
    return task.kind == model::TaskKind::clear_queue && job.state != State::active;
  });
}

void Model::fire(JobRecord& job, Deadline kind) {
  ++reached_.fired[static_cast<std::size_t>(kind)][job.cancel_requested ? 1 : 0];
  switch (kind) {
    case Deadline::expiry:
      return expire(job);
    case Deadline::max_runtime:
      return exceed_runtime(job);
    case Deadline::timeout:
      fail_attempt(job, {.error = "timeout", .lease_end = model::LeaseEnd::lost});
      return;
    case Deadline::lease:
      return lose_lease(job);
    case Deadline::run_at:
      job.run_at = {};
      return set_state(job, State::pending);
    case Deadline::unique:
      return release_lock(job);
  }
}

void Model::expire(JobRecord& job) {
  const bool stopping = job.state == State::active && job.cancel_requested;
  if (job.state == State::active) job.lease_end = model::LeaseEnd::lost;
  if (stopping) {
    end(job, State::cancelled, "cancelled");
  } else {
    end(job, State::dead, "expired");
  }
}

void Model::exceed_runtime(JobRecord& job) {
  add_error(job, "max_runtime_exceeded", {});
  job.lease_end = model::LeaseEnd::lost;
  if (job.cancel_requested) {
    end(job, State::cancelled, "cancelled");
  } else {
    end(job, State::dead, "max_runtime_exceeded");
  }
}

void Model::lose_lease(JobRecord& job) {
  add_error(job, "lease_expired", {});
  ++queue_of(job).record.totals.leases_expired;
  job.lease_end = model::LeaseEnd::lost;
  if (job.cancel_requested) {
    end(job, State::cancelled, "cancelled");
  } else if (job.attempt >= allowed_attempts(job)) {
    end(job, State::dead, "lease_expired");
  } else {
    back_to_idle(job, State::pending);
  }
}

Reply Model::on(const command::Tick&) {
  const auto most =
      entry_work_ == 0 ? options_.timers_per_tick : std::min(options_.timers_per_tick, entry_work_);
  for (std::size_t fired = 0; fired < most; ++fired) {
    JobRecord* first = nullptr;
    DueAt first_due{base::kNever};
    for (auto& [seq, job] : live_) {  // by sequence, so the first of equals is kept
      const auto due = deadlines_of(job).earliest();
      if (due && due->at <= now_ && (first == nullptr || due->at < first_due.at)) {
        first = &job;
        first_due = *due;
      }
    }
    if (first == nullptr) break;
    if (is_doomed(*first)) {
      ++reached_.doomed;
      remove(*first);
    } else {
      fire(*first, first_due.kind);
    }
  }
  run_schedules();
  forget_remembered();
  sweep();
  std::erase_if(workers_, [&](const auto& entry) {
    return entry.second.last_seen + model::limits::kWorkerSilence <= now_ &&
           active_of_worker(entry.first) == 0;
  });
  return command::Done{};
}

/// 6: workers could not speak, so what was left of each lease is left again.
Reply Model::on(const command::Resume& c) {
  command::Done done;
  for (auto& [seq, job] : live_) {
    if (c.lost.ms == 0 || job.state != State::active || job.lease_expires_at <= before_) continue;
    job.lease_expires_at = job.lease_expires_at + c.lost;
    note(job);
    ++done.affected;
  }
  return done;
}

/// 9.3: the jobs of a queue, state and minute share one moment, so each may be judged alone.
void Model::sweep() {
  for (auto it = ended_.begin(); it != ended_.end();) {
    if (kept_until(it->second) <= now_) {
      count_transition(static_cast<std::size_t>(it->second.state), kNoState);
      note(it->second);
      it = ended_.erase(it);
    } else {
      ++it;
    }
  }
}

}  // namespace jobbie::sim
