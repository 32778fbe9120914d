// Deadlines of jobs: which comes next, and what happens when it has passed.
#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

void consider(NextDue& best, Instant at, Due what) {
  if (at != Instant{} && at < best.at) best = {at, what};
}

}  // namespace

NextDue Core::next_due(const Job& job) {
  NextDue best;
  if (model::has_ended(job.state)) return best;
  const Details* detail = job.details.get();
  // In the order of Due: at the same instant the first one wins.
  if (detail != nullptr) consider(best, detail->expire_at, Due::expiry);
  if (job.state == State::active) {
    if (detail != nullptr && detail->max_runtime != Duration{})
      consider(best, job.started_at + detail->max_runtime, Due::max_runtime);
    if (detail != nullptr && detail->timeout != Duration{})
      consider(best, job.started_at + Duration{detail->timeout.ms + detail->timeout.ms / 4},
               Due::timeout);
    consider(best, job.lease_expires_at, Due::lease);
  }
  if (job.state == State::scheduled || job.state == State::retrying)
    consider(best, job.run_at, Due::run);
  if (job.unique && job.unique->held) consider(best, job.unique->expires, Due::unique);
  return best;
}

void Core::rearm(Slot slot) {
  const Job& job = jobs[slot];
  const auto due = next_due(job);
  if (due.what == Due::nothing) {
    if (timers.contains(slot)) timers.erase(slot);
  } else if (timers.contains(slot)) {
    timers.update(slot, {due.at, job.sequence()});
  } else {
    timers.push(slot, {due.at, job.sequence()});
  }
}

void Core::fire(Slot slot, Due what) {
  Job& job = jobs[slot];
  const bool cancelled = job.cancel_requested;
  switch (what) {
    case Due::expiry:
      job.lease_end = job.state == State::active ? model::LeaseEnd::lost : job.lease_end;
      if (job.state == State::active && cancelled)
        return end_job(slot, State::cancelled, "cancelled");
      if (options.plants(Plant::expiry_retries) && job.state == State::active) {
        job.detail().expire_at = {};
        add_error(job, "expired", {});
        return fail_attempt(slot, false, std::nullopt);
      }
      return end_job(slot, State::dead, "expired");
    case Due::max_runtime:
      job.lease_end = model::LeaseEnd::lost;
      add_error(job, "max_runtime_exceeded", {});
      return cancelled ? end_job(slot, State::cancelled, "cancelled")
                       : end_job(slot, State::dead, "max_runtime_exceeded");
    case Due::timeout:
      job.lease_end = model::LeaseEnd::lost;
      add_error(job, "timeout", {});
      emit(EventType::failed, job, Blob("timeout"));
      return fail_attempt(slot, false, std::nullopt);
    case Due::lease:
      return lose_lease(slot);
    case Due::run:
      job.run_at = {};
      if (options.plants(Plant::tick_twice))
        ++queue_of(job).counts[static_cast<std::size_t>(State::pending)];
      set_state(slot, State::pending);
      emit(EventType::promoted, job);
      break;
    case Due::unique:
      release_lock(slot);
      break;
    case Due::nothing:
      break;
  }
  rearm(slot);
  touch(slot);
}

void Core::lose_lease(Slot slot) {
  Job& job = jobs[slot];
  job.lease_end = model::LeaseEnd::lost;
  add_error(job, "lease_expired", {});
  ++queue_of(job).totals.leases_expired;
  emit(EventType::lease_expired, job, job.worker);
  if (options.plants(Plant::cancel_lost)) job.cancel_requested = false;
  if (job.cancel_requested) return end_job(slot, State::cancelled, "cancelled");
  if (options.plants(Plant::lease_not_counted)) --job.attempt;
  if (job.attempt >= job.attempts_allowed()) return end_job(slot, State::dead, "lease_expired");
  set_state(slot, State::pending);
  rearm(slot);
  touch(slot);
}

}  // namespace jobbie::engine
