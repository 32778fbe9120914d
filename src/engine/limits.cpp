// Concurrency and throttles: of whole queues, and of each value of a key.
//
// A limiter is full or it is not; when that changes, the lanes under it leave or join the order. A
// full throttle registers the moment at which its oldest claim leaves the window, so that room
// appears by itself.
#include "base/json.hpp"
#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

constexpr std::string_view kTagPrefix = "tags.";

/// The value under which a keyed limit counts the job: the tag's JSON, however the producer spelled
/// it, or the group.
std::string key_value(const Job& job, std::string_view per) {
  if (per == "group") return job.placement ? std::string(job.placement->group.view()) : "";
  if (!job.details || !per.starts_with(kTagPrefix)) return {};
  const auto tag = base::json::member(job.details->tags.view(), per.substr(kTagPrefix.size()));
  return tag ? base::json::canonical(*tag) : "";
}

}  // namespace

bool Core::has_room(Queue& queue) {
  const auto& settings = queue.settings;
  if (settings.paused || queue.tasks != 0) return false;
  if (settings.concurrency) {
    const std::uint64_t slack = options.plants(Plant::limit_off_by_one) ? 1 : 0;
    if (queue.counts[static_cast<std::size_t>(State::active)] >= settings.concurrency->max + slack)
      return false;
  }
  return !settings.throttle || claims_in_window(queue, nullptr) < settings.throttle->rate;
}

std::uint64_t Core::claims_in_window(Queue& queue, Limiter* limiter) {
  const auto& throttle = limiter != nullptr ? queue.settings.throttle_per : queue.settings.throttle;
  Window& window = limiter != nullptr ? limiter->window : queue.window;
  if (window.prune(meta.now, throttle->period)) window_changed(queue, limiter);
  return window.total();
}

Slot Core::join_limiter(Queue& queue, bool throttle, const std::string& key) {
  auto& keys = throttle ? queue.throttle_keys : queue.concurrency_keys;
  Slot& slot = keys[key];
  if (slot == 0) {
    slot = limiters.allocate();
    limiters[slot].key = Blob(key);
    limiters[slot].queue = queue.slot;
    limiters[slot].throttle = throttle;
  }
  ++limiters[slot].members;
  return slot;
}

void Core::assign_keys(Slot slot) {
  Job& job = jobs[slot];
  Queue& queue = queue_of(job);
  if (queue.settings.concurrency_per) {
    const auto key = key_value(job, queue.settings.concurrency_per->per.view());
    if (!key.empty()) job.place().concurrency_key = join_limiter(queue, false, key);
  }
  if (queue.settings.throttle_per) {
    const auto key = key_value(job, queue.settings.throttle_per->per.view());
    if (!key.empty()) job.place().throttle_key = join_limiter(queue, true, key);
  }
  if (job.placement) weigh_parts(job);
}

void Core::drop_keys(Slot slot) {
  Placement* place = jobs[slot].placement.get();
  if (place == nullptr) return;
  for (Slot* limiter : {&place->concurrency_key, &place->throttle_key}) {
    if (*limiter == 0) continue;
    --limiters[*limiter].members;
    drop_limiter_if_idle(std::exchange(*limiter, 0));
  }
}

void Core::drop_limiter_if_idle(Slot slot) {
  Limiter& limiter = limiters[slot];
  if (limiter.members > 0) return;
  Queue& queue = *queues[limiter.queue];
  if (limiter.throttle && queue.settings.throttle_per) {
    update_limiter(slot);  // forgets old claims, after which it may no longer be full
    if (!limiter.window.empty())
      return schedule_wake(limiter.window.frees_at(queue.settings.throttle_per->period), queue,
                           slot);
  }
  if (limiter.throttle) window_changed(queue, &limiter);
  if (limiter.wakes_at != Instant{}) wakes.erase({limiter.wakes_at, queue.slot, slot});
  auto& keys = limiter.throttle ? queue.throttle_keys : queue.concurrency_keys;
  keys.erase(std::string(limiter.key.view()));
  limiters.release(slot);
}

void Core::count_active(Slot slot, bool begins) {
  const Job& job = jobs[slot];
  Queue& queue = queue_of(job);
  const Slot limiter = job.placement ? job.placement->concurrency_key : 0;
  if (limiter != 0) {
    limiters[limiter].active += begins ? 1 : static_cast<std::uint32_t>(-1);
    update_limiter(limiter);
  }
  if (!begins && queue.settings.concurrency) mark_ready(queue);
}

void Core::count_claim(Slot slot) {
  const Job& job = jobs[slot];
  Queue& queue = queue_of(job);
  if (queue.settings.throttle) {
    const auto& throttle = *queue.settings.throttle;
    queue.window.add(meta.now);
    if (options.plants(Plant::window_forgets) && queue.window.claims().size() > 1)
      queue.window.forget_first();
    window_changed(queue, nullptr);
    if (claims_in_window(queue, nullptr) >= throttle.rate)
      schedule_wake(queue.window.frees_at(throttle.period), queue, 0);
  }
  const Slot limiter = job.placement ? job.placement->throttle_key : 0;
  if (limiter == 0) return;
  limiters[limiter].window.add(meta.now);
  window_changed(queue, &limiters[limiter]);
  update_limiter(limiter);
}

void Core::window_changed(Queue& queue, Limiter* limiter) {
  bool& changed = limiter != nullptr ? limiter->changed : queue.window_changed;
  if (changed) return;
  changed = true;
  changed_windows.emplace(queue.name.view(), limiter != nullptr,
                          limiter != nullptr ? limiter->key.view() : std::string_view{});
}

void Core::update_limiter(Slot slot) {
  Limiter& limiter = limiters[slot];
  Queue& queue = *queues[limiter.queue];
  const auto& settings = queue.settings;
  bool full = false;
  if (limiter.throttle && settings.throttle_per) {
    const auto& throttle = *settings.throttle_per;
    full = claims_in_window(queue, &limiter) >= throttle.rate;
    if (full) schedule_wake(limiter.window.frees_at(throttle.period), queue, slot);
  } else if (!limiter.throttle && settings.concurrency_per) {
    full = limiter.active >= settings.concurrency_per->max;
  }
  if (limiter.full == full) return;
  limiter.full = full;
  // Placing a lane neither makes nor drops one, so the list stays as it is.
  for (const Slot lane : limiter.lanes) place_lane(lane);
  if (!full) mark_ready(queue);
}

void Core::schedule_wake(Instant at, Queue& queue, Slot limiter) {
  Instant& registered = limiter != 0 ? limiters[limiter].wakes_at : queue.wakes_at;
  if (registered == at) return;
  if (registered != Instant{}) wakes.erase({registered, queue.slot, limiter});
  registered = at;
  wakes.insert({at, queue.slot, limiter});
}

/// After its rate was lowered a window may need more than one claim to leave.
void Core::wake_queue(Queue& queue) {
  const auto& throttle = queue.settings.throttle;
  if (throttle && claims_in_window(queue, nullptr) >= throttle->rate)
    schedule_wake(queue.window.frees_at(throttle->period), queue, 0);
  else
    mark_ready(queue);
}

void Core::wake_throttled_queues() {
  for (const auto& queue : queues) {
    if (!queue || queue->wakes_at != Instant{} || meta.now == Instant{}) continue;
    if (queue->settings.throttle || queue->settings.throttle_per)
      schedule_wake(meta.now, *queue, 0);
  }
}

void Core::wake_throttles() {
  while (!wakes.empty() && std::get<0>(*wakes.begin()) <= meta.now) {
    const auto [at, queue, limiter] = *wakes.begin();
    wakes.erase(wakes.begin());
    if (limiter == 0) {
      queues[queue]->wakes_at = {};
      wake_queue(*queues[queue]);
    } else {
      limiters[limiter].wakes_at = {};
      update_limiter(limiter);
      drop_limiter_if_idle(limiter);
    }
  }
}

}  // namespace jobbie::engine
