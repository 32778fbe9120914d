// Heartbeat: extends leases, stores progress and checkpoints, and tells who has been cancelled.
#include "engine/core.hpp"

namespace jobbie::engine {

command::BeatStatus Core::beat(const command::Beat& beat) {
  const Slot slot = locate_settled(beat.ref.job);
  if (slot == 0) return command::BeatStatus::unknown;
  Job& job = jobs[slot];
  // One job that has left the caller's queues must not cost it the leases of all others.
  if (restriction.is_active() && !restriction.allows(queue_of(job).name.view()))
    return command::BeatStatus::unknown;
  if (check_lease(job, beat.ref)) return command::BeatStatus::lost;
  job.lease_expires_at = meta.now + job.lease_duration;
  job.heartbeaten = true;
  if (!beat.checkpoint.empty()) job.detail().checkpoint = beat.checkpoint;
  if (!beat.progress.empty()) {
    job.detail().progress = beat.progress;
    emit(EventType::progress, job, beat.progress);
  }
  rearm(slot);
  touch(slot);
  return job.cancel_requested ? command::BeatStatus::cancel : command::BeatStatus::ok;
}

Reply Core::run(const command::Heartbeat& c) {
  see_worker(c.worker, nullptr);
  command::Beaten beaten;
  beaten.jobs.reserve(c.beats.size());
  for (const command::Beat& one : c.beats) beaten.jobs.push_back(beat(one));
  return beaten;
}

}  // namespace jobbie::engine
