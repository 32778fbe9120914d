// Sockets and OpenSSL's libssl.
#include "peer/stream.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "peer/failure.hpp"

namespace jobbie::peer {
namespace {

constexpr int kKeepAliveSeconds = 10;
constexpr std::string_view kBindingLabel = "EXPORTER-jobbie-peer";

std::string tls_reason() {
  const auto code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "the connection ended" : reason;
}

std::unexpected<base::Error> lost() {
  return failure("connection_lost", "the other side has closed the connection");
}

void set(int descriptor, int level, int name, int value) {
  ::setsockopt(descriptor, level, name, &value, sizeof value);
}

}  // namespace

void TlsContext::Free::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

base::Result<std::unique_ptr<TlsContext>> TlsContext::load(const TlsFiles& files) {
  auto out = std::unique_ptr<TlsContext>(new TlsContext(SSL_CTX_new(TLS_method())));
  auto* const context = out->context_.get();
  if (context == nullptr) return failure("tls_failed", tls_reason());
  const auto refuse = [](const std::string& file) {
    return failure("tls_failed", "cannot use " + file + ": " + tls_reason());
  };
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION);
  // Frames have lengths: a stream that was cut short is noticed without TLS's own good-bye.
  SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  if (SSL_CTX_use_certificate_chain_file(context, files.cert.c_str()) != 1)
    return refuse(files.cert);
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1)
    return refuse(files.key);
  if (SSL_CTX_load_verify_file(context, files.ca.c_str()) != 1) return refuse(files.ca);
  return out;
}

void Stream::Free::operator()(ssl_st* tls) const { SSL_free(tls); }

Stream::Stream(int descriptor) : descriptor_(descriptor) {
  set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveSeconds);
  set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveSeconds);
}

Stream::Stream(Stream&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), tls_(std::move(other.tls_)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(tls_, other.tls_);
  return *this;
}

Stream::~Stream() {
  tls_.reset();
  if (descriptor_ >= 0) ::close(descriptor_);
}

base::Result<Stream> Stream::connect(const sockaddr& address, unsigned length) {
  const int descriptor = ::socket(address.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return failure("connect_failed", std::strerror(errno));
  Stream stream(descriptor);
  if (::connect(descriptor, &address, length) != 0 && errno != EINPROGRESS)
    return failure("connect_failed", std::strerror(errno));
  return stream;
}

base::Result<void> Stream::connected() const {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return failure("connect_failed", std::strerror(error));
  return {};
}

base::Result<void> Stream::secure(const TlsContext& context, Role role) {
  tls_.reset(SSL_new(&context.get()));
  if (!tls_ || SSL_set_fd(tls_.get(), descriptor_) != 1) return failure("tls_failed", tls_reason());
  if (role == Role::dialler)
    SSL_set_connect_state(tls_.get());
  else
    SSL_set_accept_state(tls_.get());
  return {};
}

base::Result<Progress> Stream::after_tls(int result) {
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return Progress{.need = Need::to_read};
    case SSL_ERROR_WANT_WRITE:
      return Progress{.need = Need::to_write};
    case SSL_ERROR_ZERO_RETURN:
      return lost();
    case SSL_ERROR_SYSCALL:
      ERR_clear_error();
      return lost();
    default:
      break;
  }
  if (const auto verdict = SSL_get_verify_result(tls_.get()); verdict != X509_V_OK) {
    ERR_clear_error();
    return failure("tls_failed", X509_verify_cert_error_string(verdict));
  }
  return failure("tls_failed", tls_reason());
}

base::Result<Progress> Stream::shake_hands() {
  ERR_clear_error();
  const int result = SSL_do_handshake(tls_.get());
  if (result == 1) return Progress{};
  return after_tls(result);
}

std::string Stream::binding() const {
  if (!tls_) return {};
  std::string out(kNonceBytes, '\0');
  const int done = SSL_export_keying_material(
      tls_.get(), reinterpret_cast<unsigned char*>(out.data()), out.size(), kBindingLabel.data(),
      kBindingLabel.size(), nullptr, 0, 0);
  // Whoever gets none cannot prove anything to the other side.
  if (done != 1) fill_random(out.data(), out.size());
  return out;
}

base::Result<Progress> Stream::read(std::span<char> into) {
  if (tls_) {
    ERR_clear_error();
    std::size_t got = 0;
    const int result = SSL_read_ex(tls_.get(), into.data(), into.size(), &got);
    if (result == 1) return Progress{.bytes = got};
    return after_tls(result);
  }
  for (;;) {
    const auto got = ::recv(descriptor_, into.data(), into.size(), 0);
    if (got > 0) return Progress{.bytes = static_cast<std::size_t>(got)};
    if (got == 0) return lost();
    if (errno == EAGAIN) return Progress{.need = Need::to_read};
    if (errno != EINTR) return failure("connection_lost", std::strerror(errno));
  }
}

base::Result<Progress> Stream::write(std::string_view bytes) {
  if (bytes.empty()) return Progress{};
  if (tls_) {
    ERR_clear_error();
    std::size_t written = 0;
    const int result = SSL_write_ex(tls_.get(), bytes.data(), bytes.size(), &written);
    if (result == 1) return Progress{.bytes = written};
    return after_tls(result);
  }
  for (;;) {
    const auto sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) return Progress{.bytes = static_cast<std::size_t>(sent)};
    if (errno == EAGAIN) return Progress{.need = Need::to_write};
    if (errno != EINTR) return failure("connection_lost", std::strerror(errno));
  }
}

std::size_t Stream::in_flight() const {
  int bytes = 0;
  return ::ioctl(descriptor_, TIOCOUTQ, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

void Stream::end_writing() {
  if (tls_) SSL_shutdown(tls_.get());
  ::shutdown(descriptor_, SHUT_WR);
}

std::string Stream::remote_address() const {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  return ::getpeername(descriptor_, address, &size) == 0 ? text_of(*address) : std::string();
}

std::string text_of(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  } else if (address.sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) != 0)
      ::inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text.data(), text.size());
    else
      ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

}  // namespace jobbie::peer
