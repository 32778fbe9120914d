// Whom a client trusts, and what it says of those that it does not.
#include "client/tls.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/socket_bio.hpp"

namespace jobbie::client {
namespace {

/// Where systems other than the one that OpenSSL was built for keep what they trust.
constexpr std::array kBundles = {"/etc/ssl/certs/ca-certificates.crt",
                                 "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                 "/etc/ssl/cert.pem"};

constexpr std::array<unsigned char, 9> kProtocols = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

bool is_there(const char* path) { return ::access(path, R_OK) == 0; }

void trust_the_system(SSL_CTX& context) {
  SSL_CTX_set_default_verify_paths(&context);
  if (std::getenv(X509_get_default_cert_file_env()) != nullptr ||
      std::getenv(X509_get_default_cert_dir_env()) != nullptr ||
      is_there(X509_get_default_cert_file()) || is_there(X509_get_default_cert_dir()))
    return;
  for (const char* bundle : kBundles)
    if (is_there(bundle) && SSL_CTX_load_verify_file(&context, bundle) == 1) return;
}

std::string hint_for(long verdict) {
  switch (verdict) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "Use an address with a name that the certificate has.";
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "The server needs a new certificate, or one of the two clocks is wrong.";
    default:
      return "--tls-ca FILE or JOBBIE_TLS_CA names the authority that signed it.";
  }
}

std::unexpected<Error> no_tls() {
  return std::unexpected(Error{.failure = Failure::broken, .message = tls_reason()});
}

}  // namespace

void FreeTls::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }
void FreeTls::operator()(ssl_st* tls) const { SSL_free(tls); }

Result<TlsContext> make_tls_context(const std::string& ca, bool insecure) {
  ERR_clear_error();
  TlsContext context(SSL_CTX_new(TLS_client_method()));
  if (!context) return no_tls();
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_protos(context.get(), kProtocols.data(), kProtocols.size());
  SSL_CTX_set_verify(context.get(), insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  if (ca.empty()) {
    if (!insecure) trust_the_system(*context);
  } else if (SSL_CTX_load_verify_file(context.get(), ca.c_str()) == 1) {
    // Whoever names a certificate trusts it, though it be signed by somebody else.
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context.get()), X509_V_FLAG_PARTIAL_CHAIN);
  } else {
    return std::unexpected(Error{.failure = Failure::settings,
                                 .code = "bad_tls_ca",
                                 .message = "no certificate could be read from " + ca,
                                 .hint = "--tls-ca and JOBBIE_TLS_CA name a file in PEM."});
  }
  return context;
}

Result<TlsConnection> make_tls_connection(ssl_ctx_st& context, int descriptor,
                                          const std::string& host) {
  ERR_clear_error();
  TlsConnection tls(SSL_new(&context));
  BIO* const bio = tls ? base::new_socket_bio(descriptor) : nullptr;
  if (bio == nullptr) return no_tls();
  SSL_set_bio(tls.get(), bio, bio);
  // A certificate names hosts, or addresses; only a host may be told to the other side.
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls.get()), host.c_str()) != 1) {
    ERR_clear_error();
    // The same as SSL_set_tlsext_host_name, which is a macro with a cast of the old kind.
    std::string name = host;
    if (SSL_set1_host(tls.get(), name.c_str()) != 1 ||
        SSL_ctrl(tls.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data()) !=
            1)
      return no_tls();
  }
  return tls;
}

Error handshake_error(const ssl_st& tls) {
  const auto verdict = SSL_get_verify_result(&tls);
  if (SSL_get_verify_mode(&tls) != SSL_VERIFY_NONE && verdict != X509_V_OK)
    return {.failure = Failure::untrusted,
            .message = std::string("the server's certificate is not trusted: ") +
                       X509_verify_cert_error_string(verdict),
            .hint = hint_for(verdict)};
  if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_WRONG_VERSION_NUMBER) {
    ERR_clear_error();
    return {.failure = Failure::unreachable,
            .message = "what listens there does not speak TLS",
            .hint = "Is it an address with http:// rather than https://?"};
  }
  return {.failure = Failure::unreachable, .message = "no TLS handshake: " + tls_reason()};
}

std::string tls_reason() {
  const auto code = ERR_peek_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason != nullptr ? reason : "the server closed the connection";
}

}  // namespace jobbie::client
