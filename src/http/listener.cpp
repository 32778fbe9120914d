// Accepting in bursts, and resting when the system has nothing left to accept with.
#include "http/listener.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <unistd.h>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace jobbie::http {
namespace {

/// A client that is turned away is told, in one write that is not waited for. Over TLS the close
/// must do: a handshake costs more than what the limits are there to save.
constexpr std::string_view kTurnedAway =
    "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\n"
    "x-content-type-options: nosniff\r\n"
    "content-length: 0\r\n\r\n";

/// One IPv4 address, or the network part of an IPv6 one: a client has all addresses of its network.
std::string counted_address(const asio::ip::address& address) {
  if (address.is_v4()) return address.to_string();
  const asio::ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, v6).to_string();
  const auto bytes = v6.to_bytes();
  return std::string(bytes.begin(), bytes.begin() + 8);
}

base::Error listen_error(const std::string& host, std::uint16_t port, const asio::error_code& why) {
  return {.code = "listen_failed",
          .message = fmt::format("cannot listen on {}:{}: {}", host, port, why.message())};
}

}  // namespace

Listener::Listener(const std::vector<std::unique_ptr<EventLoop>>& loops, Shared& shared)
    : loops_(loops),
      shared_(shared),
      acceptor_(loops.front()->context()),
      timer_(loops.front()->context()) {}

base::Result<void> Listener::open(const std::string& host, std::uint16_t port) {
  asio::error_code error;
  asio::ip::address address = asio::ip::make_address(host, error);
  if (error) {
    asio::ip::tcp::resolver resolver(loops_.front()->context());
    const auto found = resolver.resolve(host, "", error);
    if (error || found.empty()) return std::unexpected(listen_error(host, port, error));
    address = found.begin()->endpoint().address();
  }
  const asio::ip::tcp::endpoint endpoint(address, port);
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (!error) acceptor_.native_non_blocking(true, error);
  if (!error) port_ = acceptor_.local_endpoint(error).port();
  if (error) return std::unexpected(listen_error(host, port, error));
  return {};
}

void Listener::close() {
  asio::error_code ignored;
  acceptor_.close(ignored);
  timer_.cancel();
}

void Listener::accept_next() {
  acceptor_.async_wait(asio::socket_base::wait_read, [this](const asio::error_code& error) {
    if (!error) accept_burst();
  });
}

void Listener::accept_burst() {
  bool any = true;
  for (int i = 0; i < kAcceptBurst && any; ++i) {
    if (!accept_one(any)) {
      rest();
      return;
    }
  }
  accept_next();
}

bool Listener::accept_one(bool& any) {
  asio::ip::tcp::endpoint from;
  socklen_t size = static_cast<socklen_t>(from.capacity());
  const int descriptor =
      ::accept4(acceptor_.native_handle(), from.data(), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (descriptor >= 0) {
    from.resize(size);
    hand_over(descriptor, from);
    return true;
  }
  any = errno != EAGAIN;
  // Out of descriptors or memory: the connection stays in the backlog, and trying again at once
  // would only burn the processor. Everything else concerns a single connection that has gone
  // meanwhile.
  return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
}

void Listener::rest() {
  timer_.expires_after(std::chrono::milliseconds(kAcceptBackoff.ms));
  timer_.async_wait([this](const asio::error_code& error) {
    if (!error) accept_next();
  });
}

/// Where there are too many connections, those that have not sent a whole request make way. Other
/// loops' do so for the next one that comes.
bool Listener::admit(const std::string& address) {
  const Admission::Outcome outcome = shared_.admission.admit(address);
  if (outcome == Admission::Outcome::admitted) return true;
  const std::string whose = outcome == Admission::Outcome::address_full ? address : "";
  for (const auto& loop : loops_) {
    if (loop->on_thread())
      loop->evict_unfinished(whose);
    else
      loop->post([&loop = *loop, whose] { loop.evict_unfinished(whose); });
  }
  return shared_.admission.admit(address) == Admission::Outcome::admitted;
}

void Listener::hand_over(int descriptor, const asio::ip::tcp::endpoint& from) {
  const asio::ip::address address = from.address();
  const std::string text = address.to_string();
  Peer peer{.remote = fmt::format("{}:{}", address.is_v6() ? "[" + text + "]" : text, from.port()),
            .address = counted_address(address)};
  EventLoop& loop =
      **std::ranges::min_element(loops_, {}, [](const auto& each) { return each->connections(); });
  Socket socket(descriptor);
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (!admit(peer.address)) {
    if (!shared_.tls)
      static_cast<void>(
          ::send(descriptor, kTurnedAway.data(), kTurnedAway.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    return;
  }
  loop.expect_one();
  if (loop.on_thread()) {
    loop.adopt(std::move(socket), std::move(peer));
    return;
  }
  loop.post([&loop, moved = std::move(socket), whose = std::move(peer)]() mutable {
    loop.adopt(std::move(moved), std::move(whose));
  });
}

}  // namespace jobbie::http
