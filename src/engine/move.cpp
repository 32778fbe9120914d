// Move and set priority: the same job at another place.
#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

bool is_movable(State state) {
  return state == State::pending || state == State::scheduled || state == State::dead ||
         state == State::completed;
}

}  // namespace

Reply Core::run(const command::Move& c) {
  const Slot slot = locate_settled(c.job);
  if (slot == 0) return refuse(Refused::not_found, "job_id", "there is no such job");
  if (!is_movable(jobs[slot].state))
    return refuse(Refused::wrong_state, "job_id",
                  "only pending, scheduled, dead and completed jobs can be moved");
  if (auto refusal = room_for_queue(c.queue, "queue")) return *std::move(refusal);
  if (jobs[slot].unique && jobs[slot].unique->held) {
    const Slot holder = lock_holder(find_queue(c.queue.view()), jobs[slot].unique->spec.key.view());
    if (holder != 0 && holder != slot)
      return refuse(Refused::unique_conflict, "unique_key",
                    "a live job of that queue holds the unique key");
  }
  Job& job = jobs[slot];
  const State state = job.state;
  if (c.reset_attempts) job.attempt = 0;
  const std::int32_t priority = c.keep_priority ? job.priority : model::kNormal;
  if (model::has_ended(state)) {
    job.priority = priority;
    move_ended(slot, make_queue(c.queue));
  } else {
    move_live(slot, make_queue(c.queue), priority);
  }
  return command::JobChanged{.job = c.job, .state = state};
}

void Core::move_live(Slot slot, Slot to, std::int32_t priority) {
  Job& job = jobs[slot];
  const State state = job.state;
  const bool held = job.unique && job.unique->held;
  if (held) locks.unlink(slot, queue_of(job));
  if (state == State::pending) leave_lane(slot);
  unlink_from_queue(slot);
  drop_keys(slot);
  Queue& from = queue_of(job);
  --from.counts[static_cast<std::size_t>(state)];
  queue_changed(from);

  job.queue = to;
  job.priority = priority;
  job.arrival = meta.next_arrival++;
  Queue& target = queue_of(job);
  ++target.counts[static_cast<std::size_t>(state)];
  queue_changed(target);
  link_to_queue(slot);
  if (job.group_slot() != 0) {
    unlink_from_group(slot);
    job.placement->group_arrival = meta.next_arrival++;
    link_to_group(slot);
  }
  assign_keys(slot);
  if (held) locks.link(slot, target);
  if (state == State::pending) enter_lane(slot);
  emit(EventType::moved, job);
  touch(slot);
}

void Core::move_ended(Slot slot, Slot to) {
  Job& job = jobs[slot];
  const State state = job.state;
  Queue& from = queue_of(job);
  if (!options.plants(Plant::counter_drifts)) --from.counts[static_cast<std::size_t>(state)];
  tally(from, state, job.ended_at, false);
  queue_changed(from);
  job.queue = to;
  emit(EventType::moved, job);
  Queue& target = queue_of(job);
  ++target.counts[static_cast<std::size_t>(state)];
  tally(target, state, job.ended_at, true);
  queue_changed(target);
  touch(slot);
}

Reply Core::run(const command::SetPriority& c) {
  const Slot slot = locate_settled(c.job);
  if (slot == 0) return refuse(Refused::not_found, "job_id", "there is no such job");
  Job& job = jobs[slot];
  if (job.state != State::pending && job.state != State::scheduled)
    return refuse(Refused::wrong_state, "job_id",
                  "only pending and scheduled jobs have their priority changed");
  const bool pending = job.state == State::pending;
  if (pending) leave_lane(slot);
  job.priority = c.priority;
  if (pending) enter_lane(slot);
  emit(EventType::priority_changed, job);
  touch(slot);
  return command::JobChanged{.job = c.job, .state = job.state};
}

}  // namespace jobbie::engine
