// OpenSSL's client side: trust, names, and what went wrong.
#include "net/tls.hpp"

#include <array>
#include <cstdlib>
#include <unistd.h>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/socket_bio.hpp"

namespace jobbie::net {
namespace {

/// Where systems other than the one that OpenSSL was built for keep what they trust.
constexpr std::array kBundles = {"/etc/ssl/certs/ca-certificates.crt",
                                 "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                 "/etc/ssl/cert.pem"};

/// As ALPN has it: a length, and the name.
constexpr std::array<unsigned char, 9> kProtocols = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

bool is_readable(const char* path) { return ::access(path, R_OK) == 0; }

void trust_the_system(SSL_CTX& context) {
  SSL_CTX_set_default_verify_paths(&context);
  if (std::getenv(X509_get_default_cert_file_env()) != nullptr ||
      std::getenv(X509_get_default_cert_dir_env()) != nullptr ||
      is_readable(X509_get_default_cert_file()) || is_readable(X509_get_default_cert_dir()))
    return;
  for (const char* bundle : kBundles)
    if (is_readable(bundle) && SSL_CTX_load_verify_file(&context, bundle) == 1) return;
}

std::unexpected<Error> no_tls() {
  return std::unexpected(Error{.failure = Failure::no_resources, .message = tls_reason()});
}

Failure kind_of(long verdict) {
  switch (verdict) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return Failure::certificate_wrong_name;
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Failure::certificate_not_current;
    default:
      return Failure::certificate_untrusted;
  }
}

}  // namespace

void FreeTls::operator()(ssl_ctx_st* context) const noexcept { SSL_CTX_free(context); }
void FreeTls::operator()(ssl_st* session) const noexcept { SSL_free(session); }

Result<TlsContext> TlsContext::make(const TlsOptions& options) {
  ERR_clear_error();
  std::unique_ptr<SSL_CTX, FreeTls> context(SSL_CTX_new(TLS_client_method()));
  if (!context) return no_tls();
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_alpn_protos(context.get(), kProtocols.data(), kProtocols.size());
  SSL_CTX_set_verify(context.get(), options.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  if (options.ca_file.empty()) {
    if (!options.insecure) trust_the_system(*context);
  } else if (SSL_CTX_load_verify_file(context.get(), options.ca_file.c_str()) == 1) {
    // Whoever names a certificate trusts it, though it be signed by somebody else.
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context.get()), X509_V_FLAG_PARTIAL_CHAIN);
  } else {
    ERR_clear_error();
    return std::unexpected(
        Error{.failure = Failure::bad_ca_file,
              .message = "no certificate could be read from " + options.ca_file});
  }
  return TlsContext(std::move(context));
}

Result<TlsSession> TlsContext::new_session(int descriptor, const std::string& host) const {
  ERR_clear_error();
  TlsSession session(SSL_new(context_.get()));
  BIO* const bio = session ? base::new_socket_bio(descriptor) : nullptr;
  if (bio == nullptr) return no_tls();
  SSL_set_bio(session.get(), bio, bio);
  // A certificate names hosts, or addresses; only a host may be told to the other side.
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session.get()), host.c_str()) != 1) {
    ERR_clear_error();
    // The same as SSL_set_tlsext_host_name, which is a macro with a cast of the old kind.
    std::string name = host;
    if (SSL_set1_host(session.get(), name.c_str()) != 1 ||
        SSL_ctrl(session.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                 name.data()) != 1)
      return no_tls();
  }
  return session;
}

Error handshake_error(const ssl_st& session) {
  const auto verdict = SSL_get_verify_result(&session);
  if (SSL_get_verify_mode(&session) != SSL_VERIFY_NONE && verdict != X509_V_OK) {
    ERR_clear_error();
    return {.failure = kind_of(verdict),
            .message = std::string("the server's certificate is not trusted: ") +
                       X509_verify_cert_error_string(verdict)};
  }
  if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_WRONG_VERSION_NUMBER) {
    ERR_clear_error();
    return {.failure = Failure::not_tls, .message = "what listens there does not speak TLS"};
  }
  return {.failure = Failure::handshake_failed, .message = "no TLS handshake: " + tls_reason()};
}

std::string tls_reason() {
  const auto code = ERR_peek_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason != nullptr ? reason : "the server closed the connection";
}

}  // namespace jobbie::net
