// bench_log: syncs and entries a second on the disk under a directory.
//
//   bench_log [directory] [--quick]
#include "log/log.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "base/crc32c.hpp"

namespace {

using namespace jobbie;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Run {
  std::size_t entry_bytes = 1024;
  std::size_t per_pump = 1;
  std::size_t pumps = 1000;
};

void measure(log::Log& log, const Run& run, std::uint64_t& applied) {
  const std::string data(run.entry_bytes, 'x');
  const log::Handlers apply{.apply = [&](const log::Committed& entry) { applied = entry.index; }};
  std::vector<double> latencies;
  const auto start = Clock::now();
  for (std::size_t pump = 0; pump < run.pumps; ++pump) {
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < run.per_pump; ++i) JOBBIE_CHECK(log.propose(data).has_value());
    JOBBIE_CHECK(log.pump(apply).has_value());
    latencies.push_back(seconds_since(begin));
    if (pump % 64 == 63) JOBBIE_CHECK(log.cut(applied).has_value());
  }
  const auto seconds = seconds_since(start);
  std::sort(latencies.begin(), latencies.end());
  const auto at = [&](double q) {
    return 1000 *
           latencies[static_cast<std::size_t>(q * static_cast<double>(latencies.size() - 1))];
  };
  std::printf("%7zu bytes x %4zu: %8.0f syncs/s %9.0f entries/s  p50 %.3f p99 %.3f max %.3f ms\n",
              run.entry_bytes, run.per_pump, static_cast<double>(run.pumps) / seconds,
              static_cast<double>(run.pumps * run.per_pump) / seconds, at(0.5), at(0.99), at(1));
}

void measure_replay(log::Disk& disk, const log::Options& options, bool quick) {
  const std::string data(1024, 'x');
  const log::Handlers nothing;
  {
    auto log = std::move(*log::Log::open(disk, options));
    JOBBIE_CHECK(log->start(0).has_value() && log->pump(nothing).has_value());
    for (int pump = 0; pump < (quick ? 20 : 1000); ++pump) {
      for (int i = 0; i < 256; ++i) JOBBIE_CHECK(log->propose(data).has_value());
      JOBBIE_CHECK(log->pump(nothing).has_value());
    }
  }
  const auto start = Clock::now();
  auto log = std::move(*log::Log::open(disk, options));
  const auto opened = seconds_since(start);
  std::uint64_t entries = 0;
  JOBBIE_CHECK(log->start(0).has_value());
  JOBBIE_CHECK(log->pump({.apply = [&](const log::Committed&) { ++entries; }}).has_value());
  std::printf("replay of %zu entries: open %.3f s, in all %.3f s\n",
              static_cast<std::size_t>(entries), opened, seconds_since(start));
}

void measure_checksums() {
  const std::string block(1u << 20, 'x');
  std::uint32_t sum = 0;
  const auto rate = [&](auto crc) {
    const auto start = Clock::now();
    for (int i = 0; i < 500; ++i) sum += crc(block, sum);
    return 500.0 / 1024 / seconds_since(start);
  };
  const auto by_instruction = rate([](auto b, auto s) { return base::crc32c(b, s); });
  const auto by_table = rate([](auto b, auto s) { return base::crc32c_by_table(b, s); });
  std::printf("crc32c: %.1f GiB/s, by table %.1f GiB/s (%08x)\n", by_instruction, by_table, sum);
}

}  // namespace

int main(int argc, char** argv) {
  bool quick = false;
  std::filesystem::path folder = "bench_log_data";
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--quick")
      quick = true;
    else
      folder = argv[i];
  }
  std::filesystem::remove_all(folder);
  const auto disk = log::posix_disk();
  log::Options options{.directory = (folder / "steady").string(), .seed = 1};
  if (quick) options.segment_bytes = 1u << 20;
  {
    auto log = std::move(*log::Log::open(*disk, options));
    std::uint64_t applied = 0;
    JOBBIE_CHECK(log->start(0).has_value());
    JOBBIE_CHECK(
        log->pump({.apply = [&](const log::Committed& e) { applied = e.index; }}).has_value());
    const std::size_t pumps = quick ? 20 : 5000;
    measure(*log, {.per_pump = 1, .pumps = pumps}, applied);
    measure(*log, {.per_pump = 64, .pumps = pumps / 2}, applied);
    measure(*log, {.per_pump = 256, .pumps = pumps / 5}, applied);
    if (!quick) measure(*log, {.entry_bytes = 1u << 20, .per_pump = 1, .pumps = 500}, applied);
  }
  options.directory = (folder / "replay").string();
  measure_replay(*disk, options, quick);
  measure_checksums();
  std::filesystem::remove_all(folder);
  return 0;
}
