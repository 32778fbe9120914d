// A program that runs for a job: started without a shell, fed, listened to, and ended with all that
// it started.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "client/error.hpp"

namespace jobbie::cli {

/// What became of it: the exit code, or the signal that ended it.
struct Ending {
  int code = -1;
  int signal = 0;
};

/// What the process should get next from its owner.
enum class Push { none, terminate, kill };

struct Launch {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> environment;  ///< beside ours
  std::string input;
  /// A piece of its output; `error` tells which one.
  std::function<void(std::string_view bytes, bool error)> on_output;
  /// Asked about ten times a second.
  std::function<Push()> on_tick;
};

/// Longest argument or `NAME=VALUE` that the system hands to a program.
inline constexpr std::size_t kLongestText = (std::size_t{128} << 10) - 1;

/// Runs it to its end, in a process group of its own; it is killed if we are. SIGPIPE must be
/// ignored by the caller.
client::Result<Ending> run_process(const Launch& launch);

/// Whether `program` can be started as it is named.
bool can_run(const std::string& program);

}  // namespace jobbie::cli
