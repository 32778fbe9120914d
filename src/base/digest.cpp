// OpenSSL's libcrypto behind a few functions: its headers stay in here.
#include "base/digest.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "base/check.hpp"

namespace jobbie::base {
namespace {

const unsigned char* start_of(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

Sha256 sha256(std::string_view bytes) {
  Sha256 out;
  const auto* done = SHA256(start_of(bytes), bytes.size(), out.data());
  JOBBIE_CHECK(done != nullptr);
  return out;
}

struct Sha256Stream::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                  EVP_MD_CTX_free};
};

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) {
  JOBBIE_CHECK(state_->context != nullptr);
  JOBBIE_CHECK(EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1);
}

Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::add(std::string_view part) {
  JOBBIE_CHECK(EVP_DigestUpdate(state_->context.get(), part.data(), part.size()) == 1);
}

Sha256 Sha256Stream::finish() {
  Sha256 out;
  unsigned int length = 0;
  JOBBIE_CHECK(EVP_DigestFinal_ex(state_->context.get(), out.data(), &length) == 1);
  JOBBIE_CHECK(length == out.size());
  return out;
}

Sha256 hmac_sha256(std::string_view key, std::string_view bytes) {
  Sha256 out;
  unsigned int length = 0;
  const auto* done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), start_of(bytes),
                          bytes.size(), out.data(), &length);
  JOBBIE_CHECK(done != nullptr && length == out.size());
  return out;
}

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4, '\0');
  // OpenSSL ends it with a zero, for which a string has room.
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), start_of(bytes),
                                     static_cast<int>(bytes.size()));
  JOBBIE_CHECK(static_cast<std::size_t>(length) == out.size());
  return out;
}

bool constant_time_equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace jobbie::base
