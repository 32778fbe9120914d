// The time of single commands, kind by kind.
#include <functional>
#include <utility>

#include "base/check.hpp"
#include "bench/clock.hpp"
#include "bench/sections.hpp"

namespace jobbie::bench {
namespace {

constexpr std::size_t kEach = 20'000;

/// Applies commands one an entry and keeps the times of the latest kind.
class Bench {
 public:
  explicit Bench(std::size_t backlog) : engine_(ended_), workload_(Variant::plain, 1) {
    workload_.set_up(engine_);
    workload_.fill(engine_, backlog);
  }

  std::vector<CommandFigure> run() {
    enqueue();
    claim();
    measure("heartbeat", [&](std::size_t i) {
      command::Heartbeat out;
      out.beats.push_back({.ref = held_[i], .progress = {}, .checkpoint = {}});
      return out;
    });
    measure("ack", [&](std::size_t i) { return command::Ack{.ref = held_[i], .result = {}}; });
    claim();
    measure("fail to retrying", [&](std::size_t i) {
      return command::Fail{.ref = held_[i],
                           .error = base::Blob("boom"),
                           .backtrace = {},
                           .no_retry = false,
                           .retry_in = base::seconds(1)};
    });
    promote();
    measure("move", [&](std::size_t i) {
      return command::Move{.job = held_[i].job, .queue = base::Blob("elsewhere")};
    });
    measure("set_priority", [&](std::size_t i) {
      return command::SetPriority{.job = held_[i].job, .priority = 1};
    });
    measure("delete", [&](std::size_t i) { return command::Delete{.job = held_[i].job}; });
    measure("cancel", [&](std::size_t i) { return command::Cancel{.job = tail_[i]}; });
    measure("retry", [&](std::size_t i) { return command::Retry{.job = tail_[i], .payload = {}}; });
    return std::move(figures_);
  }

 private:
  void enqueue() {
    measure("enqueue", [&](std::size_t) {
      return command::Enqueue{.job = workload_.next_job(), .idempotency = {}};
    });
  }

  void claim() {
    held_.clear();
    measure("claim", [&](std::size_t) { return workload_.next_claim(); });
    if (figures_.size() > 2 && figures_.back().kind == "claim") figures_.pop_back();
  }

  /// One tick for a thousand timers, until all of the failed jobs are pending again.
  void promote() {
    std::vector<std::uint64_t> times;
    for (std::size_t i = 0; i < kEach / 1000 + 1; ++i) {
      command::Entry entry{.now = workload_.now() + base::seconds(5), .random = 1, .commands = {}};
      entry.commands.emplace_back(command::Tick{});
      times.push_back(apply(entry));
    }
    times.pop_back();
    add("tick of 1,000 timers", times);
    const auto changes = engine_.drain_changes();
  }

  template <typename Make>
  void measure(const char* kind, Make make) {
    std::vector<std::uint64_t> times;
    times.reserve(kEach);
    for (std::size_t i = 0; i < kEach; ++i) {
      auto entry = workload_.entry(1);
      entry.commands.emplace_back(make(i));
      times.push_back(apply(entry));
    }
    add(kind, times);
    // Ended jobs stay in memory for the retry that follows their cancellation.
    if (std::string_view(kind) != "cancel") const auto changes = engine_.drain_changes();
  }

  std::uint64_t apply(const command::Entry& entry) {
    const auto begin = Clock::now();
    const auto outcome = engine_.apply(entry);
    const auto ns = ns_between(begin, Clock::now());
    const auto& reply = outcome.replies.front();
    JOBBIE_CHECK(!std::holds_alternative<command::Refusal>(reply));
    if (const auto* claimed = std::get_if<command::Claimed>(&reply))
      held_.push_back(
          {.job = claimed->jobs.front().job, .lease = claimed->jobs.front().lease, .worker = {}});
    if (const auto* enqueued = std::get_if<command::Enqueued>(&reply))
      tail_.push_back(enqueued->job);
    return ns;
  }

  void add(const char* kind, const std::vector<std::uint64_t>& times) {
    double sum = 0;
    for (const auto ns : times) sum += static_cast<double>(ns);
    figures_.push_back({.kind = kind,
                        .count = times.size(),
                        .mean_ns = sum / static_cast<double>(times.size()),
                        .p999_ns = static_cast<double>(quantile(times, 0.999)),
                        .max_ns = static_cast<double>(quantile(times, 1))});
  }

  NoEndedJobs ended_;
  engine::Engine engine_;
  Workload workload_;
  std::vector<command::LeaseRef> held_;
  std::vector<base::JobId> tail_;
  std::vector<CommandFigure> figures_;
};

}  // namespace

std::vector<CommandFigure> measure_commands(std::size_t jobs) {
  return Bench(std::max(jobs, 4 * kEach)).run();
}

}  // namespace jobbie::bench
