// Mutual TLS with certificates made here.
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "peer/test_node.hpp"
#include "peer/test_relay.hpp"

namespace jobbie::peer {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};

/// An authority, or somebody with a certificate of one.
struct Party {
  std::unique_ptr<EVP_PKEY, Free> key;
  std::unique_ptr<X509, Free> certificate;
};

Party make_party(const std::string& name, const Party* authority, long valid_seconds = 3600) {
  static long serial = 1;
  Party out;
  // The same as EVP_EC_gen, which is a macro with a cast of the old kind.
  out.key.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  out.certificate.reset(X509_new());
  X509* const certificate = out.certificate.get();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
  X509_gmtime_adj(X509_getm_notAfter(certificate), valid_seconds);
  X509_set_pubkey(certificate, out.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  const Party& signer = authority == nullptr ? out : *authority;
  X509_set_issuer_name(certificate, X509_get_subject_name(signer.certificate.get()));
  if (authority == nullptr) {
    const std::unique_ptr<X509_EXTENSION, Free> extension(
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE"));
    X509_add_ext(certificate, extension.get(), -1);
  }
  EXPECT_GT(X509_sign(certificate, signer.key.get(), EVP_sha256()), 0);
  return out;
}

class Tls : public testing::Test {
 protected:
  TlsFiles files(const Party& party, const Party& trusted) {
    const std::string name = folder_.path(std::to_string(++count_));
    const std::unique_ptr<BIO, Free> cert(BIO_new_file((name + ".cert").c_str(), "w"));
    PEM_write_bio_X509(cert.get(), party.certificate.get());
    const std::unique_ptr<BIO, Free> key(BIO_new_file((name + ".key").c_str(), "w"));
    PEM_write_bio_PrivateKey(key.get(), party.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    const std::unique_ptr<BIO, Free> ca(BIO_new_file((name + ".ca").c_str(), "w"));
    PEM_write_bio_X509(ca.get(), trusted.certificate.get());
    return {.cert = name + ".cert", .key = name + ".key", .ca = name + ".ca"};
  }
  Options options(std::uint64_t node, const Party& party, const Party& trusted,
                  std::string secret = "") {
    auto out = test_options(node, std::move(secret));
    out.tls = files(party, trusted);
    out.snapshot_dir = folder_.path("in" + std::to_string(node));
    return out;
  }
  /// Neither lets the other in, whoever dials.
  static void expect_apart(TestNode& a, TestNode& b) {
    a.transport->dial({b.address()});
    b.transport->dial({a.address()});
    for (auto* node : {&a, &b}) {
      EXPECT_TRUE(node->wait_status([](const Status& s) { return !s.last_error.empty(); }));
      EXPECT_FALSE(node->wait([](const auto& seen) { return !seen.hellos.empty(); }, 200));
    }
  }

  TempFolder folder_;
  int count_ = 0;
  Party authority_ = make_party("authority", nullptr);
  Party one_ = make_party("one", &authority_);
  Party two_ = make_party("two", &authority_);
};

TEST_F(Tls, NodesOfOneAuthorityMeet) {
  TestNode a(options(1, one_, authority_));
  TestNode b(options(2, two_, authority_));
  a.transport->dial({b.address()});
  ASSERT_TRUE(a.wait_connected(2));
  const auto big = random_bytes(10 << 20, 3);
  EXPECT_TRUE(a.transport->send(2, 1, big));
  for (int i = 0; i < 5000; ++i) EXPECT_TRUE(a.transport->send(2, 2, std::to_string(i)));
  ASSERT_TRUE(b.wait_frames(5001));
  const auto frames = b.seen().frames;
  EXPECT_TRUE(frames[0].bytes == big);
  for (std::size_t i = 0; i < 5000; ++i) ASSERT_EQ(frames[i + 1].bytes, std::to_string(i));
  EXPECT_TRUE(a.wait_status([](const Status& s) { return s.round_trip_us.has_value(); }));
  EXPECT_EQ(a.seen().connections.size(), 1U);
}

TEST_F(Tls, SnapshotsTravelInsideToo) {
  TestNode a(options(1, one_, authority_, "and a secret"));
  TestNode b(options(2, two_, authority_, "and a secret"));
  a.transport->dial({b.address()});
  ASSERT_TRUE(a.wait_connected(2));
  const auto path = folder_.path("file");
  std::ofstream(path, std::ios::binary) << random_bytes(5 << 20, 9);
  a.send_snapshot(2, path);
  ASSERT_TRUE(b.wait([](const auto& seen) { return !seen.snapshots.empty(); }));
  EXPECT_TRUE(contents(b.seen().snapshots[0].path) == contents(path));
  b.transport->finish(b.seen().snapshots[0].token, true);
  ASSERT_TRUE(a.wait([](const auto& seen) { return !seen.sent.empty(); }));
  EXPECT_TRUE(a.seen().sent[0].has_value());
}

TEST_F(Tls, CertificatesOfOthersAreRefused) {
  const auto other = make_party("other authority", nullptr);
  const auto stranger = make_party("stranger", &other);
  TestNode a(options(1, one_, authority_));
  TestNode b(options(2, stranger, authority_));
  expect_apart(a, b);
}

TEST_F(Tls, CertificatesThatHaveEndedAreRefused) {
  const auto old = make_party("old", &authority_, -60);
  TestNode a(options(1, one_, authority_));
  TestNode b(options(2, old, authority_));
  expect_apart(a, b);
  EXPECT_TRUE(a.wait_status(
      [](const Status& s) { return s.last_error.find("expired") != std::string::npos; }));
}

TEST_F(Tls, ANodeThatOnlySignedItselfIsRefused) {
  const auto alone = make_party("alone", nullptr);
  TestNode a(options(1, one_, authority_));
  TestNode b(options(2, alone, alone));
  expect_apart(a, b);
}

TEST_F(Tls, PlainAndSecuredNodesDoNotMeet) {
  TestNode a(options(1, one_, authority_));
  TestNode b(test_options(2, ""));
  expect_apart(a, b);
}

TEST_F(Tls, TheSecretCountsInsideAsWell) {
  TestNode a(options(1, one_, authority_, "one secret"));
  TestNode b(options(2, two_, authority_, "another"));
  expect_apart(a, b);
}

TEST_F(Tls, AChangedBitIsNoticed) {
  TestNode a(options(1, one_, authority_));
  TestNode b(options(2, two_, authority_));
  TestRelay relay(b.transport->port());
  a.transport->dial({relay.address()});
  ASSERT_TRUE(a.wait_connected(2));
  relay.change([](TestRelay::Way way, std::string& bytes) {
    if (way == TestRelay::Way::there) bytes.back() = static_cast<char>(bytes.back() ^ 1);
  });
  a.transport->send(2, 1, "second");
  ASSERT_TRUE(a.wait([](const auto& seen) { return seen.connections.size() >= 2; }));
  EXPECT_TRUE(b.seen().frames.empty());
}

TEST_F(Tls, AKeyThatDoesNotFitIsRefusedAtOnce) {
  auto wrong = files(one_, authority_);
  wrong.key = files(two_, authority_).key;
  auto given = test_options(1);
  given.tls = wrong;
  TestNode handler(test_options(9));
  const auto opened = Transport::open(given, handler);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, "tls_failed");
}

}  // namespace
}  // namespace jobbie::peer
