// Connections, retries and problem+json.
#include "client/client.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <mutex>
#include <poll.h>
#include <random>

#include "client/transport_error.hpp"
#include "client/url.hpp"
#include "net/dialer.hpp"
#include "net/http.hpp"

namespace jobbie::client {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxIdle = 64;
constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{5000};
constexpr milliseconds kLongestRetryAfter{30'000};
/// The server sends a comment every 15 seconds.
constexpr milliseconds kStreamSilence{45'000};
/// What a request that is given up may still take to be answered.
constexpr milliseconds kLastWord{1000};
/// The code of a node that has left its cluster.
constexpr std::string_view kRemoved = "removed";
constexpr std::string_view kOutcomeUnknown = "outcome_unknown";

Error refusal(const net::HttpResponse& response) {
  Error error{.failure = Failure::refused, .status = response.status};
  if (const auto problem = Document::parse(response.body)) {
    error.code = (*problem)["code"].text();
    error.message = (*problem)["detail"].text((*problem)["title"].text());
    error.field = (*problem)["field"].text();
  }
  if (error.message.empty()) error.message = "the server answered " + std::to_string(error.status);
  if (error.status == 401)
    error.hint = "Give a key: JOBBIE_TOKEN, JOBBIE_TOKEN_FILE or --token-file FILE.";
  if (error.status == 403) error.hint = "The key in use may not do this; use one with more scopes.";
  const auto after = response.header("retry-after");
  std::int64_t seconds = 0;
  if (std::from_chars(after.data(), after.data() + after.size(), seconds).ec == std::errc{} &&
      seconds >= 0 && seconds < 3600)
    error.retry_after = std::chrono::seconds(seconds);
  return error;
}

net::HttpRequest http_request(const Request& request, const ServerAddress& server,
                              const Options& options) {
  net::HttpRequest out{.method = request.method,
                       .target = server.prefix + request.target,
                       .host = server.url.authority(),
                       .headers = {{"User-Agent", options.agent}},
                       .body = request.body};
  if (!options.token.empty()) out.headers.emplace_back("Authorization", "Bearer " + options.token);
  out.headers.insert(out.headers.end(), request.headers.begin(), request.headers.end());
  if (!request.body.empty()) out.headers.emplace_back("Content-Type", "application/json");
  return out;
}

bool is_repeatable(const Request& request) {
  if (request.repeatable || request.method == "GET" || request.method == "PUT") return true;
  return std::any_of(request.headers.begin(), request.headers.end(),
                     [](const auto& header) { return header.first == "Idempotency-Key"; });
}

milliseconds pause_before(int attempt, const Error& error) {
  static thread_local std::minstd_rand random{std::random_device{}()};
  const auto full = std::min(kLongestPause, kFirstPause * (1 << std::min(attempt, 6)));
  const auto jittered = milliseconds(
      std::uniform_int_distribution<std::int64_t>(full.count() / 2, full.count())(random));
  if (!error.retry_after) return jittered;
  return std::min(kLongestRetryAfter, *error.retry_after + jittered);
}

Error interrupted() { return {.failure = Failure::interrupted, .message = "interrupted"}; }

bool is_raised(const Interrupt* interrupt) { return interrupt != nullptr && interrupt->raised(); }

/// False when interrupted.
bool sleep(milliseconds length, const Interrupt* interrupt) {
  pollfd wait{
      .fd = interrupt != nullptr ? interrupt->descriptor() : -1, .events = POLLIN, .revents = 0};
  return poll(&wait, 1, static_cast<int>(length.count())) <= 0;
}

bool is_clean(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

/// Connections that wait for their next request.
struct Client::Pool {
  Pool(Options given, ServerAddress address)
      : options(std::move(given)),
        server(std::move(address)),
        dialer({.tls = {.ca_file = options.tls_ca, .insecure = options.tls_insecure}}) {}

  const Options options;
  const ServerAddress server;
  net::Dialer dialer;
  std::mutex mutex;
  std::vector<net::HttpConnection> idle;

  Result<net::HttpConnection> take(const net::Deadline& deadline) {
    while (true) {
      std::unique_lock lock(mutex);
      if (idle.empty()) break;
      net::HttpConnection kept = std::move(idle.back());
      idle.pop_back();
      lock.unlock();
      if (kept.is_reusable()) return kept;
    }
    const auto limit = net::Deadline::in(options.connect_timeout, deadline.interrupt);
    auto connection = dialer.connect(
        server.url, {.at = std::min(deadline.at, limit.at), .interrupt = deadline.interrupt});
    if (connection) return net::HttpConnection(std::move(*connection));
    return std::unexpected(
        connect_error(std::move(connection.error()), server.url.host_and_port()));
  }

  Result<void> send(net::HttpConnection& connection, const Request& request,
                    const net::Deadline& deadline) const {
    auto sent = connection.send(http_request(request, server, options), deadline);
    if (!sent) return std::unexpected(exchange_error(std::move(sent.error())));
    return {};
  }

  void forget_idle() {
    const std::lock_guard lock(mutex);
    idle.clear();
  }

  void give_back(net::HttpConnection connection) {
    if (!connection.is_reusable()) return;
    const std::lock_guard lock(mutex);
    if (idle.size() < kMaxIdle) idle.push_back(std::move(connection));
  }
};

Client::Client(std::shared_ptr<Pool> pool) : pool_(std::move(pool)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<Client> Client::open(Options options) {
  auto server = parse_server_address(options.url);
  if (!server) return std::unexpected(server.error());
  if (!is_clean(options.token))
    return std::unexpected(Error{.failure = Failure::settings,
                                 .code = "bad_token",
                                 .message = "the token has a character that no token has"});
  auto pool = std::make_shared<Pool>(std::move(options), std::move(*server));
  if (pool->server.url.tls) {
    if (auto loaded = pool->dialer.load_trust(); !loaded)
      return std::unexpected(trust_error(std::move(loaded.error())));
  }
  return Client(std::move(pool));
}

Client Client::share() const { return Client(pool_); }

const Options& Client::options() const { return pool_->options; }

/// `sent` tells whether the server may have seen the request.
Result<Answer> Client::send_once(const Request& request, bool& sent) {
  auto deadline =
      net::Deadline::in(request.timeout.value_or(pool_->options.timeout), request.interrupt);
  auto connection = pool_->take(deadline);
  if (!connection) return std::unexpected(connection.error());
  sent = true;
  auto written = pool_->send(*connection, request, deadline);
  // A server that refuses a body may answer before it has read it.
  if (!written && written.error().failure != Failure::broken)
    return std::unexpected(written.error());
  auto head = connection->read_head(deadline);
  if (!head && head.error().failure == net::Failure::interrupted) {
    // The answer may be on its way with work in it: say that nobody waits, and look once more.
    connection->finish_sending();
    deadline = net::Deadline::in(kLastWord);
    if (auto last = connection->read_head(deadline)) head = std::move(last);
  }
  if (!head) return std::unexpected(exchange_error(std::move(head.error())));
  if (auto body = connection->read_body(*head, deadline); !body)
    return std::unexpected(exchange_error(std::move(body.error())));
  if (head->status >= 400) {
    Error refused = refusal(*head);
    // Under the same name there may be other nodes, on another connection.
    if (refused.code == kRemoved)
      pool_->forget_idle();
    else
      pool_->give_back(std::move(*connection));
    return std::unexpected(std::move(refused));
  }
  pool_->give_back(std::move(*connection));
  return Answer{.status = head->status, .body = std::move(head->body)};
}

Result<Answer> Client::send(const Request& request) {
  bool told_removed = false;
  for (int attempt = 0;; ++attempt) {
    bool sent = false;
    auto answer = send_once(request, sent);
    if (answer) return answer;
    const Error& error = answer.error();
    bool again = false;
    switch (error.failure) {
      case Failure::refused:
        again = (error.status == 429 || error.status == 503) &&
                (error.code != kOutcomeUnknown || is_repeatable(request)) &&
                (error.code != kRemoved || !std::exchange(told_removed, true));
        break;
      case Failure::unreachable:
        again = pool_->options.retry_connect;
        break;
      case Failure::timed_out:
      case Failure::broken:
        again = !sent || is_repeatable(request);
        break;
      default:
        break;
    }
    if (!again || attempt >= pool_->options.retries) return answer;
    if (!sleep(pause_before(attempt, error), request.interrupt))
      return std::unexpected(interrupted());
  }
}

Result<Document> Client::call(const Request& request) {
  auto answer = send(request);
  if (!answer) return std::unexpected(answer.error());
  if (answer->body.empty()) return Document();
  auto document = Document::parse(std::move(answer->body));
  if (document) return std::move(*document);
  return std::unexpected(
      Error{.failure = Failure::broken,
            .message = "the answer is not JSON; is this the address of a Jobbie server?"});
}

Result<Document> Client::read(std::string target) { return call({.target = std::move(target)}); }

Result<Document> Client::post(std::string target, std::string body) {
  return call({.method = "POST", .target = std::move(target), .body = std::move(body)});
}

Result<void> Client::stream(const Request& request,
                            const std::function<bool(const Event&)>& on_event,
                            const std::function<void()>& on_open) {
  Request asked = request;
  asked.headers.emplace_back("Accept", "text/event-stream");
  const auto until = [&] {
    return net::Deadline::in(request.timeout.value_or(kStreamSilence), request.interrupt);
  };
  auto connection = pool_->take(until());
  if (!connection) return std::unexpected(connection.error());
  if (auto written = pool_->send(*connection, asked, until()); !written) return written;
  auto head = connection->read_head(until());
  if (!head) return std::unexpected(exchange_error(std::move(head.error())));
  if (head->status >= 400) {
    if (auto body = connection->read_body(*head, until()); !body)
      return std::unexpected(exchange_error(std::move(body.error())));
    return std::unexpected(refusal(*head));
  }
  if (on_open) on_open();
  EventParser parser;
  std::string part;
  while (true) {
    // A server that never pauses leaves no other moment to notice it.
    if (is_raised(request.interrupt)) return std::unexpected(interrupted());
    part.clear();
    auto more = connection->read_some(part, until());
    if (!more) return std::unexpected(exchange_error(std::move(more.error())));
    if (!*more || !parser.feed(part, on_event)) return {};
  }
}

Result<bool> Client::download(const Request& request, const Download& download) {
  const auto until = [&](milliseconds timeout) {
    return net::Deadline::in(timeout, request.interrupt);
  };
  const auto silence = pool_->options.timeout;
  auto connection = pool_->take(until(silence));
  if (!connection) return std::unexpected(connection.error());
  if (auto written = pool_->send(*connection, request, until(silence)); !written)
    return std::unexpected(written.error());
  auto head = connection->read_head(until(request.timeout.value_or(silence)));
  if (!head) return std::unexpected(exchange_error(std::move(head.error())));
  if (head->status >= 400) {
    if (auto body = connection->read_body(*head, until(silence)); !body)
      return std::unexpected(exchange_error(std::move(body.error())));
    return std::unexpected(refusal(*head));
  }
  if (!download.on_head(head->headers)) return false;
  std::string part;
  while (true) {
    if (is_raised(request.interrupt)) return std::unexpected(interrupted());
    part.clear();
    auto more = connection->read_some(part, until(silence));
    if (!more) return std::unexpected(exchange_error(std::move(more.error())));
    if (!part.empty() && !download.on_part(part)) return false;
    if (!*more) break;
  }
  pool_->give_back(std::move(*connection));
  return true;
}

std::string new_idempotency_key() {
  static constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuv";
  std::random_device random;
  std::string key = "cpp-";
  for (int i = 0; i < 26; ++i) key.push_back(kDigits[random() % kDigits.size()]);
  return key;
}

}  // namespace jobbie::client
