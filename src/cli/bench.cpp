// `bench`: how much a server can do, seen from here.
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/latency.hpp"
#include "cli/print.hpp"
#include "cli/progress.hpp"
#include "client/url.hpp"

namespace jobbie::cli {
namespace {

using BenchClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBenchLook{100};
/// Without any progress for so long, the rest will not come.
constexpr std::chrono::seconds kStandstill{30};

struct BenchArguments {
  std::string queue;
  std::int64_t jobs = 10'000;
  int producers = 4, workers = 4, batch = 1, fetch = 10;
  std::size_t payload = 100;
  bool keep = false;
};

std::int64_t micros_since(BenchClock::time_point began) {
  return std::chrono::duration_cast<std::chrono::microseconds>(BenchClock::now() - began).count();
}

/// One run: producers and workers side by side until every job is acknowledged.
class Bench {
 public:
  Bench(client::Client& client, const BenchArguments& arguments)
      : client_(client), a_(arguments), payload_(client::quoted(std::string(a_.payload, 'x'))) {}

  void run(const std::function<void(std::int64_t, std::int64_t)>& look) {
    std::vector<std::thread> threads;
    const auto began = began_ = BenchClock::now();
    for (int i = 0; i < a_.producers; ++i) threads.emplace_back([this] { produce(); });
    for (int i = 0; i < a_.workers; ++i) threads.emplace_back([this] { work(); });
    auto moved = began;
    std::int64_t last = -1;
    while (!stop_) {
      std::this_thread::sleep_for(kBenchLook);
      const std::int64_t sum = enqueued_ + acked_;
      look(enqueued_, acked_);
      if (sum != last) moved = BenchClock::now();
      last = sum;
      if ((a_.workers == 0 ? enqueued_ : acked_) >= a_.jobs) stop_ = true;
      if (BenchClock::now() - moved > kStandstill) stop_ = true;
    }
    const auto ended = micros_since(began);
    for (auto& thread : threads) thread.join();
    const auto seconds = [&](std::int64_t reached) {
      return static_cast<double>(std::max(reached > 0 ? reached : ended, std::int64_t{1})) / 1e6;
    };
    enqueue_seconds_ = seconds(all_enqueued_us_);
    seconds_ = seconds(a_.workers == 0 ? all_enqueued_us_ : all_acked_us_);
  }

  std::optional<client::Error> error() const { return error_; }

  void report(const Session& session) {
    const double in = static_cast<double>(enqueued_) / enqueue_seconds_;
    const double out = static_cast<double>(acked_) / seconds_;
    if (session.json()) {
      fmt::print(
          "{{\"jobs\":{},\"completed\":{},\"seconds\":{:.3f},\"enqueued_per_second\":{:.1f},"
          "\"completed_per_second\":{:.1f},\"enqueue_us\":{},\"fetch_ack_us\":{}}}\n",
          enqueued_.load(), acked_.load(), seconds_, in, out, enqueue_.json(), fetch_.json());
      return;
    }
    Facts facts;
    facts.add("jobs", fmt::format("{} enqueued, {} completed in {:.2f}s", count(enqueued_),
                                  count(acked_), seconds_));
    facts.add("enqueue", fmt::format("{}/s  {}", rate(in), enqueue_.text()));
    if (a_.workers > 0) facts.add("fetch+ack", fmt::format("{}/s  {}", rate(out), fetch_.text()));
    facts.print(session);
  }

 private:
  void fail(const client::Error& error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
    stop_ = true;
  }

  void produce() {
    Latencies seen;
    while (!stop_) {
      const std::int64_t first = claimed_.fetch_add(a_.batch);
      if (first >= a_.jobs) break;
      const auto size = static_cast<std::size_t>(std::min<std::int64_t>(a_.batch, a_.jobs - first));
      const client::NewJob job{.queue = a_.queue, .payload = payload_};
      const auto began = BenchClock::now();
      client::Result<void> sent;
      if (size == 1) {
        const auto one = client_.enqueue(job);
        if (!one) sent = std::unexpected(one.error());
      } else {
        const auto many = client_.enqueue_many(std::vector<client::NewJob>(size, job));
        if (!many) sent = std::unexpected(many.error());
      }
      if (!sent) return fail(sent.error());
      seen.add(micros_since(began));
      if ((enqueued_ += static_cast<std::int64_t>(size)) >= a_.jobs)
        all_enqueued_us_ = micros_since(began_);
    }
    const std::lock_guard lock(mutex_);
    enqueue_.merge(seen);
  }

  /// Each request settles the jobs before and claims the next.
  void work() {
    Latencies seen;
    std::string acks;
    std::int64_t held = 0;
    while (!stop_ || held > 0) {
      const std::string body = fmt::format(
          R"({{"queues":[{}],"worker_id":"bench","count":{},"timeout":"{}","ack":[{}]}})",
          client::quoted(a_.queue), a_.fetch, stop_ ? "0s" : "200ms", acks);
      const auto began = BenchClock::now();
      const auto answer = client_.post("/api/v1/fetch", body);
      if (!answer) return fail(answer.error());
      const auto& jobs = (*answer)["jobs"].items();
      if (held > 0 || !jobs.empty()) seen.add(micros_since(began));
      const std::int64_t before = acked_.fetch_add(held);
      if (before < a_.jobs && before + held >= a_.jobs) all_acked_us_ = micros_since(began_);
      held = stop_ ? 0 : static_cast<std::int64_t>(jobs.size());
      acks.clear();
      for (const auto& job : jobs)
        acks += fmt::format(R"({}{{"job_id":"{}","lease_id":"{}"}})", acks.empty() ? "" : ",",
                            job["job_id"].text(), job["lease_id"].text());
    }
    const std::lock_guard lock(mutex_);
    fetch_.merge(seen);
  }

  client::Client& client_;
  const BenchArguments& a_;
  std::string payload_;
  std::atomic<std::int64_t> claimed_ = 0, enqueued_ = 0, acked_ = 0;
  std::atomic<bool> stop_ = false;
  BenchClock::time_point began_;
  /// When the last one was; those who look come by too seldom for a short run.
  std::atomic<std::int64_t> all_enqueued_us_ = 0, all_acked_us_ = 0;
  double seconds_ = 0, enqueue_seconds_ = 0;
  std::mutex mutex_;  ///< of what follows
  Latencies enqueue_, fetch_;
  std::optional<client::Error> error_;
};

int bench(Session& session, BenchArguments a) {
  auto client = session.client();
  if (!client) return session.fail(client.error());
  const bool own = a.queue.empty();
  if (own) a.queue = "bench." + client::new_idempotency_key().substr(4, 8);
  Bench run(**client, a);
  {
    Progress bar(session, "bench", a.workers == 0 ? a.jobs : a.jobs * 2);
    run.run([&](std::int64_t in, std::int64_t out) { bar.at(in + out); });
  }
  if (own && !a.keep) {
    const auto gone =
        session.call({.method = "DELETE",
                      .target = "/api/v1/queues/" + client::encoded(a.queue) + "?confirm=true"});
    if (!gone && gone.error().status != 404)
      session.note("the queue " + a.queue + " could not be deleted");
  }
  if (const auto error = run.error()) return session.fail(*error);
  run.report(session);
  return kDone;
}

}  // namespace

void add_bench_commands(Commands& commands) {
  auto a = std::make_shared<BenchArguments>();
  CLI::App* c = commands.add(
      commands.app(), "bench", "Measure a server with jobs that do nothing",
      "  jobbie bench\n  jobbie bench --jobs 100000 --producers 16 --workers 16 --batch 100");
  c->add_option("--jobs", a->jobs, "How many (10000)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
  c->add_option("--producers", a->producers, "Threads that enqueue (4)")->check(CLI::Range(1, 256));
  c->add_option("--workers", a->workers, "Threads that fetch and ack (4)")
      ->check(CLI::Range(0, 256));
  c->add_option("--batch", a->batch, "Jobs an enqueue (1)")->check(CLI::Range(1, 10'000));
  c->add_option("--fetch", a->fetch, "Jobs a fetch (10)")->check(CLI::Range(1, 1000));
  c->add_option("--payload-bytes", a->payload, "Size of a payload (100)")
      ->check(CLI::Range(0, 1'000'000));
  c->add_option("--queue", a->queue, "Use this queue, and leave it alone afterwards");
  c->add_flag("--keep", a->keep, "Do not delete the queue afterwards");
  commands.on(c, [a](Session& session) { return bench(session, *a); });
}

}  // namespace jobbie::cli
