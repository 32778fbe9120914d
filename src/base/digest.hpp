// SHA-256 and HMAC-SHA-256, comparison that tells nothing by its time, and bytes as hex digits.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace jobbie::base {

inline constexpr std::size_t kSha256Bytes = 32;
using Sha256 = std::array<unsigned char, kSha256Bytes>;

[[nodiscard]] Sha256 sha256(std::string_view bytes);

/// The digest of bytes that come in parts.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(const Sha256Stream&) = delete;
  Sha256Stream& operator=(const Sha256Stream&) = delete;

  void add(std::string_view part);
  /// Of everything added; nothing may be added afterwards.
  [[nodiscard]] Sha256 finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] Sha256 hmac_sha256(std::string_view key, std::string_view bytes);

/// A digest as bytes, for those who keep it.
[[nodiscard]] inline std::string_view bytes_of(const Sha256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

/// Lower case.
[[nodiscard]] std::string hex(std::string_view bytes);
/// With padding, in the standard alphabet.
[[nodiscard]] std::string base64(std::string_view bytes);

/// Takes the same time wherever the two differ; only their lengths can be told from it.
[[nodiscard]] bool constant_time_equal(std::string_view a, std::string_view b);

}  // namespace jobbie::base
