// Sockets that never block, and OpenSSL on top of them.
#include "effects/connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

namespace jobbie::effects {
namespace {

/// How long a wait goes on before it looks whether the server is stopping.
constexpr std::chrono::milliseconds kPatience{200};

std::unexpected<base::Error> failed(std::string_view code, std::string message) {
  return std::unexpected(base::Error{.code = std::string(code), .message = std::move(message)});
}

std::string tls_reason() {
  const auto code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "the connection ended" : reason;
}

struct FreeList {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

}  // namespace

void Connection::Free::operator()(ssl_st* tls) const { SSL_free(tls); }

Connection::~Connection() {
  tls_.reset();
  if (fd_ >= 0) ::close(fd_);
}

base::Result<void> Connection::wait(short events) const {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
    if (stopping_) return failed("stopping", "the server is stopping");
    if (left.count() <= 0) return failed("timeout", "the answer took too long");
    pollfd wanted{.fd = fd_, .events = events, .revents = 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(std::min(left, kPatience).count()));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return failed("connect_failed", std::strerror(errno));
  }
}

base::Result<void> Connection::open(const base::Url& url, const AllowList& allow) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &hints, &found);
  if (error != 0) return failed("unknown_host", ::gai_strerror(error));
  const std::unique_ptr<addrinfo, FreeList> list(found);
  for (const auto* one = list.get(); one != nullptr; one = one->ai_next) {
    const auto address = Address::from(*one->ai_addr);
    if (!is_public(address) && !allow.allows(url.host, address))
      return failed("blocked_address",
                    "the host has an address that is not public; the operator can allow it with "
                    "--webhook-allow");
  }
  auto connected = base::Result<void>(failed("connect_failed", "the host has no address"));
  for (const auto* one = list.get(); one != nullptr && !connected; one = one->ai_next)
    connected = connect(*one->ai_addr, one->ai_addrlen);
  return connected;
}

base::Result<void> Connection::connect(const sockaddr& address, unsigned length) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = ::socket(address.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return failed("connect_failed", std::strerror(errno));
  if (::connect(fd_, &address, length) == 0) return {};
  if (errno != EINPROGRESS) return failed("connect_failed", std::strerror(errno));
  if (auto ready = wait(POLLOUT); !ready) return ready;
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return failed("connect_failed", std::strerror(error));
  return {};
}

base::Result<void> Connection::wait_for_tls(int result) {
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return wait(POLLIN);
    case SSL_ERROR_WANT_WRITE:
      return wait(POLLOUT);
    default:
      return failed("tls_failed", tls_reason());
  }
}

base::Result<void> Connection::secure(ssl_ctx_st& context, const base::Url& url) {
  tls_.reset(SSL_new(&context));
  if (!tls_ || SSL_set_fd(tls_.get(), fd_) != 1) return failed("tls_failed", tls_reason());
  // A certificate names hosts, or addresses; only a host may be told to the other side.
  auto* parameters = SSL_get0_param(tls_.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(parameters, url.host.c_str()) != 1) {
    ERR_clear_error();
    // The same as SSL_set_tlsext_host_name, which is a macro with a cast of the old kind.
    std::string name = url.host;
    if (SSL_set1_host(tls_.get(), name.c_str()) != 1 ||
        SSL_ctrl(tls_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                 name.data()) != 1)
      return failed("tls_failed", tls_reason());
  }
  for (;;) {
    const int result = SSL_connect(tls_.get());
    if (result == 1) return {};
    if (const auto verdict = SSL_get_verify_result(tls_.get()); verdict != X509_V_OK)
      return failed("tls_failed", X509_verify_cert_error_string(verdict));
    if (auto again = wait_for_tls(result); !again) return again;
  }
}

base::Result<void> Connection::write(std::string_view bytes) {
  while (!bytes.empty()) {
    std::size_t written = 0;
    if (tls_) {
      const int result = SSL_write_ex(tls_.get(), bytes.data(), bytes.size(), &written);
      if (result != 1) {
        if (auto again = wait_for_tls(result); !again) return again;
      }
    } else {
      const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        written = static_cast<std::size_t>(sent);
      } else if (errno == EAGAIN || errno == EINTR) {
        if (auto ready = wait(POLLOUT); !ready) return ready;
      } else {
        return failed("connect_failed", std::strerror(errno));
      }
    }
    bytes.remove_prefix(written);
  }
  return {};
}

base::Result<std::size_t> Connection::read(char* into, std::size_t most) {
  for (;;) {
    if (tls_) {
      std::size_t got = 0;
      const int result = SSL_read_ex(tls_.get(), into, most, &got);
      if (result == 1) return got;
      if (SSL_get_error(tls_.get(), result) == SSL_ERROR_ZERO_RETURN) return 0;
      if (auto again = wait_for_tls(result); !again) return std::unexpected(again.error());
      continue;
    }
    const auto got = ::recv(fd_, into, most, 0);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EAGAIN && errno != EINTR) return failed("connect_failed", std::strerror(errno));
    if (auto ready = wait(POLLIN); !ready) return std::unexpected(ready.error());
  }
}

}  // namespace jobbie::effects
