// The life of a worker from its first fetch to its last report.
#include <algorithm>

#include "client/url.hpp"
#include "client/worker_state.hpp"

namespace jobbie::client {
namespace {

using std::chrono::milliseconds;

constexpr int kMostJobsAFetch = 100;
constexpr milliseconds kAfterTrouble{1000};
/// So many fetches in a row that failed end a worker that does not wait.
constexpr int kMostTroubles = 3;

/// What waiting will not cure. A certificate that was good before will be renewed.
bool is_final(const Error& error, bool known) {
  if (error.failure == Failure::settings) return true;
  if (error.failure == Failure::untrusted) return !known;
  return error.failure == Failure::refused && error.status >= 400 && error.status < 500 &&
         error.status != 429 && error.status != 408;
}

/// Fetches while there are threads to give jobs to.
Result<void> fetch_loop(Worker::State& state) {
  bool known = false;  // the server has answered before
  int troubles = 0;    // since it did
  while (true) {
    std::unique_lock lock(state.mutex);
    const auto room = [&] {
      int free = state.options.concurrency - static_cast<int>(state.running.size());
      if (state.options.max_jobs > 0) free = std::min(free, state.options.max_jobs - state.claimed);
      return std::min(free, kMostJobsAFetch);
    };
    const auto full = [&] {
      return state.options.max_jobs > 0 && state.claimed >= state.options.max_jobs;
    };
    state.freed.wait(lock, [&] { return state.stopping || full() || room() > 0; });
    if (state.stopping || full()) return {};
    const int count = room();
    lock.unlock();
    const auto came = state.fetch(count);
    const bool interrupted = !came && came.error().failure == Failure::interrupted;
    known = known || came;
    troubles = came ? 0 : troubles + 1;
    if (!came && !interrupted && state.options.stop_when_idle &&
        (came.error().failure == Failure::unreachable || troubles >= kMostTroubles))
      return std::unexpected(came.error());
    if (!came && !interrupted && is_final(came.error(), known))
      return std::unexpected(came.error());
    if (!came && !interrupted) state.note("fetch: " + came.error().message);
    lock.lock();
    if (interrupted || state.stopping) return {};
    if (!came) {
      state.freed.wait_for(lock, kAfterTrouble, [&] { return state.stopping; });
    } else if (*came == 0 && state.options.stop_when_idle) {
      if (state.running.empty()) return {};
      // Jobs that run may bring more: wait for one to end before asking again.
      state.freed.wait_for(lock, kAfterTrouble);
    }
  }
}

/// After the time for a clean end: tell the rest to stop, then report for those that do not.
void end_the_rest(Worker::State& state) {
  std::unique_lock lock(state.mutex);
  for (const auto& [id, each] : state.running) each->tell(Stop::shutdown);
  state.freed.wait_for(lock, state.options.grace,
                       [&] { return state.running.empty() || state.aborted; });
  if (state.aborted || state.running.empty()) return;
  lock.unlock();
  state.beat_once();  // the last checkpoints
  lock.lock();
  std::vector<std::shared_ptr<Context::Running>> left;
  for (const auto& [id, each] : state.running) {
    const std::lock_guard inner(each->mutex);
    // What has ended by itself is not a shutdown, even if nobody could be told.
    if (each->stop == Stop::lost || each->settled) continue;
    each->abandoned = true;
    left.push_back(each);
  }
  lock.unlock();
  for (const auto& each : left) state.report(*each, Outcome::shutdown(), false);
}

}  // namespace

Result<void> Worker::run() {
  const auto state = state_;
  state->threads_alive = state->options.concurrency;
  // The threads keep the state alive: a handler that never returns outlives this call.
  for (int i = 0; i < state->options.concurrency; ++i)
    std::thread([state] { state->work_loop(); }).detach();
  std::thread beats([state] { state->beat_loop(); });

  auto outcome = fetch_loop(*state);

  std::unique_lock lock(state->mutex);
  const auto drained = [&] { return state->running.empty() || state->aborted; };
  // Whoever is not asked to stop may finish what it has.
  if (!state->stopping) state->freed.wait(lock, [&] { return drained() || state->stopping; });
  state->freed.wait_for(lock, state->options.drain, drained);
  const bool left = !state->running.empty() && !state->aborted;
  lock.unlock();
  if (left) end_the_rest(*state);
  lock.lock();
  if (state->aborted)
    state->freed.wait_for(lock, state->options.grace, [&] { return state->running.empty(); });
  state->ended = true;
  state->work.notify_all();
  state->beat.notify_all();
  const bool clean = state->running.empty();
  const bool few = state->options.max_jobs > 0 || state->options.stop_when_idle;
  const bool untold =
      std::any_of(state->running.begin(), state->running.end(), [](const auto& each) {
        const std::lock_guard inner(each.second->mutex);
        return each.second->settled;
      });
  if (outcome && few && state->unreported) outcome = std::unexpected(*state->unreported);
  if (outcome && untold)
    outcome = std::unexpected(Error{.failure = Failure::unreachable,
                                    .message = "ended before all outcomes could be reported"});
  if (state->cut_short)
    outcome = std::unexpected(
        Error{.failure = Failure::interrupted, .message = "ended before its jobs did"});
  if (clean) state->freed.wait(lock, [&] { return state->threads_alive == 0; });
  lock.unlock();
  beats.join();
  // It says good-bye; a server that does not hear it notices by the silence.
  const auto gone = state->client.send({.method = "DELETE",
                                        .target = "/api/v1/workers/" + encoded(state->options.id),
                                        .timeout = milliseconds(1000)});
  if (!gone && gone.error().status != 404 && gone.error().status != 403)
    state->note("leaving: " + gone.error().message);
  return outcome;
}

}  // namespace jobbie::client
