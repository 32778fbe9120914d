// Connections, retries and problem+json.
#include "client/client.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <mutex>
#include <poll.h>
#include <random>

#include "client/exchange.hpp"
#include "client/url.hpp"

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

Error refusal(const Response& response) {
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

std::string head_of(const Request& request, const Url& url, const Options& options) {
  std::string out = request.method + " " + url.prefix + request.target +
                    " HTTP/1.1\r\nHost: " + url.authority() + "\r\nUser-Agent: " + options.agent +
                    "\r\n";
  if (!options.token.empty()) out += "Authorization: Bearer " + options.token + "\r\n";
  for (const auto& [name, value] : request.headers) out += name + ": " + value + "\r\n";
  if (!request.body.empty()) out += "Content-Type: application/json\r\n";
  if (!request.body.empty() || request.method != "GET")
    out += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  return out + "\r\n";
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
  Options options;
  Url url;
  TlsContext tls;  ///< none for http
  std::mutex mutex;
  std::vector<Exchange> idle;

  Result<Exchange> take(const Patience& patience) {
    while (true) {
      std::unique_lock lock(mutex);
      if (idle.empty()) break;
      Exchange exchange = std::move(idle.back());
      idle.pop_back();
      lock.unlock();
      if (exchange.reusable()) return exchange;
    }
    const auto limit = std::min(patience.deadline, Clock::now() + options.connect_timeout);
    auto socket = connect({.deadline = limit, .interrupt = patience.interrupt});
    if (socket) return Exchange(std::move(*socket));
    Error error = std::move(socket.error());
    if (error.failure == Failure::unreachable) {
      error.message = "no server at " + url.authority() + ": " + error.message;
      if (error.hint.empty())
        error.hint =
            "Is the server running? `jobbie server` starts one; --url or JOBBIE_URL names another.";
    }
    return std::unexpected(std::move(error));
  }

  Result<Socket> connect(const Patience& patience) {
    auto socket = Socket::connect(url, patience);
    if (!socket || !tls) return socket;
    if (auto secured = socket->secure(*tls, url, patience); !secured)
      return std::unexpected(std::move(secured.error()));
    return socket;
  }

  void forget_idle() {
    const std::lock_guard lock(mutex);
    idle.clear();
  }

  void give_back(Exchange exchange) {
    if (!exchange.reusable()) return;
    const std::lock_guard lock(mutex);
    if (idle.size() < kMaxIdle) idle.push_back(std::move(exchange));
  }
};

Client::Client(std::unique_ptr<Pool> pool) : pool_(std::move(pool)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<Client> Client::open(Options options) {
  auto url = parse_url(options.url);
  if (!url) return std::unexpected(url.error());
  if (!is_clean(options.token))
    return std::unexpected(Error{.failure = Failure::settings,
                                 .code = "bad_token",
                                 .message = "the token has a character that no token has"});
  auto pool = std::make_unique<Pool>();
  pool->options = std::move(options);
  pool->url = std::move(*url);
  if (pool->url.tls) {
    auto tls = make_tls_context(pool->options.tls_ca, pool->options.tls_insecure);
    if (!tls) return std::unexpected(tls.error());
    pool->tls = std::move(*tls);
  }
  return Client(std::move(pool));
}

const Options& Client::options() const { return pool_->options; }

/// `sent` tells whether the server may have seen the request.
Result<Answer> Client::send_once(const Request& request, bool& sent) {
  const auto timeout = request.timeout.value_or(pool_->options.timeout);
  Patience patience{.deadline = Clock::now() + timeout, .interrupt = request.interrupt};
  auto exchange = pool_->take(patience);
  if (!exchange) return std::unexpected(exchange.error());
  sent = true;
  std::string bytes = head_of(request, pool_->url, pool_->options);
  bytes += request.body;
  auto written = exchange->send(bytes, patience);
  // A server that refuses a body may answer before it has read it.
  if (!written && written.error().failure != Failure::broken)
    return std::unexpected(written.error());
  auto head = exchange->read_head(patience, request.method == "HEAD");
  if (!head && head.error().failure == Failure::interrupted) {
    // The answer may be on its way with work in it: say that nobody waits, and look once more.
    exchange->finish_sending();
    patience = {.deadline = Clock::now() + kLastWord, .interrupt = nullptr};
    if (auto last = exchange->read_head(patience)) head = std::move(last);
  }
  if (!head) return std::unexpected(head.error());
  if (auto body = exchange->read_body(*head, patience); !body) return std::unexpected(body.error());
  if (head->status >= 400) {
    Error refused = refusal(*head);
    // Under the same name there may be other nodes, on another connection.
    if (refused.code == kRemoved)
      pool_->forget_idle();
    else
      pool_->give_back(std::move(*exchange));
    return std::unexpected(std::move(refused));
  }
  pool_->give_back(std::move(*exchange));
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
      return std::unexpected(Error{.failure = Failure::interrupted, .message = "interrupted"});
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
    return Patience{.deadline = Clock::now() + request.timeout.value_or(kStreamSilence),
                    .interrupt = request.interrupt};
  };
  auto exchange = pool_->take(until());
  if (!exchange) return std::unexpected(exchange.error());
  const auto written = exchange->send(head_of(asked, pool_->url, pool_->options), until());
  if (!written) return written;
  auto head = exchange->read_head(until());
  if (!head) return std::unexpected(head.error());
  if (head->status >= 400) {
    if (auto body = exchange->read_body(*head, until()); !body) return body;
    return std::unexpected(refusal(*head));
  }
  if (on_open) on_open();
  EventParser parser;
  std::string part;
  while (true) {
    part.clear();
    const auto more = exchange->read_some(part, until());
    if (!more) return std::unexpected(more.error());
    if (!*more || !parser.feed(part, on_event)) return {};
  }
}

Result<bool> Client::download(const Request& request, const Download& download) {
  const auto until = [&](milliseconds timeout) {
    return Patience{.deadline = Clock::now() + timeout, .interrupt = request.interrupt};
  };
  const auto silence = pool_->options.timeout;
  auto exchange = pool_->take(until(silence));
  if (!exchange) return std::unexpected(exchange.error());
  const auto written = exchange->send(head_of(request, pool_->url, pool_->options), until(silence));
  if (!written) return std::unexpected(written.error());
  auto head = exchange->read_head(until(request.timeout.value_or(silence)));
  if (!head) return std::unexpected(head.error());
  if (head->status >= 400) {
    if (auto body = exchange->read_body(*head, until(silence)); !body)
      return std::unexpected(body.error());
    return std::unexpected(refusal(*head));
  }
  if (!download.on_head(head->headers)) return false;
  std::string part;
  while (true) {
    part.clear();
    const auto more = exchange->read_some(part, until(silence));
    if (!more) return std::unexpected(more.error());
    if (!part.empty() && !download.on_part(part)) return false;
    if (!*more) break;
  }
  pool_->give_back(std::move(*exchange));
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
