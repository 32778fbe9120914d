// bench_load: puts load on a job server on this machine and prints one JSON object.
#include <cstdio>

#include <fmt/format.h>

#include "bench/load/options.hpp"
#include "bench/load/probe.hpp"
#include "bench/load/run.hpp"

namespace {

using namespace jobbie::bench::load;

std::string show(const Figures& f) {
  const auto us = [&](double share) {
    return static_cast<double>(f.latency.quantile_ns(share)) / 1000;
  };
  return fmt::format(
      R"({{"seconds":{:.3f},"enqueued":{},"acked":{},"enqueued_per_second":{:.0f},)"
      R"("acked_per_second":{:.0f},"busy":{},"late":{},"unaccounted":{},"client_cpu":{:.3f},)"
      R"("latency_us":{{"p50":{:.1f},"p99":{:.1f},"p999":{:.1f},"samples":{}}},"histogram":{}}})",
      f.seconds, f.enqueued, f.acked, static_cast<double>(f.enqueued) / f.seconds,
      static_cast<double>(f.acked) / f.seconds, f.busy, f.late, f.unaccounted, f.client_cpu,
      us(0.5), us(0.99), us(0.999), f.latency.samples(), f.latency.json());
}

int refuse(const std::string& why) {
  fmt::print(stderr, "bench_load: {}\n", why);
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  const auto options = read_options(count, arguments);
  if (!options) return refuse(options.error());
  if (options->mode == Mode::probe) {
    const auto seen = probe(options->directory);
    if (!seen) return refuse(seen.error());
    fmt::print("{{\"spin_ms\":{:.1f},\"syncs_per_second\":{:.0f},\"pings_per_second\":{:.0f}}}\n",
               seen->spin_ms, seen->syncs_per_second, seen->pings_per_second);
    return 0;
  }
  const auto figures = run(*options);
  if (!figures) return refuse(figures.error());
  fmt::print("{}\n", show(*figures));
  return 0;
}
