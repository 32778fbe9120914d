// The life of a worker from its first fetch to its last report.
#include <algorithm>
#include <system_error>

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

/// The threads keep the state alive: a handler that never returns outlives run() and the Worker.
Result<void> start_threads(const std::shared_ptr<Worker::State>& state, std::thread& beats) {
  const auto count = static_cast<std::size_t>(state->options.concurrency);
  const std::lock_guard lock(state->mutex);
  try {
    state->threads.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      state->threads[i].thread = std::thread([state, i] { state->work_loop(i); });
      ++state->threads_alive;
    }
    beats = std::thread([state] { state->beat_loop(); });
  } catch (const std::system_error& error) {
    return std::unexpected(
        Error{.failure = Failure::settings,
              .code = "no_threads",
              .message = std::string("the machine gives no more threads: ") + error.what(),
              .hint = "Ask for a smaller concurrency."});
  }
  return {};
}

/// Ends the threads: those that wait for jobs are joined. One whose handler does not return is left
/// to it; it owns what it uses, and ends when the handler does.
void end_threads(Worker::State& state, std::thread& beats) {
  std::unique_lock lock(state.mutex);
  state.ended = true;
  state.waiting
      .clear();  // reported for already, or lost: a thread that is late must not begin them
  state.work.notify_all();
  state.beat.notify_all();
  state.freed.wait(lock, [&] { return state.threads_alive == state.threads_in_jobs; });
  auto threads = std::exchange(state.threads, {});
  state.threads.resize(threads.size());  // for those that are late to say that they are done
  lock.unlock();
  for (auto& each : threads) {
    if (!each.thread.joinable()) continue;  // never started
    if (each.done)
      each.thread.join();
    else
      each.thread.detach();
  }
  if (beats.joinable()) beats.join();
}

/// What run() gives, once nothing more will be fetched or begun.
Result<void> verdict(Worker::State& state, Result<void> outcome) {
  const std::lock_guard lock(state.mutex);
  const bool few = state.options.max_jobs > 0 || state.options.stop_when_idle;
  const bool untold = std::any_of(state.running.begin(), state.running.end(), [](const auto& each) {
    const std::lock_guard inner(each.second->mutex);
    return each.second->settled;
  });
  if (outcome && few && state.unreported) outcome = std::unexpected(*state.unreported);
  if (outcome && untold)
    outcome = std::unexpected(Error{.failure = Failure::unreachable,
                                    .message = "ended before all outcomes could be reported"});
  if (state.cut_short)
    outcome = std::unexpected(
        Error{.failure = Failure::interrupted, .message = "ended before its jobs did"});
  return outcome;
}

/// Waits for the jobs that run, as long as they may take.
void drain(Worker::State& state) {
  std::unique_lock lock(state.mutex);
  const auto drained = [&] { return state.running.empty() || state.aborted; };
  // Whoever is not asked to stop may finish what it has.
  if (!state.stopping) state.freed.wait(lock, [&] { return drained() || state.stopping; });
  state.freed.wait_for(lock, state.options.drain, drained);
  const bool left = !state.running.empty() && !state.aborted;
  lock.unlock();
  if (left) end_the_rest(state);
  lock.lock();
  if (state.aborted)
    state.freed.wait_for(lock, state.options.grace, [&] { return state.running.empty(); });
}

}  // namespace

Result<void> Worker::run() {
  const auto state = state_;
  std::thread beats;
  if (auto started = start_threads(state, beats); !started) {
    end_threads(*state, beats);
    return started;
  }
  auto outcome = fetch_loop(*state);
  drain(*state);
  outcome = verdict(*state, std::move(outcome));
  end_threads(*state, beats);
  // It says good-bye; a server that does not hear it notices by the silence.
  const auto gone = state->client.send({.method = "DELETE",
                                        .target = "/api/v1/workers/" + encoded(state->options.id),
                                        .timeout = milliseconds(1000)});
  if (!gone && gone.error().status != 404 && gone.error().status != 403)
    state->note("leaving: " + gone.error().message);
  state->end_notes();
  return outcome;
}

}  // namespace jobbie::client
