// CRC-32C (Castagnoli): the checksum of our files. It finds every error of one or two bits and
// every burst up to 32 bits in what it covers.
#pragma once

#include <cstdint>
#include <string_view>

namespace jobbie::base {

/// The checksum of `bytes`. To checksum in parts, hand the checksum so far to the next call:
/// crc32c(b, crc32c(a)) == crc32c(ab). The same value on every machine; the processor's own
/// instruction where it has one.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t so_far = 0);

/// The same by portable tables, eight bytes a step: what crc32c() does elsewhere.
[[nodiscard]] std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t so_far = 0);

}  // namespace jobbie::base
