// Hands out seeds to child processes over shared memory.
#include "tests/cluster_sim/runner.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/check.hpp"

namespace jobbie::cluster_sim {
namespace {

constexpr unsigned kMaxProcesses = 64;
constexpr std::size_t kTextBytes = 16 * 1024;
constexpr std::uint64_t kSecondsEach = 60;
constexpr std::uint64_t kCleanSeeds = 10;

using Clock = std::chrono::steady_clock;

/// What one child tells its parent. Only the child writes, the parent reads once it has ended.
struct Slot {
  std::uint64_t seed = 0;  ///< the one in work, or that failed; zero: none
  bool failed = false;
  std::int64_t at_us = 0;
  std::uint64_t seeds = 0;
  std::int64_t simulated_us = 0;
  Counts counts;
  std::array<char, kTextBytes> text{};
};

struct Shared {
  std::atomic<std::uint64_t> next_seed{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> stop{false};
  std::array<Slot, kMaxProcesses> slots;
};

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void work(const RunOptions& options, Shared& shared, Slot& slot, Clock::time_point start) {
  const std::uint64_t end = options.first_seed + options.seeds;
  while (!shared.stop) {
    if (options.seconds != 0 && since(start) >= static_cast<double>(options.seconds)) return;
    const std::uint64_t seed = shared.next_seed++;
    if (seed >= end) return;
    slot.seed = seed;
    const SimResult result = simulate(seed, options.sim, slot.counts);
    slot.simulated_us += result.at_us;
    if (!result.violation.empty()) {
      slot.failed = true;
      slot.at_us = result.at_us;
      std::strncpy(slot.text.data(), result.violation.c_str(), kTextBytes - 1);
      shared.stop = true;
      return;
    }
    slot.seed = 0;
    ++slot.seeds;
    const std::uint64_t done = ++shared.done;
    if (options.progress && done % 50 == 0)
      fmt::print(stderr, "cluster sim: {} seeds, {:.0f} s\n", done, since(start));
  }
}

void collect(RunResult& result, const Slot& slot, int status) {
  const bool crashed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  result.seeds += slot.seeds;
  result.simulated_us += slot.simulated_us;
  result.counts.add(slot.counts);
  if (!slot.failed && !crashed) return;
  if (result.failed && result.failed_seed <= slot.seed) return;
  result.failed = true;
  result.failed_seed = slot.seed;
  result.failed_at_us = slot.at_us;
  result.violation = slot.failed ? std::string(slot.text.data())
                     : WIFSIGNALED(status)
                         ? fmt::format("the process died of signal {}", WTERMSIG(status))
                         : fmt::format("the process left with {}", WEXITSTATUS(status));
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

RunResult run_seeds(const RunOptions& options) {
  const auto start = Clock::now();
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  JOBBIE_CHECK(memory != MAP_FAILED);
  auto& shared = *std::construct_at(static_cast<Shared*>(memory));
  shared.next_seed = options.first_seed;
  const unsigned processes = std::clamp(options.processes, 1U, kMaxProcesses);
  std::array<pid_t, kMaxProcesses> children{};
  std::fflush(nullptr);
  for (unsigned i = 0; i < processes; ++i) {
    children[i] = fork();
    JOBBIE_CHECK(children[i] >= 0);
    if (children[i] == 0) {
      work(options, shared, shared.slots[i], start);
      std::fflush(nullptr);
      _exit(0);
    }
  }
  RunResult result;
  for (unsigned i = 0; i < processes; ++i) {
    int status = 0;
    waitpid(children[i], &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) shared.stop = true;
    collect(result, shared.slots[i], status);
  }
  result.seconds = since(start);
  munmap(memory, sizeof(Shared));
  return result;
}

int test_plants(const RunOptions& given) {
  int wrong = 0;
  for (std::size_t i = 0; i < kPlants; ++i) {
    RunOptions options = given;
    options.progress = false;
    options.sim.plant = static_cast<Plant>(i);
    const bool planted = i != 0;
    options.seeds = planted ? 1'000'000 : kCleanSeeds;
    options.seconds = kSecondsEach;
    const RunResult result = run_seeds(options);
    const bool right = result.failed == planted;
    if (!right) ++wrong;
    fmt::print("{} {:<22} {:5.1f} s  {}\n", right ? "ok    " : "WRONG ",
               plant_name(options.sim.plant), result.seconds,
               result.failed
                   ? fmt::format("seed {}: {}", result.failed_seed, first_line(result.violation))
                   : fmt::format("{} seeds, no violation", result.seeds));
    std::fflush(stdout);
  }
  fmt::print("cluster sim: {} planted bugs, {} wrong\n", kPlants - 1, wrong);
  return wrong == 0 ? 0 : 1;
}

int test_replay(const RunOptions& options) {
  for (std::uint64_t seed = options.first_seed; seed < options.first_seed + options.seeds; ++seed) {
    Counts counts;
    const SimResult first = simulate(seed, options.sim, counts);
    const SimResult second = simulate(seed, options.sim, counts);
    if (first.trace_hash == second.trace_hash && first.violation == second.violation &&
        first.at_us == second.at_us)
      continue;
    fmt::print("cluster sim: seed {} does not replay\n", seed);
    return 1;
  }
  fmt::print("cluster sim: {} seeds replay\n", options.seeds);
  return 0;
}

}  // namespace jobbie::cluster_sim
