// Tables and JSON.
#include "bench/report.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "bench/clock.hpp"

namespace jobbie::bench {
namespace {

constexpr double kSmallBacklogRate = 1'000'000;
constexpr double kSlowerAtAMillion = 1.5;
constexpr double kOverheadBytes = 300;
constexpr std::size_t kMillion = 1'000'000;

/// Best rate of plain jobs in one queue, grouped; negative if that was not measured.
double plain_rate(const Report& report, std::size_t backlog) {
  for (const auto& f : report.steady) {
    if (f.backlog == backlog && f.queues == 1 && f.variant == Variant::plain &&
        f.feed == Feed::grouped)
      return f.best_rate();
  }
  return -1;
}

std::string steady_json(const SteadyFigure& f) {
  const auto& best = f.best();
  return fmt::format(
      R"({{"backlog":{},"queues":{},"variant":"{}","feed":"{}","lives":{},"runs":{},)"
      R"("best_lives_per_second":{:.0f},"median_lives_per_second":{:.0f},)"
      R"("wall_lives_per_second":{:.0f},"all_in_lives_per_second":{:.0f},"core_share":{:.3f},"drain_share":{:.3f},"apply_p50_ns":{},)"
      R"("apply_p999_ns":{},"apply_max_ns":{},"drain_max_ns":{},"preemptions":{}}})",
      f.backlog, f.queues, to_string(f.variant), to_string(f.feed), best.lives, f.runs.size(),
      f.best_rate(), f.median_rate(), best.wall_rate(), best.all_in_rate(), best.core_share,
      best.drain_seconds / best.seconds, best.apply_p50_ns, best.apply_p999_ns, best.apply_max_ns,
      best.drain_max_ns, best.preemptions);
}

std::string checkpoint_json(const CheckpointFigure& c) {
  const auto jobs = static_cast<double>(c.jobs);
  return fmt::format(
      R"({{"jobs":{},"bytes":{},"dump_seconds":{:.4f},"dump_encoded_seconds":{:.4f},)"
      R"("load_seconds":{:.4f},"dump_jobs_per_second":{:.0f},"load_jobs_per_second":{:.0f},)"
      R"("first_hash_seconds":{:.4f},"next_hash_seconds":{:.6f}}})",
      c.jobs, c.bytes, c.dump_seconds, c.dump_encoded_seconds, c.load_seconds,
      jobs / c.dump_encoded_seconds, jobs / c.load_seconds, c.first_hash_seconds,
      c.next_hash_seconds);
}

template <typename List, typename Show>
std::string json_list(const List& list, Show show) {
  std::string out = "[";
  for (const auto& item : list) {
    if (out.size() > 1) out += ',';
    out += show(item);
  }
  return out + "]";
}

void add_steady_table(std::string& out, const Report& report) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "Full lives a second (enqueue, claim, ack of a {}-byte payload)\n\n",
                 kPayloadBytes);
  fmt::format_to(
      to,
      "{:>10} {:>7} {:<9} {:<8} {:>10} {:>10} {:>10} {:>10} {:>6} {:>6} {:>9} {:>9} {:>9} {:>9}\n",
      "backlog", "queues", "variant", "feed", "best", "median", "by clock", "all in", "core",
      "drain", "p50 us", "p99.9 us", "max us", "drain max");
  for (const auto& f : report.steady) {
    const auto& b = f.best();
    const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1000; };
    fmt::format_to(
        to,
        "{:>10} {:>7} {:<9} {:<8} {:>10.0f} {:>10.0f} {:>10.0f} {:>10.0f} {:>5.0f}% {:>5.0f}% "
        "{:>9.2f} {:>9.2f} {:>9.1f} {:>9.1f}\n",
        f.backlog, f.queues, to_string(f.variant), to_string(f.feed), f.best_rate(),
        f.median_rate(), b.wall_rate(), b.all_in_rate(), 100 * b.core_share,
        100 * b.drain_seconds / b.seconds, us(b.apply_p50_ns), us(b.apply_p999_ns),
        us(b.apply_max_ns), us(b.drain_max_ns));
  }
}

void add_other_tables(std::string& out, const Report& report) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "\nMemory for each pending job beside its {} bytes of payload\n\n",
                 kPayloadBytes);
  for (const auto& m : report.memory)
    fmt::format_to(to, "{:>10} jobs {:<9} {:>7.1f} bytes   enqueued in thousands at {:.0f}/s\n",
                   m.jobs, to_string(m.variant), m.overhead_bytes, m.fill_rate);
  fmt::format_to(to, "\nSingle commands, one an entry, at a backlog of {} (ns)\n\n",
                 report.options.jobs);
  for (const auto& c : report.commands)
    fmt::format_to(to, "{:<22} mean {:>9.0f}   p99.9 {:>9.0f}   max {:>9.0f}   of {}\n", c.kind,
                   c.mean_ns, c.p999_ns, c.max_ns, c.count);
  const auto& c = report.checkpoint;
  fmt::format_to(to,
                 "\nCheckpoint of {} jobs, {:.1f} MB\n\n"
                 "dump           {:>8.3f} s\ndump, encoded  {:>8.3f} s  {:>9.0f} jobs/s\n"
                 "decode, load   {:>8.3f} s  {:>9.0f} jobs/s\n"
                 "state hash     {:>8.3f} s first, {:.6f} s after 1,000 jobs more\n",
                 c.jobs, static_cast<double>(c.bytes) / 1e6, c.dump_seconds, c.dump_encoded_seconds,
                 static_cast<double>(c.jobs) / c.dump_encoded_seconds, c.load_seconds,
                 static_cast<double>(c.jobs) / c.load_seconds, c.first_hash_seconds,
                 c.next_hash_seconds);
}

}  // namespace

const SteadyRun& SteadyFigure::best() const {
  return *std::ranges::max_element(runs, {}, [](const auto& run) { return run.rate(); });
}

double SteadyFigure::median_rate() const {
  std::vector<double> rates;
  for (const auto& run : runs) rates.push_back(run.rate());
  return quantile(rates, 0.5);
}

std::vector<Target> targets(const Report& report) {
  const double small = plain_rate(report, 1'000);
  const double large = plain_rate(report, kMillion);
  double overhead = -1;
  for (const auto& m : report.memory) {
    if (m.variant == Variant::plain) overhead = m.overhead_bytes;
  }
  return {{.what = "lives a second at a backlog of 1,000",
           .promised = kSmallBacklogRate,
           .seen = small,
           .at_most = false},
          {.what = "times slower at a backlog of 1,000,000",
           .promised = kSlowerAtAMillion,
           .seen = small < 0 || large < 0 ? -1 : small / large,
           .at_most = true},
          {.what = "bytes for each pending job beside its payload",
           .promised = kOverheadBytes,
           .seen = overhead,
           .at_most = true}};
}

const char* what_is_timed() {
  return "One thread. Timed: apply() and next_deadline() for every entry, drain_changes() about "
         "every 1,000 commands. Not timed: building commands, reading replies, freeing entries, "
         "replies and changes; 'all in' has those too. Ended jobs are kept by retention (7 days) "
         "and leave memory with the drain. Rates are lives a second of one core: where other "
         "programs took the core away, the thread had it for the share 'core' of the time, and "
         "'by clock' is what the clock alone says. 'p50', 'p99.9' and 'max' are of apply() for one "
         "entry in the best run, by the clock.";
}

std::string to_table(const Report& report) {
  std::string out = fmt::format(
      "{}\nOne reading of the clock takes {:.0f} ns; a timed entry "
      "contains about one.\n\n",
      what_is_timed(), report.clock_ns);
  add_steady_table(out, report);
  add_other_tables(out, report);
  out += "\nTargets\n\n";
  for (const auto& t : targets(report)) {
    const char* verdict = !t.measured() ? "not measured" : t.reached() ? "reached" : "MISSED";
    out += fmt::format("{:<48} {} {:>10.1f}   seen {:>10.1f}   {}\n", t.what,
                       t.at_most ? "<=" : ">=", t.promised, t.seen, verdict);
  }
  return out;
}

std::string to_json(const Report& report) {
  const auto& o = report.options;
  return fmt::format(
      R"({{"benchmark":"engine","timed":"{}","clock_ns":{:.1f},"payload_bytes":{},"repeats":{},)"
      R"("steady":{},"memory":{},"commands":{},"checkpoint":{},"targets":{}}})"
      "\n",
      what_is_timed(), report.clock_ns, kPayloadBytes, o.repeats,
      json_list(report.steady, steady_json),
      json_list(
          report.memory,
          [](const auto& m) {
            return fmt::format(
                R"({{"jobs":{},"variant":"{}","overhead_bytes":{:.1f},"fill_jobs_per_second":{:.0f}}})",
                m.jobs, to_string(m.variant), m.overhead_bytes, m.fill_rate);
          }),
      json_list(
          report.commands,
          [](const auto& c) {
            return fmt::format(
                R"({{"kind":"{}","count":{},"mean_ns":{:.0f},"p999_ns":{:.0f},"max_ns":{:.0f}}})",
                c.kind, c.count, c.mean_ns, c.p999_ns, c.max_ns);
          }),
      checkpoint_json(report.checkpoint), json_list(targets(report), [](const auto& t) {
        return fmt::format(R"({{"what":"{}","{}":{:.2f},"seen":{},"reached":{}}})", t.what,
                           t.at_most ? "at_most" : "at_least", t.promised,
                           t.measured() ? fmt::format("{:.2f}", t.seen) : "null",
                           t.measured() ? (t.reached() ? "true" : "false") : "null");
      }));
}

}  // namespace jobbie::bench
