// Searches over a large database: how long each kind takes.
//
//     bench_search [--jobs 1000000] [--runs 5] [--only TEXT] [--folder DIR [--keep 1]]
//
// The jobs have payloads of about 150 bytes, ten queues, a hundred tenants as tags; one in a
// hundred is dead. Each search runs five times; the best and the median are shown, and the least
// processor time that one took, which is what counts on a machine that is not quiet. Two queries
// in plain SQL over the same file, without our checksums, come first and again last: they are the
// measure for searches that read every row. `--only` runs the searches whose name has that text;
// with `--keep 1` the folder's database stays and is used by the next run.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <sqlite3.h>
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

struct Options {
  std::uint64_t jobs = 1'000'000;
  std::string folder = "bench_search_data";
  std::string only;
  int runs = 5;
  bool keep = false;
};

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) fail(fmt::format("{} needs a value", name));
    const char* value = argv[i + 1];
    if (name == "--jobs")
      options.jobs = std::strtoull(value, nullptr, 10);
    else if (name == "--folder")
      options.folder = value;
    else if (name == "--only")
      options.only = value;
    else if (name == "--runs")
      options.runs = std::max(1, std::atoi(value));
    else if (name == "--keep")
      options.keep = std::string_view(value) == "1";
    else
      fail(fmt::format("unknown option {}", name));
  }
  return options;
}

/// The line of one search: `run` does it once and returns how many it found, as text.
template <typename Run>
void measure(const Options& options, std::string_view name, Run&& run) {
  if (name.find(options.only) == std::string_view::npos) return;
  std::vector<double> walls;
  std::vector<double> processor;
  std::string found;
  for (int i = 0; i < options.runs; ++i) {
    const double busy = processor_ms();
    const auto begin = Clock::now();
    found = run();
    walls.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    processor.push_back(processor_ms() - busy);
  }
  std::sort(walls.begin(), walls.end());
  fmt::print("{:<44} {:>8} {:>10.2f} {:>10.2f} {:>10.2f}\n", name, found, walls.front(),
             walls[walls.size() / 2], *std::min_element(processor.begin(), processor.end()));
  std::fflush(stdout);
}

/// What SQLite alone takes, without our checksums and our functions.
void measure_plain(const Options& options, std::string_view name, const char* sql) {
  sqlite3* database = nullptr;
  const auto path = options.folder + "/bench.db";
  if (sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK)
    fail("cannot open the database a second time");
  sqlite3_exec(database, "PRAGMA cache_size = -8192", nullptr, nullptr, nullptr);
  measure(options, name, [&] {
    std::string found;
    const auto row = [](void* out, int, char** values, char**) {
      *static_cast<std::string*>(out) = values[0];
      return 0;
    };
    if (sqlite3_exec(database, sql, row, &found, nullptr) != SQLITE_OK)
      fail(sqlite3_errmsg(database));
    return found;
  });
  sqlite3_close(database);
}

void measure_plain(const Options& options) {
  measure_plain(options, "plain SQL: LIKE",
                "SELECT count(*) FROM job_rows WHERE payload LIKE '%user777@%'");
  measure_plain(options, "plain SQL: json_extract",
                "SELECT count(*) FROM job_rows WHERE json_extract(payload, '$.amount') > 1000");
}

struct Search {
  std::string_view name;
  const char* json;
};
constexpr Search kSearches[] = {
    {"everything", "{}"},
    {"queue", R"({"queue":"queue3"})"},
    {"queue and live state", R"({"queue":"queue3","state":["pending"]})"},
    {"queue and dead", R"({"queue":"queue0","state":["dead"]})"},
    {"state", R"({"state":["dead"]})"},
    {"created", R"({"created_after":"2025-10-09T08:53:30Z","queue":"queue3"})"},
    {"id prefix", R"({"job_id_prefix":"job_01K73"})"},
    {"error text, dead", R"({"state":["dead"],"error_contains":"refused"})"},
    {"tag in a queue", R"({"queue":"queue3","tags":{"tenant":"t3"}})"},
    {"substring, rare", R"({"payload_contains":"user777@"})"},
    {"jq, a string", R"({"payload_jq":".to == \"user777@example.com\""})"},
    {"jq, a number", R"({"payload_jq":".amount > 1000"})"},
    {"jq, equal to a number", R"({"payload_jq":".amount == 1000"})"},
    {"jq, two conditions", R"({"payload_jq":".amount > 998 and .body != \"lorem\""})"},
    {"jq, dense", R"({"payload_jq":".template == \"welcome\""})"},
    {"sorted by priority", R"({"sort":"priority"})"},
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  const auto path = options.folder + "/bench.db";
  const bool there = options.keep && std::filesystem::exists(path);
  if (!there) std::filesystem::remove_all(options.folder);
  std::filesystem::create_directories(options.folder);
  auto store = store::Store::open({.path = path});
  if (!store) fail(store.error().message);
  if (!there) fill(**store, options.jobs);
  fmt::print("{} jobs\n{:<44} {:>8} {:>10} {:>10} {:>10}\n", (*store)->applied_index(), "search",
             "found", "best ms", "median", "processor");
  measure_plain(options);
  for (const auto& [name, json] : kSearches) {
    const auto request = search::read_request(json);
    if (!request) fail(request.error().message);
    measure(options, name, [&] {
      const auto page = (*store)->search(*request);
      if (!page) fail(page.error().message);
      return fmt::format("{}{}", page->total, page->total_is_at_least ? "+" : "");
    });
  }
  measure_plain(options);
  if (auto closed = (*store)->close(); !closed) fail(closed.error().message);
  if (!options.keep) std::filesystem::remove_all(options.folder);
  return 0;
}
