// The engine's benchmark: full lives at small and large backlogs, memory, checkpoints.
//
//   bench_engine [--json] [--quick] [--backlogs N,N…] [--lives N] [--jobs N]
//
// bench/README.md says what each figure means.
#include <cstdio>
#include <malloc.h>
#include <vector>

#include <fmt/format.h>

#include "bench/options.hpp"
#include "bench/report.hpp"
#include "bench/sections.hpp"
#include "bench/steady.hpp"
#include "bench/workload.hpp"

namespace jobbie::bench {
namespace {

constexpr std::size_t kManyQueues = 1000;

std::vector<Feed> feeds_for(Variant variant, std::size_t queues) {
  if (variant != Variant::plain) return {Feed::grouped, Feed::single};
  if (queues == 1) return {Feed::grouped, Feed::single, Feed::bulk};
  return {Feed::grouped, Feed::single, Feed::any};
}

/// All feeds of one variant on one backlog, which is filled once.
void measure_backlog(Report& report, Variant variant, std::size_t backlog, std::size_t queues) {
  NoEndedJobs ended;
  engine::Engine engine(ended);
  Workload workload(variant, queues);
  workload.set_up(engine);
  workload.fill(engine, backlog);
  for (const auto feed : feeds_for(variant, queues)) {
    SteadyFigure figure{
        .backlog = backlog, .queues = queues, .variant = variant, .feed = feed, .runs = {}};
    // Claims over a thousand queues are slow enough to be measured with fewer lives.
    const auto lives = feed == Feed::any ? report.options.lives / 10 : report.options.lives;
    for (std::size_t i = 0; i < report.options.repeats; ++i)
      figure.runs.push_back(run_steady(engine, workload, feed, lives));
    if (!report.options.json)
      fmt::print(stderr, "  {} jobs, {} queues, {}, {}: {:.0f} lives/s\n", backlog, queues,
                 to_string(variant), to_string(feed), figure.best_rate());
    report.steady.push_back(std::move(figure));
  }
}

Report measure(const RunOptions& options) {
  Report report{.options = options};
  report.clock_ns = measure_clock_ns();
  std::vector<Variant> variants{Variant::plain};
  if (!options.quick)
    variants.insert(variants.end(),
                    {Variant::unique, Variant::limits, Variant::keyed, Variant::fairness});
  for (const auto variant : variants) {
    for (const auto backlog : options.backlogs) {
      measure_backlog(report, variant, backlog, 1);
      measure_backlog(report, variant, backlog, kManyQueues);
      malloc_trim(0);
    }
    report.memory.push_back(measure_memory(variant, options.jobs));
  }
  report.commands = measure_commands(options.jobs);
  report.checkpoint = measure_checkpoint(options.jobs);
  return report;
}

}  // namespace
}  // namespace jobbie::bench

int main(int count, char** arguments) {
  const auto options = jobbie::bench::read_options(count, arguments);
  if (!options) {
    fmt::print(stderr, "{}\n", options.error());
    return 2;
  }
  const auto report = jobbie::bench::measure(*options);
  fmt::print("{}",
             options->json ? jobbie::bench::to_json(report) : jobbie::bench::to_table(report));
  return 0;
}
