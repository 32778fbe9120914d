// jobbie_sim: runs seeds and tells of the first that fails, with the command that replays it.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tests/sim/plants.hpp"
#include "tests/sim/runner.hpp"

namespace jobbie::sim {
namespace {

constexpr std::string_view kUsage = R"(usage: jobbie_sim [options]

  --seeds N            how many seeds (2000)
  --commands N         commands a seed, before it recovers (5000)
  --first-seed S       the first seed (1)
  --seed S             one seed, in this process; the same as it did among the others
  --trace              with --seed: print every command, reply and event
  --paranoid           compare everything after every entry: slow, but shows where it began
  --history-only       without the model: what the other checks find by themselves
  --jobs J             processes (1)
  --seconds N          start no new seed after this many seconds
  --coverage           print what was reached
  --require-coverage   fail if something that can happen was never seen
  --plant NAME         with a planted bug (jobbie_sim_planted only)
  --planted-test       every planted bug must be found within 60 s, and none without one
)";

struct Arguments {
  RunOptions run;
  std::optional<std::uint64_t> seed;
  bool coverage = false;
  bool require_coverage = false;
  bool planted_test = false;
  bool help = false;
};

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Reads a flag and its value; false: it is not one of ours.
bool read_flag(Arguments& a, std::string_view flag) {
  if (flag == "--trace") return a.run.sim.trace = true;
  if (flag == "--history-only") return a.run.sim.history_only = true;
  if (flag == "--paranoid") return a.run.sim.paranoid = true;
  if (flag == "--coverage") return a.coverage = true;
  if (flag == "--require-coverage") return a.require_coverage = true;
  if (flag == "--planted-test") return a.planted_test = true;
  if (flag == "--help" || flag == "-h") return a.help = true;
  return false;
}

bool read_value(Arguments& a, std::string_view flag, std::string_view text) {
  if (flag == "--plant") {
    const auto plant = plant_called(text);
    if (plant) a.run.sim.plant = *plant;
    return plant.has_value();
  }
  const auto value = number(text);
  if (!value) return false;
  if (flag == "--seeds")
    a.run.seeds = *value;
  else if (flag == "--commands")
    a.run.sim.commands = *value;
  else if (flag == "--first-seed")
    a.run.first_seed = *value;
  else if (flag == "--seed")
    a.seed = *value;
  else if (flag == "--jobs")
    a.run.processes = static_cast<unsigned>(*value);
  else if (flag == "--seconds")
    a.run.seconds = *value;
  else
    return false;
  return true;
}

std::optional<Arguments> read_arguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (read_flag(arguments, flag)) continue;
    if (i + 1 >= argc || !read_value(arguments, flag, argv[i + 1])) {
      fmt::print(stderr, "jobbie_sim: cannot read {}\n{}", flag, kUsage);
      return std::nullopt;
    }
    ++i;
  }
  return arguments;
}

std::string replay_line(const char* program, const Arguments& a, std::uint64_t seed) {
  std::string line = fmt::format("{} --seed {} --commands {}", program, seed, a.run.sim.commands);
  if (a.run.sim.plant != engine::Plant::none)
    line += fmt::format(" --plant {}", plant_name(a.run.sim.plant));
  return line + " --trace";
}

int replay(const char* program, const Arguments& a) {
  Coverage coverage;
  const SimResult result = simulate(*a.seed, a.run.sim, coverage);
  if (a.coverage) fmt::print("{}", coverage.table());
  if (result.violation.empty()) {
    fmt::print("sim: seed {} × {} commands, 0 violations\n", *a.seed, result.commands);
    return 0;
  }
  fmt::print("sim: seed {} entry {}: {}\nreplay: {}\n", *a.seed, result.entry, result.violation,
             replay_line(program, a, *a.seed));
  return 1;
}

int run(const char* program, const Arguments& a) {
  const RunResult result = run_seeds(a.run);
  if (a.coverage) fmt::print("{}", result.coverage.table());
  if (result.failed) {
    fmt::print("sim: seed {} entry {}: {}\nreplay: {}\n", result.failed_seed, result.failed_entry,
               result.violation, replay_line(program, a, result.failed_seed));
    return 1;
  }
  bool complete = true;
  if (a.require_coverage) {
    for (const auto& what : result.coverage.missing()) {
      fmt::print("sim: never seen: {}\n", what);
      complete = false;
    }
  }
  fmt::print("sim: {} seeds × {} commands, 0 violations, {:.0f} commands/s\n", result.seeds,
             a.run.sim.commands, static_cast<double>(result.commands) / result.seconds);
  return complete ? 0 : 1;
}

}  // namespace
}  // namespace jobbie::sim

int main(int argc, char** argv) {
  using namespace jobbie::sim;
  const auto arguments = read_arguments(argc, argv);
  if (!arguments) return 2;
  if (arguments->help) {
    fmt::print("{}", kUsage);
    return 0;
  }
  if (arguments->planted_test) return test_plants(arguments->run);
  return arguments->seed ? replay(argv[0], *arguments) : run(argv[0], *arguments);
}
