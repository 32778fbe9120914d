// Searches over a large database: how long each kind takes.
//
//     bench_search [--jobs 1000000] [--folder DIR]
//
// The jobs have payloads of about 150 bytes, ten queues, a hundred tenants as tags; one in a
// hundred is dead. Each search runs five times; the best and the median are shown, and the least
// processor time that one took, which is what counts on a machine that is not quiet.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "search/filter.hpp"
#include "store/store.hpp"

namespace {

using namespace jobbie;
using Clock = std::chrono::steady_clock;

constexpr int kRuns = 5;
constexpr std::uint64_t kHandOver = 10'000;
constexpr std::int64_t kBegin = 1'760'000'000'000;

[[noreturn]] void fail(const std::string& why) {
  std::fputs((why + "\n").c_str(), stderr);
  std::exit(1);
}

model::JobRecord make_job(std::uint64_t seq) {
  model::JobRecord job;
  job.id = {base::Ulid::make({kBegin + static_cast<std::int64_t>(seq / 10)}, seq,
                             static_cast<std::uint32_t>(seq * 2'654'435'761U))};
  job.spec.queue = base::Blob(fmt::format("queue{}", seq % 10));
  job.spec.payload = base::Blob(fmt::format(
      R"({{"to":"user{}@example.com","template":"{}","amount":{},"body":"lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod"}})",
      seq, seq % 3 == 0 ? "welcome" : "reset", seq % 1000));
  job.spec.tags = base::Blob(fmt::format(R"({{"tenant":"t{}"}})", seq % 100));
  job.arrival = seq;
  if (seq % 100 == 0) {
    job.state = model::State::dead;
    job.ended_at = {kBegin + static_cast<std::int64_t>(seq / 10) + 1};
    job.error_count = 1;
    job.errors.push_back({.ordinal = 1,
                          .attempt = 1,
                          .at = job.ended_at,
                          .error = base::Blob("SMTP timeout"),
                          .backtrace = {},
                          .worker = {}});
  }
  return job;
}

void fill(store::Store& store, std::uint64_t jobs) {
  for (std::uint64_t seq = 1; seq <= jobs; ++seq) {
    static command::Changes changes;
    changes.emplace_back(command::Item(make_job(seq)));
    if (seq % kHandOver != 0 && seq != jobs) continue;
    store.write(seq, std::exchange(changes, {}));
    while (store.lag().batches > 4) store.wait_until_written(seq, std::chrono::milliseconds(5));
  }
  while (!store.wait_until_written(jobs, std::chrono::milliseconds(1000))) {
  }
}

double processor_ms() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double milliseconds_of(store::Store& store, const search::Request& request, std::string& found) {
  const auto begin = Clock::now();
  const auto page = store.search(request);
  const std::chrono::duration<double, std::milli> took = Clock::now() - begin;
  if (!page) fail(page.error().message);
  found = fmt::format("{}{}", page->total, page->total_is_at_least ? "+" : "");
  return took.count();
}

void measure(store::Store& store, std::string_view name, const char* json) {
  const auto request = search::read_request(json);
  if (!request) fail(request.error().message);
  std::vector<double> runs;
  std::vector<double> processor;
  std::string found;
  for (int i = 0; i < kRuns; ++i) {
    const double begin = processor_ms();
    runs.push_back(milliseconds_of(store, *request, found));
    processor.push_back(processor_ms() - begin);
  }
  std::sort(runs.begin(), runs.end());
  fmt::print("{:<44} {:>8} {:>10.2f} {:>10.2f} {:>10.2f}\n", name, found, runs.front(),
             runs[kRuns / 2], *std::min_element(processor.begin(), processor.end()));
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t jobs = 1'000'000;
  std::string folder = "bench_search_data";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view(argv[i]) == "--jobs") jobs = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::string_view(argv[i]) == "--folder") folder = argv[i + 1];
  }
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  auto store = store::Store::open({.path = folder + "/bench.db"});
  if (!store) fail(store.error().message);
  fill(**store, jobs);
  fmt::print("{} jobs\n{:<44} {:>8} {:>10} {:>10} {:>10}\n", jobs, "search", "found", "best ms",
             "median", "processor");
  measure(**store, "everything", "{}");
  measure(**store, "queue", R"({"queue":"queue3"})");
  measure(**store, "queue and live state", R"({"queue":"queue3","state":["pending"]})");
  measure(**store, "queue and dead", R"({"queue":"queue0","state":["dead"]})");
  measure(**store, "state", R"({"state":["dead"]})");
  measure(**store, "created", R"({"created_after":"2025-10-09T08:53:30Z","queue":"queue3"})");
  measure(**store, "id prefix", R"({"job_id_prefix":"job_01K73"})");
  measure(**store, "error text, dead", R"({"state":["dead"],"error_contains":"refused"})");
  measure(**store, "tag in a queue", R"({"queue":"queue3","tags":{"tenant":"t3"}})");
  measure(**store, "substring, rare", R"({"payload_contains":"user777@"})");
  measure(**store, "jq, a string", R"({"payload_jq":".to == \"user777@example.com\""})");
  measure(**store, "jq, a number", R"({"payload_jq":".amount > 1000"})");
  measure(**store, "jq, dense", R"({"payload_jq":".template == \"welcome\""})");
  measure(**store, "sorted by priority", R"({"sort":"priority"})");
  if (auto closed = (*store)->close(); !closed) fail(closed.error().message);
  std::filesystem::remove_all(folder);
  return 0;
}
