// Finding a text, against the standard library's way.
#include "search/text_finder.hpp"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace jobbie::search {
namespace {

TEST(TextFinder, FindsAtBothEndsAndNothingPastThem) {
  const std::string text = "abcdefghijklmnopqrstuvwxyz0123456789";
  EXPECT_TRUE(TextFinder("").in(text));
  EXPECT_TRUE(TextFinder("").in(""));
  EXPECT_FALSE(TextFinder("a").in(""));
  EXPECT_TRUE(TextFinder("abc").in(text));
  EXPECT_TRUE(TextFinder("789").in(text));
  EXPECT_TRUE(TextFinder(text).in(text));
  EXPECT_FALSE(TextFinder(text + "x").in(text));
  // What stands behind the text is not part of it.
  EXPECT_FALSE(TextFinder("789").in(std::string_view(text).substr(0, text.size() - 1)));
  EXPECT_FALSE(TextFinder("z01").in(std::string_view(text).substr(0, 27)));
}

TEST(TextFinder, AgreesWithThePlainSearch) {
  constexpr std::uint64_t kSeed = 20'261;
  std::mt19937_64 random(kSeed);
  // Few letters, so that near misses are many; a zero and a byte beyond ASCII are among them.
  const std::string letters("ab\"@\0\xc3", 6);
  const auto word = [&](std::size_t most) {
    std::string out(random() % (most + 1), ' ');
    for (auto& c : out) c = letters[random() % (2 + random() % 5)];
    return out;
  };
  int found = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string wanted = word(i % 20 == 0 ? 40 : 6);
    const std::string text = word(i % 3 == 0 ? 20 : 90);
    const bool expected = text.find(wanted) != std::string::npos;
    found += expected;
    ASSERT_EQ(TextFinder(wanted).in(text), expected) << "seed " << kSeed << ", round " << i;
  }
  EXPECT_GT(found, 1'000);
  EXPECT_LT(found, 19'000);
}

}  // namespace
}  // namespace jobbie::search
