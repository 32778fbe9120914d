// Byte formats: exact layouts, limits of variable-length numbers, and readers facing hostile bytes.
#include "base/bytes.hpp"

#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace jobbie::base {
namespace {

constexpr auto kMaxU64 = std::numeric_limits<std::uint64_t>::max();
constexpr auto kMaxI64 = std::numeric_limits<std::int64_t>::max();
constexpr auto kMinI64 = std::numeric_limits<std::int64_t>::min();

std::string var_bytes(std::uint64_t v) {
  std::string out;
  ByteWriter(out).var(v);
  return out;
}

TEST(Bytes, FixedNumbersAreLittleEndian) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(0xAB);
  writer.u32(0x01020304);
  writer.u64(0x1112131415161718ULL);
  EXPECT_EQ(out, "\xAB\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11");
  ByteReader reader(out);
  EXPECT_EQ(reader.u8(), 0xAB);
  EXPECT_EQ(reader.u32(), 0x01020304U);
  EXPECT_EQ(reader.u64(), 0x1112131415161718ULL);
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.at_end());
}

TEST(Bytes, VarTakesSevenBitsAByte) {
  EXPECT_EQ(var_bytes(0), std::string("\0", 1));
  EXPECT_EQ(var_bytes(127), "\x7F");
  EXPECT_EQ(var_bytes(128), "\x80\x01");
  EXPECT_EQ(var_bytes(300), "\xAC\x02");
  EXPECT_EQ(var_bytes(kMaxU64), "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01");
}

TEST(Bytes, VarRoundTripsAtEveryPowerOfTwo) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t v :
         {(1ULL << bit) - 1, 1ULL << bit, (1ULL << bit) + 1, ~(1ULL << bit)}) {
      const std::string out = var_bytes(v);
      ByteReader reader(out);
      EXPECT_EQ(reader.var(), v);
      EXPECT_TRUE(reader.ok() && reader.at_end());
    }
  }
}

TEST(Bytes, VarRefusesMoreThan64Bits) {
  for (const char* hostile :
       {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F",
        "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"}) {
    ByteReader reader{std::string_view(hostile)};
    EXPECT_EQ(reader.var(), 0U);
    EXPECT_FALSE(reader.ok());
  }
}

TEST(Bytes, VarRefusesToEndInTheMiddle) {
  const std::string whole = var_bytes(kMaxU64);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ByteReader reader(std::string_view(whole).substr(0, size));
    EXPECT_EQ(reader.var(), 0U);
    EXPECT_FALSE(reader.ok());
  }
}

TEST(Bytes, SignedVarKeepsSmallNumbersShort) {
  for (const std::int64_t v :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{63}, std::int64_t{-64}, std::int64_t{64},
        kMaxI64, kMinI64, kMinI64 + 1}) {
    std::string out;
    ByteWriter(out).svar(v);
    EXPECT_EQ(out.size() == 1, v >= -64 && v <= 63) << v;
    ByteReader reader(out);
    EXPECT_EQ(reader.svar(), v);
    EXPECT_TRUE(reader.ok() && reader.at_end());
  }
}

TEST(Bytes, VarAtMostHoldsTheBound) {
  const std::string ten = var_bytes(10);
  ByteReader fits(ten);
  EXPECT_EQ(fits.var_at_most(10), 10U);
  EXPECT_TRUE(fits.ok());
  ByteReader exceeds(ten);
  EXPECT_EQ(exceeds.var_at_most(9), 0U);
  EXPECT_FALSE(exceeds.ok());
}

TEST(Bytes, BooleanIsZeroOrOne) {
  ByteReader reader(std::string_view("\x00\x01\x02", 3));
  EXPECT_FALSE(reader.boolean());
  EXPECT_TRUE(reader.boolean());
  EXPECT_TRUE(reader.ok());
  EXPECT_FALSE(reader.boolean());
  EXPECT_FALSE(reader.ok());
}

TEST(Bytes, EverythingRoundTrips) {
  std::string out;
  ByteWriter writer(out);
  writer.boolean(true);
  writer.bytes("");
  writer.bytes(std::string(300, 'x'));
  writer.blob(Blob("payload"));
  writer.blob(Blob());
  writer.instant(kNever);
  writer.duration({-5});
  ByteReader reader(out);
  EXPECT_TRUE(reader.boolean());
  EXPECT_EQ(reader.bytes(), "");
  EXPECT_EQ(reader.text(), std::string(300, 'x'));
  EXPECT_EQ(reader.blob().view(), "payload");
  EXPECT_TRUE(reader.blob().empty());
  EXPECT_EQ(reader.instant(), kNever);
  EXPECT_EQ(reader.duration(), Duration{-5});
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.at_end());
}

TEST(Bytes, BytesRefusesALengthBeyondWhatIsLeft) {
  for (const std::uint64_t length : {std::uint64_t{4}, std::uint64_t{1} << 32, kMaxU64}) {
    const std::string hostile = var_bytes(length) + "abc";
    ByteReader reader(hostile);
    EXPECT_EQ(reader.bytes(), "");
    EXPECT_FALSE(reader.ok());
    ByteReader blob_reader(hostile);
    EXPECT_TRUE(blob_reader.blob().empty());
    EXPECT_FALSE(blob_reader.ok());
  }
  const std::string exact = var_bytes(3) + "abc";
  ByteReader reader(exact);
  EXPECT_EQ(reader.bytes(), "abc");
  EXPECT_TRUE(reader.ok());
}

TEST(Bytes, CountRefusesMoreElementsThanCouldFollow) {
  const auto count = [](std::uint64_t n, std::size_t each) {
    const std::string text = var_bytes(n) + std::string(12, '\0');
    ByteReader reader(text);
    const std::size_t given = reader.count(each);
    EXPECT_EQ(reader.ok() ? n : 0, given);
    return reader.ok();
  };
  EXPECT_TRUE(count(0, 1));
  EXPECT_TRUE(count(12, 1));
  EXPECT_FALSE(count(13, 1));
  EXPECT_TRUE(count(3, 4));
  EXPECT_FALSE(count(4, 4));
  EXPECT_TRUE(count(2, 5));
  EXPECT_FALSE(count(3, 5));
  EXPECT_FALSE(count(1, 13));
  // A product of count and size would wrap here.
  EXPECT_FALSE(count(kMaxU64, 1));
  EXPECT_FALSE(count((kMaxU64 / 16) + 1, 16));
}

TEST(Bytes, AFailedReaderStaysFailedAndGivesZeros) {
  ByteReader reader("\x01\x02\x03\x04\x05");
  EXPECT_EQ(reader.u64(), 0U);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.left(), 0U);
  EXPECT_EQ(reader.u8(), 0);
  EXPECT_EQ(reader.u32(), 0U);
  EXPECT_EQ(reader.var(), 0U);
  EXPECT_EQ(reader.svar(), 0);
  EXPECT_EQ(reader.bytes(), "");
  EXPECT_EQ(reader.count(), 0U);
  EXPECT_EQ(reader.instant(), Instant{0});
  EXPECT_FALSE(reader.boolean());
  EXPECT_FALSE(reader.ok());
}

TEST(Bytes, RandomBytesAreReadTotally) {
  const std::uint64_t seed = 20'260'115;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 30, '\0');
    for (char& c : text) c = static_cast<char>(random());
    ByteReader reader(text);
    while (reader.ok() && !reader.at_end()) {
      const std::size_t before = reader.left();
      switch (random() % 5) {
        case 0:
          reader.var();
          break;
        case 1:
          EXPECT_LT(reader.bytes().size(), before);
          break;
        case 2:
          EXPECT_LT(reader.count(3), before);
          break;
        case 3:
          reader.boolean();
          break;
        default:
          reader.u32();
      }
      ASSERT_LT(reader.left(), before);
    }
  }
}

}  // namespace
}  // namespace jobbie::base
