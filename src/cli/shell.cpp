// Around the commands themselves: completion for shells, man pages, `config show`.
#include <filesystem>
#include <fstream>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/man.hpp"
#include "cli/print.hpp"

namespace jobbie::cli {
namespace {

constexpr std::string_view kBash = R"(_jobbie() {
  local IFS=$'\n'
  COMPREPLY=($(jobbie complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _jobbie jobbie
)";
constexpr std::string_view kZsh = R"(#compdef jobbie
_jobbie() {
  local -a found
  found=("${(@f)$(jobbie complete -- "${(@)words[2,$CURRENT]}" 2>/dev/null)}")
  compadd -a found
}
compdef _jobbie jobbie
)";
constexpr std::string_view kFish = R"(function __jobbie_complete
  set -l words (commandline -opc) (commandline -ct)
  jobbie complete -- $words[2..-1] 2>/dev/null
end
complete -c jobbie -f -a '(__jobbie_complete)'
)";

/// The values of flags that have few.
std::vector<std::string> values_of(const std::string& flag) {
  if (flag == "--output" || flag == "-o") return {"table", "json", "ndjson"};
  if (flag == "--state")
    return {"scheduled", "waiting",   "pending", "active",
            "retrying",  "completed", "dead",    "cancelled"};
  if (flag == "--priority") return {"critical", "high", "normal"};
  if (flag == "--order") return {"asc", "desc"};
  if (flag == "--scope") return {"produce", "work", "manage", "admin"};
  return {};
}

bool takes_value(const CLI::App& command, const std::string& word) {
  for (const CLI::Option* option : command.get_options())
    if (option->check_name(word)) return option->get_expected_max() > 0;
  return false;
}

CLI::App* below_called(CLI::App& command, const std::string& name) {
  for (CLI::App* below : command.get_subcommands([](CLI::App*) { return true; }))
    if (below->get_name() == name) return below;
  return nullptr;
}

/// The names of queues, if a server is there to tell them.
std::vector<std::string> queue_names(Session& session) {
  std::vector<std::string> names;
  if (const auto page = session.get("/api/v1/queues?limit=200"))
    for (const auto& queue : (*page)["queues"].items()) names.push_back(queue["name"].text());
  return names;
}

/// What the last of `words` may become.
std::vector<std::string> candidates(CLI::App& app, Session& session,
                                    const std::vector<std::string>& words) {
  CLI::App* command = &app;
  std::string before;
  std::size_t positionals = 0;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const bool value = !before.empty() && takes_value(*command, before);
    before = words[i];
    if (value) {
      before.clear();
      continue;
    }
    if (words[i].starts_with('-')) continue;
    CLI::App* below = below_called(*command, words[i]);
    if (below != nullptr) command = below;
    positionals += below == nullptr ? 1 : 0;
  }
  if (!before.empty() && takes_value(*command, before)) {
    if (before == "--queue") return queue_names(session);
    return values_of(before);
  }
  std::vector<std::string> found;
  const std::string last = words.empty() ? "" : words.back();
  if (last.starts_with('-')) {
    for (const CLI::Option* option : command->get_options())
      for (const auto& name : option->get_lnames()) found.push_back("--" + name);
    return found;
  }
  for (const CLI::App* below : command->get_subcommands({}))
    if (!below->get_group().empty()) found.push_back(below->get_name());
  const CLI::Option* queue = command->get_option_no_throw("queue");
  if (queue != nullptr && (positionals == 0 || queue->get_expected_max() > 1))
    for (auto& name : queue_names(session)) found.push_back(std::move(name));
  return found;
}

int complete(Commands& commands, Session& session) {
  const auto& words = commands.command_line();
  const std::string last = words.empty() ? "" : words.back();
  for (const auto& word : candidates(commands.app(), session, words))
    if (word.starts_with(last)) fmt::print("{}\n", word);
  return kDone;
}

int show_config(Commands& commands, Session& session) {
  const auto connection = connection_of(commands.globals());
  if (!connection) return session.fail(connection.error());
  std::vector<std::array<std::string, 3>> rows = {
      {"url", connection->url.value, connection->url.source},
      {"token", connection->token.value.empty() ? "" : "(set, not shown)",
       connection->token.source},
      {"tls-ca", connection->tls_ca.value, connection->tls_ca.source},
      {"config", connection->config.value, connection->config.source}};
  if (commands.hooks().server_settings)
    for (const auto& [name, value] : commands.hooks().server_settings())
      rows.push_back({"server." + name, value, ""});
  Table table({{"SETTING"}, {"VALUE"}, {"FROM"}});
  for (const auto& [name, value, source] : rows) {
    if (session.json()) {
      fmt::print("{{\"setting\":{},\"value\":{},\"from\":{}}}\n", client::quoted(name),
                 client::quoted(value), client::quoted(source));
    } else {
      table.add({{name}, {value}, {source, Style::dim}});
    }
  }
  if (!session.json()) table.print(session);
  return kDone;
}

int write_man(Commands& commands, Session& session, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  for (const auto& [name, text] : man_pages(commands.app(), commands.hooks().version)) {
    std::ofstream out(folder + "/" + name, std::ios::binary);
    out << text;
    if (!out.flush()) return session.usage("cannot write " + folder + "/" + name);
  }
  return kDone;
}

}  // namespace

void add_shell_commands(Commands& commands) {
  auto shell = std::make_shared<std::string>();
  CLI::App* c = commands.add(
      commands.app(), "completion", "Print the completion of a shell",
      "  source <(jobbie completion bash)\n  jobbie completion zsh > ~/.zfunc/_jobbie\n"
      "  jobbie completion fish > ~/.config/fish/completions/jobbie.fish");
  c->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  commands.on(c, [shell](Session&) {
    fmt::print("{}", *shell == "bash" ? kBash : *shell == "zsh" ? kZsh : kFish);
    return kDone;
  });
  CLI::App* words = commands.add(commands.app(), "complete", "What a shell asks");
  words->group("");
  commands.on(words, [&commands](Session& session) { return complete(commands, session); });
  auto folder = std::make_shared<std::string>("man");
  CLI::App* man = commands.add(commands.app(), "man", "Write the manual pages",
                               "  jobbie man /usr/local/share/man/man1");
  man->add_option("folder", *folder, "Where to");
  commands.on(
      man, [&commands, folder](Session& session) { return write_man(commands, session, *folder); });
  CLI::App* config =
      commands.add(commands.app(), "config", "The settings in force", "  jobbie config show");
  config->require_subcommand(1);
  CLI::App* show =
      commands.add(*config, "show", "Show settings and where they come from; secrets are hidden",
                   "  jobbie config show");
  commands.on(show, [&commands](Session& session) { return show_config(commands, session); });
}

}  // namespace jobbie::cli
