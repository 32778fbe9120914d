// What the connections of one client are secured with. Not part of the public interface.
#pragma once

#include <memory>
#include <string>

#include "client/error.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace jobbie::client {

struct FreeTls {
  void operator()(ssl_ctx_st* context) const;
  void operator()(ssl_st* tls) const;
};
using TlsContext = std::unique_ptr<ssl_ctx_st, FreeTls>;
using TlsConnection = std::unique_ptr<ssl_st, FreeTls>;

/// Trusts the certificates in the file `ca`, or if that is empty those that the system trusts
/// (SSL_CERT_FILE and SSL_CERT_DIR name others); `insecure`: any. May be used by several threads.
Result<TlsContext> make_tls_context(const std::string& ca, bool insecure);

/// For a socket that is connected; the server must show a certificate for `host`.
Result<TlsConnection> make_tls_connection(ssl_ctx_st& context, int descriptor,
                                          const std::string& host);

/// Why a handshake failed that was tried just now.
Error handshake_error(const ssl_st& tls);
/// Why reading or writing failed just now.
std::string tls_reason();

}  // namespace jobbie::client
