// How a job leaves: it ends and is kept for a while, or it is deleted; and how an ended one comes
// back.
#include <algorithm>
#include <utility>

#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

EventType event_of(State ended) {
  return ended == State::completed ? EventType::completed
         : ended == State::dead    ? EventType::dead
                                   : EventType::cancelled;
}

void count_end(model::QueueTotals& totals, State to) {
  ++(to == State::completed ? totals.completed
     : to == State::dead    ? totals.dead
                            : totals.cancelled);
}

}  // namespace

void Core::detach(Slot slot, State to) {
  Job& job = jobs[slot];
  stop_waiting(slot);
  if (!(options.plants(Plant::lock_not_released) && to == State::dead)) release_lock(slot);
  set_state(slot, to);
  job.run_at = {};
  if (timers.contains(slot)) timers.erase(slot);
  unlink_from_queue(slot);
  leave_group(slot);
  drop_keys(slot);
  if (hashing) forget_digest(slot);
  --live;
}

void Core::end_job(Slot slot, State to, std::string_view reason) {
  detach(slot, to);
  Job& job = jobs[slot];
  Queue& queue = queue_of(job);
  job.ended_at = meta.now;
  if (!reason.empty()) job.detail().end_reason = Blob(reason);
  count_end(queue.totals, to);
  emit(event_of(to), job, Blob(reason));
  count_in_batch(job, to == State::completed);
  tell_dependents(job, to == State::completed);
  if (queue.settings.retention.of(to) == Duration{}) {
    --queue.counts[static_cast<std::size_t>(to)];
    return forget_job(slot);
  }
  tally(queue, to, meta.now, true);
  changes.job_ended(slot, job);
  touch(slot);
}

void Core::delete_job(Slot slot) {
  Job& job = jobs[slot];
  Queue& queue = queue_of(job);
  if (model::has_ended(job.state)) {
    tally(queue, job.state, job.ended_at, false);
    --queue.counts[static_cast<std::size_t>(job.state)];
  } else {
    // It leaves like a cancelled job, but nothing counts it as one.
    detach(slot, State::cancelled);
    --queue.counts[static_cast<std::size_t>(State::cancelled)];
    count_in_batch(job, false);
    if (!options.plants(Plant::dependents_forgotten)) tell_dependents(job, false);
  }
  queue_changed(queue);
  emit(EventType::deleted, job);
  forget_job(slot);
}

void Core::forget_job(Slot slot) {
  Job& job = jobs[slot];
  if (options.plants(Plant::lock_not_released)) release_lock(slot);
  if (job.stored) changes.removed_job(job.id);
  release_job(slot);
}

void Core::revive_job(Slot slot) {
  Job& job = jobs[slot];
  const bool completed = job.state == State::completed;
  tally(queue_of(job), job.state, job.ended_at, false);
  job.ended_at = {};
  job.cancel_requested = false;
  job.lease_end = model::LeaseEnd::none;
  if (job.details) {
    Details& detail = *job.details;
    detail.end_reason = {};
    detail.result = {};
    detail.progress = {};
    if (completed) detail.checkpoint = {};
    detail.expire_at =
        detail.expire_after == Duration{} ? Instant{} : meta.now + detail.expire_after;
  }
  ++live;
  if (options.plants(Plant::batch_counts_twice)) job.batch_counted = false;
  job.arrival = meta.next_arrival++;
  link_to_queue(slot);
  join_group(slot);
  assign_keys(slot);
  if (job.unique) locks.take(slot, queue_of(job), meta.now);
  set_state(slot, State::pending);
  rearm(slot);
  touch(slot);
}

}  // namespace jobbie::engine
