// jobbie_cluster_sim: runs seeds and tells of the first that fails, with the command that replays
// it.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tests/cluster_sim/runner.hpp"

namespace jobbie::cluster_sim {
namespace {

constexpr std::string_view kUsage = R"(usage: jobbie_cluster_sim [options]

  --seeds N            how many seeds (100)
  --first S            the first seed (1)
  --minutes M          simulated minutes of faults a seed, before everything heals (5)
  --jobs J             processes (1)
  --seconds N          start no new seed after this many seconds
  --hours H            fail unless this many hours were simulated
  --require-coverage   fail if some kind of fault or event never happened
  --seed S             one seed, in this process; the same as it did among the others
  --trace              with --seed: print what happens
  --plant NAME         with a planted bug
  --planted-test       every planted bug must be found within 60 s, and none without one
  --replay-test        run every seed twice: both must be the same
)";

struct Arguments {
  RunOptions run;
  std::optional<std::uint64_t> seed;
  std::uint64_t hours = 0;
  bool coverage = false;
  bool planted_test = false;
  bool replay_test = false;
  bool help = false;
};

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool take_flag(Arguments& arguments, std::string_view name) {
  if (name == "--trace") return arguments.run.sim.trace = true;
  if (name == "--require-coverage") return arguments.coverage = true;
  if (name == "--planted-test") return arguments.planted_test = true;
  if (name == "--replay-test") return arguments.replay_test = true;
  if (name == "--help") return arguments.help = true;
  return false;
}

bool take_value(Arguments& arguments, std::string_view name, std::string_view text) {
  if (name == "--plant") {
    const auto plant = plant_called(text);
    if (plant) arguments.run.sim.plant = *plant;
    return plant.has_value();
  }
  const auto value = number(text);
  if (!value) return false;
  if (name == "--seeds") return arguments.run.seeds = *value, true;
  if (name == "--first") return arguments.run.first_seed = *value, true;
  if (name == "--minutes") return arguments.run.sim.minutes = *value, true;
  if (name == "--jobs") return arguments.run.processes = static_cast<unsigned>(*value), true;
  if (name == "--seconds") return arguments.run.seconds = *value, true;
  if (name == "--hours") return arguments.hours = *value, true;
  if (name == "--seed") return arguments.seed = *value, true;
  return false;
}

std::optional<Arguments> parse(const std::vector<std::string_view>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (take_flag(arguments, words[i])) continue;
    if (i + 1 >= words.size() || !take_value(arguments, words[i], words[i + 1]))
      return std::nullopt;
    ++i;
  }
  return arguments;
}

std::string replay_line(const Arguments& arguments, std::uint64_t seed) {
  const auto plant = arguments.run.sim.plant;
  return fmt::format("./dev sim --cluster --seed {} --minutes {}{} --trace", seed,
                     arguments.run.sim.minutes,
                     plant == Plant::none ? "" : fmt::format(" --plant {}", plant_name(plant)));
}

int run_one(const Arguments& arguments) {
  Counts counts;
  const SimResult result = simulate(*arguments.seed, arguments.run.sim, counts);
  fmt::print("seed {}: {:.1f} simulated seconds, trace {:016x}\n", *arguments.seed,
             static_cast<double>(result.at_us) / 1e6, result.trace_hash);
  if (result.violation.empty()) return 0;
  fmt::print("VIOLATION: {}\n", result.violation);
  return 1;
}

int run_many(const Arguments& arguments) {
  RunResult result = run_seeds(arguments.run);
  const double hours = static_cast<double>(result.simulated_us) / 3.6e9;
  int missing = 0;
  for (std::size_t i = 0; i < kCounts; ++i) {
    fmt::print("{:>12} {}\n", result.counts.values[i], count_name(static_cast<Count>(i)));
    if (result.counts.values[i] == 0) ++missing;
  }
  fmt::print("cluster sim: {} seeds, {:.2f} simulated hours in {:.1f} s ({:.0f} a second)\n",
             result.seeds, hours, result.seconds, hours * 3600 / result.seconds);
  if (result.failed) {
    fmt::print("VIOLATION in seed {} at {:.4f} s: {}\nreplay: {}\n", result.failed_seed,
               static_cast<double>(result.failed_at_us) / 1e6, result.violation,
               replay_line(arguments, result.failed_seed));
    return 1;
  }
  if (hours < static_cast<double>(arguments.hours)) {
    fmt::print("cluster sim: {} hours were asked for\n", arguments.hours);
    return 1;
  }
  if (arguments.coverage && missing != 0) {
    fmt::print("cluster sim: {} of these never happened\n", missing);
    return 1;
  }
  return 0;
}

int run(const std::vector<std::string_view>& words) {
  const auto arguments = parse(words);
  if (!arguments || arguments->help) {
    fmt::print("{}", kUsage);
    return arguments ? 0 : 2;
  }
  if (arguments->planted_test) return test_plants(arguments->run);
  if (arguments->replay_test) return test_replay(arguments->run);
  return arguments->seed ? run_one(*arguments) : run_many(*arguments);
}

}  // namespace
}  // namespace jobbie::cluster_sim

int main(int argc, char** argv) {
  return jobbie::cluster_sim::run(std::vector<std::string_view>(argv + 1, argv + argc));
}
