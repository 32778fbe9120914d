// CRC-32C (Castagnoli): the checksum of our files. It finds every error of one or two bits and
// every burst up to 32 bits in what it covers.
#pragma once

#include <cstdint>
#include <string_view>

namespace jobbie::base {

/// The checksum of `bytes`. To checksum in parts, hand the checksum so far to the next call:
/// crc32c(b, crc32c(a)) == crc32c(ab). Portable tables, eight bytes a step; the same value on every
/// machine.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t so_far = 0);

}  // namespace jobbie::base
