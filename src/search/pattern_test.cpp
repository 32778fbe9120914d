// The patterns of `test`, against a plain search, and what they cost at worst.
#include "search/pattern.hpp"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace jobbie::search {
namespace {

/// Whether the pattern from its byte `p` on fits the text from `t` on, by the definition alone.
bool fits(std::string_view pattern, std::string_view text, bool to_end) {
  if (pattern.empty()) return !to_end || text.empty();
  if (pattern.starts_with(".*")) {
    for (std::size_t i = 0; i <= text.size(); ++i)
      if (fits(pattern.substr(2), text.substr(i), to_end)) return true;
    return false;
  }
  return !text.empty() && (pattern[0] == '.' || pattern[0] == text[0]) &&
         fits(pattern.substr(1), text.substr(1), to_end);
}

bool plainly(std::string_view pattern, std::string_view text) {
  const bool to_end = pattern.ends_with('$');
  if (to_end) pattern.remove_suffix(1);
  if (pattern.starts_with('^')) return fits(pattern.substr(1), text, to_end);
  for (std::size_t i = 0; i <= text.size(); ++i)
    if (fits(pattern, text.substr(i), to_end)) return true;
  return false;
}

TEST(Pattern, AgreesWithItsDefinition) {
  constexpr std::uint64_t kSeed = 20'262;
  std::mt19937_64 random(kSeed);
  int found = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (auto n = random() % 24; n > 0; --n) text.push_back("aab"[random() % 3]);
    std::string pattern = random() % 5 == 0 ? "^" : "";
    for (auto n = random() % 10; n > 0; --n) {
      static const char* const kParts[] = {"a", "a", "b", ".", ".", ".*"};
      pattern += kParts[random() % 6];
    }
    if (random() % 5 == 0) pattern += "$";
    const auto parsed = parse_pattern(pattern);
    ASSERT_TRUE(parsed) << pattern;
    UnlimitedBudget budget;
    const bool expected = plainly(pattern, text);
    found += expected;
    ASSERT_EQ(occurs(*parsed, text, budget), expected)
        << "seed " << kSeed << ", " << pattern << " in " << text;
  }
  EXPECT_GT(found, 5'000);
  EXPECT_LT(found, 18'000);
}

/// Of a pattern of characters and `.` alone.
bool stands_somewhere(std::string_view pattern, std::string_view text) {
  for (std::size_t at = 0; at + pattern.size() <= text.size(); ++at) {
    std::size_t i = 0;
    while (i < pattern.size() && (pattern[i] == '.' || pattern[i] == text[at + i])) ++i;
    if (i == pattern.size()) return true;
  }
  return false;
}

TEST(Pattern, LongPiecesAreFoundWhereTheyStand) {
  constexpr std::uint64_t kSeed = 20'263;
  std::mt19937_64 random(kSeed);
  // So much of the text is alike that the search by bits has to take over.
  const std::string filler(5'000, 'a');
  int missed = 0;
  for (int i = 0; i < 60; ++i) {
    std::string piece;
    for (auto n = random() % 300; n > 0; --n) piece.push_back("aaaaaaaab"[random() % 9]);
    piece.push_back('b');
    std::string pattern = "." + piece;
    for (auto n = random() % 5; n > 0; --n) pattern[random() % pattern.size()] = '.';
    const auto parsed = parse_pattern(pattern);
    ASSERT_TRUE(parsed);
    UnlimitedBudget budget;
    EXPECT_TRUE(occurs(*parsed, filler + piece + filler, budget)) << "seed " << kSeed;
    piece[random() % piece.size()] = 'c';
    const bool expected = stands_somewhere(pattern, filler + piece + filler);
    missed += !expected;
    EXPECT_EQ(occurs(*parsed, filler + piece + filler, budget), expected)
        << "seed " << kSeed << ", " << pattern;
  }
  EXPECT_GT(missed, 10);
}

TEST(Pattern, TakesTimeThatGrowsWithTheText) {
  const std::string text(std::size_t{1} << 20, 'a');
  const auto steps = [&](const std::string& pattern) {
    const auto parsed = parse_pattern(pattern);
    EXPECT_TRUE(parsed);
    UnlimitedBudget budget;
    EXPECT_FALSE(occurs(*parsed, text, budget));
    return budget.spent();
  };
  // D1 of the reliability test: 109 seconds for twelve such texts.
  EXPECT_LE(steps(std::string(3'900, 'a') + "b"), 10 * text.size());
  EXPECT_LE(steps("^.*" + std::string(3'900, 'a') + "b.*a$"), 10 * text.size());
  std::string pieces;
  while (pieces.size() < 3'900) pieces += "aaaaaaaaaaaaaaaaaaaa.*";
  EXPECT_LE(steps(pieces + "b"), 10 * text.size());
  // With `.` a byte of the text costs a step for every 64 bytes of the piece.
  EXPECT_LE(steps("." + std::string(3'900, 'a') + "b"), (3'902 / 64 + 10) * text.size());
  EXPECT_LE(steps("." + std::string(60, 'a') + "b"), 12 * text.size());
}

}  // namespace
}  // namespace jobbie::search
