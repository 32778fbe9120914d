// The program: `jobbie <command>`.
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json.hpp"
#include "base/json_writer.hpp"
#include "base/terminal_text.hpp"
#include "cli/commands.hpp"
#include "cli/suggest.hpp"
#include "log/disk.hpp"
#include "recover.hpp"
#include "restore.hpp"
#include "server.hpp"
#include "settings.hpp"
#include "store/store.hpp"
#include "version.hpp"

namespace {

constexpr const char* kIntroduction = R"(Jobbie {}: a job queue in one binary.

Start a server, which keeps its data in ./data and listens on 127.0.0.1:8080:
  jobbie server

Then, in another terminal, hand in a job and run a command for it:
  jobbie enqueue test '{{"hello": "world"}}'
  jobbie work test -- cat
  jobbie top

Or without any client, over HTTP:
  curl -X POST http://localhost:8080/api/v1/enqueue \
    -H "Content-Type: application/json" \
    -d '{{"queue": "test", "payload": {{"hello": "world"}}}}'

`jobbie dev` starts a server with a demo workload, to look around.
`jobbie --help` lists all commands, `jobbie COMMAND --help` has examples.
)";

std::string json_of(const std::vector<std::string>& texts) {
  std::string out;
  jobbie::base::json::Writer json(out);
  json.begin_array();
  for (const auto& text : texts) json.string(text);
  json.end_array();
  return out;
}

/// A log is locked by its server as long as it runs.
bool is_in_use(const std::string& data_dir) {
  const auto lock = jobbie::log::posix_disk()->lock(data_dir + "/log");
  return !lock && lock.error().code == jobbie::log::kDirectoryInUse;
}

int check_database(const std::string& data_dir, bool json) {
  const bool in_use = is_in_use(data_dir);
  const auto findings = jobbie::store::check_database(data_dir + "/jobbie.db");
  if (!findings) {
    fmt::print(stderr, "jobbie: {}\n", findings.error().message);
    return 2;
  }
  if (in_use)
    fmt::print(stderr,
               "A server is running on {}: this is about what it has stored so far, the latest is "
               "in its log.\n",
               data_dir);
  const bool sound = findings->empty();
  if (json) {
    fmt::print("{{\"database\":{},\"sound\":{},\"server_running\":{},\"findings\":{}}}\n",
               jobbie::base::json::quote(data_dir + "/jobbie.db"), sound, in_use,
               json_of(*findings));
    return sound ? 0 : 1;
  }
  for (const auto& finding : *findings) fmt::print("{}\n", jobbie::base::printable(finding));
  if (sound) fmt::print("{}/jobbie.db is sound\n", data_dir);
  return sound ? 0 : 1;
}

void add_output(CLI::App* command, std::string& output) {
  command->add_option("-o,--output", output, "table, json or ndjson")
      ->check(CLI::IsMember({"table", "json", "ndjson"}));
}

int parse_failed(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() != 0)
    if (const auto said = jobbie::cli::unknown_command(app)) {
      fmt::print(stderr, "jobbie: {}\n", jobbie::base::printable(*said, jobbie::base::Lines::many));
      return 2;
    }
  return app.exit(error) == 0 ? 0 : 2;
}

int run(int argc, char** argv) {
  CLI::App app("Jobbie: a job queue in one binary");
  app.set_version_flag("--version", std::string(jobbie::app::kVersion));
  app.require_subcommand(0, 1);

  jobbie::app::Settings settings;
  CLI::App* server = app.add_subcommand("server", "Start a server");
  server->footer(
      "Examples:\n"
      "  jobbie server --data-dir ./data\n"
      "  jobbie server --data-dir /var/lib/jobbie --http 0.0.0.0:8080 --auth\n"
      "  jobbie server --cluster --peers b:9400,c:9400 --raft a:9400 --cluster-secret-file F");
  jobbie::app::declare_settings(*server, settings);

  CLI::App* version = app.add_subcommand("version", "Print the version");
  version->footer("Examples:\n  jobbie version\n  jobbie version --output json");
  std::string output = "table";
  add_output(version, output);

  std::string data_dir = settings.data_dir;
  CLI::App* db = app.add_subcommand("db", "Look after the database of a stopped server");
  db->require_subcommand(1);
  db->footer("Examples:\n  jobbie db check --data-dir /var/lib/jobbie");
  CLI::App* check = db->add_subcommand("check", "Compare every table with every other");
  check->footer("Examples:\n  jobbie db check --data-dir /var/lib/jobbie");
  check->add_option("--data-dir", data_dir, "Where everything is kept")->capture_default_str();
  add_output(check, output);

  jobbie::app::RestoreOptions restoring{
      .file = {}, .data_dir = settings.data_dir, .node = settings.node};
  CLI::App* restore = app.add_subcommand("restore", "Make a data directory from a backup");
  jobbie::app::declare_restore(*restore, restoring);

  jobbie::cli::Commands commands(
      app, {.version = std::string(jobbie::app::kVersion),
            .server_settings = [] { return jobbie::app::settings_in_force(); }});
  jobbie::app::RecoverOptions recovering;
  CLI::App* recover = app.get_subcommand("cluster")->add_subcommand(
      "recover", "Let a stopped node go on alone when the others are lost for good");
  jobbie::app::declare_recover(*recover, recovering);
  argc = commands.put_command_aside(argc, argv);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return parse_failed(app, error);
  }
  const bool json = output != "table" || commands.globals().output != "table";
  if (version->parsed()) {
    const std::string_view number = jobbie::app::kVersion;
    fmt::print("{}\n", json ? fmt::format("{{\"version\":\"{}\"}}", number)
                            : fmt::format("jobbie {}", number));
    return 0;
  }
  if (check->parsed()) return check_database(data_dir, json);
  if (recover->parsed()) return jobbie::app::recover(recovering);
  if (restore->parsed()) return jobbie::app::restore(restoring);
  if (server->parsed()) {
    if (auto complete = jobbie::app::complete_settings(*server, settings); !complete) {
      fmt::print(stderr, "jobbie: {}\n", complete.error().message);
      return 2;
    }
    return jobbie::app::run_server(settings);
  }
  if (const auto code = commands.run()) return *code;
  fmt::print(kIntroduction, jobbie::app::kVersion);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "jobbie: {}\n", error.what());
    return 1;
  }
}
