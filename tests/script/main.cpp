// Runs script files: each one three times, against three engines that are treated differently.
//
//   script_test FILE...             compares, and says what differs
//   JOBBIE_REWRITE=1 script_test …  writes what was printed into the files; read the difference
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "script/script.hpp"
#include "script/world.hpp"

namespace jobbie::script {
namespace {

struct Run {
  std::vector<std::string> traces;  ///< one for each step
  std::vector<std::uint64_t> hashes;
};

using Ticks = std::vector<std::vector<base::Instant>>;  ///< of each `until`

Run run_script(const Script& script, Mode mode, Ticks& ticks) {
  World world(mode, ticks);
  Run out;
  for (const auto& step : script.steps()) {
    out.traces.push_back(world.run(step.lines));
    const auto& trace = out.traces.back();
    if (!step.checked && (trace.starts_with("refused") || trace.find("\nrefused") != trace.npos))
      throw ScriptError(step.number(), "refused while setting the scene:\n" + trace);
  }
  out.hashes = world.hashes();
  return out;
}

bool same_trace(const std::string& file, int line, const char* title, const std::string& expected,
                const std::string& actual) {
  if (expected == actual) return true;
  fmt::print("{}:{}: {}\n--- expected\n{}--- printed\n{}---\n", file, line, title, expected,
             actual);
  return false;
}

/// `trace` without the lines on ready queues that `expected` does not have there. A reloaded engine
/// may call a queue ready once too often, which wakes somebody for nothing, but never too seldom.
std::string without_extra_ready(const std::string& trace, const std::string& expected) {
  std::istringstream lines(trace), wanted(expected);
  std::string out, line, want;
  bool more = static_cast<bool>(std::getline(wanted, want));
  while (std::getline(lines, line)) {
    const bool extra = line.starts_with("  ready:") && !(more && line == want);
    if (extra) continue;
    out += line + "\n";
    more = static_cast<bool>(std::getline(wanted, want));
  }
  return out;
}

/// Whether both runs printed the same and went through the same states.
bool same_runs(const std::string& file, const Script& script, const Run& plain, Mode mode,
               Ticks& ticks) {
  const Run other = run_script(script, mode, ticks);
  bool same = true;
  for (std::size_t i = 0; i < plain.traces.size(); ++i)
    same = same_trace(file, script.steps()[i].number(), to_string(mode), plain.traces[i],
                      without_extra_ready(other.traces[i], plain.traces[i])) &&
           same;
  for (std::size_t i = 0; i < plain.hashes.size() && same; ++i) {
    if (plain.hashes[i] == other.hashes.at(i)) continue;
    fmt::print("{}: {}: the hash after entry {} differs\n", file, to_string(mode), i + 1);
    same = false;
  }
  return same;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw ScriptError(0, "cannot read the file");
  return {std::istreambuf_iterator<char>(in), {}};
}

bool run_file(const std::string& file) {
  const auto text = read_file(file);
  const Script script(text);
  Ticks ticks;
  const Run plain = run_script(script, Mode::plain, ticks);
  bool good = true;
  if (std::getenv("JOBBIE_REWRITE") != nullptr) {
    std::ofstream(file, std::ios::binary) << script.with_traces(plain.traces);
  } else {
    for (std::size_t i = 0; i < script.steps().size(); ++i) {
      const auto& step = script.steps()[i];
      if (step.checked)
        good = same_trace(file, step.number(), "another trace", step.expected, plain.traces[i]) &&
               good;
    }
  }
  for (const Mode mode : {Mode::drained, Mode::reloaded})
    good = same_runs(file, script, plain, mode, ticks) && good;
  return good;
}

}  // namespace
}  // namespace jobbie::script

int main(int count, char** arguments) {
  int failed = 0;
  for (int i = 1; i < count; ++i) {
    const std::string file = arguments[i];
    try {
      if (!jobbie::script::run_file(file)) ++failed;
    } catch (const jobbie::script::ScriptError& error) {
      fmt::print("{}:{}: {}\n", file, error.line(), error.what());
      ++failed;
    }
  }
  fmt::print("{} of {} scripts passed\n", count - 1 - failed, count - 1);
  return failed == 0 && count > 1 ? 0 : 1;
}
