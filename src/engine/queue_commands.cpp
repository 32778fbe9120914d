// Commands on whole queues: pause, resume, drain, clear, destroy, and the settings.
#include <fmt/format.h>

#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

/// Who removes the limit of one key must not remove that of another.
Refusal other_key(const Blob& per) {
  return refuse(Refused::not_found, "per",
                fmt::format("the limit is for each {}, and stays", per.view()));
}

}  // namespace

Reply Core::run(const command::QueueCommand& c) {
  using command::QueueAction;
  const bool removes = c.action == QueueAction::clear || c.action == QueueAction::destroy;
  if (removes) {
    const Slot slot = find_queue(c.queue.view());
    if (slot == 0) return refuse(Refused::not_found, "queue", "there is no such queue");
    return c.action == QueueAction::clear ? clear_queue(*queues[slot])
                                          : destroy_queue(*queues[slot]);
  }
  if (auto refusal = room_for_queue(c.queue, "queue")) return *std::move(refusal);
  Queue& queue = *queues[make_queue(c.queue)];
  queue.settings.paused = c.action != QueueAction::resume;
  queue.settings.draining = c.action == QueueAction::drain;
  queue_changed(queue);
  if (c.action == QueueAction::pause) {
    emit(EventType::queue_paused, nullptr, queue.name);
  } else if (c.action == QueueAction::resume) {
    emit(EventType::queue_resumed, nullptr, queue.name);
    mark_ready(queue);
  } else {
    emit(EventType::queue_draining, nullptr, queue.name);
    if (queue.counts[static_cast<std::size_t>(State::active)] == 0)
      emit(EventType::queue_drained, nullptr, queue.name);
  }
  return command::Done{};
}

Reply Core::clear_queue(Queue& queue) {
  command::Done done;
  for (const State state : {State::scheduled, State::waiting, State::pending, State::retrying})
    done.affected += queue.counts[static_cast<std::size_t>(state)];
  queue.clear_bound = meta.next_arrival - 1;
  add_task(
      {.kind = model::TaskKind::clear_queue, .subject = queue.name, .bound = queue.clear_bound});
  emit(EventType::queue_cleared, nullptr, queue.name);
  return done;
}

Reply Core::destroy_queue(Queue& queue) {
  command::Done done;
  for (const auto count : queue.counts) done.affected += count;
  for (const State state : {State::completed, State::dead, State::cancelled}) {
    const auto which = ended_index(state);
    for (const auto& [minute, entry] : queue.tallies[which])
      changed_tallies.push_back({queue.name, state, minute});
    queue.tallies[which].clear();
    plan_sweep(queue, state);
    queue.counts[static_cast<std::size_t>(state)] = 0;
    changes.swept({queue.name, state, base::kNever});
    queue.swept_before[which] = base::kNever;
  }
  forget_swept({queue.slot});
  queue.destroy_bound = meta.next_arrival - 1;
  queue_changed(queue);
  add_task(
      {.kind = model::TaskKind::delete_queue, .subject = queue.name, .bound = queue.destroy_bound});
  return done;
}

void Core::relane(Queue& queue) {
  // An earlier relane that has not finished would stop at its own bound with the rest sorted by the
  // new keys already: one more round is needed all the same, and does no harm.
  add_task({.kind = model::TaskKind::relane_queue,
            .subject = queue.name,
            .bound = meta.next_arrival - 1});
}

Reply Core::run(const command::SetConcurrency& c) {
  if (auto refusal = room_for_queue(c.queue, "queue")) return *std::move(refusal);
  Queue& queue = *queues[make_queue(c.queue)];
  auto& limit = c.per.empty() ? queue.settings.concurrency : queue.settings.concurrency_per;
  const Blob old_per = limit ? limit->per : Blob{};
  if (limit && !c.max && old_per != c.per) return other_key(old_per);
  if (c.max)
    limit = model::ConcurrencyLimit{*c.max, c.per};
  else
    limit.reset();
  setting_changed(queue);
  if ((limit ? limit->per : Blob{}) != old_per)
    relane(queue);
  else
    update_limiters(queue.concurrency_keys);
  return command::Done{};
}

Reply Core::run(const command::SetThrottle& c) {
  if (auto refusal = room_for_queue(c.queue, "queue")) return *std::move(refusal);
  Queue& queue = *queues[make_queue(c.queue)];
  const bool keyed = !c.per.empty();
  auto& throttle = keyed ? queue.settings.throttle_per : queue.settings.throttle;
  const auto old = throttle;
  if (old && !c.rate && old->per != c.per) return other_key(old->per);
  if (c.rate)
    throttle = model::Throttle{*c.rate, c.period, c.per};
  else
    throttle.reset();
  setting_changed(queue);
  const bool same_window =
      old && throttle && old->period == throttle->period && old->per == throttle->per;
  if (!same_window) clear_windows(queue, keyed);
  const Blob old_per = old ? old->per : Blob{};
  if ((throttle ? throttle->per : Blob{}) != old_per) {
    relane(queue);
  } else if (keyed) {
    update_limiters(queue.throttle_keys);
  } else if (throttle && claims_in_window(queue, nullptr) >= throttle->rate) {
    schedule_wake(queue.window.frees_at(throttle->period), queue, 0);
  }
  return command::Done{};
}

void Core::clear_windows(Queue& queue, bool keyed) {
  if (!keyed) {
    queue.window.clear();
    window_changed(queue, nullptr);
    return;
  }
  std::vector<Slot> all;
  for (const auto& [key, slot] : queue.throttle_keys) all.push_back(slot);
  for (const Slot slot : all) {
    limiters[slot].window.clear();
    window_changed(queue, &limiters[slot]);
    update_limiter(slot);
    drop_limiter_if_idle(slot);
  }
}

void Core::update_limiters(const TextMap<Slot>& keys) {
  for (const auto& [key, slot] : keys) update_limiter(slot);
}

void Core::setting_changed(Queue& queue) {
  queue_changed(queue);
  emit(EventType::queue_changed, nullptr, queue.name);
  mark_ready(queue);
}

Reply Core::run(const command::SetRetention& c) {
  if (auto refusal = room_for_queue(c.queue, "queue")) return *std::move(refusal);
  Queue& queue = *queues[make_queue(c.queue)];
  model::Retention& retention = queue.settings.retention;
  if (c.completed) retention.completed = *c.completed;
  if (c.dead) retention.dead = *c.dead;
  if (c.cancelled) retention.cancelled = *c.cancelled;
  for (const State state : {State::completed, State::dead, State::cancelled})
    plan_sweep(queue, state);
  setting_changed(queue);
  return command::Done{};
}

Reply Core::run(const command::SetLease& c) {
  if (auto refusal = room_for_queue(c.queue, "queue")) return *std::move(refusal);
  Queue& queue = *queues[make_queue(c.queue)];
  queue.settings.lease = c.lease;
  setting_changed(queue);
  return command::Done{};
}

Reply Core::run(const command::SetFairness& c) {
  if (auto refusal = room_for_queue(c.queue, "queue")) return *std::move(refusal);
  Queue& queue = *queues[make_queue(c.queue)];
  set_fairness(queue, c.fairness);
  queue.last_served_group.reset();
  setting_changed(queue);
  return command::Done{};
}

}  // namespace jobbie::engine
