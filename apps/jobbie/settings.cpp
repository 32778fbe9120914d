// Flags and variables by CLI11, the file by toml++, and the checks that hold for all three.
#include "settings.hpp"

#include <array>
#include <charconv>
#include <functional>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <CLI/CLI.hpp>
#include <toml++/toml.h>

#include "base/byte_size.hpp"
#include "base/duration.hpp"
#include "base/url.hpp"

namespace jobbie::app {
namespace {

constexpr std::uint64_t kLeastSegment = std::uint64_t{4} << 20;
constexpr std::uint64_t kMostSegment = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostPayload = std::uint64_t{16} << 20;
constexpr std::uint64_t kLeastMemory = std::uint64_t{32} << 20;
constexpr std::uint32_t kMostThreads = 64;
constexpr std::uint32_t kMostNodes = 32;
constexpr base::Duration kLeastElection = base::milliseconds(100);
constexpr base::Duration kMostElection = base::seconds(60);

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
      key_for("memory", s.memory),
      key_for("io-threads", s.io_threads),
      key_for("max-queues", s.max_queues),
      key_for("max-queues-per-key", s.max_queues_per_key),
      key_for("max-idempotency-keys-per-key", s.max_idempotency_keys_per_key),
      key_for("forget-queues-after", s.forget_queues_after),
      key_for("access-log", s.access_log),
      key_for("insecure", s.insecure),
      key_for("auth", s.auth),
      key_for("auth-keys-file", s.auth_keys_file),
      key_for("otlp-endpoint", s.otlp_endpoint),
      key_for("tls-cert", s.tls_cert),
      key_for("tls-key", s.tls_key),
      key_for("cluster", s.cluster),
      key_for("raft", s.raft),
      key_for("advertise", s.advertise),
      key_for("advertise-http", s.advertise_http),
      {"peers", [&s](const toml::node& node) { return read_texts(node, s.peers); },
       [&s] { return joined(s.peers); }},
      key_for("discover", s.discover),
      key_for("discover-name", s.discover_name),
      key_for("cluster-size", s.cluster_size),
      key_for("cluster-secret-file", s.cluster_secret_file),
      key_for("cluster-tls-cert", s.cluster_tls_cert),
      key_for("cluster-tls-key", s.cluster_tls_key),
      key_for("cluster-tls-ca", s.cluster_tls_ca),
      key_for("election-timeout", s.election_timeout),
      key_for("log-retain-bytes", s.log_retain_bytes),
      {"allow-host", [&s](const toml::node& node) { return read_texts(node, s.allow_host); },
       [&s] { return joined(s.allow_host); }},
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

base::Result<void> check_cluster(const Settings& s) {
  const auto raft = parse_address(s.raft);
  if (!raft) return std::unexpected(bad("--raft: " + raft.error().message));
  for (const auto& peer : s.peers)
    if (const auto address = parse_address(peer); !address)
      return std::unexpected(bad("--peers: " + address.error().message));
  if (!s.advertise.empty())
    if (const auto address = parse_address(s.advertise); !address)
      return std::unexpected(bad("--advertise: " + address.error().message));
  if (!s.discover.empty() && s.discover != "dns")
    return std::unexpected(bad("--discover is dns, not " + s.discover));
  if (!s.discover.empty() && s.discover_name.empty())
    return std::unexpected(
        bad("--discover=dns needs --discover-name: the name that stands for all "
            "nodes, with or without a port"));
  if (s.discover.empty() && !s.discover_name.empty())
    return std::unexpected(bad("--discover-name needs --discover=dns"));
  if (s.discover_name.find(':') != std::string::npos)
    if (const auto address = parse_address(s.discover_name); !address)
      return std::unexpected(bad("--discover-name: " + address.error().message));
  if (s.discover.empty() && s.peers.empty())
    return std::unexpected(bad("--cluster needs --peers or --discover=dns"));
  if (!s.discover.empty() && !s.peers.empty())
    return std::unexpected(bad("--peers and --discover exclude each other"));
  if (s.cluster_size == 0 || s.cluster_size > kMostNodes)
    return std::unexpected(bad("--cluster-size must lie between 1 and 32"));
  const bool tls = !s.cluster_tls_cert.empty();
  if (tls != !s.cluster_tls_key.empty() || tls != !s.cluster_tls_ca.empty())
    return std::unexpected(
        bad("--cluster-tls-cert, --cluster-tls-key and --cluster-tls-ca belong together"));
  if (!is_loopback(raft->host) && !tls && s.cluster_secret_file.empty() && !s.insecure)
    return std::unexpected(
        bad("--raft " + s.raft +
            " can be reached from outside, and anybody could join. Give all nodes the same "
            "--cluster-secret-file, or certificates (--cluster-tls-cert, -key, -ca), or say "
            "--insecure if the network is yours alone."));
  const auto election = base::parse_duration(s.election_timeout);
  if (!election || election->ms < kLeastElection.ms || election->ms > kMostElection.ms)
    return std::unexpected(bad("--election-timeout must lie between 100ms and 60s"));
  return {};
}

base::Result<void> check_limits(const Settings& s) {
  namespace limits = model::limits;
  const auto within = [](std::uint32_t value, std::size_t most) {
    return value >= 1 && value <= most;
  };
  if (!within(s.max_queues, limits::kMostQueues))
    return std::unexpected(bad("--max-queues must lie between 1 and 1000000"));
  if (!within(s.max_queues_per_key, limits::kMostQueues))
    return std::unexpected(bad("--max-queues-per-key must lie between 1 and 1000000"));
  if (!within(s.max_idempotency_keys_per_key, limits::kIdempotencyKeys))
    return std::unexpected(bad("--max-idempotency-keys-per-key must lie between 1 and 10000000"));
  const auto after = base::parse_duration(s.forget_queues_after);
  if (!after || after->ms < 0)
    return std::unexpected(bad("--forget-queues-after must be a duration such as 1h; 0s: never"));
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
  const auto memory = base::parse_byte_size(s.memory);
  if (!memory) return std::unexpected(bad("--memory: " + memory.error().message));
  if (memory->percent == 0 && memory->bytes < kLeastMemory)
    return std::unexpected(bad("--memory must be at least 32M"));
  if (s.io_threads == 0 || s.io_threads > kMostThreads)
    return std::unexpected(bad("--io-threads must lie between 1 and 64"));
  if (auto fine = check_limits(s); !fine) return fine;
  if (!s.otlp_endpoint.empty())
    if (const auto url = base::parse_url(s.otlp_endpoint); !url)
      return std::unexpected(bad("--otlp-endpoint: " + url.error().message));
  if (s.tls_cert.empty() != s.tls_key.empty())
    return std::unexpected(bad("--tls-cert and --tls-key go together"));
  if (!s.cluster && (!s.discover.empty() || !s.discover_name.empty() || !s.peers.empty()))
    return std::unexpected(
        bad("--peers and --discover are for a node of a cluster: say --cluster"));
  if (s.cluster)
    if (auto fine = check_cluster(s); !fine) return fine;
  const auto http = parse_address(s.http);
  if (!http) return std::unexpected(http.error());
  if (!is_loopback(http->host) && !s.insecure && !s.auth)
    return std::unexpected(bad(
        "--http " + s.http +
        " can be reached from outside, and anybody could use it. Ask for keys with --auth, listen "
        "on 127.0.0.1, or say --insecure if the network is yours alone."));
  return {};
}

/// With commas, or the flag several times.
void add_list(CLI::App& server, const char* name, std::vector<std::string>& target,
              const char* variable, const char* what) {
  server.add_option(name, target, what)
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->envname(variable);
}

void declare_limits(CLI::App& server, Settings& s) {
  server.add_option("--max-queues", s.max_queues, "How many queues there may be")
      ->envname("JOBBIE_MAX_QUEUES")
      ->capture_default_str();
  server
      .add_option("--max-queues-per-key", s.max_queues_per_key,
                  "How many of them a key for some queues only may make")
      ->envname("JOBBIE_MAX_QUEUES_PER_KEY")
      ->capture_default_str();
  server
      .add_option("--max-idempotency-keys-per-key", s.max_idempotency_keys_per_key,
                  "How many idempotency keys are remembered of such a key")
      ->envname("JOBBIE_MAX_IDEMPOTENCY_KEYS_PER_KEY")
      ->capture_default_str();
  server
      .add_option("--forget-queues-after", s.forget_queues_after,
                  "How long a queue without jobs and settings is kept; 0s: for ever")
      ->envname("JOBBIE_FORGET_QUEUES_AFTER")
      ->capture_default_str();
}

void declare_cluster(CLI::App& server, Settings& s) {
  const auto text = [&server](const char* name, std::string& target, const char* variable,
                              const char* what) {
    server.add_option(name, target, what)->envname(variable);
  };
  server.add_flag("--cluster", s.cluster, "Be one node of several")->envname("JOBBIE_CLUSTER");
  text("--raft", s.raft, "JOBBIE_RAFT", "HOST:PORT that the other nodes connect to");
  text("--advertise", s.advertise, "JOBBIE_ADVERTISE", "The same as the other nodes reach it");
  text("--advertise-http", s.advertise_http, "JOBBIE_ADVERTISE_HTTP",
       "URL or HOST:PORT of the API as others reach it");
  add_list(server, "--peers", s.peers, "JOBBIE_PEERS", "HOST:PORT of the other nodes, with commas");
  text("--discover", s.discover, "JOBBIE_DISCOVER", "dns: find the other nodes by a name");
  text("--discover-name", s.discover_name, "JOBBIE_DISCOVER_NAME",
       "The name that stands for all nodes, such as a headless service");
  server
      .add_option("--cluster-size", s.cluster_size,
                  "With --discover: how many nodes a new cluster begins with")
      ->envname("JOBBIE_CLUSTER_SIZE")
      ->capture_default_str();
  text("--cluster-secret-file", s.cluster_secret_file, "JOBBIE_CLUSTER_SECRET_FILE",
       "File with what all nodes of the cluster know, and nobody else");
  text("--cluster-tls-cert", s.cluster_tls_cert, "JOBBIE_CLUSTER_TLS_CERT",
       "Certificate of this node for the cluster port");
  text("--cluster-tls-key", s.cluster_tls_key, "JOBBIE_CLUSTER_TLS_KEY", "Its key");
  text("--cluster-tls-ca", s.cluster_tls_ca, "JOBBIE_CLUSTER_TLS_CA",
       "The authority that signs the certificates of all nodes");
  server
      .add_option("--election-timeout", s.election_timeout,
                  "How long nodes wait for a leader that is silent")
      ->envname("JOBBIE_ELECTION_TIMEOUT")
      ->capture_default_str();
  server
      .add_option("--log-retain-bytes", s.log_retain_bytes,
                  "Of the log that is kept for nodes that are a little behind")
      ->envname("JOBBIE_LOG_RETAIN_BYTES")
      ->capture_default_str();
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
  server
      .add_option("--node", s.node,
                  "Name of this node; by default the host's, or on loopback the cluster port")
      ->envname("JOBBIE_NODE");
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
  server
      .add_option("--memory", s.memory,
                  "Memory up to which new jobs are taken: a size such as 2G, or a share of what "
                  "the machine, its control group or the process's limits allow")
      ->envname("JOBBIE_MEMORY")
      ->capture_default_str();
  server.add_option("--io-threads", s.io_threads, "Threads that serve connections")
      ->envname("JOBBIE_IO_THREADS")
      ->capture_default_str();
  declare_limits(server, s);
  server.add_flag("--access-log", s.access_log, "Log every request")->envname("JOBBIE_ACCESS_LOG");
  server.add_flag("--auth", s.auth, "Ask for an API key with every request")
      ->envname("JOBBIE_AUTH");
  server
      .add_option("--auth-keys-file", s.auth_keys_file,
                  "Keys to begin with, one name:scopes:queues:secret a line; implies --auth")
      ->envname("JOBBIE_AUTH_KEYS_FILE");
  add_list(server, "--allow-host", s.allow_host, "JOBBIE_ALLOW_HOST",
           "Names, besides localhost and addresses, by which browsers may reach a server without "
           "keys on loopback: that of a proxy before it");
  add_list(server, "--webhook-allow", s.webhook_allow, "JOBBIE_WEBHOOK_ALLOW",
           "Hosts, addresses or blocks (10.1.0.0/16) that webhooks may reach although they are not "
           "public");
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
  declare_cluster(server, s);
  server.add_flag("--insecure", s.insecure, "Serve beyond loopback without keys")
      ->envname("JOBBIE_INSECURE");
}

namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == 0) return "node-1";
  return name.data();
}

bool is_everywhere(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

/// `address` as others reach it: a host that stands for all of this one's is replaced by its name.
std::string reachable(const std::string& text) {
  const auto address = *parse_address(text);
  if (!is_everywhere(address.host)) return text;
  return host_name() + ":" + std::to_string(address.port);
}

/// What was left out, where it follows from the rest.
void settle_names(Settings& s) {
  if (!s.cluster) {
    if (s.node.empty()) s.node = "node-1";
    return;
  }
  if (s.advertise.empty()) s.advertise = reachable(s.raft);
  if (s.advertise_http.empty()) s.advertise_http = reachable(s.http);
  // Several nodes on one machine have the same host name and different ports.
  if (s.node.empty()) s.node = is_loopback(parse_address(s.raft)->host) ? s.advertise : host_name();
  if (!s.discover_name.empty() && s.discover_name.find(':') == std::string::npos)
    s.discover_name += ":" + std::to_string(parse_address(s.raft)->port);
}

}  // namespace

base::Result<void> complete_settings(const CLI::App& server, Settings& settings) {
  if (!settings.config.empty()) {
    if (auto read = read_file(server, settings); !read) return read;
  }
  if (!settings.auth_keys_file.empty()) settings.auth = true;
  if (auto fine = check(settings); !fine) return fine;
  settle_names(settings);
  return {};
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
