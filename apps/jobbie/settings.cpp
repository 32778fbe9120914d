// Flags and variables by CLI11, the file by toml++, and the checks that hold for all three.
#include "settings.hpp"

#include <charconv>
#include <functional>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <toml++/toml.h>

#include "base/url.hpp"

namespace jobbie::app {
namespace {

constexpr std::uint64_t kLeastSegment = std::uint64_t{4} << 20;
constexpr std::uint64_t kMostSegment = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostPayload = std::uint64_t{16} << 20;
constexpr std::uint32_t kMostThreads = 64;

base::Error bad(std::string message) {
  return {.code = "bad_setting", .message = std::move(message)};
}

/// One key of the file. `flag` is the flag of the same name, which wins.
struct Key {
  std::string name;
  std::function<bool(const toml::node&)> read;
  std::function<std::string()> show;
};

template <typename T>
Key key_for(std::string name, T& target) {
  return {std::move(name),
          [&target](const toml::node& node) {
            if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, bool>) {
              const auto value = node.value_exact<T>();
              if (value) target = *value;
              return value.has_value();
            } else {
              const auto value = node.value_exact<std::int64_t>();
              if (!value || !std::in_range<T>(*value)) return false;
              target = static_cast<T>(*value);
              return true;
            }
          },
          [&target] {
            if constexpr (std::is_same_v<T, std::string>) {
              return target;
            } else if constexpr (std::is_same_v<T, bool>) {
              return std::string(target ? "true" : "false");
            } else {
              return std::to_string(target);
            }
          }};
}

bool read_texts(const toml::node& node, std::vector<std::string>& target) {
  const auto* list = node.as_array();
  if (list == nullptr) return false;
  std::vector<std::string> texts;
  for (const auto& element : *list) {
    const auto text = element.value_exact<std::string>();
    if (!text) return false;
    texts.push_back(*text);
  }
  target = std::move(texts);
  return true;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& text : texts) out += (out.empty() ? "" : ",") + text;
  return out;
}

std::vector<Key> keys_of(Settings& s) {
  return {
      key_for("data-dir", s.data_dir),
      key_for("http", s.http),
      key_for("node", s.node),
      key_for("log-level", s.log_level),
      key_for("max-payload-bytes", s.max_payload_bytes),
      key_for("segment-bytes", s.segment_bytes),
      key_for("cache-bytes", s.cache_bytes),
      key_for("io-threads", s.io_threads),
      key_for("access-log", s.access_log),
      key_for("insecure", s.insecure),
      key_for("auth", s.auth),
      key_for("auth-keys-file", s.auth_keys_file),
      key_for("otlp-endpoint", s.otlp_endpoint),
      key_for("tls-cert", s.tls_cert),
      key_for("tls-key", s.tls_key),
      {"webhook-allow", [&s](const toml::node& node) { return read_texts(node, s.webhook_allow); },
       [&s] { return joined(s.webhook_allow); }}};
}

base::Result<void> read_file(const CLI::App& server, Settings& settings) {
  toml::table table;
  try {
    table = toml::parse_file(settings.config);
  } catch (const toml::parse_error& error) {
    return std::unexpected(bad(settings.config + ":" + std::to_string(error.source().begin.line) +
                               ": " + std::string(error.description())));
  }
  const auto keys = keys_of(settings);
  for (const auto& [name, node] : table) {
    if (name.str() == "client") continue;  // what the other commands use
    const auto key =
        std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return k.name == name.str(); });
    if (key == keys.end())
      return std::unexpected(
          bad(settings.config + ": unknown key \"" + std::string(name.str()) + "\""));
    if (server.get_option("--" + key->name)->count() > 0) continue;
    if (!key->read(node))
      return std::unexpected(bad(settings.config + ": the value of \"" + key->name +
                                 "\" has the wrong type or is out of range"));
  }
  return {};
}

base::Result<void> check(const Settings& s) {
  if (s.data_dir.empty()) return std::unexpected(bad("--data-dir must not be empty"));
  if (!base::parse_level(s.log_level))
    return std::unexpected(bad("--log-level is debug, info, warning or error, not " + s.log_level));
  if (s.segment_bytes < kLeastSegment || s.segment_bytes > kMostSegment)
    return std::unexpected(bad("--segment-bytes must lie between 4 MiB and 1 GiB"));
  if (s.max_payload_bytes == 0 || s.max_payload_bytes > kMostPayload)
    return std::unexpected(bad("--max-payload-bytes must lie between 1 and 16 MiB"));
  if (s.io_threads == 0 || s.io_threads > kMostThreads)
    return std::unexpected(bad("--io-threads must lie between 1 and 64"));
  if (!s.otlp_endpoint.empty())
    if (const auto url = base::parse_url(s.otlp_endpoint); !url)
      return std::unexpected(bad("--otlp-endpoint: " + url.error().message));
  if (s.tls_cert.empty() != s.tls_key.empty())
    return std::unexpected(bad("--tls-cert and --tls-key go together"));
  const auto http = parse_address(s.http);
  if (!http) return std::unexpected(http.error());
  if (!is_loopback(http->host) && !s.insecure && !s.auth)
    return std::unexpected(bad(
        "--http " + s.http +
        " can be reached from outside, and anybody could use it. Ask for keys with --auth, listen "
        "on 127.0.0.1, or say --insecure if the network is yours alone."));
  return {};
}

}  // namespace

void declare_settings(CLI::App& server, Settings& s) {
  // A wrapper may give a flag that its user gives again: the last one counts.
  server.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  server.add_option("--data-dir", s.data_dir, "Where everything is kept")
      ->envname("JOBBIE_DATA_DIR")
      ->capture_default_str();
  server.add_option("--http", s.http, "HOST:PORT of the API")
      ->envname("JOBBIE_HTTP")
      ->capture_default_str();
  server.add_option("--node", s.node, "Name of this node")
      ->envname("JOBBIE_NODE")
      ->capture_default_str();
  server.add_option("--config", s.config, "TOML file with any of these settings")
      ->envname("JOBBIE_CONFIG");
  server.add_option("--log-level", s.log_level, "debug, info, warning or error")
      ->envname("JOBBIE_LOG_LEVEL")
      ->capture_default_str();
  server.add_option("--max-payload-bytes", s.max_payload_bytes, "Largest payload of a job")
      ->envname("JOBBIE_MAX_PAYLOAD_BYTES")
      ->capture_default_str();
  server.add_option("--segment-bytes", s.segment_bytes, "Size of one file of the log")
      ->envname("JOBBIE_SEGMENT_BYTES")
      ->capture_default_str();
  server.add_option("--cache-bytes", s.cache_bytes, "Cache of the database")
      ->envname("JOBBIE_CACHE_BYTES")
      ->capture_default_str();
  server.add_option("--io-threads", s.io_threads, "Threads that serve connections")
      ->envname("JOBBIE_IO_THREADS")
      ->capture_default_str();
  server.add_flag("--access-log", s.access_log, "Log every request")->envname("JOBBIE_ACCESS_LOG");
  server.add_flag("--auth", s.auth, "Ask for an API key with every request")
      ->envname("JOBBIE_AUTH");
  server
      .add_option("--auth-keys-file", s.auth_keys_file,
                  "Keys to begin with, one name:scopes:queues:secret a line; implies --auth")
      ->envname("JOBBIE_AUTH_KEYS_FILE");
  server
      .add_option("--webhook-allow", s.webhook_allow,
                  "Hosts, addresses or blocks (10.1.0.0/16) that webhooks may reach although they "
                  "are not public")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->envname("JOBBIE_WEBHOOK_ALLOW");
  server
      .add_option("--otlp-endpoint", s.otlp_endpoint,
                  "URL of an OpenTelemetry collector (OTLP over HTTP) that gets spans of jobs")
      ->envname("JOBBIE_OTLP_ENDPOINT");
  server
      .add_option("--tls-cert", s.tls_cert,
                  "PEM file with the certificate and its chain: serve https. Read again when it "
                  "changes, and on SIGHUP")
      ->envname("JOBBIE_TLS_CERT");
  server.add_option("--tls-key", s.tls_key, "PEM file with the key of --tls-cert")
      ->envname("JOBBIE_TLS_KEY");
  server.add_flag("--insecure", s.insecure, "Serve beyond loopback without keys")
      ->envname("JOBBIE_INSECURE");
}

base::Result<void> complete_settings(const CLI::App& server, Settings& settings) {
  if (!settings.config.empty()) {
    if (auto read = read_file(server, settings); !read) return read;
  }
  if (!settings.auth_keys_file.empty()) settings.auth = true;
  return check(settings);
}

std::vector<std::pair<std::string, std::string>> settings_in_force() {
  Settings settings;
  CLI::App server;
  declare_settings(server, settings);
  server.parse(std::vector<std::string>());
  if (auto complete = complete_settings(server, settings); !complete)
    return {{"error", complete.error().message}};
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Key& key : keys_of(settings)) rows.emplace_back(key.name, key.show());
  return rows;
}

base::Result<Address> parse_address(const std::string& text) {
  const auto colon = text.rfind(':');
  const auto wrong = [&] { return std::unexpected(bad("\"" + text + "\" is not HOST:PORT")); };
  if (colon == std::string::npos || colon == 0) return wrong();
  Address address{.host = text.substr(0, colon), .port = 0};
  const std::string_view digits = std::string_view(text).substr(colon + 1);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
  if (error != std::errc{} || end != digits.data() + digits.size()) return wrong();
  if (address.host.front() == '[') {
    if (address.host.back() != ']') return wrong();
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  return address;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace jobbie::app
