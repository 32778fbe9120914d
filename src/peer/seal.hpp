// Keys, proofs, and the seal around every frame.
//
// All keys of a connection come from the cluster's secret and from a random number of each side, so
// a recorded connection cannot be played again. A frame is sealed with AES-256-GCM, numbered by its
// place: one that is changed, repeated, left out or moved does not open. It costs a third of a
// nanosecond a byte where the processor has instructions for it, several times less than HMAC does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "peer/wire.hpp"

struct evp_cipher_ctx_st;

namespace jobbie::peer {

using Key = std::array<unsigned char, 32>;
inline std::string_view view_of(const Key& key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}
inline constexpr std::size_t kTagBytes = 16;
/// After so many bytes a direction goes on with another key.
inline constexpr std::uint64_t kBytesPerKey = std::uint64_t{1} << 36;

/// Slow on purpose (some 10 ms, 4 MiB): anybody may ask a listener for a proof and try secrets on
/// it.
Key key_of_secret(std::string_view secret);
void fill_random(char* into, std::size_t bytes);
std::uint64_t random_number();

/// Everything that both sides have seen before they prove themselves.
struct Transcript {
  Purpose purpose = Purpose::frames;
  std::array<char, kNonceBytes> dialler{};
  std::array<char, kNonceBytes> listener{};
  std::string binding;  ///< of the TLS session around, so that proofs cannot be passed on
};

/// `label` keeps proofs and keys of the two sides apart.
Key derive(const Key& secret, std::string_view label, const Transcript& transcript);
inline constexpr std::string_view kDiallerProof = "dialler proof";
inline constexpr std::string_view kListenerProof = "listener proof";
inline constexpr std::string_view kDiallerKey = "dialler key";
inline constexpr std::string_view kListenerKey = "listener key";

/// One direction of one connection. Seals or opens, not both.
class Seal {
 public:
  enum class Use : std::uint8_t { sealing, opening };
  /// No seal: what is around the connection protects it.
  Seal();
  Seal(Use use, const Key& key, std::uint64_t bytes_per_key = kBytesPerKey);
  Seal(Seal&&) noexcept;
  Seal& operator=(Seal&&) noexcept;
  ~Seal();

  [[nodiscard]] std::size_t tag_bytes() const { return context_ ? kTagBytes : 0; }
  /// Appends a whole frame.
  void seal(std::uint8_t kind, std::string_view payload, std::string& out);
  /// `head` and `body` are a whole frame. False if it is not the next one that was sealed.
  [[nodiscard]] bool open(std::string_view head, std::string_view body, std::string& payload);

 private:
  struct Free {
    void operator()(evp_cipher_ctx_st* context) const;
  };
  void use_key();
  void next_number(std::uint64_t bytes);
  [[nodiscard]] std::array<unsigned char, 12> number() const;

  std::unique_ptr<evp_cipher_ctx_st, Free> context_;
  Use use_ = Use::sealing;
  Key key_{};
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_per_key_ = kBytesPerKey;
};

}  // namespace jobbie::peer
