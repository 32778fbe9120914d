// Counting events, and what is asked about them.
#include "stats/stats.hpp"

#include <algorithm>
#include <utility>

namespace jobbie::stats {
namespace {

/// How often a full table is searched for a queue that can make room.
constexpr base::Duration kSearchEvery = base::minutes(1);
constexpr base::Duration kForgottenAfter = base::minutes(kMinutesKept);

bool is_counted(command::EventType type) {
  switch (type) {
    case command::EventType::enqueued:
    case command::EventType::started:
    case command::EventType::completed:
    case command::EventType::failed:
    case command::EventType::lease_expired:
    case command::EventType::dead:
    case command::EventType::cancelled:
      return true;
    default:
      return false;
  }
}

}  // namespace

Stats::Stats() : all_(base::Blob{}), other_(base::Blob(kOtherQueues)) {}

void Stats::Queue::count(const command::Event& event, std::uint32_t Point::*what) {
  ++(seconds.at(event.at).*what);
  ++(minutes.at(event.at).*what);
}

void Stats::Queue::note(const command::Event& event) {
  const auto add_run = [&] {
    seconds.add_run(event.elapsed.ms);
    minutes.add_run(event.elapsed.ms);
    counters.run.add(event.elapsed.ms, kJobBounds);
  };
  switch (event.type) {
    case command::EventType::enqueued:
      ++counters.enqueued;
      return count(event, &Point::enqueued);
    case command::EventType::started:
      ++counters.started;
      count(event, &Point::started);
      seconds.add_wait(event.elapsed.ms);
      minutes.add_wait(event.elapsed.ms);
      return counters.wait.add(event.elapsed.ms, kJobBounds);
    case command::EventType::completed:
      ++counters.completed;
      count(event, &Point::completed);
      return add_run();
    case command::EventType::lease_expired:
      ++counters.leases_expired;
      [[fallthrough]];
    case command::EventType::failed:
      ++counters.failed;
      count(event, &Point::failed);
      return add_run();
    case command::EventType::dead:
      ++counters.dead;
      return count(event, &Point::dead);
    case command::EventType::cancelled:
      ++counters.cancelled;
      return count(event, &Point::cancelled);
    default:
      return;
  }
}

void Stats::note(const command::Event& event) {
  if (!is_counted(event.type)) return;
  queue_of(event.queue, event.at).note(event);
  all_.note(event);
}

/// Events of a queue share the bytes of its name, so the place of these bytes tells the queue.
Stats::Queue& Stats::queue_of(const base::Blob& name, base::Instant at) {
  const auto* place = name.view().data();
  auto& remembered = remembered_[(reinterpret_cast<std::uintptr_t>(place) >> 4) % kRemembered];
  if (remembered.queue != nullptr && remembered.name.view().data() == place)
    return *remembered.queue;
  Queue& queue = find_or_make(name, at);
  // Those that share figures may get their own later.
  if (&queue != &other_) remembered = {.name = name, .queue = &queue};
  return queue;
}

Stats::Queue& Stats::find_or_make(const base::Blob& name, base::Instant at) {
  if (const auto found = queues_.find(name.view()); found != queues_.end()) return *found->second;
  if (queues_.size() >= kMaxQueues && !forget_one_that_rests(at)) {
    other_used_ = true;
    return other_;
  }
  return *queues_.emplace(name.view(), std::make_unique<Queue>(name)).first->second;
}

/// A queue in which nothing happened for as long as anything is kept gives its place away.
bool Stats::forget_one_that_rests(base::Instant now) {
  if (now < looked_for_rest_ + kSearchEvery) return false;
  looked_for_rest_ = now;
  const auto rests = std::find_if(queues_.begin(), queues_.end(), [&](const auto& entry) {
    return entry.second->minutes.latest() + kForgottenAfter < now;
  });
  if (rests == queues_.end()) return false;
  for (auto& remembered : remembered_)
    if (remembered.queue == rests->second.get()) remembered = {};
  queues_.erase(rests);
  return true;
}

const Stats::Queue* Stats::find(std::string_view name) const {
  const auto found = queues_.find(name);
  return found == queues_.end() ? nullptr : found->second.get();
}

Rates Stats::rates(std::string_view queue, base::Instant now) const {
  Rates rates;
  const Queue* found = find(queue);
  if (found == nullptr) return rates;
  const auto window = base::seconds(static_cast<std::int64_t>(Rates::kWindow_s) - 1);
  for (const Point& point : found->seconds.points(now - window, now)) {
    rates.enqueued += point.enqueued;
    rates.completed += point.completed;
    rates.failed += point.failed;
  }
  return rates;
}

Curve Stats::curve(std::string_view queue, Resolution resolution, base::Instant since,
                   base::Instant until, base::Instant now) const {
  const Queue* found = queue.empty() ? &all_ : find(queue);
  const bool shared = found == nullptr && other_used_;
  if (shared) found = &other_;
  const auto& series = resolution == Resolution::second ? all_.seconds : all_.minutes;
  const auto step = series.step();
  const auto kept = resolution == Resolution::second ? kSecondsKept : kMinutesKept;
  const auto first = now.ms / step.ms - static_cast<std::int64_t>(kept) + 1;
  const auto last = std::min(until.ms, now.ms) / step.ms;
  const auto from = std::max(since.ms / step.ms, first);
  Curve curve{.step = step,
              .since = {from * step.ms},
              .until = {std::max(last, from - 1) * step.ms},
              .shared = shared,
              .points = {}};
  if (found != nullptr && from <= last)
    curve.points = (resolution == Resolution::second ? found->seconds : found->minutes)
                       .points(curve.since, curve.until);
  return curve;
}

std::vector<QueueCounters> Stats::counters() const {
  std::vector<QueueCounters> out;
  out.reserve(queues_.size() + 1);
  for (const auto& [name, queue] : queues_)
    out.push_back({.queue = queue->name, .counters = queue->counters});
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.queue.view() < b.queue.view(); });
  if (other_used_) out.push_back({.queue = other_.name, .counters = other_.counters});
  return out;
}

}  // namespace jobbie::stats
