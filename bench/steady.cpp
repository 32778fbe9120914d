// The loop of full lives.
#include "bench/steady.hpp"

#include <deque>
#include <utility>

#include <sys/resource.h>

#include "base/check.hpp"
#include "bench/clock.hpp"

namespace jobbie::bench {
namespace {

constexpr std::size_t kLivesPerEntry = 21;
constexpr std::size_t kBulk = 100;
constexpr std::size_t kCommandsPerDrain = 1000;

struct ThreadUsage {
  double cpu_seconds = 0;
  std::uint64_t preemptions = 0;
};

ThreadUsage usage_so_far() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return {.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime),
          .preemptions = static_cast<std::uint64_t>(usage.ru_nivcsw)};
}

class Loop {
 public:
  Loop(engine::Engine& engine, Workload& workload) : engine_(engine), workload_(workload) {}

  void run(Feed feed, std::size_t lives) {
    const auto before = usage_so_far();
    const auto begin = Clock::now();
    while (lived_ < lives) step(feed);
    run_.all_in_seconds = seconds_since(begin);
    const auto after = usage_so_far();
    run_.preemptions = after.preemptions - before.preemptions;
    run_.core_share = std::min(1.0, (after.cpu_seconds - before.cpu_seconds) / run_.all_in_seconds);
    drain();
  }

  /// Acks what is still claimed, outside of the measurement.
  void finish() {
    auto entry = workload_.entry(claimed_.size());
    while (!claimed_.empty()) entry.commands.emplace_back(next_ack());
    const auto outcome = engine_.apply(entry);
    const auto changes = engine_.drain_changes();
  }

  [[nodiscard]] SteadyRun result() {
    run_.lives = lived_;
    run_.apply_p50_ns = quantile(applies_, 0.5);
    run_.apply_p999_ns = quantile(applies_, 0.999);
    run_.apply_max_ns = quantile(applies_, 1);
    return run_;
  }

 private:
  /// One entry of many lives, or three entries of one command each. Acks are of the jobs that the
  /// entry before claimed: a worker cannot know its job earlier.
  void step(Feed feed) {
    if (feed == Feed::bulk) {
      auto entry = workload_.entry(2 + kBulk);
      command::EnqueueMany many;
      for (std::size_t i = 0; i < kBulk; ++i) many.jobs.push_back(workload_.next_job());
      entry.commands.emplace_back(std::move(many));
      auto claim = workload_.next_claim();
      claim.count = kBulk;
      entry.commands.emplace_back(std::move(claim));
      for (std::size_t i = 0; i < kBulk && !claimed_.empty(); ++i)
        entry.commands.emplace_back(next_ack());
      return apply(entry);
    }
    if (feed == Feed::single) {
      apply_one(command::Enqueue{.job = workload_.next_job(), .idempotency = {}});
      apply_one(workload_.next_claim());
      if (!claimed_.empty()) apply_one(next_ack());
      return;
    }
    auto entry = workload_.entry(3 * kLivesPerEntry);
    const auto acks = std::min(claimed_.size(), kLivesPerEntry);
    for (std::size_t i = 0; i < kLivesPerEntry; ++i) {
      entry.commands.emplace_back(command::Enqueue{.job = workload_.next_job(), .idempotency = {}});
      entry.commands.emplace_back(feed == Feed::any ? workload_.claim_any()
                                                    : workload_.next_claim());
      if (i < acks) entry.commands.emplace_back(next_ack());
    }
    apply(entry);
  }

  command::Ack next_ack() {
    auto ref = claimed_.front();
    claimed_.pop_front();
    return {.ref = std::move(ref), .result = {}};
  }

  template <typename C>
  void apply_one(C&& command) {
    auto entry = workload_.entry(1);
    entry.commands.emplace_back(std::forward<C>(command));
    apply(entry);
  }

  void apply(const command::Entry& entry) {
    const auto begin = Clock::now();
    const auto outcome = engine_.apply(entry);
    deadlines_ ^= engine_.next_deadline().ms;
    const auto ns = ns_between(begin, Clock::now());
    applies_.push_back(ns);
    run_.seconds += static_cast<double>(ns) * 1e-9;
    read_replies(outcome);
    undrained_ += entry.commands.size();
    if (undrained_ >= kCommandsPerDrain) drain();
  }

  void drain() {
    const auto begin = Clock::now();
    const auto changes = engine_.drain_changes();
    const auto ns = ns_between(begin, Clock::now());
    run_.seconds += static_cast<double>(ns) * 1e-9;
    run_.drain_seconds += static_cast<double>(ns) * 1e-9;
    run_.drain_max_ns = std::max(run_.drain_max_ns, ns);
    undrained_ = 0;
  }

  void read_replies(const engine::Outcome& outcome) {
    for (const auto& reply : outcome.replies) {
      JOBBIE_CHECK(!std::holds_alternative<command::Refusal>(reply));
      if (const auto* claimed = std::get_if<command::Claimed>(&reply)) {
        JOBBIE_CHECK(!claimed->jobs.empty());
        for (const auto& job : claimed->jobs)
          claimed_.push_back({.job = job.job, .lease = job.lease, .worker = {}});
      } else if (std::holds_alternative<command::Settled>(reply)) {
        ++lived_;
      }
    }
  }

  engine::Engine& engine_;
  Workload& workload_;
  std::deque<command::LeaseRef> claimed_;
  std::vector<std::uint64_t> applies_;
  std::size_t lived_ = 0;
  std::size_t undrained_ = 0;
  std::int64_t deadlines_ = 0;  ///< keeps the reads from being optimised away
  SteadyRun run_;
};

}  // namespace

const char* to_string(Feed feed) {
  switch (feed) {
    case Feed::grouped:
      return "grouped";
    case Feed::single:
      return "single";
    case Feed::any:
      return "any";
    case Feed::bulk:
      return "bulk";
  }
  return "?";
}

SteadyRun run_steady(engine::Engine& engine, Workload& workload, Feed feed, std::size_t lives) {
  Loop warm_up(engine, workload);
  warm_up.run(feed, lives / 10);
  warm_up.finish();
  Loop loop(engine, workload);
  loop.run(feed, lives);
  const auto result = loop.result();
  loop.finish();
  return result;
}

}  // namespace jobbie::bench
