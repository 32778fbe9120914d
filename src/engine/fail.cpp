// Fail: the attempt did not work out; the engine decides whether and when there is another.
#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

command::Settled standing(const Job& job, bool repeated) {
  const bool more = job.state == State::retrying || job.state == State::pending;
  return {.state = job.state,
          .next_attempt_at = job.run_at,
          .attempts_remaining = more ? job.attempts_allowed() - job.attempt : 0,
          .repeated = repeated};
}

}  // namespace

Reply Core::run(const command::Fail& c) {
  const Slot slot = locate_settled(c.ref.job);
  if (slot == 0) return refuse(Refused::not_found, "job_id", "there is no such job");
  Job& job = jobs[slot];
  const bool own_lease = c.ref.lease != 0 && c.ref.lease == job.lease;
  if (own_lease && job.lease_end == model::LeaseEnd::failed && job.state != State::active)
    return standing(job, true);
  if (auto refusal = check_lease(job, c.ref)) return *std::move(refusal);

  job.lease_end = model::LeaseEnd::failed;
  add_error(job, c.error.empty() ? std::string_view("failed") : c.error.view(), c.backtrace);
  emit(EventType::failed, job, c.error);
  const auto sequence = job.sequence();
  const bool cancels = job.cancel_requested;
  fail_attempt(slot, c.no_retry, c.retry_in);
  // Where its queue keeps no ended jobs, the job is gone now.
  if (!exists(slot, sequence))
    return command::Settled{.state = cancels ? State::cancelled : State::dead};
  return standing(jobs[slot], false);
}

}  // namespace jobbie::engine
