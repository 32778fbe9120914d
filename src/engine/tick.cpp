// Tick: what time brings, each kind up to a bound.
#include <algorithm>

#include "engine/core.hpp"

namespace jobbie::engine {

Reply Core::run(const command::Tick&) {
  std::size_t budget = options.timers_per_tick;
  if (entry_work != 0) budget = std::min<std::size_t>(budget, entry_work);
  for (; budget > 0 && !timers.empty(); --budget) {
    if (timers.top().key.at > meta.now) break;
    const Slot slot = timers.top().item;
    if (is_doomed(jobs[slot]))
      delete_job(slot);
    else
      fire(slot, next_due(jobs[slot]).what);
  }
  wake_throttles();
  fire_schedules();
  idempotency.expire(meta.now, options.timers_per_tick, changes);
  sweep_ended();
  drop_silent_workers();
  return command::Done{};
}

Instant Core::next_deadline() const {
  // Work is left over: at once.
  if (!tasks.empty()) return meta.now;
  Instant next = base::kNever;
  if (!timers.empty()) next = std::min(next, timers.top().key.at);
  if (!wakes.empty()) next = std::min(next, std::get<0>(*wakes.begin()));
  next = std::min(next, schedules.next_run());
  next = std::min(next, idempotency.next_expiry());
  next = std::min(next, workers.checked_at());
  if (!sweep_times.empty()) next = std::min(next, std::get<0>(*sweep_times.begin()));
  return next;
}

}  // namespace jobbie::engine
