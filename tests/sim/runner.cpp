// Hands out seeds to child processes over shared memory.
#include "tests/sim/runner.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/check.hpp"

namespace jobbie::sim {
namespace {

constexpr unsigned kMaxProcesses = 64;
constexpr std::size_t kTextBytes = 64 * 1024;

using Clock = std::chrono::steady_clock;

/// What one child tells its parent. Only the child writes, the parent reads once it has ended.
struct Slot {
  std::uint64_t seed = 0;  ///< the one in work, or that failed; zero: none
  bool failed = false;
  std::uint64_t entry = 0;
  std::uint64_t seeds = 0;
  std::uint64_t commands = 0;
  Coverage coverage;
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
    const SimResult result = simulate(seed, options.sim, slot.coverage);
    slot.commands += result.commands;
    if (!result.violation.empty()) {
      slot.failed = true;
      slot.entry = result.entry;
      std::strncpy(slot.text.data(), result.violation.c_str(), kTextBytes - 1);
      shared.stop = true;
      return;
    }
    slot.seed = 0;
    ++slot.seeds;
    const std::uint64_t done = ++shared.done;
    if (options.progress && done % 200 == 0)
      fmt::print(stderr, "sim: {} seeds, {:.0f} s\n", done, since(start));
  }
}

void collect(RunResult& result, const Slot& slot, int status) {
  const bool crashed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  result.seeds += slot.seeds;
  result.commands += slot.commands;
  result.coverage.add(slot.coverage);
  if (!slot.failed && !crashed) return;
  if (result.failed && result.failed_seed <= slot.seed) return;
  result.failed = true;
  result.failed_seed = slot.seed;
  result.failed_entry = slot.entry;
  result.violation = slot.failed ? std::string(slot.text.data())
                     : WIFSIGNALED(status)
                         ? fmt::format("the process died of signal {}", WTERMSIG(status))
                         : fmt::format("the process left with {}", WEXITSTATUS(status));
}

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

}  // namespace jobbie::sim
