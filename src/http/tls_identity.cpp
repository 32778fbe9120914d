// From PEM files to what new connections are secured with.
#include <array>
#include <cstring>
#include <ctime>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/socket_bio.hpp"
#include "http/tls.hpp"

namespace jobbie::http {
namespace {

/// Of TLS 1.2; those of 1.3 are all good. Forward secrecy and authenticated encryption, or nothing.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr std::string_view kProtocol = "http/1.1";

std::string reason() {
  const auto code = ERR_peek_error();
  ERR_clear_error();
  if (code == 0) return "out of memory";
  if (ERR_SYSTEM_ERROR(code)) return std::strerror(ERR_GET_REASON(code));
  const char* const text = ERR_reason_error_string(code);
  return text != nullptr ? text : "not a PEM file";
}

std::unexpected<base::Error> bad_file(std::string_view what, const std::string& file) {
  return std::unexpected(
      base::Error{.code = "bad_tls_file",
                  .message = fmt::format("the {} in {} cannot be used: {}", what, file, reason())});
}

/// A server has nobody to ask for a passphrase.
int no_passphrase(char*, int, int, void*) { return -1; }

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* length,
                    const unsigned char* offered, unsigned int size, void*) {
  for (unsigned int at = 0; at < size; at += 1U + offered[at]) {
    if (offered[at] != kProtocol.size() || at + 1 + kProtocol.size() > size) continue;
    if (std::memcmp(offered + at + 1, kProtocol.data(), kProtocol.size()) != 0) continue;
    *chosen = offered + at + 1;
    *length = offered[at];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

void set_rules(SSL_CTX& context) {
  SSL_CTX_set_min_proto_version(&context, TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(&context, kCiphers);
  // A request says where it ends, so a client that ends its side without saying so to the TLS layer
  // cuts nothing off that would go unnoticed.
  SSL_CTX_set_options(
      &context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // The output grows and moves between two tries to write it. An idle connection has no buffers.
  SSL_CTX_set_mode(&context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                 SSL_MODE_RELEASE_BUFFERS);
  // One read for head and body of a record.
  SSL_CTX_set_read_ahead(&context, 1);
  // Sessions are resumed by tickets, which clients keep; nothing is kept here.
  SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_alpn_select_cb(&context, choose_protocol, nullptr);
  SSL_CTX_set_default_passwd_cb(&context, no_passphrase);
}

}  // namespace

void TlsIdentity::Free::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

base::Result<std::unique_ptr<TlsIdentity>> TlsIdentity::load(TlsFiles files) {
  auto made = std::unique_ptr<TlsIdentity>(new TlsIdentity(std::move(files)));
  if (auto read = made->reload(); !read) return std::unexpected(std::move(read).error());
  return made;
}

base::Result<TlsIdentity::Context> TlsIdentity::read_files() const {
  ERR_clear_error();
  Context context(SSL_CTX_new(TLS_server_method()));
  if (!context) return bad_file("certificate", files_.certificate);
  set_rules(*context);
  if (SSL_CTX_use_certificate_chain_file(context.get(), files_.certificate.c_str()) != 1)
    return bad_file("certificate", files_.certificate);
  if (SSL_CTX_use_PrivateKey_file(context.get(), files_.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1)
    return bad_file("key", files_.key);
  return context;
}

base::Result<void> TlsIdentity::reload() {
  auto context = read_files();
  if (!context) return std::unexpected(std::move(context).error());
  const std::lock_guard lock(mutex_);
  context_ = std::move(*context);
  return {};
}

std::unique_ptr<TlsSession> TlsIdentity::session(int descriptor) {
  SSL* tls = nullptr;
  {
    const std::lock_guard lock(mutex_);
    tls = SSL_new(context_.get());
  }
  if (tls == nullptr) return nullptr;
  auto session = std::make_unique<TlsSession>(tls, descriptor);
  BIO* const bio = base::new_socket_bio(descriptor);
  if (bio == nullptr) return nullptr;
  SSL_set_bio(tls, bio, bio);
  return session;
}

base::Instant TlsIdentity::expires() const {
  const std::lock_guard lock(mutex_);
  const X509* const certificate = SSL_CTX_get0_certificate(context_.get());
  std::tm parts{};
  if (certificate == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &parts) != 1)
    return {};
  return base::Instant{.ms = std::int64_t{timegm(&parts)} * 1000};
}

}  // namespace jobbie::http
