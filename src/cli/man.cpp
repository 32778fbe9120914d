// Writes the pages as roff.
#include "cli/man.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace jobbie::cli {
namespace {

constexpr std::string_view kTail = R"(.SH ENVIRONMENT
.TP
.B JOBBIE_URL
Address of the server, http://127.0.0.1:8080 unless given.
.TP
.B JOBBIE_TOKEN\fR, \fBJOBBIE_TOKEN_FILE
The API key, or the file that holds it.
.TP
.B JOBBIE_TLS_CA
PEM file with the authority that signed the certificate of an https server; else the system's are trusted.
.TP
.B JOBBIE_CONFIG
A TOML file; its table [client] may have url, token\-file and tls\-ca.
.TP
.B NO_COLOR
Without colours.
.SH EXIT STATUS
0 done; 1 failed; 2 wrong usage or a value refused; 3 no server, or one that cannot serve now; 4 not found;
5 wrong state; 6 no permission; 7 some of many could not be done; 130 declined or interrupted.
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '-') {
      out += "\\-";
    } else if (c == '\\') {
      out += "\\e";
    } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
      out += std::string("\\&") + c;
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string options_of(const CLI::App& command) {
  std::string out;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    const std::string name =
        option->get_positional() ? option->get_name(true) : option->get_name(false, true);
    out += fmt::format(".TP\n.B {}\n{}\n", escaped(name), escaped(option->get_description()));
  }
  return out;
}

std::string commands_of(const CLI::App& command) {
  std::string out;
  for (const CLI::App* below : command.get_subcommands({}))
    if (!below->get_group().empty())
      out += fmt::format(".TP\n.B {}\n{}\n", escaped(below->get_name()),
                         escaped(below->get_description()));
  return out;
}

std::string page(const CLI::App& command, const std::string& words, const std::string& version) {
  std::string title = words;
  for (char& c : title) c = c == ' ' ? '-' : c;
  std::string out = fmt::format(
      ".TH {} 1 \"\" \"Jobbie {}\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n", escaped(title),
      version, escaped(title), escaped(command.get_description()), escaped(words));
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional()) out += fmt::format(".I {}\n", escaped(option->get_name(true)));
  if (!commands_of(command).empty()) out += ".I COMMAND\n";
  out += "[OPTIONS]\n";
  if (const auto list = commands_of(command); !list.empty()) out += ".SH COMMANDS\n" + list;
  out += ".SH OPTIONS\n" + options_of(command);
  if (std::string footer = command.get_footer(); !footer.empty()) {
    if (footer.starts_with("Examples:\n")) footer = footer.substr(10);
    out += ".SH EXAMPLES\n.nf\n" + escaped(footer) + "\n.fi\n";
  }
  return out.append(kTail);
}

void add_pages(const CLI::App& command, const std::string& words, const std::string& version,
               std::vector<std::pair<std::string, std::string>>& out) {
  std::string file = words;
  for (char& c : file) c = c == ' ' ? '-' : c;
  out.emplace_back(file + ".1", page(command, words, version));
  for (const CLI::App* below : command.get_subcommands({}))
    if (!below->get_group().empty())
      add_pages(*below, words + " " + below->get_name(), version, out);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> man_pages(const CLI::App& app,
                                                           const std::string& version) {
  std::vector<std::pair<std::string, std::string>> pages;
  add_pages(app, "jobbie", version, pages);
  return pages;
}

}  // namespace jobbie::cli
