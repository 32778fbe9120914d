// One connection's TLS, on a socket that never blocks.
#include <cerrno>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "http/tls.hpp"

namespace jobbie::http {
namespace {

/// What a connection takes for broken.
long broken() {
  errno = EPROTO;
  return -1;
}

}  // namespace

void TlsSession::Free::operator()(ssl_st* tls) const { SSL_free(tls); }

TlsSession::~TlsSession() { finish(); }

/// The first byte of TLS is that of a record; the first byte of HTTP is that of a method.
TlsSession::Shaken TlsSession::shake_hands() {
  if (!looked_) {
    char first = 0;
    const auto count = ::recv(descriptor_, &first, 1, MSG_PEEK);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return Shaken::not_yet;
    if (count != 1) return Shaken::failed;
    looked_ = true;
    if (first >= 'A' && first <= 'Z') return Shaken::plain;
  }
  ERR_clear_error();
  wants_write_ = false;
  const int result = SSL_accept(tls_.get());
  if (result == 1) {
    ready_ = true;
    return Shaken::done;
  }
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return Shaken::not_yet;
    case SSL_ERROR_WANT_WRITE:
      wants_write_ = true;
      return Shaken::not_yet;
    default:
      failed_ = true;
      return Shaken::failed;
  }
}

long TlsSession::read(std::span<char> into) {
  more_ = wants_write_ = false;
  if (failed_) return broken();
  std::size_t count = 0;
  // A record holds 16 KiB at most: as many are taken as there is room for.
  while (count < into.size()) {
    ERR_clear_error();
    std::size_t part = 0;
    const int result = SSL_read_ex(tls_.get(), into.data() + count, into.size() - count, &part);
    if (result == 1) {
      count += part;
      continue;
    }
    const int error = SSL_get_error(tls_.get(), result);
    wants_write_ = error == SSL_ERROR_WANT_WRITE;
    if (wants_write_ || error == SSL_ERROR_WANT_READ) {
      if (count > 0) return static_cast<long>(count);
      errno = EAGAIN;
      return -1;
    }
    failed_ = error != SSL_ERROR_ZERO_RETURN;
    // What came before the end is handed out before the end is.
    more_ = count > 0;
    if (count > 0) return static_cast<long>(count);
    return failed_ ? broken() : 0;
  }
  more_ = true;
  return static_cast<long>(count);
}

long TlsSession::write(std::string_view bytes) {
  if (failed_) return broken();
  ERR_clear_error();
  std::size_t count = 0;
  const int result = SSL_write_ex(tls_.get(), bytes.data(), bytes.size(), &count);
  if (result == 1) return static_cast<long>(count);
  if (SSL_get_error(tls_.get(), result) == SSL_ERROR_WANT_WRITE) {
    errno = EAGAIN;
    return -1;
  }
  failed_ = true;
  return broken();
}

bool TlsSession::finish() {
  if (!ready_ || failed_ || finished_) return true;
  ERR_clear_error();
  const int result = SSL_shutdown(tls_.get());
  if (result < 0 && SSL_get_error(tls_.get(), result) == SSL_ERROR_WANT_WRITE) return false;
  finished_ = true;
  failed_ = result < 0;
  return true;
}

}  // namespace jobbie::http
