// The hash of bytes against a plain reading of its definition, for every length of the last word.
#include "base/hash.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace jobbie::base {
namespace {

/// Word by word, the last one filled up with zeros.
std::uint64_t plain_hash(std::string_view bytes, std::uint64_t seed) {
  std::uint64_t h = seed ^ (bytes.size() * 0x9e3779b97f4a7c15ULL);
  for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(8, bytes.size()))) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8 && i < bytes.size(); ++i)
      word |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    if (bytes.size() < 8) {
      h = hash_combine(h, word);
    } else {
      const auto product = static_cast<Uint128>(h ^ word) * 0xa0761d6478bd642fULL;
      h = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    }
  }
  return mix64(h);
}

TEST(HashBytes, IsTheSameForEveryLength) {
  std::string text;
  for (unsigned size = 0; size <= 40; ++size) {
    EXPECT_EQ(hash_bytes(text), plain_hash(text, 0)) << size;
    EXPECT_EQ(hash_bytes(text, 77), plain_hash(text, 77)) << size;
    text.push_back(static_cast<char>(201 + 13 * size));
  }
}

}  // namespace
}  // namespace jobbie::base
