// Producers and workers of the demo.
#include "cli/demo.hpp"

#include <array>
#include <condition_variable>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "client/worker.hpp"

namespace jobbie::cli {

/// One queue of the demo, with those who fill it and work on it.
struct DemoPart {
  const char* queue;
  int pause_ms;  ///< between two jobs, on average
  int run_ms;    ///< of one job, on average
  int fails;     ///< of a hundred attempts
  int workers;
  const char* error;
};

namespace {

using client::Context;
using client::Outcome;
using client::Stop;
using std::chrono::milliseconds;

constexpr std::array<DemoPart, 5> kParts = {{
    {"emails.send", 120, 200, 6, 3, "SMTP timeout after 30 s"},
    {"images.resize", 300, 700, 3, 3, "cannot decode image"},
    {"payments.charge", 700, 400, 4, 1, "gateway answered 502"},
    {"reports.generate", 4000, 9000, 10, 2, "out of memory in worker"},
    {"webhooks.deliver", 200, 250, 15, 3, "connection refused by hooks.example.com"},
}};
constexpr std::array<const char*, 4> kTenants = {"acme-corp", "globex", "initech", "umbrella"};

int around(std::mt19937& random, int mean) {
  return std::uniform_int_distribution<int>(mean / 4, mean * 7 / 4)(random);
}

Outcome play(const DemoPart& part, Context& context) {
  thread_local std::mt19937 random{std::random_device{}()};
  const int steps = part.run_ms > 2000 ? 20 : 1;
  const int run = around(random, part.run_ms);
  for (int step = 1; step <= steps; ++step) {
    if (!context.wait_for(milliseconds(run / steps)))
      return context.stop() == Stop::shutdown ? Outcome::shutdown() : Outcome::failed("cancelled");
    if (steps > 1) context.progress(fmt::format(R"({{"current":{},"total":{}}})", step, steps));
  }
  if (std::uniform_int_distribution<int>(1, 100)(random) <= part.fails)
    return Outcome::failed(part.error, "at demo.play");
  return Outcome::done(R"({"ok":true})");
}

client::NewJob some_job(const DemoPart& part, std::mt19937& random, int number) {
  const auto tenant = kTenants[random() % kTenants.size()];
  client::NewJob job{
      .queue = part.queue,
      .payload = fmt::format(R"({{"number":{},"to":"user{}@example.com","amount":{}}})", number,
                             random() % 1000, random() % 500),
      .max_retries = 3,
      .group = tenant,
      .tags = fmt::format(R"({{"tenant":"{}"}})", tenant)};
  if (random() % 10 == 0) job.priority = "high";
  if (random() % 12 == 0) job.delay = fmt::format("{}s", 5 + random() % 40);
  return job;
}

}  // namespace

struct Demo::Cast {
  explicit Cast(client::Client& given) : client(given) {}

  client::Client& client;
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::vector<std::unique_ptr<client::Worker>> workers;
  std::vector<std::thread> threads;

  bool pause(int ms) {
    std::unique_lock lock(mutex);
    return !changed.wait_for(lock, milliseconds(ms), [&] { return over; });
  }

  void produce(const DemoPart& part) {
    std::mt19937 random{std::random_device{}()};
    for (int number = 1; pause(around(random, part.pause_ms)); ++number) {
      // A server that is away is no reason to end: the next one may be taken.
      [[maybe_unused]] const auto sent = client.enqueue(some_job(part, random, number));
    }
  }

  void start() {
    // It may be there from an earlier run.
    [[maybe_unused]] const auto made = client.post(
        "/api/v1/schedules",
        R"({"name":"demo-cleanup","queue":"webhooks.deliver","cron":"*/20 * * * * *","payload":{"sweep":true}})");
    for (const DemoPart& part : kParts) {
      auto worker = std::make_unique<client::Worker>(
          client, client::WorkerOptions{.id = fmt::format("demo-{}", part.queue),
                                        .concurrency = part.workers,
                                        .drain = milliseconds(500),
                                        .grace = milliseconds(1000)});
      worker->handle(part.queue, [&part](Context& context) { return play(part, context); });
      workers.push_back(std::move(worker));
      threads.emplace_back([this, &part] { produce(part); });
      threads.emplace_back(
          [at = workers.back().get()] { [[maybe_unused]] const auto ended = at->run(); });
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      over = true;
    }
    changed.notify_all();
    for (const auto& worker : workers) worker->stop();
    for (auto& thread : threads) thread.join();
  }
};

Demo::Demo(client::Client& client) : cast_(std::make_unique<Cast>(client)) { cast_->start(); }
Demo::~Demo() { cast_->stop(); }

}  // namespace jobbie::cli
