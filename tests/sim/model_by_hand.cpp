// The model's actions on one job: cancel, retry, requeue, move, delete, priority (rule 8).
#include <algorithm>

#include "tests/sim/model.hpp"

namespace jobbie::sim {
namespace {

Refusal unknown() { return {Refused::not_found, "job_id", ""}; }
Refusal wrong_state() { return {Refused::wrong_state, "", ""}; }

}  // namespace

Reply Model::on(const command::Cancel& c) {
  JobRecord* job = touch(c.job);
  if (job == nullptr) return unknown();
  if (model::has_ended(job->state)) return wrong_state();
  if (job->state == State::active) {
    job->cancel_requested = true;
    note(*job);
    return command::JobChanged{c.job, State::active};
  }
  return command::JobChanged{c.job, end(*job, State::cancelled, "cancelled")};
}

/// 3: whether the job's key is free, or the job has none.
bool Model::can_take_lock(const JobRecord& job) {
  const auto& key = job.spec.unique.key;
  return key.empty() || touch_holder(job.spec.queue.view(), key.view()) == nullptr;
}

/// What retry and requeue share. The job stands in `ended_` and goes back to `live_`.
void Model::revive(JobRecord& job, bool keep_attempt, const Blob& payload) {
  if (job.state == State::completed) job.checkpoint = {};
  job.result = {};
  job.progress = {};
  job.end_reason = {};
  job.ended_at = {};
  job.cancel_requested = false;
  job.lease_end = model::LeaseEnd::none;  // 5.1: what was said before is not repeated now
  if (keep_attempt) {
    job.spec.max_retries = std::max(job.spec.max_retries, job.attempt + 1);
  } else {
    job.attempt = 0;
  }
  if (!payload.empty()) job.spec.payload = payload;
  job.expire_at = job.spec.expire_after.ms != 0 ? now_ + job.spec.expire_after : Instant{};
  set_state(job, State::pending);
  take_lock(job);
  arrive(job);
  live_.insert(ended_.extract(job.id.sequence()));
}

Reply Model::on(const command::Retry& c) {
  JobRecord* job = touch(c.job);
  if (job == nullptr) return unknown();
  if (!model::has_ended(job->state)) return wrong_state();
  if (!can_take_lock(*job)) return Refusal{Refused::unique_conflict, "", ""};
  revive(*job, false, c.payload);
  return command::JobChanged{c.job, State::pending};
}

Reply Model::on(const command::Requeue& c) {
  JobRecord* job = touch(c.job);
  if (job == nullptr) return unknown();
  if (job->state != State::dead) return wrong_state();
  if (!can_take_lock(*job)) return Refusal{Refused::unique_conflict, "", ""};
  revive(*job, true, {});
  return command::JobChanged{c.job, State::pending};
}

Reply Model::on(const command::Move& c) {
  JobRecord* job = touch(c.job);
  if (job == nullptr) return unknown();
  const State state = job->state;
  if (state != State::pending && state != State::scheduled && state != State::dead &&
      state != State::completed)
    return wrong_state();
  if (auto refused = room_for_queue(c.queue)) return *refused;
  if (job->holds_unique) {
    const JobRecord* other = touch_holder(c.queue.view(), job->spec.unique.key.view());
    if (other != nullptr && other != job) return Refusal{Refused::unique_conflict, "", ""};
  }
  make_queue(c.queue.view());
  job->spec.queue = c.queue;
  if (c.reset_attempts) job->attempt = 0;
  if (!c.keep_priority) job->spec.priority = model::kNormal;
  if (!model::has_ended(state)) arrive(*job);
  note(*job);
  return command::JobChanged{c.job, state};
}

Reply Model::on(const command::Delete& c) {
  JobRecord* job = touch(c.job);
  if (job == nullptr) return unknown();
  const State state = job->state;
  remove(*job);
  return command::JobChanged{c.job, state};
}

Reply Model::on(const command::SetPriority& c) {
  JobRecord* job = touch(c.job);
  if (job == nullptr) return unknown();
  if (job->state != State::pending && job->state != State::scheduled) return wrong_state();
  job->spec.priority = c.priority;
  note(*job);
  tell(command::EventType::priority_changed, job, job->spec.queue);
  return command::JobChanged{c.job, job->state};
}

}  // namespace jobbie::sim
