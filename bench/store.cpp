// How fast the store takes rows and gives them back: final rows at a growing size, a mix of
// updates, and the load of a backlog.
//
// Hand-overs are made as the node makes them: a new one as soon as the last is written. The folder
// given (or the system's temporary one) holds the file; it is removed afterwards.
#include "store/store.hpp"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/blob.hpp"
#include "bench/clock.hpp"

namespace jobbie::bench {
namespace {

struct StoreBench {
  std::uint64_t rows = 2'000'000;
  std::uint64_t pending = 1'000'000;
  std::uint64_t hand_over = 10'000;
  std::string folder = std::filesystem::temp_directory_path().string();
  bool json = false;
};

constexpr std::int64_t kStart_ms = 1'760'000'000'000;
constexpr std::uint64_t kQueues = 20;
constexpr std::chrono::milliseconds kPatience{600'000};

base::JobId job_id(std::uint64_t seq) {
  const auto at = kStart_ms + static_cast<std::int64_t>(seq / 20);
  return {base::Ulid::make({at}, seq, static_cast<std::uint32_t>(seq * 2'654'435'761U))};
}

base::Blob queue_name(std::uint64_t seq) {
  return base::Blob(fmt::format("queue.number-{}", seq % kQueues));
}

base::Blob payload(std::uint64_t seq) {
  return base::Blob(
      fmt::format(R"({{"user":{},"template":"welcome","text":"{:x>160}"}})", seq, ""));
}

model::JobRecord pending_job(std::uint64_t seq) {
  model::JobRecord job{.id = job_id(seq), .arrival = seq};
  job.spec.queue = queue_name(seq);
  job.spec.payload = payload(seq);
  return job;
}

model::JobRecord completed_job(std::uint64_t seq) {
  auto job = pending_job(seq);
  job.state = model::State::completed;
  job.attempt = 1;
  job.started_at = job.id.ulid.time() + base::milliseconds(5);
  job.ended_at = job.started_at + base::milliseconds(static_cast<std::int64_t>(seq % 997));
  job.lease = seq;
  job.lease_end = model::LeaseEnd::acked;
  job.lease_duration = base::seconds(60);
  job.worker = base::Blob("worker-17");
  job.hostname = base::Blob("host-a.example.com");
  job.result = base::Blob(R"({"ok":true})");
  return job;
}

command::Changes hand_over(std::uint64_t first, std::uint64_t count,
                           model::JobRecord (*make)(std::uint64_t)) {
  command::Changes changes;
  changes.emplace_back(command::Item(
      model::MetaRecord{.now = job_id(first + count).ulid.time(), .next_sequence = first + count}));
  for (std::uint64_t i = 0; i < kQueues; ++i) {
    changes.emplace_back(command::Item(model::QueueRecord{.name = queue_name(i)}));
    changes.emplace_back(command::Item(
        model::TallyRecord{.queue = queue_name(i), .minute = 29'333'333, .count = first + i + 1}));
  }
  for (std::uint64_t seq = first; seq < first + count; ++seq)
    changes.emplace_back(command::Item(make(seq)));
  return changes;
}

class StoreRun {
 public:
  StoreRun(const StoreBench& options, std::string path)
      : options_(options), path_(std::move(path)) {}

  bool run() {
    if (!open()) return false;
    const auto step = std::max<std::uint64_t>(options_.rows / 8, 1);
    for (std::uint64_t from = 0; from < options_.rows; from += step)
      rows("final rows inserted", from, std::min(step, options_.rows - from), completed_job);
    const auto base = options_.rows;
    rows("pending rows inserted", base, options_.pending, pending_job);
    rows("pending rows becoming completed", base, options_.pending / 4, completed_job);
    rows("rows written again unchanged", base, options_.pending / 4, completed_job);
    return load();
  }

 private:
  bool open() {
    auto store = store::Store::open({.path = path_});
    if (!store) return fail(store.error());
    store_ = *std::move(store);
    return true;
  }

  void rows(std::string_view what, std::uint64_t from, std::uint64_t count,
            model::JobRecord (*make)(std::uint64_t)) {
    const auto begin = Clock::now();
    for (std::uint64_t done = 0; done < count; done += options_.hand_over) {
      auto changes = hand_over(from + done + 1, std::min(options_.hand_over, count - done), make);
      // One ahead: building a hand-over is the node's time, not the store's.
      store_->wait_until_written(index_, kPatience);
      store_->write(++index_, std::move(changes));
    }
    store_->wait_until_written(index_, kPatience);
    const auto seconds = seconds_since(begin);
    print(fmt::format("{} at {}", what, from), static_cast<double>(count) / seconds, "rows/s");
  }

  bool load() {
    auto begin = Clock::now();
    if (auto closed = store_->close(); !closed) return fail(closed.error());
    print("close", seconds_since(begin), "s");
    print("file", static_cast<double>(std::filesystem::file_size(path_)) / 1e6, "MB");
    begin = Clock::now();
    if (!open()) return false;
    print("open", seconds_since(begin), "s");
    begin = Clock::now();
    std::uint64_t items = 0;
    const auto loaded = store_->load([&](command::Item) {
      ++items;
      return base::Result<void>{};
    });
    if (!loaded) return fail(loaded.error());
    print(fmt::format("load of {} items", items), seconds_since(begin), "s");
    return true;
  }

  void print(const std::string& what, double figure, const char* unit) const {
    if (options_.json) {
      fmt::print("{{\"what\":\"{}\",\"figure\":{:.3f},\"unit\":\"{}\"}}\n", what, figure, unit);
    } else {
      fmt::print("{:<55} {:>12.2f} {}\n", what, figure, unit);
    }
    std::fflush(stdout);
  }

  static bool fail(const base::Error& error) {
    fmt::print(stderr, "{}: {}\n", error.code, error.message);
    return false;
  }

  const StoreBench& options_;
  std::string path_;
  std::unique_ptr<store::Store> store_;
  std::uint64_t index_ = 0;
};

bool read_number(std::string_view text, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

bool read_arguments(int count, char** arguments, StoreBench& options) {
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    if (name == "--json") {
      options.json = true;
      continue;
    }
    if (i + 1 == count) return false;
    const std::string_view value = arguments[++i];
    if (name == "--folder") {
      options.folder = value;
    } else if (name == "--rows") {
      if (!read_number(value, options.rows)) return false;
    } else if (name == "--pending") {
      if (!read_number(value, options.pending)) return false;
    } else if (name == "--hand-over") {
      if (!read_number(value, options.hand_over) || options.hand_over == 0) return false;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace jobbie::bench

int main(int count, char** arguments) {
  jobbie::bench::StoreBench options;
  if (!jobbie::bench::read_arguments(count, arguments, options)) {
    fmt::print(stderr,
               "bench_store [--rows N] [--pending N] [--hand-over N] [--folder F] [--json]\n");
    return 2;
  }
  auto pattern = options.folder + "/jobbie_bench_XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return 1;
  const bool good = jobbie::bench::StoreRun(options, pattern + "/jobbie.db").run();
  std::error_code ignored;
  std::filesystem::remove_all(pattern, ignored);
  return good ? 0 : 1;
}
