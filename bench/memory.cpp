// Bytes of heap for each pending job, and the cost of the clock.
#include <malloc.h>

#include "bench/clock.hpp"
#include "bench/sections.hpp"

namespace jobbie::bench {
namespace {

/// Bytes that the program holds from the allocator: small blocks and mapped ones.
std::size_t heap_in_use() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace

MemoryFigure measure_memory(Variant variant, std::size_t jobs) {
  NoEndedJobs ended;
  malloc_trim(0);
  Workload workload(variant, 1);
  const auto before = heap_in_use();
  engine::Engine engine(ended);
  workload.set_up(engine);
  const double seconds = workload.fill(engine, jobs);
  const auto after = heap_in_use();
  const auto count = static_cast<double>(jobs);
  return {.variant = variant,
          .jobs = jobs,
          .overhead_bytes =
              static_cast<double>(after - before) / count - static_cast<double>(kPayloadBytes),
          .fill_rate = count / seconds};
}

double measure_clock_ns() {
  constexpr int kReads = 200'000;
  const auto begin = Clock::now();
  Clock::time_point last;
  for (int i = 0; i < kReads; ++i) last = Clock::now();
  return static_cast<double>(ns_between(begin, last)) / kReads;
}

}  // namespace jobbie::bench
