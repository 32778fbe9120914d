// Many seeds over several processes. A process of its own per worker: what aborts on a seed is then
// a finding like any other, and not the end of the run.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/check.hpp"

namespace jobbie::sim {

struct SeedOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1;
  unsigned processes = 1;
  std::uint64_t seconds = 0;         ///< start no new seed after this long; zero: no limit
  std::string_view name;             ///< for those who watch
  std::uint64_t progress_every = 0;  ///< so many seeds; zero: nothing is told
};

/// How one seed went.
struct SeedOutcome {
  std::string violation;    ///< empty: it is sound
  std::uint64_t where = 0;  ///< in whatever the simulation counts
};

struct SeedFailure {
  std::uint64_t seed = 0;
  SeedOutcome outcome;
};

template <typename Tally>
struct SeedResult {
  std::optional<SeedFailure> failure;  ///< that of the lowest seed
  std::uint64_t seeds = 0;             ///< finished
  double seconds = 0;
  Tally tally;  ///< of all
};

/// Memory that a process and its children share. `Tally` lies in it, so it may hold no pointers.
template <typename Tally>
class SeedBoard {
 public:
  static constexpr unsigned kMaxProcesses = 64;
  static constexpr std::size_t kTextBytes = 64 * 1024;

  /// What one child tells its parent. Only the child writes, the parent reads once it has ended.
  struct Slot {
    std::uint64_t seed = 0;  ///< the one in work, or that failed; zero: none
    bool failed = false;
    std::uint64_t where = 0;
    std::uint64_t seeds = 0;
    Tally tally;
    std::array<char, kTextBytes> text{};
  };
  struct Shared {
    std::atomic<std::uint64_t> next_seed{0};
    std::atomic<std::uint64_t> done{0};
    std::atomic<bool> stop{false};
    std::array<Slot, kMaxProcesses> slots;
  };

  SeedBoard()
      : memory_(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                     -1, 0)) {
    static_assert(std::is_trivially_destructible_v<Tally>);
    JOBBIE_CHECK(memory_ != MAP_FAILED);
    shared_ = std::construct_at(static_cast<Shared*>(memory_));
  }
  ~SeedBoard() { munmap(memory_, sizeof(Shared)); }
  SeedBoard(const SeedBoard&) = delete;
  SeedBoard& operator=(const SeedBoard&) = delete;

  Shared* operator->() { return shared_; }

 private:
  void* memory_;
  Shared* shared_;
};

/// `simulate(seed, tally)` gives a SeedOutcome.
template <typename Tally, typename Simulate>
class SeedRun {
 public:
  SeedRun(const SeedOptions& options, const Simulate& simulate)
      : options_(options), simulate_(simulate) {
    board_->next_seed = options.first_seed;
  }

  SeedResult<Tally> run() {
    const unsigned processes = std::clamp(options_.processes, 1U, Board::kMaxProcesses);
    std::array<pid_t, Board::kMaxProcesses> children{};
    std::fflush(nullptr);
    for (unsigned i = 0; i < processes; ++i) {
      children[i] = fork();
      JOBBIE_CHECK(children[i] >= 0);
      if (children[i] == 0) {
        work(board_->slots[i]);
        std::fflush(nullptr);
        _exit(0);
      }
    }
    SeedResult<Tally> result;
    for (unsigned i = 0; i < processes; ++i) {
      int status = 0;
      waitpid(children[i], &status, 0);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) board_->stop = true;
      collect(result, board_->slots[i], status);
    }
    result.seconds = passed();
    return result;
  }

 private:
  using Board = SeedBoard<Tally>;
  using Clock = std::chrono::steady_clock;

  double passed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  void work(Board::Slot& slot) {
    const std::uint64_t end = options_.first_seed + options_.seeds;
    while (!board_->stop) {
      if (options_.seconds != 0 && passed() >= static_cast<double>(options_.seconds)) return;
      const std::uint64_t seed = board_->next_seed++;
      if (seed >= end) return;
      slot.seed = seed;
      const SeedOutcome outcome = simulate_(seed, slot.tally);
      if (!outcome.violation.empty()) {
        slot.failed = true;
        slot.where = outcome.where;
        std::strncpy(slot.text.data(), outcome.violation.c_str(), Board::kTextBytes - 1);
        board_->stop = true;
        return;
      }
      slot.seed = 0;
      ++slot.seeds;
      const std::uint64_t done = ++board_->done;
      if (options_.progress_every != 0 && done % options_.progress_every == 0)
        fmt::print(stderr, "{}: {} seeds, {:.0f} s\n", options_.name, done, passed());
    }
  }

  static void collect(SeedResult<Tally>& result, const Board::Slot& slot, int status) {
    const bool crashed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    result.seeds += slot.seeds;
    result.tally.add(slot.tally);
    if (!slot.failed && !crashed) return;
    if (result.failure && result.failure->seed <= slot.seed) return;
    result.failure = {.seed = slot.seed,
                      .outcome = {.violation = slot.failed ? slot.text.data() : end_of(status),
                                  .where = slot.where}};
  }

  static std::string end_of(int status) {
    return WIFSIGNALED(status) ? fmt::format("the process died of signal {}", WTERMSIG(status))
                               : fmt::format("the process left with {}", WEXITSTATUS(status));
  }

  const SeedOptions& options_;
  const Simulate& simulate_;
  const Clock::time_point start_ = Clock::now();
  Board board_;
};

template <typename Tally, typename Simulate>
SeedResult<Tally> run_seeds_with(const SeedOptions& options, const Simulate& simulate) {
  return SeedRun<Tally, Simulate>(options, simulate).run();
}

}  // namespace jobbie::sim
