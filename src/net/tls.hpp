// Whom our side of a TLS connection trusts.
#pragma once

#include <memory>
#include <string>

#include "net/error.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace jobbie::net {

struct TlsOptions {
  /// PEM file with the authorities to trust, and no others; empty: those that the system trusts, in
  /// any distribution's place for them (SSL_CERT_FILE and SSL_CERT_DIR name others).
  std::string ca_file;
  bool insecure = false;  ///< takes any certificate: whoever sits between reads everything
};

struct FreeTls {
  void operator()(ssl_ctx_st* context) const noexcept;
  void operator()(ssl_st* session) const noexcept;
};
using TlsSession = std::unique_ptr<ssl_st, FreeTls>;

/// TLS 1.2 or later, http/1.1 as the protocol. May be used by several threads at once.
class TlsContext {
 public:
  [[nodiscard]] static Result<TlsContext> make(const TlsOptions& options);

  /// For a socket that is connected; the server must show a certificate for `host`, which is a name
  /// or an address. The descriptor stays the caller's.
  [[nodiscard]] Result<TlsSession> new_session(int descriptor, const std::string& host) const;

 private:
  explicit TlsContext(std::unique_ptr<ssl_ctx_st, FreeTls> context)
      : context_(std::move(context)) {}
  std::unique_ptr<ssl_ctx_st, FreeTls> context_;
};

/// Why a handshake failed that was tried just now.
[[nodiscard]] Error handshake_error(const ssl_st& session);
/// Why reading or writing failed just now.
[[nodiscard]] std::string tls_reason();

}  // namespace jobbie::net
