// Wires the node, its face and the HTTP server, and takes them down again in order.
#include "server.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <fmt/format.h>

#include "certificate_watch.hpp"
#include "effects/trace_exporter.hpp"
#include "effects/webhook_sender.hpp"
#include "face/native/native.hpp"
#include "http/server.hpp"
#include "keys.hpp"
#include "node/node.hpp"
#include "ui/site.hpp"
#include "version.hpp"

namespace jobbie::app {
namespace {

using base::Level;

/// How long a graceful stop may wait for answers that are under way.
constexpr base::Duration kDrainTime = base::seconds(5);
/// What a batch request may weigh beside its payloads being bounded one by one.
constexpr std::size_t kBatchBody = std::size_t{32} << 20;

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

base::Result<std::unique_ptr<node::Node>> open_node(const Settings& settings,
                                                    base::Journal& journal) {
  node::Options options;
  options.data_dir = settings.data_dir;
  options.segment_bytes = settings.segment_bytes;
  options.cache_bytes = settings.cache_bytes;
  options.journal = &journal;
  options.on_fatal = [&journal](const base::Error& error) { give_up(journal, error); };
  return node::Node::open(std::move(options));
}

}  // namespace

int run_server(const Settings& settings) {
  const bool tls = !settings.tls_cert.empty();
  const Signals signals(tls);
  base::Journal journal(STDERR_FILENO, *base::parse_level(settings.log_level));
  auto node = open_node(settings, journal);
  if (!node) return refuse_to_start(journal, node.error());

  if (auto prepared = prepare_keys(**node, settings, journal); !prepared)
    return refuse_to_start(journal, prepared.error());

  // An entry of the log is one record of a segment.
  const auto batch_bytes = std::min<std::size_t>(kBatchBody, settings.segment_bytes / 2);
  face::Native face(**node, {.max_payload_bytes = settings.max_payload_bytes,
                             .max_batch_bytes = batch_bytes,
                             .version = std::string(kVersion),
                             .require_keys = settings.auth});
  ui::Site site(face);
  effects::AllowList allow;
  for (const auto& host : settings.webhook_allow)
    if (auto added = allow.add(host); !added) return refuse_to_start(journal, added.error());
  const Address address = *parse_address(settings.http);
  http::ServerOptions options{.host = address.host,
                              .port = address.port,
                              .threads = settings.io_threads,
                              .limits = {},
                              .access_log = access_log(journal, settings.access_log),
                              .tls = {}};
  if (tls) options.tls = http::TlsFiles{.certificate = settings.tls_cert, .key = settings.tls_key};
  auto server = http::Server::listen(std::move(options), site);
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
                 {"version", kVersion}});

  const int number = certificate ? signals.wait(*certificate) : signals.wait();
  journal.write(Level::info, "stopping", {{"signal", std::int64_t{number}}});
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
