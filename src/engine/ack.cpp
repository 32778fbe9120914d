// Ack: the worker has done the job. Also the check of leases that every worker's call goes through.
#include "engine/core.hpp"

namespace jobbie::engine {

std::optional<Refusal> Core::check_lease(const Job& job, const command::LeaseRef& ref) const {
  if (ref.lease != 0) {
    if (job.state != State::active || job.lease != ref.lease)
      return refuse(Refused::lease_lost, "lease_id",
                    "the lease has ended; another attempt may be running");
  } else if (job.state != State::active) {
    return refuse(Refused::not_active, "job_id", "the job is not active");
  }
  if (!ref.worker.empty() && ref.worker != job.worker)
    return refuse(Refused::not_owner, "worker_id", "another worker holds the job");
  return std::nullopt;
}

Reply Core::run(const command::Ack& c) {
  const Slot slot = locate_settled(c.ref.job);
  if (slot == 0) return refuse(Refused::not_found, "job_id", "there is no such job");
  Job& job = jobs[slot];
  const bool own_lease = c.ref.lease != 0 && c.ref.lease == job.lease;
  if (own_lease && job.lease_end == model::LeaseEnd::acked && model::has_ended(job.state))
    return command::Settled{.state = job.state, .repeated = true};
  if (!options.plants(Plant::unfenced_ack) || job.state != State::active) {
    if (auto refusal = check_lease(job, c.ref)) return *std::move(refusal);
  }

  job.lease_end = model::LeaseEnd::acked;
  if (!c.result.empty()) job.detail().result = c.result;
  const State end = job.cancel_requested ? State::cancelled : State::completed;
  end_job(slot, end, job.cancel_requested ? "cancelled" : "");
  return command::Settled{.state = end};
}

}  // namespace jobbie::engine
