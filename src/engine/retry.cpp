// Retry and requeue: an ended job goes back to pending, at its old place.
#include <algorithm>

#include "engine/core.hpp"
#include "engine/footprint.hpp"

namespace jobbie::engine {

std::optional<Refusal> Core::check_revival(Slot slot) {
  const Job& job = jobs[slot];
  if (!job.unique) return std::nullopt;
  const auto sequence = job.sequence();
  const Slot holder = lock_holder(job.queue, job.unique->spec.key.view());
  if (holder == 0 || jobs[holder].sequence() == sequence) return std::nullopt;
  return refuse(Refused::unique_conflict, "unique_key", "another live job holds the unique key");
}

Reply Core::run(const command::Retry& c) {
  const Slot slot = locate_settled(c.job);
  if (slot == 0) return refuse(Refused::not_found, "job_id", "there is no such job");
  if (!model::has_ended(jobs[slot].state))
    return refuse(Refused::wrong_state, "job_id", "only a job that has ended can be retried");
  if (auto refusal = check_revival(slot)) return *std::move(refusal);
  if (!c.payload.empty()) {
    jobs[slot].payload = c.payload;
    account.weigh(jobs[slot].text_bytes, texts_footprint(jobs[slot]));
  }
  retry_job(slot);
  return command::JobChanged{.job = c.job, .state = State::pending};
}

void Core::retry_job(Slot slot) {
  jobs[slot].attempt = 0;
  revive_job(slot);
  emit(EventType::retried, jobs[slot]);
}

Reply Core::run(const command::Requeue& c) {
  const Slot slot = locate_settled(c.job);
  if (slot == 0) return refuse(Refused::not_found, "job_id", "there is no such job");
  Job& job = jobs[slot];
  if (job.state != State::dead)
    return refuse(Refused::wrong_state, "job_id", "only a dead job can be requeued");
  if (auto refusal = check_revival(slot)) return *std::move(refusal);
  job.max_retries = std::max(job.max_retries, job.attempt + 1);
  revive_job(slot);
  emit(EventType::retried, job);
  return command::JobChanged{.job = c.job, .state = State::pending};
}

}  // namespace jobbie::engine
