// Globs: a table, a comparison with the plain recursive definition, and the input that kills
// matchers which backtrack.
#include "base/glob.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace jobbie::base {
namespace {

// The definition itself, in exponential time.
bool reference(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*')
    return reference(pattern.substr(1), text) ||
           (!text.empty() && reference(pattern, text.substr(1)));
  if (text.empty() || (pattern[0] != '?' && pattern[0] != text[0])) return false;
  return reference(pattern.substr(1), text.substr(1));
}

struct Case {
  std::string_view pattern;
  std::string_view text;
  bool matches;
};

TEST(Glob, Table) {
  const Case cases[] = {
      {"emails", "emails", true},
      {"emails", "email", false},
      {"emails", "emailss", false},
      {"emails", "Emails", false},
      {"emails.*", "emails.welcome", true},
      {"emails.*", "emails.", true},
      {"emails.*", "emails", false},
      {"emails.*", "emails.a.b.c", true},
      {"*", "", true},
      {"*", "anything/at:all", true},
      {"**", "", true},
      {"", "", true},
      {"", "a", false},
      {"?", "", false},
      {"?", "a", true},
      {"?", ".", true},
      {"?", "ab", false},
      {"*.high", "emails.high", true},
      {"*.high", "emails.high.low", false},
      {"a*b*c", "abc", true},
      {"a*b*c", "aXbXbc", true},
      {"a*b*c", "aXbXcX", false},
      {"a*?", "a", false},
      {"a*?", "ab", true},
      {"*?*?*", "x", false},
      {"*?*?*", "xy", true},
      {"*ab", "aab", true},
      {"*aab", "aaaab", true},
      {"[ab]", "a", false},
      {"\\*", "*", false},
  };
  for (const Case& c : cases)
    EXPECT_EQ(glob_match(c.pattern, c.text), c.matches) << c.pattern << " ~ " << c.text;
  for (const Case& c : cases)
    EXPECT_EQ(Glob(c.pattern).matches(c.text), c.matches) << c.pattern << " ~ " << c.text;
}

TEST(Glob, KnowsWildcards) {
  EXPECT_TRUE(is_glob("*"));
  EXPECT_TRUE(is_glob("a?c"));
  EXPECT_FALSE(is_glob("emails.welcome"));
  EXPECT_FALSE(is_glob(""));
}

TEST(Glob, EqualsItsDefinition) {
  const std::uint64_t seed = 42;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto word = [&](std::string_view letters) {
    std::string result(random() % 9, '\0');
    for (char& c : result) c = letters[random() % letters.size()];
    return result;
  };
  for (int i = 0; i < 50'000; ++i) {
    const std::string pattern = word("ab*?");
    const std::string text = word("ab");
    ASSERT_EQ(glob_match(pattern, text), reference(pattern, text)) << pattern << " ~ " << text;
    ASSERT_EQ(Glob(pattern).matches(text), reference(pattern, text)) << pattern << " ~ " << text;
  }
}

TEST(Glob, PatternsMeetWhereATextFitsBoth) {
  const std::uint64_t seed = 43;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  // What two such patterns have in common has a text of at most eight letters.
  std::vector<std::string> texts = {""};
  for (std::size_t i = 0; texts[i].size() < 8; ++i)
    for (const char c : {'a', 'b'}) texts.push_back(texts[i] + c);
  const auto word = [&] {
    std::string result(random() % 5, '\0');
    for (char& c : result) c = "ab*?"[random() % 4];
    return result;
  };
  for (int i = 0; i < 2'000; ++i) {
    const std::string a = word();
    const std::string b = word();
    const bool meets = std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
      return glob_match(a, text) && glob_match(b, text);
    });
    ASSERT_EQ(glob_meets(a, b), meets) << a << " ~ " << b;
  }
}

TEST(Glob, DoesNotBlowUp) {
  std::string pattern;
  for (int i = 0; i < 60; ++i) pattern += "*a";
  EXPECT_FALSE(glob_match(pattern + "b", std::string(2'000, 'a')));
  EXPECT_TRUE(glob_match(pattern, std::string(2'000, 'a')));
  EXPECT_FALSE(Glob(pattern + "b").matches(std::string(2'000, 'a')));
  EXPECT_TRUE(Glob(pattern).matches(std::string(2'000, 'a')));
}

TEST(Glob, MatchesWithAsManySignsAsThereAreBitsAndWithMore) {
  for (const std::size_t signs : {63U, 64U, 65U, 126U, 127U, 128U, 200U}) {
    const std::string half(signs / 2, 'a');
    const std::string rest(signs - half.size() - 1, 'b');
    const Glob glob("*" + half + "*?" + rest + "*");
    EXPECT_TRUE(glob.matches(half + "x" + rest)) << signs;
    EXPECT_TRUE(glob.matches("zz" + half + "yyx" + rest + "zz")) << signs;
    EXPECT_FALSE(glob.matches(half + rest)) << signs;
    EXPECT_FALSE(glob.matches(half + "x" + rest.substr(1))) << signs;
  }
}

}  // namespace
}  // namespace jobbie::base
