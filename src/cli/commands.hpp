// The commands of the binary that are clients of a server: declared, then the one that was given
// is run.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/session.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace jobbie::cli {

/// What the program knows and this layer does not.
struct Hooks {
  std::string version;
  /// Names and values of the server's settings as they would hold now, for `config show`.
  std::function<std::vector<std::pair<std::string, std::string>>()> server_settings;
};

using Action = std::function<int(Session&)>;

class Commands {
 public:
  /// Declares them all. `app` must outlive it.
  Commands(CLI::App& app, Hooks hooks);
  ~Commands();

  /// What stands behind `--` of `work` is a command of somebody else's: it is put aside, and the
  /// number of words that are left comes back.
  int put_command_aside(int argc, char** argv);

  /// After parsing: the exit code, or nothing if no command of this layer was given.
  std::optional<int> run();

  /// For those who declare. `examples` stand at the end of the help, one a line.
  CLI::App* add(CLI::App& parent, const std::string& name, const std::string& description,
                const std::string& examples = {});
  void on(CLI::App* command, Action action);
  /// --yes, for commands that ask.
  void add_yes(CLI::App* command);

  CLI::App& app() { return app_; }
  const Hooks& hooks() const { return hooks_; }
  const Globals& globals() const { return globals_; }
  const std::vector<std::string>& command_line() const { return command_line_; }

 private:
  void add_common(CLI::App* command);

  CLI::App& app_;
  Hooks hooks_;
  Globals globals_;
  std::vector<std::pair<CLI::App*, Action>> actions_;
  std::vector<std::string> command_line_;
};

// One function a file of commands.
void add_job_commands(Commands& commands);
void add_log_commands(Commands& commands);
void add_queue_commands(Commands& commands);
void add_search_commands(Commands& commands);
void add_bulk_commands(Commands& commands);
void add_overview_commands(Commands& commands);
void add_cluster_commands(Commands& commands);
void add_watch_commands(Commands& commands);
void add_schedule_commands(Commands& commands);
void add_group_commands(Commands& commands);
void add_key_commands(Commands& commands);
void add_work_commands(Commands& commands);
void add_backup_commands(Commands& commands);
void add_bench_commands(Commands& commands);
void add_dev_commands(Commands& commands);
void add_shell_commands(Commands& commands);

}  // namespace jobbie::cli
