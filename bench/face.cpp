// What the native face costs beside HTTP: reading requests into commands, writing replies.
//
//     bench_face [--quick]
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <time.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "call/call.hpp"
#include "face/native/native.hpp"

namespace jobbie::bench {
namespace {

class NoNode final : public call::Service, public call::Inbox {
 public:
  void submit(std::unique_ptr<call::Call>) override {}
  [[nodiscard]] bool ready() const override { return true; }
  void deliver(std::vector<std::unique_ptr<call::Call>>) override {}
};

std::string payload(std::size_t i) {
  return fmt::format(
      R"({{"to":"user{}@example.com","template":"welcome","subject":"Welcome to the service",)"
      R"("locale":"en-GB","attempts":3,"ratio":0.75,"flags":["a","b","c"],"nested":{{"k":true}},)"
      R"("note":"a line of text as templates have it"}})",
      i);
}

constexpr int kRunsPerLook = 64;

double cpu_seconds() {
  timespec now{};
  JOBBIE_CHECK(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Bench {
  NoNode node;
  face::Native native{node};
  double seconds = 1.0;

  face::Prepared prepare(std::string_view path, std::string_view body) {
    const http::Request request{
        .method = http::Method::post, .target = path, .path = path, .body = body};
    return native.prepare(request, node);
  }

  /// Runs `f` until the time is up; gives nanoseconds of the processor a run, so that other work on
  /// the machine counts little.
  template <typename F>
  double time(F&& f) const {
    std::size_t runs = 0;
    const double begin = cpu_seconds();
    double spent = 0;
    do {
      for (int i = 0; i < kRunsPerLook; ++i, ++runs) f();
      spent = cpu_seconds() - begin;
    } while (spent < seconds);
    return spent * 1e9 / static_cast<double>(runs);
  }
};

void enqueue_one(Bench& bench) {
  const std::string body = R"({"queue":"emails.send","payload":)" + payload(1) +
                           R"(,"max_retries":5,"tags":{"tenant":"acme"}})";
  const double read = bench.time([&] {
    const auto prepared = bench.prepare("/api/v1/enqueue", body);
    JOBBIE_CHECK(prepared.exchange != nullptr);
  });
  auto prepared = bench.prepare("/api/v1/enqueue", body);
  prepared.exchange->replies.emplace_back(command::Enqueued{});
  const double written = bench.time([&] {
    face::Answer answer;
    prepared.exchange->write_answer(answer);
    JOBBIE_CHECK(answer.status == 201);
  });
  fmt::print("enqueue, {} bytes: read {:.0f} ns, answer {:.0f} ns, together {:.2f} us\n",
             body.size(), read, written, (read + written) / 1000);
}

void enqueue_batch(Bench& bench) {
  constexpr std::size_t kJobs = 1000;
  std::string body = R"({"jobs":[)";
  for (std::size_t i = 0; i < kJobs; ++i)
    body += (i == 0 ? "" : ",") + (R"({"queue":"emails.send","payload":)" + payload(i) + "}");
  body += "]}";
  const double read = bench.time([&] {
    const auto prepared = bench.prepare("/api/v1/enqueue/batch", body);
    JOBBIE_CHECK(prepared.exchange != nullptr);
  });
  fmt::print("batch of {}, {} bytes a job: {:.0f} jobs/s ({:.0f} MB/s)\n", kJobs,
             body.size() / kJobs, kJobs * 1e9 / read,
             static_cast<double>(body.size()) * 1e3 / read);
}

void fetch_many(Bench& bench) {
  constexpr std::size_t kJobs = 1000;
  auto prepared = bench.prepare("/api/v1/fetch", R"({"queues":["emails.*"],"count":1000})");
  command::Claimed claimed;
  for (std::size_t i = 0; i < kJobs; ++i) {
    claimed.jobs.push_back({.job = {base::Ulid::make({1'770'804'000'000}, i + 1, 7)},
                            .queue = base::Blob("emails.send"),
                            .payload = base::Blob(payload(i)),
                            .attempt = 1,
                            .max_retries = 3,
                            .lease = i + 1,
                            .lease_duration = base::seconds(60),
                            .lease_expires_at = {1'770'804'060'000}});
  }
  prepared.exchange->replies.emplace_back(std::move(claimed));
  std::size_t bytes = 0;
  const double written = bench.time([&] {
    face::Answer answer;
    prepared.exchange->write_answer(answer);
    bytes = answer.body.size();
  });
  fmt::print("fetch of {}, {} bytes a job: {:.0f} jobs/s\n", kJobs, bytes / kJobs,
             kJobs * 1e9 / written);
}

void settle_many(Bench& bench) {
  constexpr std::size_t kJobs = 1000;
  std::string body = R"({"jobs":[)";
  for (std::size_t i = 0; i < kJobs; ++i) {
    const base::JobId id{base::Ulid::make({1'770'804'000'000}, i + 1, 7)};
    body += fmt::format(R"({}{{"job_id":"{}","lease_id":"{}","result":{{"sent":true}}}})",
                        i == 0 ? "" : ",", id.text(), i + 1);
  }
  body += "]}";
  const double read = bench.time([&] {
    const auto prepared = bench.prepare("/api/v1/ack", body);
    JOBBIE_CHECK(prepared.exchange != nullptr);
  });
  fmt::print("acks of {}: {:.0f} jobs/s\n", kJobs, kJobs * 1e9 / read);
}

}  // namespace
}  // namespace jobbie::bench

int main(int argc, char** argv) {
  jobbie::bench::Bench bench;
  if (argc > 1 && std::string_view(argv[1]) == "--quick") bench.seconds = 0.02;
  jobbie::bench::enqueue_one(bench);
  jobbie::bench::enqueue_batch(bench);
  jobbie::bench::fetch_many(bench);
  jobbie::bench::settle_many(bench);
  return 0;
}
