// Certificates made on the spot, and a client that checks them, for the tests of TLS.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/socket_bio.hpp"
#include "http/test_client.hpp"

namespace jobbie::http {

/// A folder with a self-signed certificate for localhost; gone with its owner.
class TestCertificate {
 public:
  explicit TestCertificate(const std::string& common_name = "first") {
    std::string name = (std::filesystem::temp_directory_path() / "jobbie-tls-XXXXXX").string();
    JOBBIE_CHECK(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    renew(common_name);
  }
  ~TestCertificate() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TestCertificate(const TestCertificate&) = delete;
  TestCertificate& operator=(const TestCertificate&) = delete;

  [[nodiscard]] TlsFiles files() const {
    return {.certificate = folder_ / "cert.pem", .key = folder_ / "key.pem"};
  }

  /// A new certificate and a new key in the same files.
  void renew(const std::string& common_name) const {
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"),
                                                                  EVP_PKEY_free);
    const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), X509_free);
    X509_set_version(made.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -60);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
    X509_set_pubkey(made.get(), key.get());
    X509_NAME* const subject = X509_get_subject_name(made.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                               0);
    X509_set_issuer_name(made.get(), subject);
    X509_EXTENSION* const names =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    X509_add_ext(made.get(), names, -1);
    X509_EXTENSION_free(names);
    JOBBIE_CHECK(X509_sign(made.get(), key.get(), EVP_sha256()) > 0);
    const std::unique_ptr<BIO, decltype(&BIO_free)> out(
        BIO_new_file(files().certificate.c_str(), "w"), BIO_free);
    PEM_write_bio_X509(out.get(), made.get());
    const std::unique_ptr<BIO, decltype(&BIO_free)> key_out(BIO_new_file(files().key.c_str(), "w"),
                                                            BIO_free);
    PEM_write_bio_PrivateKey(key_out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  }

  static void overwrite(const std::string& file, std::string_view text) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
  }

 private:
  std::filesystem::path folder_;
};

/// One connection over TLS. `connected()` tells of the TCP connection, `secured()` of the
/// handshake.
class TlsTestClient final : public TestClient {
 public:
  struct Options {
    std::string trusts;     ///< a file; empty: anything
    int version = 0;        ///< at most; 0: any
    std::string protocols;  ///< as ALPN has them
    bool shakes_hands = true;
    int receive_buffer = 0;
    SSL_SESSION* resumes = nullptr;
  };
  TlsTestClient(std::uint16_t port, const Options& options)
      : TestClient(port, options.receive_buffer) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    if (!options.trusts.empty()) {
      SSL_CTX_load_verify_file(context_.get(), options.trusts.c_str());
      SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    }
    if (options.version != 0) SSL_CTX_set_max_proto_version(context_.get(), options.version);
    if (options.version != 0 && options.version < TLS1_2_VERSION) {
      SSL_CTX_set_min_proto_version(context_.get(), TLS1_VERSION);
      SSL_CTX_set_security_level(context_.get(), 0);
    }
    tls_.reset(SSL_new(context_.get()));
    BIO* const bio = base::new_socket_bio(descriptor());
    SSL_set_bio(tls_.get(), bio, bio);
    SSL_set1_host(tls_.get(), "localhost");
    if (!options.protocols.empty())
      SSL_set_alpn_protos(tls_.get(),
                          reinterpret_cast<const unsigned char*>(options.protocols.data()),
                          static_cast<unsigned>(options.protocols.size()));
    if (options.resumes != nullptr) SSL_set_session(tls_.get(), options.resumes);
    if (options.shakes_hands) shake_hands();
  }
  explicit TlsTestClient(std::uint16_t port) : TlsTestClient(port, Options{}) {}

  bool shake_hands() {
    secured_ = SSL_connect(tls_.get()) == 1;
    ERR_clear_error();
    return secured_;
  }
  [[nodiscard]] bool secured() const { return secured_; }
  [[nodiscard]] ssl_st* tls() { return tls_.get(); }
  /// Bytes past the TLS layer.
  void send_raw(std::string_view bytes) {
    JOBBIE_CHECK(::send(descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                 static_cast<long>(bytes.size()));
  }
  /// Whether the server has said that nothing was cut off.
  [[nodiscard]] bool ended_cleanly() const {
    return (SSL_get_shutdown(tls_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
  }
  [[nodiscard]] std::string peer_name() const {
    const X509* const peer = SSL_get0_peer_certificate(tls_.get());
    char name[64] = {};
    if (peer != nullptr)
      X509_NAME_get_text_by_NID(X509_get_subject_name(peer), NID_commonName, name, sizeof name);
    return name;
  }
  void end_sending() override { SSL_shutdown(tls_.get()); }

 private:
  long write_some(std::string_view text) override {
    return SSL_write(tls_.get(), text.data(), static_cast<int>(text.size()));
  }
  long read_some(std::span<char> into) override {
    return SSL_read(tls_.get(), into.data(), static_cast<int>(into.size()));
  }

  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{nullptr, SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&SSL_free)> tls_{nullptr, SSL_free};
  bool secured_ = false;
};

}  // namespace jobbie::http
