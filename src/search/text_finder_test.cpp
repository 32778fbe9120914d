// Finding a text, against the standard library's way, and what it costs at worst.
#include "search/text_finder.hpp"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace jobbie::search {
namespace {

bool is_in(const std::string& wanted, std::string_view text) {
  UnlimitedBudget budget;
  return TextFinder(wanted).in(text, budget);
}

TEST(TextFinder, FindsAtBothEndsAndNothingPastThem) {
  const std::string text = "abcdefghijklmnopqrstuvwxyz0123456789";
  EXPECT_TRUE(is_in("", text));
  EXPECT_TRUE(is_in("", ""));
  EXPECT_FALSE(is_in("a", ""));
  EXPECT_TRUE(is_in("abc", text));
  EXPECT_TRUE(is_in("789", text));
  EXPECT_TRUE(is_in(text, text));
  EXPECT_FALSE(is_in(text + "x", text));
  // What stands behind the text is not part of it.
  EXPECT_FALSE(is_in("789", std::string_view(text).substr(0, text.size() - 1)));
  EXPECT_FALSE(is_in("z01", std::string_view(text).substr(0, 27)));
}

/// Texts that make a plain search compare much: few letters, repeated words, and words that are
/// repeated but for a byte.
class Texts {
 public:
  explicit Texts(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  std::string make(std::size_t most) {
    const std::size_t size = below(most + 1);
    std::string out;
    if (below(2) == 0) {
      while (out.size() < size) out.push_back(letter());
      return out;
    }
    const std::string word = make_word(1 + below(8));
    while (out.size() < size) out += word;
    out.resize(size);
    if (size > 0 && below(2) == 0) out[below(size)] = letter();
    return out;
  }

 private:
  char letter() {
    // A zero and a byte beyond ASCII are among them.
    static const std::string kLetters("ab\"@\0\xc3", 6);
    return kLetters[below(2 + below(5))];
  }
  std::string make_word(std::size_t size) {
    std::string out;
    while (out.size() < size) out.push_back(letter());
    return out;
  }

  std::mt19937_64 random_;
};

TEST(TextFinder, AgreesWithThePlainSearch) {
  constexpr std::uint64_t kSeed = 20'261;
  Texts texts(kSeed);
  UnlimitedBudget budget;
  int found = 0;
  for (int i = 0; i < 40'000; ++i) {
    const std::string text = texts.make(i % 3 == 0 ? 20 : i % 50 == 0 ? 9'000 : 90);
    std::string wanted = texts.make(i % 20 == 0 ? 40 : 6);
    // Parts of the text itself, and nearly so.
    if (i % 4 == 0) wanted = text.substr(texts.below(text.size() + 1), texts.below(60));
    if (i % 8 == 0 && !wanted.empty()) wanted[texts.below(wanted.size())] ^= 1;
    const auto expected = text.find(wanted);
    found += expected != std::string::npos;
    ASSERT_EQ(TextFinder(wanted).in(text, budget), expected != std::string::npos)
        << "seed " << kSeed << ", round " << i;
    ASSERT_EQ(find_text(text, wanted, budget), expected) << "seed " << kSeed << ", round " << i;
  }
  EXPECT_GT(found, 5'000);
  EXPECT_LT(found, 35'000);
}

struct Worst {
  std::string wanted;
  std::string text;
};

/// What a plain search takes |text| · |wanted| comparisons for.
std::vector<Worst> worst_cases(std::size_t size) {
  const std::string a(size, 'a');
  std::string ab;
  while (ab.size() < size) ab += "ab";
  std::string blocks;  // near misses that come in blocks
  while (blocks.size() < size) blocks += std::string(1'999, 'a') + "b";
  return {{std::string(3'900, 'a') + "b", a},
          {"b" + std::string(3'900, 'a'), a},
          {std::string(2'000, 'a') + "b" + std::string(1'900, 'a'), a},
          {ab.substr(0, 3'900) + "bb", ab},
          {std::string(2'000, 'a'), blocks},
          {std::string(1'999, 'a') + "b" + std::string(2'000, 'a'), blocks}};
}

TEST(TextFinder, TakesTimeThatGrowsWithTheTextAlone) {
  constexpr std::size_t kText = std::size_t{1} << 20;
  for (const auto& [wanted, text] : worst_cases(kText)) {
    const auto expected = text.find(wanted);
    UnlimitedBudget by_marks;
    EXPECT_EQ(TextFinder(wanted).in(text, by_marks), expected != std::string::npos);
    EXPECT_LE(by_marks.spent(), 8 * (text.size() + wanted.size())) << wanted.substr(0, 20);
    UnlimitedBudget by_ends;
    EXPECT_EQ(find_text(text, wanted, by_ends), expected);
    EXPECT_LE(by_ends.spent(), 8 * (text.size() + wanted.size())) << wanted.substr(0, 20);
  }
}

}  // namespace
}  // namespace jobbie::search
