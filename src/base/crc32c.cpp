// CRC-32C by the processor's own instruction where it has one, else by slicing: eight tables let
// one step take eight bytes.
#include "base/crc32c.hpp"

#include <array>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

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

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(std::string_view bytes,
                                                                      std::uint32_t so_far) {
  std::uint64_t crc = ~so_far;
  const char* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= sizeof(std::uint64_t); left -= sizeof(std::uint64_t), p += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, sizeof word);
    crc = _mm_crc32_u64(crc, word);
  }
  auto crc32 = static_cast<std::uint32_t>(crc);
  for (; left > 0; --left, ++p) crc32 = _mm_crc32_u8(crc32, static_cast<unsigned char>(*p));
  return ~crc32;
}

// A constant of the machine, asked for once.
const bool kHasInstruction = __builtin_cpu_supports("sse4.2") != 0;
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t so_far) {
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

std::uint32_t crc32c(std::string_view bytes, std::uint32_t so_far) {
#if defined(__x86_64__)
  if (kHasInstruction) return crc32c_by_instruction(bytes, so_far);
#endif
  return crc32c_by_table(bytes, so_far);
}

}  // namespace jobbie::base
