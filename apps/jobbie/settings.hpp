// What the server can be told: by flag, by environment, by a TOML file, in this order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/journal.hpp"
#include "base/result.hpp"
#include "model/limits.hpp"

namespace CLI {
class App;
}

namespace jobbie::app {

struct Address {
  std::string host;
  std::uint16_t port = 0;
};

struct Settings {
  std::string data_dir = "./data";
  std::string http = "127.0.0.1:8080";
  std::string node;  ///< empty: made of the host's name, or of the cluster port's address
  std::string log_level = "info";
  std::string config;
  std::uint64_t max_payload_bytes = std::uint64_t{1} << 20;
  std::uint64_t segment_bytes = std::uint64_t{64} << 20;
  std::uint64_t cache_bytes = std::uint64_t{32} << 20;
  std::string memory = "70%";  ///< a size, or a share of what the system allows
  std::uint32_t io_threads = 1;
  std::uint32_t max_queues = model::limits::kQueues;
  std::uint32_t max_queues_per_key = model::limits::kQueuesPerKey;
  std::uint32_t max_idempotency_keys_per_key = model::limits::kIdempotencyKeysPerKey;
  std::string forget_queues_after = "1h";  ///< how long a queue is empty first; 0s: never
  bool access_log = false;
  bool insecure = false;
  bool auth = false;                       ///< every request must show a key
  std::vector<std::string> allow_host;     ///< names by which browsers may come, beside our own
  std::vector<std::string> webhook_allow;  ///< hosts and blocks of addresses beyond the public ones
  std::string otlp_endpoint;               ///< of a collector of traces; empty: none
  std::string auth_keys_file;              ///< keys to begin with; implies `auth`

  bool cluster = false;
  std::string raft = "127.0.0.1:9400";  ///< HOST:PORT that the other nodes connect to
  std::string advertise;                ///< the same as others reach it; empty: made of `raft`
  std::string advertise_http;           ///< the API as others reach it; empty: made of `http`
  std::vector<std::string> peers;       ///< HOST:PORT of the other nodes
  std::string discover;                 ///< `dns`: `discover_name` stands for all nodes
  std::string discover_name;
  std::uint32_t cluster_size = 3;  ///< with `discover`: nodes that a new cluster begins with
  std::string cluster_secret_file;
  std::string cluster_tls_cert;
  std::string cluster_tls_key;
  std::string cluster_tls_ca;
  std::string election_timeout = "500ms";
  std::uint64_t log_retain_bytes = std::uint64_t{256} << 20;
  std::string tls_cert;  ///< PEM file; with `tls_key` the API is served by https
  std::string tls_key;
};

/// Declares the flags of `jobbie server`, with the variables that stand for them.
void declare_settings(CLI::App& server, Settings& settings);

/// After parsing: fills from the file what neither a flag nor a variable gave, and checks all of
/// it.
base::Result<void> complete_settings(const CLI::App& server, Settings& settings);

/// Names and values that a server started now without flags would have.
std::vector<std::pair<std::string, std::string>> settings_in_force();

/// `HOST:PORT`, with the host in brackets where it is an IPv6 address.
base::Result<Address> parse_address(const std::string& text);

/// Whether nobody but this machine can reach it.
bool is_loopback(const std::string& host);

}  // namespace jobbie::app
