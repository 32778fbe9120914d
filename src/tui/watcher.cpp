// The rounds of questions, and the stream that makes most of them unnecessary.
#include "tui/watcher.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/rfc3339.hpp"
#include "client/url.hpp"
#include "tui/facts.hpp"

namespace jobbie::tui {
namespace {

using client::Json;
using std::chrono::milliseconds;

constexpr milliseconds kRound{1000};
/// Rounds between questions whose answers change slowly.
constexpr int kSlow = 5;
constexpr int kWorkersEvery = 2;
constexpr milliseconds kReconnect{2000};
constexpr std::size_t kKeptEvents = 200;
constexpr int kJobsShown = 100;
constexpr int kSeconds = 60;

}  // namespace

Watcher::Watcher(client::Client& client) : client_(client) { snapshot_.url = client.options().url; }

Watcher::~Watcher() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  woken_.notify_all();
  interrupt_.raise();
  if (asker_.joinable()) asker_.join();
  if (listener_.joinable()) listener_.join();
}

void Watcher::start() {
  asker_ = std::thread([this] { ask_loop(); });
  listener_ = std::thread([this] { listen_loop(); });
}

Snapshot Watcher::snapshot() const {
  const std::lock_guard lock(mutex_);
  Snapshot copy = snapshot_;
  copy.clock = base::format_rfc3339(base::Instant{now_ms()}).substr(11, 8);
  return copy;
}

void Watcher::want(const Wanted& wanted) {
  const std::lock_guard lock(mutex_);
  if (wanted == wanted_) return;
  wanted_ = wanted;
  hurried_ = true;
  woken_.notify_all();
}

void Watcher::hurry() {
  const std::lock_guard lock(mutex_);
  changed_ = true;
  hurried_ = true;
  woken_.notify_all();
}

void Watcher::trouble(const client::Error& error) {
  const std::lock_guard lock(mutex_);
  if (error.failure == client::Failure::interrupted) return;
  snapshot_.trouble = error.message;
  error_ = error;
}

bool Watcher::read(const std::string& target, const std::function<void(const Json&)>& take) {
  const auto answer =
      client_.call({.target = target, .timeout = milliseconds(5000), .interrupt = &interrupt_});
  if (!answer) {
    trouble(answer.error());
    return false;
  }
  const std::lock_guard lock(mutex_);
  snapshot_.trouble.clear();
  take(answer->root());
  return true;
}

void Watcher::ask_queues() {
  read("/api/v1/queues?limit=1000", [&](const Json& page) {
    snapshot_.queues.clear();
    for (const Json& each : page["queues"].items()) snapshot_.queues.push_back(queue_row(each));
  });
}

void Watcher::ask_stats() {
  const auto since = base::format_rfc3339(base::Instant{now_ms() - kSeconds * 1000});
  read("/api/v1/stats?resolution=second&since=" + client::encoded(since), [&](const Json& stats) {
    const auto column = [&](const char* name, std::vector<double>& out) {
      out.clear();
      for (const Json& n : stats[name].items()) out.push_back(n.number());
      if (!out.empty()) out.pop_back();  // the second that has not ended yet
    };
    column("enqueued", snapshot_.enqueued);
    column("completed", snapshot_.completed);
    column("failed", snapshot_.failed);
    snapshot_.wait_p95 = latest(stats["wait_ms"]["p95"]);
    snapshot_.run_p95 = latest(stats["run_ms"]["p95"]);
  });
}

void Watcher::ask_workers() {
  read("/api/v1/workers?limit=1000", [&](const Json& page) {
    snapshot_.workers.clear();
    for (const Json& each : page["workers"].items()) snapshot_.workers.push_back(worker_row(each));
  });
}

void Watcher::ask_cluster() {
  read("/api/v1/cluster/status",
       [&](const Json& status) { snapshot_.cluster = cluster_text(status); });
}

void Watcher::ask_jobs(const Wanted& wanted) {
  std::string body = fmt::format(R"({{"limit":{}}})", kJobsShown);
  const auto add = [&](const std::string& json) { body.insert(body.size() - 1, "," + json); };
  if (!wanted.queue.empty()) add("\"queue\":" + client::quoted(wanted.queue));
  if (!wanted.worker.empty()) add("\"worker_id\":" + client::quoted(wanted.worker));
  add(wanted.state.empty() ? R"("state":["active","pending","scheduled","waiting","retrying"])"
                           : "\"state\":" + client::quoted(wanted.state));
  const auto answer = client_.call({.method = "POST",
                                    .target = "/api/v1/jobs/search",
                                    .body = std::move(body),
                                    .timeout = milliseconds(5000),
                                    .repeatable = true,
                                    .interrupt = &interrupt_});
  if (!answer) return trouble(answer.error());
  const std::lock_guard lock(mutex_);
  snapshot_.jobs.clear();
  for (const Json& each : (*answer)["jobs"].items()) snapshot_.jobs.push_back(job_row(each));
}

void Watcher::ask_job(const std::string& id) {
  const auto job = client_.call({.target = "/api/v1/jobs/" + client::encoded(id),
                                 .timeout = milliseconds(5000),
                                 .interrupt = &interrupt_});
  std::vector<std::string> lines;
  if (!job) {
    lines = {id, job.error().message};
  } else {
    lines = job_lines(job->root());
    const std::string state = (*job)["state"].text();
    if (state != "active" && (*job)["ended_at"].is_null())
      if (const auto why = client_.read("/api/v1/jobs/" + client::encoded(id) + "/why"))
        for (const Json& reason : (*why)["reasons"].items())
          lines.push_back("why       " + reason["code"].text() + ": " + reason["detail"].text());
  }
  const std::lock_guard lock(mutex_);
  snapshot_.detail = std::move(lines);
}

client::Result<void> Watcher::look_once() {
  ask_cluster();
  if (!error_) ask_queues();
  if (!error_) ask_workers();
  if (!error_) ask_stats();
  if (error_) return std::unexpected(*error_);
  return {};
}

void Watcher::ask_loop() {
  for (int round = 0;; ++round) {
    std::unique_lock lock(mutex_);
    if (over_) return;
    const Wanted wanted = wanted_;
    hurried_ = false;
    lock.unlock();
    const auto began = Steady::now();
    const bool changed = changed_.exchange(false);
    if (wanted.view == View::jobs && (changed || round % kSlow == 0)) ask_jobs(wanted);
    if (wanted.view == View::job) ask_job(wanted.job_id);
    if (changed || round % kSlow == 0) ask_queues();
    ask_stats();
    if (round % kSlow == 0) ask_cluster();
    if (round % kWorkersEvery == 0) ask_workers();
    lock.lock();
    woken_.wait_until(lock, began + kRound, [&] { return over_ || hurried_; });
    if (hurried_) changed_ = true;
  }
}

void Watcher::take_event(const client::Event& event) {
  changed_ = true;
  const auto data = client::Document::parse(event.data);
  if (!data) return;
  EventRow row = event_row(data->root());
  const std::lock_guard lock(mutex_);
  snapshot_.events.insert(snapshot_.events.begin(), std::move(row));
  if (snapshot_.events.size() > kKeptEvents) snapshot_.events.pop_back();
}

void Watcher::listen_loop() {
  std::string last;
  while (true) {
    client::Request request{.target = "/api/v1/events", .interrupt = &interrupt_};
    if (!last.empty()) request.headers.emplace_back("Last-Event-ID", last);
    const auto ended = client_.stream(request, [&](const client::Event& event) {
      if (!event.id.empty()) last = event.id;
      take_event(event);
      return !interrupt_.raised();
    });
    if (!ended) trouble(ended.error());
    std::unique_lock lock(mutex_);
    if (woken_.wait_for(lock, kReconnect, [&] { return over_; })) return;
  }
}

}  // namespace jobbie::tui
