// Fetching, handing out to threads, reporting, and the orderly end.
#include "client/worker.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <pthread.h>
#include <unistd.h>

#include "base/glob.hpp"
#include "client/url.hpp"
#include "client/worker_state.hpp"

namespace jobbie::client {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFetchSlack{10'000};
constexpr milliseconds kSignalLook{100};
/// One signal may come twice: timeout(1) sends it to the process and then to its group.
constexpr milliseconds kSameSignal{300};
/// Between two attempts to report an outcome.
constexpr milliseconds kBeforeReport{500};
/// A server that is exchanged for another may be away so long, whatever the lease.
constexpr milliseconds kServerAway{60'000};
/// The most that the server takes of an error and of a backtrace, in bytes.
constexpr std::size_t kMostErrorText = std::size_t{64} << 10;

std::string machine() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const auto& text : texts) out += (out.size() > 1 ? "," : "") + quoted(text);
  return out + "]";
}

/// The beginning of `text`, cut between two characters.
std::string_view beginning(std::string_view text) {
  if (text.size() <= kMostErrorText) return text;
  std::size_t end = kMostErrorText;
  for (int i = 0; i < 3 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80; ++i) --end;
  return text.substr(0, end);
}

/// As much of an error as the server takes. Bytes that are not UTF-8 grow when they are sent.
std::string fitting(std::string_view text) {
  const std::string_view begin = beginning(text);
  const auto sent = Document::parse(quoted(begin));
  const std::string valid = sent ? sent->root().text() : std::string();
  return std::string(beginning(valid));
}

/// What another attempt may cure: the server is away or cannot serve now.
bool is_passing(const Error& error) {
  if (error.failure == Failure::refused)
    return error.status >= 500 || error.status == 429 || error.status == 408;
  return error.failure != Failure::settings && error.failure != Failure::interrupted;
}

std::string seconds(milliseconds length) { return quoted(std::to_string(length.count()) + "ms"); }

Job job_of(const Json& json) {
  Job job;
  job.id = json["job_id"].text();
  job.queue = json["queue"].text();
  job.payload = json["payload"].raw();
  job.checkpoint = json["checkpoint"].raw();
  job.tags = json["tags"].raw();
  job.batch_id = json["batch_id"].text();
  job.group = json["group"].text();
  job.traceparent = json["traceparent"].text();
  job.lease_id = json["lease_id"].text();
  job.lease = milliseconds(static_cast<std::int64_t>(json["lease_duration"].number(60) * 1000));
  job.attempt = static_cast<int>(json["attempt"].integer(1));
  job.max_retries = static_cast<int>(json["max_retries"].integer(1));
  return job;
}

}  // namespace

Outcome Outcome::done(std::string result) { return {.result = std::move(result)}; }
Outcome Outcome::failed(std::string error, std::string backtrace) {
  return {.kind = Kind::failed, .error = std::move(error), .backtrace = std::move(backtrace)};
}
Outcome Outcome::failed_for_good(std::string error, std::string backtrace) {
  Outcome outcome = failed(std::move(error), std::move(backtrace));
  outcome.retry = false;
  return outcome;
}
Outcome Outcome::try_again_in(milliseconds delay, std::string error) {
  Outcome outcome = failed(std::move(error));
  outcome.retry_in = delay;
  return outcome;
}

const Job& Context::job() const { return running_.job; }

Stop Context::stop() const {
  const std::lock_guard lock(running_.mutex);
  return running_.stop;
}

bool Context::wait_for(milliseconds length) const {
  std::unique_lock lock(running_.mutex);
  return !running_.changed.wait_for(lock, length, [&] { return running_.stop != Stop::none; });
}

void Context::progress(std::string json) {
  const std::lock_guard lock(running_.mutex);
  running_.progress = std::move(json);
  running_.ask_beat();
}

void Context::checkpoint(std::string json) {
  const std::lock_guard lock(running_.mutex);
  running_.checkpoint = std::move(json);
  running_.ask_beat();
}

Result<void> Context::log(const std::string& message, const std::string& level) {
  auto sent = client_.post("/api/v1/jobs/" + encoded(running_.job.id) + "/logs",
                           "{\"lease_id\":" + quoted(running_.job.lease_id) +
                               ",\"lines\":[{\"message\":" + quoted(message) +
                               ",\"level\":" + quoted(level) + "}]}");
  if (!sent) return std::unexpected(sent.error());
  return {};
}

void Worker::State::note(const std::string& text) {
  const std::lock_guard lock(note_mutex);
  if (options.on_note) options.on_note(text);
}

void Worker::State::end_notes() {
  const std::lock_guard lock(note_mutex);
  options.on_note = nullptr;
}

Outcome Worker::State::call_handler(Context& context, const std::string& queue) {
  for (const auto& [pattern, handler] : handlers) {
    if (!base::glob_match(pattern, queue)) continue;
    try {
      return handler(context);
    } catch (const std::exception& error) {
      return Outcome::failed(error.what());
    } catch (...) {
      return Outcome::failed("an exception without a text");
    }
  }
  return Outcome::failed("this worker has no handler for the queue " + queue);
}

Result<void> Worker::State::try_report(const Job& job, const Outcome& outcome) {
  std::string body =
      "{\"lease_id\":" + quoted(job.lease_id) + ",\"worker_id\":" + quoted(options.id);
  const bool done = outcome.kind == Outcome::Kind::done;
  if (done) {
    body += ",\"result\":" + (is_json(outcome.result) ? outcome.result : quoted(outcome.result));
  } else {
    body += ",\"error\":" + quoted(fitting(outcome.error));
    if (!outcome.backtrace.empty()) body += ",\"backtrace\":" + quoted(fitting(outcome.backtrace));
    if (!outcome.retry) body += ",\"retry\":false";
    if (outcome.retry_in) body += ",\"retry_in\":" + seconds(*outcome.retry_in);
  }
  // The lease makes a repeat harmless.
  auto answer =
      client.call({.method = "POST",
                   .target = std::string(done ? "/api/v1/ack/" : "/api/v1/fail/") + encoded(job.id),
                   .body = body + "}",
                   .repeatable = true});
  if (!answer) return std::unexpected(answer.error());
  return {};
}

/// After a pause: whether the lease may still be ours, and nobody is in a hurry.
bool Worker::State::may_report_again(Context::Running& own, Steady::time_point at_least_until) {
  std::unique_lock lock(mutex);
  freed.wait_for(lock, kBeforeReport, [&] { return aborted; });
  if (aborted) return false;
  const std::lock_guard inner(own.mutex);
  return Steady::now() < std::max(own.lease_until, at_least_until);
}

/// A patient report outlasts a server that is away for a while.
void Worker::State::report(Context::Running& own, const Outcome& outcome, bool patient) {
  const auto at_least_until = Steady::now() + kServerAway;
  auto sent = try_report(own.job, outcome);
  while (!sent && patient && is_passing(sent.error()) && may_report_again(own, at_least_until))
    sent = try_report(own.job, outcome);
  if (sent) return;
  note(own.job.id + ": " + sent.error().message);
  const int status = sent.error().status;
  const bool done = outcome.kind == Outcome::Kind::done;
  if (done && (status == 413 || status == 422)) {
    // The work is done and would be done again for the same result.
    report(own, Outcome::failed_for_good("the result was refused: " + sent.error().message),
           patient);
    return;
  }
  // A job that was deleted needs no outcome, and a failure may have arrived before its answer got
  // lost.
  if (status == 404 || (status == 409 && !done)) return;
  const std::lock_guard lock(mutex);
  unreported = sent.error();
  unreported->message =
      "the outcome of " + own.job.id + " could not be reported: " + unreported->message;
}

void Worker::State::do_job(const std::shared_ptr<Context::Running>& own) {
  const auto is_over = [&] { return own->abandoned || own->stop == Stop::lost; };
  Context context(client, *own);
  std::unique_lock inner(own->mutex);
  Outcome outcome;
  // What was lost while it waited for a thread is somebody else's, and not begun here.
  if (!is_over()) {
    inner.unlock();
    outcome = call_handler(context, own->job.queue);
    inner.lock();
  }
  const bool silent = is_over();
  const bool unsent = !own->checkpoint.empty() || !own->progress.empty();
  own->settled = !silent;
  inner.unlock();
  if (!silent) {
    if (unsent) beat_once();
    report(*own, outcome, true);
  }
  const std::lock_guard lock(mutex);
  // A job that was lost may have come back to this very worker.
  const auto found = running.find(own->job.id);
  if (found != running.end() && found->second == own) running.erase(found);
  freed.notify_all();
}

void Worker::State::work_loop(std::size_t number) {
  std::unique_lock lock(mutex);
  while (true) {
    work.wait(lock, [&] { return !waiting.empty() || ended; });
    if (waiting.empty()) break;
    const auto next = std::move(waiting.front());
    waiting.pop_front();
    ++threads_in_jobs;
    lock.unlock();
    do_job(next);
    lock.lock();
    --threads_in_jobs;
  }
  threads[number].done = true;
  --threads_alive;
  freed.notify_all();
}

void Worker::State::accept(const Document& answer) {
  const auto now = Steady::now();
  const std::lock_guard lock(mutex);
  for (const Json& each : answer["jobs"].items()) {
    auto next = std::make_shared<Context::Running>();
    next->job = job_of(each);
    next->lease_until = now + next->job.lease;
    next->ask_beat = [this] {
      beat_asked = true;
      beat.notify_all();
    };
    running[next->job.id] = next;
    waiting.push_back(std::move(next));
    ++claimed;
  }
  work.notify_all();
  beat.notify_all();
}

/// Says what a fetch does not say about this worker. A server that will not hear it is served all
/// the same.
Result<void> Worker::State::introduce() {
  std::vector<std::string> queues;
  for (const auto& [pattern, handler] : handlers) queues.push_back(pattern);
  const auto ram_mb = (sysconf(_SC_PHYS_PAGES) / 1024) * (sysconf(_SC_PAGESIZE) / 1024);
  std::string body = "{\"worker_id\":" + quoted(options.id) +
                     ",\"hostname\":" + quoted(options.hostname) + ",\"queues\":" + list(queues) +
                     ",\"concurrency\":" + std::to_string(options.concurrency) +
                     ",\"cores\":" + std::to_string(std::thread::hardware_concurrency());
  if (ram_mb > 0) body += ",\"ram_mb\":" + std::to_string(ram_mb);
  if (!options.roles.empty()) body += ",\"roles\":" + list(options.roles);
  if (!options.tags.empty()) body += ",\"tags\":" + list(options.tags);
  auto answer = client.call({.method = "POST",
                             .target = "/api/v1/workers",
                             .body = body + "}",
                             .repeatable = true,
                             .interrupt = &interrupt});
  if (!answer && answer.error().failure != Failure::refused) return std::unexpected(answer.error());
  introduced = true;
  return {};
}

/// How many came.
Result<int> Worker::State::fetch(int count) {
  if (!introduced)
    if (auto heard = introduce(); !heard) return std::unexpected(heard.error());
  std::vector<std::string> queues;
  for (const auto& [pattern, handler] : handlers) queues.push_back(pattern);
  const auto wait = options.stop_when_idle ? milliseconds(0) : options.fetch_wait;
  std::string body = "{\"queues\":" + list(queues) + ",\"worker_id\":" + quoted(options.id) +
                     ",\"hostname\":" + quoted(options.hostname) +
                     ",\"count\":" + std::to_string(count) + ",\"timeout\":" + seconds(wait);
  if (options.lease) body += ",\"lease_duration\":" + seconds(*options.lease);
  if (!options.roles.empty()) body += ",\"roles\":" + list(options.roles);
  if (!options.tags.empty()) body += ",\"tags\":" + list(options.tags);
  auto answer = client.call({.method = "POST",
                             .target = "/api/v1/fetch",
                             .body = body + "}",
                             .timeout = wait + kFetchSlack,
                             .interrupt = &interrupt});
  if (!answer) return std::unexpected(answer.error());
  accept(*answer);
  return static_cast<int>((*answer)["jobs"].items().size());
}

Worker::Worker(Client& client, WorkerOptions options)
    : state_(std::make_shared<State>(client.share(), std::move(options))) {
  WorkerOptions& o = state_->options;
  if (o.hostname.empty()) o.hostname = machine();
  if (o.id.empty())
    o.id = o.hostname + "-" + std::to_string(getpid()) + "-" + new_idempotency_key().substr(4, 6);
  o.concurrency = std::max(o.concurrency, 1);
}

Worker::~Worker() = default;

const std::string& Worker::id() const { return state_->options.id; }

int Worker::handlers_left() const {
  const std::lock_guard lock(state_->mutex);
  return state_->threads_in_jobs;
}

void Worker::handle(std::string queue, Handler handler) {
  state_->handlers.emplace_back(std::move(queue), std::move(handler));
}

void Worker::stop() {
  const std::lock_guard lock(state_->mutex);
  state_->stopping = true;
  state_->interrupt.raise();
  state_->freed.notify_all();
}

void Worker::abort() {
  stop();
  const std::lock_guard lock(state_->mutex);
  state_->aborted = true;
  state_->cut_short = state_->cut_short || !state_->running.empty();
  for (const auto& [id, each] : state_->running) each->tell(Stop::lost);
  state_->freed.notify_all();
}

Result<void> run_until_signal(Worker& worker) {
  sigset_t set{};
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  // A terminal that is closed; nohup has it ignored.
  struct sigaction hangup {};
  if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
    sigaddset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::atomic<bool> over = false;
  std::thread listener([&] {
    const timespec look{.tv_sec = 0, .tv_nsec = kSignalLook.count() * 1'000'000};
    std::optional<Steady::time_point> first;
    while (!over) {
      const int number = sigtimedwait(&set, nullptr, &look);
      if (number <= 0) continue;
      const auto now = Steady::now();
      if (!first) {
        first = now;
        worker.stop();
      } else if (number != SIGHUP && now - *first >= kSameSignal) {
        worker.abort();
      }
    }
  });
  auto outcome = worker.run();
  over = true;
  listener.join();
  return outcome;
}

}  // namespace jobbie::client
