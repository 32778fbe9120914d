// What one request costs the node's thread when it is as large as it may be.
//
//   bench_largest [--quick]
//
// Each row is a command, or what goes in slices one slice, at its documented maximum: the time in
// `Engine::apply`, and in `drain_changes` after it. No request should take more than about 5 ms.
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/clock.hpp"
#include "bench/workload.hpp"
#include "model/limits.hpp"

namespace jobbie::bench {
namespace {

using base::Blob;
namespace limits = model::limits;

/// An engine with a clock, and what its latest entry took.
class Bed {
 public:
  std::vector<command::Reply> apply(std::vector<command::Command> commands,
                                    std::uint32_t work = 0) {
    command::Entry entry{
        .now = {now_ += 1}, .random = 7, .commands = std::move(commands), .work = work};
    const auto begin = Clock::now();
    auto outcome = engine_.apply(entry);
    const auto applied = Clock::now();
    apply_ms_ = static_cast<double>(ns_between(begin, applied)) / 1e6;
    rows_ = engine_.drain_changes().size();
    drain_ms_ = static_cast<double>(ns_between(applied, Clock::now())) / 1e6;
    return std::move(outcome.replies);
  }
  void pass(std::int64_t ms) { now_ += ms; }
  engine::Engine& engine() { return engine_; }

  void report(std::string_view what) {
    fmt::print("{:<58} {:>9.2f} {:>9.2f} {:>8}\n", what, apply_ms_, drain_ms_, rows_);
  }
  void report(std::string_view what, double ms) {
    fmt::print("{:<58} {:>9.2f} {:>9} {:>8}\n", what, ms, "", "");
  }

  std::vector<base::JobId> enqueue(
      std::size_t jobs, const std::function<void(std::size_t, model::JobSpec&)>& change) {
    std::vector<base::JobId> ids;
    for (std::size_t done = 0; done < jobs;) {
      command::EnqueueMany many;
      for (; done < jobs && many.jobs.size() < limits::kJobsPerRequest; ++done) {
        auto& job = many.jobs.emplace_back();
        job.queue = Blob("q");
        job.payload = Blob("{}");
        change(done, job);
      }
      const auto replies = apply({std::move(many)});
      for (const auto& job : std::get<command::EnqueuedMany>(replies.front()).jobs)
        ids.push_back(job.job);
    }
    return ids;
  }

 private:
  NoEndedJobs ended_;
  engine::Engine engine_{ended_};
  std::int64_t now_ = 1'760'000'000'000;
  double apply_ms_ = 0;
  double drain_ms_ = 0;
  std::size_t rows_ = 0;
};

command::Claim claim(std::vector<std::string> queues, std::uint32_t count) {
  command::Claim out{.queues = {}, .count = count};
  for (const auto& queue : queues) out.queues.emplace_back(queue);
  return out;
}

void enqueues() {
  const auto nothing = [](std::size_t, model::JobSpec&) {};
  Bed bed;
  bed.enqueue(limits::kJobsPerRequest, nothing);
  bed.report("enqueue 10,000 into one queue");
  bed.enqueue(limits::kJobsPerRequest,
              [](std::size_t i, auto& job) { job.unique.key = Blob("key" + std::to_string(i)); });
  bed.report("enqueue 10,000 with unique keys");
  bed.enqueue(limits::kJobsPerRequest,
              [](std::size_t i, auto& job) { job.queue = Blob("new" + std::to_string(i)); });
  bed.report("enqueue 10,000 into as many new queues");
  bed.enqueue(limits::kJobsPerRequest, [](std::size_t i, auto& job) {
    job.group = Blob("g" + std::to_string(i));
    job.tags = Blob(R"({"tenant":")" + std::to_string(i) + "\"}");
    job.requires_.roles = {Blob("r" + std::to_string(i % 100))};
  });
  bed.report("enqueue 10,000 with groups, tags and roles of their own");
  bed.enqueue(10'000, [](std::size_t i, auto& job) {
    for (std::uint32_t d = 0; i >= 10 && d < 10; ++d) job.depends_on_index.push_back(d);
  });
  bed.report("enqueue 10,000 x 10 dependencies");
  bed.enqueue(1'100, [](std::size_t i, auto& job) {
    for (std::uint32_t d = 0; i >= 1000 && d < 1000; ++d) job.depends_on_index.push_back(d);
  });
  bed.report("enqueue 100 x 1,000 dependencies");
}

void claims(std::size_t queues) {
  Bed bed;
  bed.enqueue(queues, [](std::size_t i, auto& job) { job.queue = Blob("q." + std::to_string(i)); });
  for (int i = 0; i < 3; ++i) bed.apply({claim({"q.*"}, 1)});
  bed.report(fmt::format("claim 1 by a glob of {} queues with jobs", queues));
  bed.apply({claim({"*"}, 1000)});
  bed.apply({claim({"*"}, 1000)});
  bed.report(fmt::format("claim 1,000 by a glob of {} queues with jobs", queues));
  std::vector<std::string> globs;
  for (int i = 0; i < 20; ++i)
    globs.push_back("*" + std::to_string(i) + "*?*7*" + std::to_string(i));
  double longest = 0;
  double all = 0;
  for (bool done = false; !done;) {
    std::size_t names = 4096;
    const auto begin = Clock::now();
    done = bed.engine().prepare(claim(globs, 1), names);
    const auto ms = seconds_since(begin) * 1000;
    longest = std::max(longest, ms);
    all += ms;
  }
  bed.report(fmt::format("20 new globs, {} queues: 4,096 names of them", queues), longest);
  bed.report(fmt::format("20 new globs, {} queues: in all, over many turns", queues), all);
  bed.apply({claim(globs, 1)});
  bed.report(fmt::format("claim 1 by 20 globs of {} queues", queues));
  bed.apply({claim({"nothing.*"}, 1)});
  bed.apply({claim({"nothing.*"}, 1)});
  bed.report(fmt::format("claim by a glob that matches none of {}", queues));
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back("q." + std::to_string(i));
  bed.apply({claim(names, 1000)});
  bed.report("claim 1,000 of 1,000 names");

  engine::NameScan scan{.list = engine::NameScan::List::queues,
                        .page = {.glob = "*77*", .limit = 1001}};
  longest = 0;
  for (bool done = false; !done;) {
    std::size_t budget = 20'000;
    const auto begin = Clock::now();
    done = bed.engine().look_through(scan, budget);
    longest = std::max(longest, seconds_since(begin) * 1000);
  }
  bed.report(fmt::format("list {} queues by a glob: 20,000 names of them", queues), longest);
  auto begin = Clock::now();
  static_cast<void>(bed.engine().queues(std::move(scan)));
  bed.report("list queues: a page of 1,000", seconds_since(begin) * 1000);
  begin = Clock::now();
  static_cast<void>(bed.engine().first_queues(1000));
  bed.report("metrics: 1,000 queues", seconds_since(begin) * 1000);
  begin = Clock::now();
  static_cast<void>(bed.engine().state_hash());
  bed.report(fmt::format("state hash, {} queues and jobs, in one go", queues),
             seconds_since(begin) * 1000);
  begin = Clock::now();
  static_cast<void>(bed.engine().state_hash());
  bed.report("state hash, jobs done before", seconds_since(begin) * 1000);
}

void settles() {
  Bed bed;
  bed.enqueue(40'000, [](std::size_t, model::JobSpec&) {});
  std::vector<command::ClaimedJob> held;
  while (held.size() < 30'000) {
    auto replies = bed.apply({claim({"q"}, 1000)});
    for (auto& job : std::get<command::Claimed>(replies.front()).jobs) held.push_back(job);
  }
  const auto ref = [&](std::size_t i) {
    return command::LeaseRef{.job = held[i].job, .lease = held[i].lease};
  };
  command::Heartbeat beats;
  for (std::size_t i = 0; i < 10'000; ++i)
    beats.beats.push_back({.ref = ref(i), .progress = Blob("{\"p\":1}"), .checkpoint = Blob("{}")});
  bed.apply({beats});
  bed.report("heartbeat of 10,000 jobs");
  std::vector<command::Command> acks;
  for (std::size_t i = 0; i < 10'000; ++i) acks.emplace_back(command::Ack{.ref = ref(i)});
  bed.apply(std::move(acks), 300);
  bed.report("ack of 10,000 jobs");
  std::vector<command::Command> fails;
  for (std::size_t i = 10'000; i < 20'000; ++i)
    fails.emplace_back(command::Fail{.ref = ref(i), .error = Blob("boom")});
  bed.apply(std::move(fails), 300);
  bed.report("fail of 10,000 jobs");
  command::AppendLogs logs{.ref = ref(20'000), .lines = {}};
  for (std::size_t i = 0; i < limits::kLogLinesPerRequest; ++i)
    logs.lines.push_back({.message = Blob(std::string(limits::kLogMessage, 'x'))});
  bed.apply({std::move(logs)});
  bed.report("1,000 log lines of 8 KiB");
}

void tasks(std::size_t jobs) {
  const auto slices = [&](std::string_view what, std::uint32_t work,
                          const command::Command& command) {
    Bed bed;
    bed.enqueue(jobs, [](std::size_t, auto& job) { job.group = Blob("g"); });
    bed.apply({command}, work);
    for (int i = 0; i < 20; ++i) bed.apply({command::Tick{}}, work);
    bed.report(fmt::format("{}: a slice of {}", what, work));
  };
  const command::QueueCommand clear{.queue = Blob("q"), .action = command::QueueAction::clear};
  slices("clear a queue", 1000, clear);
  slices("clear a queue", 300, clear);
  slices("delete a queue", 1000,
         command::QueueCommand{.queue = Blob("q"), .action = command::QueueAction::destroy});
  slices("cancel a group", 1000,
         command::GroupCommand{.group = Blob("g"), .action = command::GroupAction::cancel});
  slices("limit by a new key", 1000,
         command::SetConcurrency{.queue = Blob("q"), .max = 5, .per = Blob("group")});

  Bed bed;
  bed.enqueue(jobs, [](std::size_t, auto& job) { job.scheduled_at = {1'760'000'900'000}; });
  bed.pass(1'000'000);
  for (int i = 0; i < 20; ++i) bed.apply({command::Tick{}}, 1000);
  bed.report("jobs become due: a slice of 1,000");

  Bed dense;
  dense.enqueue(1000, [](std::size_t, auto& job) { job.queue = Blob("first"); });
  for (int request = 0; request < 20; ++request) {
    std::vector<base::JobId> first;
    dense.enqueue(1'100, [](std::size_t i, auto& job) {
      job.queue = Blob(i < 1000 ? "first" : "then");
      for (std::uint32_t d = 0; i >= 1000 && d < 1000; ++d) job.depends_on_index.push_back(d);
    });
  }
  auto replies = dense.apply({claim({"first"}, 1000)});
  std::vector<command::Command> acks;
  for (const auto& job : std::get<command::Claimed>(replies.front()).jobs)
    acks.emplace_back(command::Ack{.ref = {.job = job.job, .lease = job.lease}});
  replies = dense.apply({claim({"first"}, 1000)});
  for (const auto& job : std::get<command::Claimed>(replies.front()).jobs)
    acks.emplace_back(command::Ack{.ref = {.job = job.job, .lease = job.lease}});
  dense.apply(std::move(acks), 300);
  dense.report("2,000 acks, each with 100 dependents of 1,000 others");
  for (int i = 0; i < 10; ++i) dense.apply({command::Tick{}}, 1000);
  dense.report("release of such: a slice of 1,000");
}

void bulk_and_groups() {
  Bed bed;
  auto ids = bed.enqueue(10'000, [](std::size_t i, auto& job) {
    job.queue = Blob("q" + std::to_string(i));
    job.group = Blob("g");
  });
  bed.apply({command::GroupCommand{.group = Blob("g"), .action = command::GroupAction::pause}});
  bed.report("pause a group with jobs in 10,000 queues");
  bed.apply({command::GroupCommand{.group = Blob("g"), .action = command::GroupAction::resume}});
  bed.report("resume it");
  command::BulkStep step{.action = model::BulkAction::remove};
  step.jobs.assign(ids.begin(), ids.begin() + 1000);
  bed.apply({step});
  bed.report("a step of a bulk deletion: 1,000 jobs");
  const auto begin = Clock::now();
  static_cast<void>(bed.engine().why(ids.back()));
  bed.report("why", seconds_since(begin) * 1000);
}

void run(bool quick) {
  fmt::print("{:<58} {:>9} {:>9} {:>8}\n", "", "apply ms", "drain ms", "rows");
  enqueues();
  claims(quick ? 10'000 : limits::kQueues);
  settles();
  tasks(quick ? 20'000 : 1'000'000);
  bulk_and_groups();
}

}  // namespace
}  // namespace jobbie::bench

int main(int argc, char** argv) {
  jobbie::bench::run(argc > 1 && std::string_view(argv[1]) == "--quick");
  return 0;
}
