// TZif files: a hand-made one, then every way of cutting and spoiling it.
#include "zone/tzif.hpp"

#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace jobbie::zone {
namespace {

std::string big_endian(std::uint64_t value, int bytes) {
  std::string result;
  for (int i = bytes - 1; i >= 0; --i) result += static_cast<char>(value >> (8 * i) & 0xFF);
  return result;
}

struct Counts {
  std::uint32_t leap = 0;
  std::uint32_t time = 0;
  std::uint32_t type = 1;
  std::uint32_t chars = 4;
};

std::string header(const Counts& counts, char version = '2') {
  return "TZif" + std::string(1, version) + std::string(15, '\0') + big_endian(0, 4) +
         big_endian(0, 4) + big_endian(counts.leap, 4) + big_endian(counts.time, 4) +
         big_endian(counts.type, 4) + big_endian(counts.chars, 4);
}

std::string type(std::int32_t offset_s) {
  return big_endian(static_cast<std::uint32_t>(offset_s), 4) + std::string(2, '\0');
}

// Two changes, at -100 to an hour east and at 2^33 to an hour west.
std::string sample() {
  const std::string version1 = header({}) + type(0) + std::string("AAA\0", 4);
  const std::string times =
      big_endian(static_cast<std::uint64_t>(-100), 8) + big_endian(1ULL << 33, 8);
  return version1 + header({.time = 2, .type = 3}) + times + std::string("\1\2") + type(0) +
         type(3600) + type(-3600) + std::string("AAA\0", 4) + "\nAAA0\n";
}

TEST(Tzif, ReadsChangesAndFooter) {
  const auto tzif = decode_tzif(sample());
  ASSERT_TRUE(tzif) << tzif.error().message;
  EXPECT_EQ(tzif->base_offset_s, 0);
  ASSERT_EQ(tzif->changes.size(), 2U);
  EXPECT_EQ(tzif->changes[0], (OffsetChange{-100, 3600}));
  EXPECT_EQ(tzif->changes[1], (OffsetChange{std::int64_t{1} << 33, -3600}));
  EXPECT_EQ(tzif->footer, "AAA0");
}

TEST(Tzif, RefusesEveryPrefix) {
  const std::string whole = sample();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto tzif = decode_tzif(std::string_view(whole).substr(0, size));
    ASSERT_FALSE(tzif) << size;
    EXPECT_EQ(tzif.error().code, kBadTzif);
  }
}

TEST(Tzif, RefusesWhatItCannotMean) {
  const std::string v1_body = type(0) + std::string("AAA\0", 4);
  const std::string v1 = header({}) + v1_body;
  EXPECT_FALSE(decode_tzif(header({}, '\0') + v1_body)) << "version 1";
  EXPECT_FALSE(decode_tzif(v1 + header({.type = 0}) + "AAA\0\n\n")) << "no type";
  EXPECT_FALSE(decode_tzif(v1 + header({.time = 0xFFFFFFFF}) + v1_body + "\n\n")) << "huge count";
  EXPECT_FALSE(decode_tzif(v1 + header({.leap = 1}) + v1_body + std::string(12, '\0') + "\n\n"))
      << "leap";
  const std::string unknown_type = header({.time = 1}) + big_endian(5, 8) + "\7" + v1_body + "\n\n";
  EXPECT_FALSE(decode_tzif(v1 + unknown_type));
  const std::string backwards = header({.time = 2}) + big_endian(5, 8) + big_endian(5, 8) +
                                std::string(2, '\0') + v1_body + "\n\n";
  EXPECT_FALSE(decode_tzif(v1 + backwards));
  EXPECT_TRUE(decode_tzif(v1 + header({}) + v1_body + "\n\n")) << "an empty footer is fine";
  EXPECT_FALSE(decode_tzif(std::string(kMaxTzifBytes + 1, 'T')));
}

TEST(Tzif, AnyBytesAreSafe) {
  const std::uint64_t seed = 7;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = sample();
    for (int n = 0; n < 3; ++n) bytes[random() % bytes.size()] = static_cast<char>(random() & 0xFF);
    (void)decode_tzif(bytes);
  }
}

}  // namespace
}  // namespace jobbie::zone
