// Non-blocking sockets and poll.
#include "client/socket.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

namespace jobbie::client {
namespace {

std::unexpected<Error> fault(Failure failure, std::string message) {
  return std::unexpected(Error{.failure = failure, .message = std::move(message)});
}

std::string reason(int number) {
  std::array<char, 128> buffer{};
  return strerror_r(number, buffer.data(), buffer.size());
}

/// Waits until the socket is ready, or for the reason why it will not be.
Result<void> await(int fd, short events, const Patience& patience) {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(patience.deadline - Clock::now());
    if (left.count() <= 0) return fault(Failure::timed_out, "the server did not answer in time");
    std::array<pollfd, 2> wait{{{.fd = fd, .events = events, .revents = 0},
                                {.fd = patience.interrupt ? patience.interrupt->descriptor() : -1,
                                 .events = POLLIN,
                                 .revents = 0}}};
    const int timeout = static_cast<int>(std::min<std::int64_t>(left.count(), 60'000));
    const int ready = poll(wait.data(), wait.size(), timeout);
    if (ready < 0 && errno != EINTR) return fault(Failure::broken, reason(errno));
    if (ready <= 0) continue;
    // What has come is read before the interrupt counts.
    if (wait[0].revents != 0) return {};
    if (wait[1].revents != 0) return fault(Failure::interrupted, "interrupted");
  }
}

Result<int> connect_to(const addrinfo& address, const Patience& patience) {
  const int fd = socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                        address.ai_protocol);
  if (fd < 0) return fault(Failure::unreachable, reason(errno));
  const auto give_up = [fd](Error error) {
    close(fd);
    return std::unexpected(std::move(error));
  };
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (connect(fd, address.ai_addr, address.ai_addrlen) == 0) return fd;
  if (errno != EINPROGRESS)
    return give_up({.failure = Failure::unreachable, .message = reason(errno)});
  if (auto ready = await(fd, POLLOUT, patience); !ready) {
    Error error = std::move(ready.error());
    if (error.failure == Failure::timed_out)
      error = {.failure = Failure::unreachable, .message = "no answer to the connection"};
    return give_up(std::move(error));
  }
  int outcome = 0;
  socklen_t size = sizeof outcome;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &outcome, &size);
  if (outcome != 0) return give_up({.failure = Failure::unreachable, .message = reason(outcome)});
  return fd;
}

}  // namespace

Result<Socket> Socket::connect(const Url& url, const Patience& patience) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed =
      getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &hints, &found);
  if (failed != 0) return fault(Failure::unreachable, gai_strerror(failed));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
  Error last{.failure = Failure::unreachable, .message = "no address"};
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    auto fd = connect_to(*each, patience);
    if (fd) return Socket(*fd);
    last = std::move(fd.error());
    if (last.failure == Failure::interrupted) break;
  }
  return std::unexpected(std::move(last));
}

Result<void> Socket::secure(ssl_ctx_st& context, const Url& url, const Patience& patience) {
  auto made = make_tls_connection(context, fd_, url.host);
  if (!made) return std::unexpected(made.error());
  tls_ = std::move(*made);
  tls_ended_ = true;  // until there is something to end
  while (true) {
    ERR_clear_error();
    const int result = SSL_connect(tls_.get());
    if (result == 1) break;
    const int error = SSL_get_error(tls_.get(), result);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
      return std::unexpected(handshake_error(*tls_));
    auto ready = await(fd_, error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, patience);
    if (!ready && ready.error().failure == Failure::timed_out)
      return fault(Failure::unreachable, "no answer to the TLS handshake");
    if (!ready) return ready;
  }
  tls_ended_ = false;
  return {};
}

Socket::Socket(Socket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      tls_(std::move(other.tls_)),
      tls_ended_(other.tls_ended_) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(tls_, other.tls_);
  std::swap(tls_ended_, other.tls_ended_);
  return *this;
}

Socket::~Socket() {
  end_tls();
  if (fd_ >= 0) close(fd_);
}

void Socket::end_tls() {
  if (!tls_ || std::exchange(tls_ended_, true)) return;
  ERR_clear_error();
  SSL_shutdown(tls_.get());
}

Result<void> Socket::await_tls(int result, const Patience& patience) {
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return await(fd_, POLLIN, patience);
    case SSL_ERROR_WANT_WRITE:
      return await(fd_, POLLOUT, patience);
    default:
      tls_ended_ = true;
      return fault(Failure::broken, "the connection broke: " + tls_reason());
  }
}

Result<void> Socket::write_tls(std::string_view bytes, const Patience& patience) {
  while (!bytes.empty()) {
    ERR_clear_error();
    std::size_t sent = 0;
    const int result = SSL_write_ex(tls_.get(), bytes.data(), bytes.size(), &sent);
    if (result == 1) {
      bytes.remove_prefix(sent);
    } else if (auto ready = await_tls(result, patience); !ready) {
      return ready;
    }
  }
  return {};
}

Result<std::size_t> Socket::read_tls(std::span<char> into, const Patience& patience) {
  while (true) {
    ERR_clear_error();
    std::size_t got = 0;
    const int result = SSL_read_ex(tls_.get(), into.data(), into.size(), &got);
    if (result == 1) return got;
    if (SSL_get_error(tls_.get(), result) == SSL_ERROR_ZERO_RETURN) return 0;
    if (auto ready = await_tls(result, patience); !ready)
      return std::unexpected(std::move(ready.error()));
  }
}

Result<void> Socket::write(std::string_view bytes, const Patience& patience) {
  if (tls_) return write_tls(bytes, patience);
  while (!bytes.empty()) {
    const auto sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (auto ready = await(fd_, POLLOUT, patience); !ready) return ready;
    } else if (errno != EINTR) {
      return fault(Failure::broken, "the connection broke: " + reason(errno));
    }
  }
  return {};
}

Result<std::size_t> Socket::read(std::span<char> into, const Patience& patience) {
  if (tls_) return read_tls(into, patience);
  while (true) {
    if (auto ready = await(fd_, POLLIN, patience); !ready)
      return std::unexpected(std::move(ready.error()));
    const auto got = recv(fd_, into.data(), into.size(), 0);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EAGAIN && errno != EINTR)
      return fault(Failure::broken, "the connection broke: " + reason(errno));
  }
}

void Socket::finish_sending() {
  end_tls();
  shutdown(fd_, SHUT_WR);
}

bool Socket::is_quiet() const {
  if (tls_ && SSL_pending(tls_.get()) > 0) return false;
  pollfd wait{.fd = fd_, .events = POLLIN, .revents = 0};
  return poll(&wait, 1, 0) == 0;
}

}  // namespace jobbie::client
