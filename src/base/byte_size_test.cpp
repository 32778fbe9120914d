// Sizes that are read, and texts that are none.
#include "base/byte_size.hpp"

#include <gtest/gtest.h>

namespace jobbie::base {
namespace {

TEST(ByteSize, ReadsNumbersUnitsAndShares) {
  const auto bytes = [](std::string_view text) { return parse_byte_size(text)->bytes; };
  EXPECT_EQ(bytes("0"), 0U);
  EXPECT_EQ(bytes("1048576"), std::uint64_t{1} << 20);
  EXPECT_EQ(bytes("64K"), std::uint64_t{64} << 10);
  EXPECT_EQ(bytes("512M"), std::uint64_t{512} << 20);
  EXPECT_EQ(bytes("512mib"), std::uint64_t{512} << 20);
  EXPECT_EQ(bytes("2g"), std::uint64_t{2} << 30);
  EXPECT_EQ(bytes("2GB"), std::uint64_t{2} << 30);
  EXPECT_EQ(bytes("3T"), std::uint64_t{3} << 40);
  EXPECT_EQ(parse_byte_size("75%")->of(1000), 750U);
  EXPECT_EQ(parse_byte_size("100%")->of(std::uint64_t{1} << 60),
            (std::uint64_t{1} << 60) / 100 * 100);
  EXPECT_EQ(parse_byte_size("1M")->of(5), std::uint64_t{1} << 20);
}

TEST(ByteSize, RefusesWhatIsNone) {
  for (const auto* text : {"", "M", "-1", "1.5G", "12X", "12Mx", "12 M", "0%", "101%", "5%%", "1e9",
                           "18446744073709551616", "16777216T", "99999999999T"})
    EXPECT_FALSE(parse_byte_size(text)) << text;
}

TEST(ByteSize, WritesTheLargestUnit) {
  EXPECT_EQ(byte_size_text(0), "0");
  EXPECT_EQ(byte_size_text(1000), "1000");
  EXPECT_EQ(byte_size_text(std::uint64_t{512} << 20), "512M");
  EXPECT_EQ(byte_size_text(std::uint64_t{1} << 31), "2G");
  EXPECT_EQ(byte_size_text((std::uint64_t{1} << 30) + 1024), "1048577K");
}

}  // namespace
}  // namespace jobbie::base
