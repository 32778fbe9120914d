// CRC-32C: the vectors of RFC 3720, and the tables against the definition bit by bit.
#include "base/crc32c.hpp"

#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace jobbie::base {
namespace {

std::uint32_t reference(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
  }
  return ~crc;
}

TEST(Crc32c, KnownVectors) {
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  std::string rising;
  for (int i = 0; i < 32; ++i) rising.push_back(static_cast<char>(i));
  EXPECT_EQ(crc32c(rising), 0x46dd794eU);
  EXPECT_EQ(crc32c(std::string(rising.rbegin(), rising.rend())), 0x113fdb5cU);
}

TEST(Crc32c, AgreesWithTheDefinitionAtEveryLengthAndSplit) {
  std::mt19937_64 random(7);
  std::string bytes;
  for (int length = 0; length < 70; ++length) {
    const auto whole = crc32c(bytes);
    EXPECT_EQ(whole, reference(bytes)) << length;
    EXPECT_EQ(crc32c_by_table(bytes), whole) << length;
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
      const auto first = crc32c(std::string_view(bytes).substr(0, cut));
      EXPECT_EQ(crc32c(std::string_view(bytes).substr(cut), first), whole) << length << ' ' << cut;
    }
    bytes.push_back(static_cast<char>(random()));
  }
}

}  // namespace
}  // namespace jobbie::base
