// SHA-256 and HMAC-SHA-256, comparison that tells nothing by its time, and bytes as hex digits.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace jobbie::base {

inline constexpr std::size_t kSha256Bytes = 32;
using Sha256 = std::array<unsigned char, kSha256Bytes>;

[[nodiscard]] Sha256 sha256(std::string_view bytes);
[[nodiscard]] Sha256 hmac_sha256(std::string_view key, std::string_view bytes);

/// A digest as bytes, for those who keep it.
[[nodiscard]] inline std::string_view bytes_of(const Sha256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

/// Lower case.
[[nodiscard]] std::string hex(std::string_view bytes);

/// Takes the same time wherever the two differ; only their lengths can be told from it.
[[nodiscard]] bool constant_time_equal(std::string_view a, std::string_view b);

}  // namespace jobbie::base
