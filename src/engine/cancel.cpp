// Cancel: an idle job ends at once; an active one is asked to stop.
#include "engine/core.hpp"

namespace jobbie::engine {

Reply Core::run(const command::Cancel& c) {
  const Slot slot = locate_settled(c.job);
  if (slot == 0) return refuse(Refused::not_found, "job_id", "there is no such job");
  if (model::has_ended(jobs[slot].state))
    return refuse(Refused::wrong_state, "job_id", "the job has ended");
  return command::JobChanged{.job = c.job, .state = cancel_job(slot)};
}

State Core::cancel_job(Slot slot) {
  Job& job = jobs[slot];
  if (job.state != State::active) {
    end_job(slot, State::cancelled, "cancelled");
    return State::cancelled;
  }
  if (!job.cancel_requested) {
    job.cancel_requested = true;
    emit(EventType::cancel_requested, job);
    touch(slot);
  }
  return State::active;
}

}  // namespace jobbie::engine
