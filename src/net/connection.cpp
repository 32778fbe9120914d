// Sockets that never block, and OpenSSL on top of them.
#include "net/connection.hpp"

#include <cerrno>
#include <poll.h>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

namespace jobbie::net {
namespace {

std::unexpected<Error> connection_broke(const std::string& why) {
  return std::unexpected(
      Error{.failure = Failure::broken, .message = "the connection broke: " + why});
}

}  // namespace

Connection::Connection(Connection&& other) noexcept
    : socket_(std::move(other.socket_)),
      tls_(std::move(other.tls_)),
      tls_ended_(std::exchange(other.tls_ended_, true)) {}

Connection& Connection::operator=(Connection&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(tls_, other.tls_);
  std::swap(tls_ended_, other.tls_ended_);
  return *this;
}

Connection::~Connection() { end_tls(); }

void Connection::end_tls() {
  if (!tls_ || std::exchange(tls_ended_, true)) return;
  ERR_clear_error();
  SSL_shutdown(tls_.get());
  ERR_clear_error();
}

Result<void> Connection::secure(const TlsContext& context, const std::string& host,
                                const Deadline& deadline) {
  auto made = context.new_session(socket_.get(), host);
  if (!made) return std::unexpected(std::move(made.error()));
  tls_ = std::move(*made);
  tls_ended_ = true;  // until there is something to end
  while (true) {
    ERR_clear_error();
    const int result = SSL_connect(tls_.get());
    if (result == 1) break;
    const int error = SSL_get_error(tls_.get(), result);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
      return std::unexpected(handshake_error(*tls_));
    auto ready = wait_for(socket_.get(), error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, deadline);
    if (!ready && ready.error().failure == Failure::timed_out)
      ready.error().message = "no answer to the TLS handshake";
    if (!ready) return ready;
  }
  tls_ended_ = false;
  return {};
}

Result<void> Connection::wait_for_tls(int result, const Deadline& deadline) {
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return wait_for(socket_.get(), POLLIN, deadline);
    case SSL_ERROR_WANT_WRITE:
      return wait_for(socket_.get(), POLLOUT, deadline);
    default:
      tls_ended_ = true;
      return connection_broke(tls_reason());
  }
}

Result<void> Connection::write_tls(std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    ERR_clear_error();
    std::size_t sent = 0;
    const int result = SSL_write_ex(tls_.get(), bytes.data(), bytes.size(), &sent);
    if (result == 1) {
      bytes.remove_prefix(sent);
    } else if (auto ready = wait_for_tls(result, deadline); !ready) {
      return ready;
    }
  }
  return {};
}

Result<std::size_t> Connection::read_tls(std::span<char> into, const Deadline& deadline) {
  // Bytes that TLS holds already are not seen by the waiting, which keeps the deadline otherwise.
  if (SSL_has_pending(tls_.get()) == 0)
    if (auto ready = wait_for(socket_.get(), POLLIN, deadline); !ready)
      return std::unexpected(std::move(ready.error()));
  while (true) {
    ERR_clear_error();
    std::size_t got = 0;
    const int result = SSL_read_ex(tls_.get(), into.data(), into.size(), &got);
    if (result == 1) return got;
    if (SSL_get_error(tls_.get(), result) == SSL_ERROR_ZERO_RETURN) return 0;
    if (auto ready = wait_for_tls(result, deadline); !ready)
      return std::unexpected(std::move(ready.error()));
  }
}

Result<void> Connection::write(std::string_view bytes, const Deadline& deadline) {
  if (tls_) return write_tls(bytes, deadline);
  while (!bytes.empty()) {
    const auto sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (auto ready = wait_for(socket_.get(), POLLOUT, deadline); !ready) return ready;
    } else if (errno != EINTR) {
      return connection_broke(system_reason(errno));
    }
  }
  return {};
}

Result<std::size_t> Connection::read(std::span<char> into, const Deadline& deadline) {
  if (tls_) return read_tls(into, deadline);
  while (true) {
    if (auto ready = wait_for(socket_.get(), POLLIN, deadline); !ready)
      return std::unexpected(std::move(ready.error()));
    const auto got = ::recv(socket_.get(), into.data(), into.size(), 0);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EAGAIN && errno != EINTR) return connection_broke(system_reason(errno));
  }
}

void Connection::finish_sending() {
  end_tls();
  ::shutdown(socket_.get(), SHUT_WR);
}

bool Connection::is_quiet() const {
  if (tls_ && SSL_pending(tls_.get()) > 0) return false;
  pollfd wanted{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&wanted, 1, 0) == 0;
}

}  // namespace jobbie::net
