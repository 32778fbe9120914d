// Wires the node, its face and the HTTP server, and takes them down again in order.
#include "server.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/byte_size.hpp"
#include "base/duration.hpp"
#include "certificate_watch.hpp"
#include "descriptors.hpp"
#include "effects/trace_exporter.hpp"
#include "effects/webhook_sender.hpp"
#include "face/native/native.hpp"
#include "http/server.hpp"
#include "keys.hpp"
#include "memory.hpp"
#include "node/node.hpp"
#include "secret_files.hpp"
#include "ui/site.hpp"
#include "version.hpp"

namespace jobbie::app {
namespace {

using base::Level;

/// How long a graceful stop may wait for answers that are under way.
constexpr base::Duration kDrainTime = base::seconds(5);
/// What a batch request may weigh beside its payloads being bounded one by one.
constexpr std::size_t kBatchBody = std::size_t{32} << 20;
/// So that a body of that size fits while others are being read.
constexpr std::size_t kBodyRoom = std::size_t{8} << 20;
/// However little memory there is.
constexpr std::uint64_t kLeastCache = std::uint64_t{2} << 20;
constexpr std::uint64_t kLeastPassing = std::uint64_t{8} << 20;
/// Of the cluster, in characters.
constexpr std::size_t kLeastSecret = 16;

/// How often the files of the certificate are looked at.
constexpr timespec kCertificateLook{.tv_sec = 1, .tv_nsec = 0};

/// Blocks the signals that end the server in this thread and all it starts, and waits for one. With
/// a certificate, SIGHUP asks to read it again; without, it does what it always does.
class Signals {
 public:
  explicit Signals(bool certificate) {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    if (certificate) sigaddset(&set_, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    signal(SIGPIPE, SIG_IGN);
  }
  int wait() const {
    int number = 0;
    sigwait(&set_, &number);
    return number;
  }
  /// Until one that ends the server; looks after the certificate meanwhile.
  int wait(CertificateWatch& certificate) const {
    while (true) {
      const int number = sigtimedwait(&set_, nullptr, &kCertificateLook);
      if (number == SIGHUP)
        certificate.reload();
      else if (number > 0)
        return number;
      else
        certificate.look();
    }
  }

 private:
  sigset_t set_{};
};

/// A failed write or sync: nothing may be acknowledged any more, so the process ends at once and
/// the next one recovers what the disk holds.
[[noreturn]] void give_up(base::Journal& journal, const base::Error& error) {
  journal.write(
      Level::error, "node_failed",
      {{"code", std::string_view(error.code)}, {"message", std::string_view(error.message)}});
  _exit(1);
}

int refuse_to_start(base::Journal& journal, const base::Error& error) {
  journal.write(
      Level::error, "cannot_start",
      {{"code", std::string_view(error.code)}, {"message", std::string_view(error.message)}});
  fmt::print(stderr, "jobbie: {}\n", error.message);
  return 1;
}

std::string url_of(const std::string& host, std::uint16_t port, bool tls) {
  const bool v6 = host.find(':') != std::string::npos;
  return fmt::format("{}://{}:{}", tls ? "https" : "http", v6 ? "[" + host + "]" : host, port);
}

http::AccessLog access_log(base::Journal& journal, bool wanted) {
  if (!wanted) return {};
  return [&journal](const http::AccessRecord& r) {
    journal.write(Level::info, "request",
                  {{"method", r.method},
                   {"target", r.target},
                   {"status", std::int64_t{r.status}},
                   {"bytes", std::uint64_t{r.body_bytes}},
                   {"duration_us", r.duration_us},
                   {"remote", r.remote},
                   {"request_id", r.request_id}});
  };
}

/// The secret without the line end that editors add.
base::Result<std::string> read_secret(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string secret((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  if (secret.size() >= kLeastSecret) return secret;
  return std::unexpected(
      base::Error{.code = "bad_setting",
                  .message = fmt::format("--cluster-secret-file {}: a secret has at least {} "
                                         "characters; make one with `openssl rand -hex 32`",
                                         path, kLeastSecret)});
}

base::Result<node::ClusterOptions> cluster_options(const Settings& settings) {
  node::ClusterOptions cluster{.listen = settings.raft,
                               .address = settings.advertise,
                               .http = settings.advertise_http,
                               .peers = settings.peers,
                               .discover = settings.discover_name,
                               .size = settings.cluster_size,
                               .secret = {},
                               .tls = {}};
  if (!settings.cluster_secret_file.empty()) {
    auto secret = read_secret(settings.cluster_secret_file);
    if (!secret) return std::unexpected(secret.error());
    cluster.secret = *std::move(secret);
  }
  if (!settings.cluster_tls_cert.empty())
    cluster.tls = peer::TlsFiles{.cert = settings.cluster_tls_cert,
                                 .key = settings.cluster_tls_key,
                                 .ca = settings.cluster_tls_ca};
  return cluster;
}

node::MemoryOptions memory_options(const Settings& settings) {
  node::MemoryOptions options;
  options.bounds = node::find_memory_bounds();
  options.limit = base::parse_byte_size(settings.memory)->of(options.bounds.smallest());
  options.heap = heap_reader();
  options.release_unused = heap_releaser();
  return options;
}

/// Where there is little, what passes through takes less too.
void share_memory(node::Options& options) {
  const std::uint64_t limit = options.memory.limit;
  if (limit == 0) return;
  auto& bounds = options.bounds;
  options.cache_bytes =
      std::min<std::size_t>(options.cache_bytes, std::max(kLeastCache, limit / 16));
  bounds.intake_bytes =
      std::min<std::size_t>(bounds.intake_bytes, std::max(kLeastPassing, limit / 8));
  bounds.unstored_bytes = std::min(bounds.unstored_bytes, std::max(kLeastPassing, limit / 8));
}

/// Of requests that are being read: no more than `most`.
std::size_t share_of_memory(const Settings& settings, std::size_t most) {
  const auto limit = memory_options(settings).limit;
  return limit == 0 ? most
                    : std::min<std::size_t>(
                          most, std::max<std::uint64_t>(kBatchBody + kBodyRoom, limit / 8));
}

base::Result<std::unique_ptr<node::Node>> open_node(const Settings& settings,
                                                    const Descriptors& descriptors,
                                                    base::Journal& journal) {
  node::Options options;
  options.memory = memory_options(settings);
  settle_allocator(options.memory.bounds);
  options.data_dir = settings.data_dir;
  options.name = settings.node;
  options.log_retain_bytes = settings.log_retain_bytes;
  options.election_timeout = *base::parse_duration(settings.election_timeout);
  options.limits = {.queues = settings.max_queues,
                    .queues_per_key = settings.max_queues_per_key,
                    .idempotency_keys_per_key = settings.max_idempotency_keys_per_key};
  options.forget_queues_after = *base::parse_duration(settings.forget_queues_after);
  if (settings.cluster) {
    auto cluster = cluster_options(settings);
    if (!cluster) return std::unexpected(cluster.error());
    options.cluster = *std::move(cluster);
    options.cluster->strangers = descriptors.strangers;
  }
  options.segment_bytes = settings.segment_bytes;
  options.cache_bytes = settings.cache_bytes;
  share_memory(options);
  options.journal = &journal;
  options.on_fatal = [&journal](const base::Error& error) { give_up(journal, error); };
  try {
    return node::Node::open(std::move(options));
  } catch (const std::bad_alloc&) {
    return std::unexpected(base::Error{
        .code = "out_of_memory",
        .message = "The jobs that live need more memory than this process may have: raise its "
                   "limits (cgroup, ulimit -d, ulimit -v), or start it on a larger machine."});
  }
}

http::ServerOptions http_options(const Settings& settings, const Descriptors& descriptors,
                                 base::Journal& journal) {
  const Address address = *parse_address(settings.http);
  http::ServerOptions options{.host = address.host,
                              .port = address.port,
                              .threads = settings.io_threads,
                              .limits = {.connections = descriptors.connections,
                                         .connections_per_address = descriptors.per_address},
                              .access_log = access_log(journal, settings.access_log),
                              .tls = {}};
  options.limits.held_bytes = share_of_memory(settings, options.limits.held_bytes);
  options.limits.total_answer_bytes = share_of_memory(settings, options.limits.total_answer_bytes);
  if (!settings.tls_cert.empty())
    options.tls = http::TlsFiles{.certificate = settings.tls_cert, .key = settings.tls_key};
  return options;
}

/// Nothing: any. With keys, or where everybody may come, the key or the network decides.
std::optional<std::vector<std::string>> names_for_browsers(const Settings& settings) {
  if (settings.auth || !is_loopback(parse_address(settings.http)->host)) return std::nullopt;
  return settings.allow_host;
}

}  // namespace

int run_server(const Settings& settings) {
  // Payloads and the secrets of webhooks are not for everybody on the machine.
  ::umask(::umask(0) | S_IRWXO);
  const bool tls = !settings.tls_cert.empty();
  const Signals signals(tls);
  base::Journal journal(STDERR_FILENO, *base::parse_level(settings.log_level));
  if (auto fine = check_secret_files(settings, journal); !fine)
    return refuse_to_start(journal, fine.error());
  const auto descriptors = prepare_descriptors(settings, journal);
  if (!descriptors) return refuse_to_start(journal, descriptors.error());
  auto node = open_node(settings, *descriptors, journal);
  if (!node) return refuse_to_start(journal, node.error());

  std::optional<KeyKeeper> keeper;
  if (settings.cluster)
    keeper.emplace(**node, settings, journal);
  else if (auto prepared = prepare_keys(**node, settings, journal); !prepared)
    return refuse_to_start(journal, prepared.error());

  // An entry of the log is one record of a segment.
  const auto batch_bytes = std::min<std::size_t>(kBatchBody, settings.segment_bytes / 2);
  face::Native face(**node, {.max_payload_bytes = settings.max_payload_bytes,
                             .max_batch_bytes = batch_bytes,
                             .version = std::string(kVersion),
                             .require_keys = settings.auth});
  ui::Site site(face, names_for_browsers(settings));
  effects::AllowList allow;
  for (const auto& host : settings.webhook_allow)
    if (auto added = allow.add(host); !added) return refuse_to_start(journal, added.error());
  const Address address = *parse_address(settings.http);
  auto server = http::Server::listen(http_options(settings, *descriptors, journal), site);
  if (!server) return refuse_to_start(journal, server.error());
  std::optional<CertificateWatch> certificate;
  if (tls) certificate.emplace(**server, settings, journal);
  // Before the first request, so that no event of it is missed.
  std::optional<effects::WebhookSender> sender;
  sender.emplace(**node, allow);
  std::optional<effects::TraceExporter> traces;
  if (!settings.otlp_endpoint.empty())
    traces.emplace(**node, *base::parse_url(settings.otlp_endpoint), journal);
  (*server)->start();
  const std::string url = url_of(address.host, (*server)->port(), tls);
  journal.write(Level::info, "listening",
                {{"node", std::string_view(settings.node)},
                 {"http", std::string_view(settings.http)},
                 {"port", std::uint64_t{(*server)->port()}},
                 {"url", std::string_view(url)},
                 {"data_dir", std::string_view(settings.data_dir)},
                 {"auth", settings.auth},
                 {"cluster", settings.cluster},
                 {"raft_port", std::uint64_t{(*node)->cluster_port()}},
                 {"version", kVersion}});

  const int number = certificate ? signals.wait(*certificate) : signals.wait();
  journal.write(Level::info, "stopping", {{"signal", std::int64_t{number}}});
  keeper.reset();
  sender.reset();
  traces.reset();
  (*node)->drain();
  const bool answered = (*server)->drain(kDrainTime);
  const auto stopped = (*node)->stop();
  (*server)->stop();
  if (!stopped) return refuse_to_start(journal, stopped.error());
  journal.write(Level::info, "stopped", {{"all_answered", answered}});
  return 0;
}

}  // namespace jobbie::app
