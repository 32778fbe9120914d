// CRC-32C by slicing: eight tables let one step take eight bytes.
#include "base/crc32c.hpp"

#include <array>
#include <cstddef>
#include <cstring>

namespace jobbie::base {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // Castagnoli's, bits reversed
constexpr std::size_t kSlices = 8;

using Tables = std::array<std::array<std::uint32_t, 256>, kSlices>;

/// tables[0] advances by one byte; tables[k] by a byte that k more bytes follow.
constexpr Tables kTables = [] {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const auto before = tables[slice - 1][byte];
      tables[slice][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}();

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t so_far) {
  std::uint32_t crc = ~so_far;
  const char* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kSlices; left -= kSlices, p += kSlices) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, sizeof word);
    word ^= crc;
    crc = 0;
    for (std::size_t i = 0; i < kSlices; ++i)
      crc ^= kTables[kSlices - 1 - i][(word >> (8 * i)) & 0xff];
  }
  for (; left > 0; --left, ++p)
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<unsigned char>(*p)) & 0xff];
  return ~crc;
}

}  // namespace jobbie::base
