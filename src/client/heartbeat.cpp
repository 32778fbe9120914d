// One heartbeat for all jobs of a worker, at a third of the shortest lease or soon after somebody
// has progress or a checkpoint to send.
#include <algorithm>

#include "client/worker_state.hpp"

namespace jobbie::client {
namespace {

using std::chrono::milliseconds;

/// Longer leases get a heartbeat as often as this one.
constexpr milliseconds kLongestLease{180'000};
/// Progress is sent at most this often.
constexpr milliseconds kLeastGap{200};
constexpr milliseconds kShortestBeat{20};

}  // namespace

void Context::Running::tell(Stop reason) {
  const std::lock_guard lock(mutex);
  // What was lost stays lost; otherwise the latest reason counts.
  if (stop == Stop::lost) return;
  stop = reason;
  changed.notify_all();
}

milliseconds Worker::State::until_next_beat() {
  milliseconds shortest = kLongestLease;
  for (const auto& [id, each] : running) shortest = std::min(shortest, each->job.lease / 3);
  return std::max(shortest, kShortestBeat);
}

void Worker::State::beat_loop() {
  std::unique_lock lock(mutex);
  auto last = Steady::now();
  while (!ended) {
    if (running.empty()) {
      beat.wait(lock, [&] { return ended || !running.empty(); });
      last = Steady::now();
      continue;
    }
    auto due = last + until_next_beat();
    if (beat_asked) due = std::min(due, last + kLeastGap);
    if (Steady::now() < due) {
      beat.wait_until(lock, due);
      continue;
    }
    beat_asked = false;
    last = Steady::now();
    lock.unlock();
    beat_once();
    lock.lock();
  }
}

void Worker::State::beat_once() {
  std::string body;
  milliseconds shortest = kLongestLease;
  {
    const std::lock_guard lock(mutex);
    body = "{\"worker_id\":" + quoted(options.id) + ",\"jobs\":{";
    bool first = true;
    for (const auto& [id, each] : running) {
      const std::lock_guard inner(each->mutex);
      if (each->abandoned) continue;
      shortest = std::min(shortest, each->job.lease);
      body += std::string(first ? "" : ",") + quoted(id) +
              ":{\"lease_id\":" + quoted(each->job.lease_id);
      if (!each->progress.empty()) body += ",\"progress\":" + std::exchange(each->progress, {});
      if (!each->checkpoint.empty())
        body += ",\"checkpoint\":" + std::exchange(each->checkpoint, {});
      body += "}";
      first = false;
    }
    if (first) return;
    body += "}}";
  }
  const auto sent = Steady::now();
  auto answer = client.call({.method = "POST",
                             .target = "/api/v1/heartbeat",
                             .body = std::move(body),
                             .timeout = std::max(shortest / 3, milliseconds(100)),
                             .repeatable = true});
  if (answer) {
    take_beat(*answer, sent);
  } else {
    note("heartbeat: " + answer.error().message);
  }
  expire_leases();
}

void Worker::State::take_beat(const Document& answer, Steady::time_point sent) {
  const std::lock_guard lock(mutex);
  for (const auto& [id, each] : answer["jobs"].members()) {
    const auto found = running.find(id);
    if (found == running.end()) continue;
    const std::string status = each["status"].text();
    if (status == "lost" || status == "unknown") found->second->tell(Stop::lost);
    if (status == "cancel") found->second->tell(Stop::cancelled);
    if (status == "ok" || status == "cancel") {
      const std::lock_guard inner(found->second->mutex);
      found->second->lease_until = sent + found->second->job.lease;
    }
  }
}

/// A lease that could not be kept alive is somebody else's by now, whether or not we were told.
void Worker::State::expire_leases() {
  const std::lock_guard lock(mutex);
  for (const auto& [id, each] : running) {
    std::unique_lock inner(each->mutex);
    const bool over = Steady::now() > each->lease_until;
    inner.unlock();
    if (over) each->tell(Stop::lost);
  }
}

}  // namespace jobbie::client
