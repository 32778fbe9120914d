// Sizes as people write them: 512M, 2G, 75%.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace jobbie::base {

/// Bytes, or a share of something that is not known yet.
struct ByteSize {
  std::uint64_t bytes = 0;
  std::uint32_t percent = 0;  ///< not zero: so many hundredths, and `bytes` is zero

  [[nodiscard]] std::uint64_t of(std::uint64_t whole) const {
    return percent == 0 ? bytes : whole / 100 * percent;
  }
};

/// A whole number of bytes, or with K, M, G or T (also KiB, MiB, …) of 1024, 1024² and so on, or 1%
/// to 100%. Capitals do not matter.
Result<ByteSize> parse_byte_size(std::string_view text);

/// The largest unit that leaves a whole number, such as 512M.
std::string byte_size_text(std::uint64_t bytes);

}  // namespace jobbie::base
