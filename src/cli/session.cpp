// Settings from four places, errors as people read them, and questions.
#include "cli/session.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <toml++/toml.h>

#include "base/duration.hpp"
#include "base/terminal_text.hpp"
#include "cli/times.hpp"

namespace jobbie::cli {
namespace {

constexpr int kDefaultWidth = 100;
/// How long a server that was there may be away, and how often it is looked for.
constexpr std::chrono::minutes kMostAway{2};
constexpr std::chrono::milliseconds kAwayLook{500};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

client::Error bad_setting(std::string message) {
  return {.failure = client::Failure::settings, .message = std::move(message)};
}

/// The file that settings are read from: named, or at the usual place; empty where there is none.
Setting config_file(const Globals& globals) {
  if (!globals.config.empty()) return {globals.config, "--config"};
  if (auto path = environment("JOBBIE_CONFIG"); !path.empty()) return {path, "JOBBIE_CONFIG"};
  std::string folder = environment("XDG_CONFIG_HOME");
  if (folder.empty() && !environment("HOME").empty()) folder = environment("HOME") + "/.config";
  const std::string path = folder + "/jobbie/config.toml";
  std::error_code ignored;
  if (folder.empty() || !std::filesystem::is_regular_file(path, ignored)) return {"", "none"};
  return {path, "default place"};
}

struct FileSettings {
  std::string url;
  std::string token_file;
  std::string tls_ca;
};

/// The table [client] of the file; the rest of it is the server's.
client::Result<FileSettings> read_config(const std::string& path) {
  FileSettings settings;
  try {
    const toml::table table = toml::parse_file(path);
    const toml::table* ours = table["client"].as_table();
    if (ours == nullptr) return settings;
    for (const auto& [name, node] : *ours) {
      const auto value = node.value_exact<std::string>();
      std::string* const target = name.str() == "url"          ? &settings.url
                                  : name.str() == "token-file" ? &settings.token_file
                                  : name.str() == "tls-ca"     ? &settings.tls_ca
                                                               : nullptr;
      if (target == nullptr)
        return std::unexpected(
            bad_setting(fmt::format("{}: unknown key \"client.{}\"", path, name.str())));
      if (!value)
        return std::unexpected(
            bad_setting(fmt::format("{}: \"client.{}\" must be a text", path, name.str())));
      *target = *value;
    }
  } catch (const toml::parse_error& error) {
    return std::unexpected(bad_setting(
        fmt::format("{}:{}: {}", path, error.source().begin.line, error.description())));
  }
  return settings;
}

/// Flag, then variable, then file, then default.
Setting first_of(Setting flag, const char* variable, const std::string& file, Setting otherwise) {
  if (!flag.value.empty()) return flag;
  if (auto value = environment(variable); !value.empty()) return {value, variable};
  if (!file.empty()) return {file, "config file"};
  return otherwise;
}

client::Result<Setting> token_of(const Globals& globals, const FileSettings& file) {
  std::string path = globals.token_file;
  std::string source = "--token-file";
  if (path.empty()) {
    if (auto token = environment("JOBBIE_TOKEN"); !token.empty())
      return Setting{token, "JOBBIE_TOKEN"};
    path = environment("JOBBIE_TOKEN_FILE");
    source = "JOBBIE_TOKEN_FILE";
  }
  if (path.empty()) {
    path = file.token_file;
    source = "config file";
  }
  if (path.empty()) return Setting{"", "none"};
  auto token = client::read_token_file(path);
  if (!token) return std::unexpected(token.error());
  return Setting{std::move(*token), source + " " + path};
}

int exit_code_of(const client::Error& error) {
  switch (error.failure) {
    case client::Failure::settings:
      return kUsage;
    case client::Failure::unreachable:
    case client::Failure::timed_out:
    case client::Failure::broken:
    case client::Failure::untrusted:
      return kUnreachable;
    case client::Failure::interrupted:
      return kDeclined;
    case client::Failure::refused:
      break;
  }
  switch (error.status) {
    case 400:
    case 413:
    case 422:
      return kUsage;
    case 401:
    case 403:
      return kForbidden;
    case 404:
      return kNotFound;
    case 409:
      return kConflict;
    case 429:
    case 503:
    case 507:
      return kUnreachable;
    default:
      return kFailed;
  }
}

}  // namespace

client::Result<Connection> connection_of(const Globals& globals) {
  Connection connection;
  connection.config = config_file(globals);
  FileSettings file;
  if (!connection.config.value.empty()) {
    auto read = read_config(connection.config.value);
    if (!read) return std::unexpected(read.error());
    file = std::move(*read);
  }
  connection.url =
      first_of({globals.url, "--url"}, "JOBBIE_URL", file.url, {client::Options{}.url, "default"});
  connection.tls_ca = first_of({globals.tls_ca, "--tls-ca"}, "JOBBIE_TLS_CA", file.tls_ca,
                               {"", "the system's certificates"});
  auto token = token_of(globals, file);
  if (!token) return std::unexpected(token.error());
  connection.token = std::move(*token);
  return connection;
}

bool Reconnect::again(const client::Error* error) {
  if (error != nullptr) {
    const bool busy = error->status == 429 || error->status == 503;
    if (!reached_ || error->failure == client::Failure::settings ||
        error->failure == client::Failure::interrupted ||
        error->failure == client::Failure::untrusted ||
        (error->failure == client::Failure::refused && !busy))
      return false;
    const auto now = std::chrono::steady_clock::now();
    if (!away_) away_ = now;
    if (now - *away_ > kMostAway) return false;
  }
  std::this_thread::sleep_for(kAwayLook);
  return true;
}

Session::Session(const Globals& globals)
    : globals_(globals),
      out_terminal_(isatty(STDOUT_FILENO) != 0),
      in_terminal_(isatty(STDIN_FILENO) != 0),
      note_terminal_(isatty(STDERR_FILENO) != 0),
      color_(out_terminal_ && !globals.no_color && environment("NO_COLOR").empty() &&
             environment("TERM") != "dumb") {
  if (globals.output == "json") output_ = Output::json;
  if (globals.output == "ndjson") output_ = Output::ndjson;
}

int Session::width() const {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) return size.ws_col;
  return kDefaultWidth;
}

client::Result<client::Options> Session::options() const {
  auto connection = connection_of(globals_);
  if (!connection) return std::unexpected(connection.error());
  client::Options options{.url = connection->url.value,
                          .token = connection->token.value,
                          .retries = 2,
                          .retry_connect = false,
                          .agent = "jobbie-cli",
                          .tls_ca = connection->tls_ca.value,
                          .tls_insecure = globals_.tls_insecure};
  if (!globals_.timeout.empty()) {
    const auto timeout = base::parse_duration(with_unit(globals_.timeout));
    if (!timeout || timeout->ms == 0 || timeout->ms > 3'600'000)
      return std::unexpected(bad_setting("--timeout is a duration such as 30s, up to 1h"));
    options.timeout = std::chrono::milliseconds(timeout->ms);
  }
  return options;
}

client::Result<client::Client*> Session::client() {
  if (client_) return &*client_;
  auto wanted = options();
  if (!wanted) return std::unexpected(wanted.error());
  auto opened = open(std::move(*wanted));
  if (!opened) return std::unexpected(opened.error());
  client_ = std::move(*opened);
  return &*client_;
}

client::Result<client::Client> Session::patient_client() const {
  auto wanted = options();
  if (!wanted) return std::unexpected(wanted.error());
  wanted->retries = 6;
  wanted->retry_connect = true;
  return open(std::move(*wanted));
}

client::Result<client::Client> Session::open(client::Options options) const {
  if (options.tls_insecure && options.url.starts_with("https://"))
    note("warning: the server's certificate is not checked (--tls-insecure)");
  return client::Client::open(std::move(options));
}

client::Result<client::Document> Session::call(client::Request request) {
  auto opened = client();
  if (!opened) return std::unexpected(opened.error());
  return (*opened)->call(request);
}

client::Result<client::Document> Session::get(std::string target) {
  return call({.target = std::move(target)});
}

client::Result<client::Document> Session::post(std::string target, std::string body) {
  return call({.method = "POST", .target = std::move(target), .body = std::move(body)});
}

int Session::fail(const client::Error& error) const {
  std::fflush(stdout);
  std::string message = error.message;
  if (!error.field.empty() && message.find(error.field) == std::string::npos)
    message += " (" + error.field + ")";
  if (!error.code.empty()) message += " [" + error.code + "]";
  using base::Lines;
  fmt::print(stderr, "jobbie: {}\n", base::printable(message, Lines::many));
  if (!error.hint.empty()) fmt::print(stderr, "{}\n", base::printable(error.hint, Lines::many));
  return exit_code_of(error);
}

int Session::usage(std::string_view message) const {
  fmt::print(stderr, "jobbie: {}\n", base::printable(message, base::Lines::many));
  return kUsage;
}

void Session::note(std::string_view text) const {
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", base::printable(text, base::Lines::many));
}

bool Session::confirm(std::string_view question) const {
  if (!must_ask()) return true;
  fmt::print(stderr, "{} [y/N] ", base::printable(question));
  std::fflush(stderr);
  std::string answer;
  if (!std::getline(std::cin, answer)) answer.clear();
  if (answer == "y" || answer == "Y" || answer == "yes") return true;
  note("Nothing was done.");
  return false;
}

}  // namespace jobbie::cli
