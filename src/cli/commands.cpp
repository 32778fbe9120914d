// The list of commands, what all of them accept, and the choice of the one to run.
#include "cli/commands.hpp"

#include <cstdio>
#include <cstring>

#include <CLI/CLI.hpp>

namespace jobbie::cli {

Commands::Commands(CLI::App& app, Hooks hooks) : app_(app), hooks_(std::move(hooks)) {
  add_common(&app_);
  add_job_commands(*this);
  add_log_commands(*this);
  add_queue_commands(*this);
  add_search_commands(*this);
  add_bulk_commands(*this);
  add_overview_commands(*this);
  add_cluster_commands(*this);
  add_watch_commands(*this);
  add_schedule_commands(*this);
  add_group_commands(*this);
  add_key_commands(*this);
  add_work_commands(*this);
  add_backup_commands(*this);
  add_bench_commands(*this);
  add_dev_commands(*this);
  add_shell_commands(*this);
}

Commands::~Commands() = default;

void Commands::add_common(CLI::App* command) {
  constexpr const char* kGroup = "Server and output";
  command->add_option("--url", globals_.url, "Address of the server [JOBBIE_URL]")->group(kGroup);
  command
      ->add_option("--token-file", globals_.token_file,
                   "File with the key [JOBBIE_TOKEN, JOBBIE_TOKEN_FILE]")
      ->group(kGroup);
  command
      ->add_option("--tls-ca", globals_.tls_ca,
                   "PEM file with the authority that an https server is trusted by [JOBBIE_TLS_CA]")
      ->group(kGroup);
  command
      ->add_flag("--tls-insecure", globals_.tls_insecure, "Take any certificate of an https server")
      ->group(kGroup);
  command->add_option("-o,--output", globals_.output, "table, json or ndjson")
      ->check(CLI::IsMember({"table", "json", "ndjson"}))
      ->group(kGroup);
  command->add_option("--timeout", globals_.timeout, "How long to wait for an answer (30s)")
      ->group(kGroup);
  command->add_flag("--no-color", globals_.no_color, "Without colours [NO_COLOR]")->group(kGroup);
}

void Commands::add_yes(CLI::App* command) {
  command->add_flag("-y,--yes", globals_.yes, "Do not ask");
}

CLI::App* Commands::add(CLI::App& parent, const std::string& name, const std::string& description,
                        const std::string& examples) {
  CLI::App* command = parent.add_subcommand(name, description);
  add_common(command);
  if (!examples.empty()) command->footer("Examples:\n" + examples);
  return command;
}

void Commands::on(CLI::App* command, Action action) {
  actions_.emplace_back(command, std::move(action));
}

int Commands::put_command_aside(int argc, char** argv) {
  bool work = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "work") == 0 || std::strcmp(argv[i], "complete") == 0) work = true;
    if (!work || std::strcmp(argv[i], "--") != 0) continue;
    command_line_.assign(argv + i + 1, argv + argc);
    return i;
  }
  return argc;
}

std::optional<int> Commands::run() {
  // The innermost one that was given: `schedules` alone lists, `schedules run` does something else.
  const std::pair<CLI::App*, Action>* chosen = nullptr;
  for (const auto& each : actions_) {
    if (!each.first->parsed()) continue;
    bool inner = false;
    for (const CLI::App* below : each.first->get_subcommands({})) inner = inner || below->parsed();
    if (!inner) chosen = &each;
  }
  if (chosen == nullptr) return std::nullopt;
  Session session(globals_);
  const int code = chosen->second(session);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  session.note("jobbie: cannot write to standard output");
  return code == kDone ? kFailed : code;
}

}  // namespace jobbie::cli
