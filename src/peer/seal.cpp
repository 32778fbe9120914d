// OpenSSL's libcrypto, for scrypt, HMAC and AES-GCM.
#include "peer/seal.hpp"

#include <utility>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/digest.hpp"

namespace jobbie::peer {
namespace {

constexpr std::string_view kSalt = "jobbie peer 1";
constexpr std::uint64_t kScryptCost = 1 << 12;
constexpr std::uint64_t kScryptBlock = 8;
constexpr std::uint64_t kScryptMemory = 64 << 20;

const unsigned char* start_of(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

Key key_of_secret(std::string_view secret) {
  Key key{};
  // An empty view may have no address at all, which the call takes for a question about memory.
  const char* const start = secret.empty() ? "" : secret.data();
  const int done = EVP_PBE_scrypt(start, secret.size(), start_of(kSalt), kSalt.size(), kScryptCost,
                                  kScryptBlock, 1, kScryptMemory, key.data(), key.size());
  JOBBIE_CHECK(done == 1);
  return key;
}

void fill_random(char* into, std::size_t bytes) {
  const int done = RAND_bytes(reinterpret_cast<unsigned char*>(into), static_cast<int>(bytes));
  JOBBIE_CHECK(done == 1);
}

std::uint64_t random_number() {
  std::string bytes(sizeof(std::uint64_t), '\0');
  fill_random(bytes.data(), bytes.size());
  return base::ByteReader(bytes).u64();
}

Key derive(const Key& secret, std::string_view label, const Transcript& transcript) {
  std::string bytes;
  base::ByteWriter writer(bytes);
  writer.bytes(label);
  writer.u32(kVersion);
  writer.u8(static_cast<std::uint8_t>(transcript.purpose));
  bytes.append(transcript.dialler.data(), transcript.dialler.size());
  bytes.append(transcript.listener.data(), transcript.listener.size());
  writer.bytes(transcript.binding);
  return base::hmac_sha256(view_of(secret), bytes);
}

void Seal::Free::operator()(evp_cipher_ctx_st* context) const { EVP_CIPHER_CTX_free(context); }

Seal::Seal() = default;
Seal::Seal(Seal&&) noexcept = default;
Seal& Seal::operator=(Seal&&) noexcept = default;

Seal::Seal(Use use, const Key& key, std::uint64_t bytes_per_key)
    : context_(EVP_CIPHER_CTX_new()), use_(use), key_(key), bytes_per_key_(bytes_per_key) {
  JOBBIE_CHECK(context_ != nullptr);
  use_key();
}

Seal::~Seal() { OPENSSL_cleanse(key_.data(), key_.size()); }

void Seal::use_key() {
  const int done = EVP_CipherInit_ex(context_.get(), EVP_aes_256_gcm(), nullptr, key_.data(),
                                     nullptr, use_ == Use::sealing ? 1 : 0);
  JOBBIE_CHECK(done == 1);
}

std::array<unsigned char, 12> Seal::number() const {
  std::array<unsigned char, 12> out{};
  for (std::size_t i = 0; i < 8; ++i) out[4 + i] = static_cast<unsigned char>(count_ >> (8 * i));
  return out;
}

void Seal::next_number(std::uint64_t bytes) {
  ++count_;
  bytes_ += bytes;
  if (bytes_ < bytes_per_key_) return;
  bytes_ = 0;
  key_ = base::hmac_sha256(view_of(key_), "next key");
  use_key();
}

void Seal::seal(std::uint8_t kind, std::string_view payload, std::string& out) {
  const std::size_t start = out.size();
  base::ByteWriter writer(out);
  writer.u32(static_cast<std::uint32_t>(payload.size() + tag_bytes()));
  writer.u8(kind);
  if (!context_) {
    out.append(payload);
    return;
  }
  out.resize(start + kHeadBytes + payload.size() + kTagBytes);
  auto* const head = reinterpret_cast<unsigned char*>(out.data()) + start;
  auto* const body = head + kHeadBytes;
  const auto nonce = number();
  auto* const context = context_.get();
  int written = 0;
  bool done = EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, nonce.data()) == 1 &&
              EVP_EncryptUpdate(context, nullptr, &written, head, kHeadBytes) == 1;
  if (!payload.empty())
    done = done && EVP_EncryptUpdate(context, body, &written, start_of(payload),
                                     static_cast<int>(payload.size())) == 1;
  auto* const tag = body + payload.size();
  done = done && EVP_EncryptFinal_ex(context, tag, &written) == 1 &&
         EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, kTagBytes, tag) == 1;
  JOBBIE_CHECK(done);
  next_number(payload.size());
}

bool Seal::open(std::string_view head, std::string_view body, std::string& payload) {
  if (!context_) {
    payload.assign(body);
    return true;
  }
  if (body.size() < kTagBytes) return false;
  const std::size_t size = body.size() - kTagBytes;
  payload.resize(size);
  std::array<unsigned char, kTagBytes> tag{};
  body.copy(reinterpret_cast<char*>(tag.data()), kTagBytes, size);
  auto* const plain = reinterpret_cast<unsigned char*>(payload.data());
  const auto nonce = number();
  auto* const context = context_.get();
  int written = 0;
  bool done = EVP_DecryptInit_ex(context, nullptr, nullptr, nullptr, nonce.data()) == 1 &&
              EVP_DecryptUpdate(context, nullptr, &written, start_of(head), kHeadBytes) == 1;
  if (size > 0)
    done = done &&
           EVP_DecryptUpdate(context, plain, &written, start_of(body), static_cast<int>(size)) == 1;
  done = done && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag.data()) == 1;
  std::array<unsigned char, kTagBytes> rest{};
  done = done && EVP_DecryptFinal_ex(context, rest.data(), &written) == 1;
  if (done)
    next_number(size);
  else
    payload.clear();
  return done;
}

}  // namespace jobbie::peer
