// The look at a payload's bytes must rule out nothing that the walk would find.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.hpp"
#include "search/jq.hpp"
#include "search/json_scan.hpp"

namespace jobbie::search {
namespace {

class Spelling {
 public:
  explicit Spelling(std::uint64_t seed) : random_(seed) {}

  std::size_t draw(std::size_t below) { return random_() % below; }
  template <typename T>
  const T& one_of(const std::vector<T>& list) {
    return list[draw(list.size())];
  }

  std::string word() {
    static const std::vector<std::string> kWords = {"a",   "b",    "amount", "a\"b", "a\\b",
                                                    "a\b", "x\ny", "é",      "",     "ab"};
    return one_of(kWords);
  }

  /// A string literal, some of its characters escaped without need.
  std::string literal(const std::string& text) {
    if (draw(4) != 0) return base::json::quote(text);
    static constexpr char kHex[] = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x80 && (byte < 0x20 || c == '"' || c == '\\' || draw(2) == 0)) {
        out.append("\\u00").push_back(kHex[byte >> 4]);
        out.push_back(kHex[byte & 15]);
      } else {
        out.push_back(c);
      }
    }
    return out + "\"";
  }

  std::string scalar() {
    static const std::vector<std::string> kOthers = {"null", "true",   "false", "0",  "1000",
                                                     "1e3",  "1000.0", "-2.5",  "10", "1.0E+1"};
    return draw(2) == 0 ? literal(word()) : one_of(kOthers);
  }

  std::string value(int depth) {
    const std::size_t kind = depth == 0 ? 0 : draw(4);
    if (kind < 2) return scalar();
    const std::string gap = draw(3) == 0 ? " \n" : "";
    std::string out = kind == 2 ? "[" : "{";
    for (std::size_t n = draw(4); n > 0; --n) {
      if (out.size() > 1) out += "," + gap;
      if (kind == 3) out += literal(word()) + gap + ":" + gap;  // names may come twice
      out += value(depth - 1) + gap;
    }
    return out + (kind == 2 ? "]" : "}");
  }

  std::string path() {
    std::string out = ".";
    for (std::size_t n = draw(3); n > 0; --n)
      out += draw(4) == 0 ? "[" + std::to_string(draw(3)) + "]" : "[" + literal(word()) + "]";
    return out;
  }

  std::string condition() {
    static const std::vector<std::string> kSigns = {"==", "!=", "<", "<=", ">", ">="};
    static const std::vector<std::string> kAbout = {"startswith", "endswith", "contains", "has"};
    switch (draw(7)) {
      case 0:
        return path() + " " + one_of(kSigns) + " " + scalar();
      case 1:
        return scalar() + " " + one_of(kSigns) + " " + path();
      case 2:
        return path() + " " + one_of(kSigns) + " " + path();
      case 3:
        return "(" + path() + " | " + one_of(kAbout) + "(" + scalar() + "))";
      case 4:
        return "(" + path() + " | test(\"a.b\"))";
      case 5:
        return "(" + path() + " | length) " + one_of(kSigns) + " " + scalar();
      default:
        return path();
    }
  }

  std::string expression(int depth) {
    if (depth == 0) return condition();
    const std::string a = "(" + expression(depth - 1) + ")";
    switch (draw(5)) {
      case 0:
        return a + " and (" + expression(depth - 1) + ")";
      case 1:
        return a + " or (" + expression(depth - 1) + ")";
      case 2:
        return "select" + a + " | (" + expression(depth - 1) + ")";
      case 3:
        return path() + " | " + a;
      default:
        return a + " | not";
    }
  }

 private:
  std::mt19937_64 random_;
};

TEST(JqNeeded, TheLookRulesOutNothing) {
  UnlimitedBudget budget;
  const char* given = std::getenv("JOBBIE_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Spelling spelling(seed);
  int matched = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string expression = spelling.expression(static_cast<int>(spelling.draw(3)));
    const auto jq = Jq::parse(expression);
    ASSERT_TRUE(jq.has_value()) << expression << ": " << jq.error().message;
    for (int k = 0; k < 6; ++k) {
      const std::string json = spelling.value(3);
      ASSERT_TRUE(base::json::is_valid(json)) << json;
      const bool walked = jq->walk_matches(json, budget);
      matched += walked;
      ASSERT_EQ(jq->matches(json, budget), walked) << "seed " << seed << "\n"
                                                   << expression << "\n"
                                                   << json;
    }
  }
  EXPECT_GT(matched, 5'000);
}

TEST(JqNeeded, NullNeedsNothing) {
  UnlimitedBudget budget;
  for (const auto* expression : {".a < 3", ".a <= null", ".a == null", ".a >= null", ".a != 3",
                                 "(.a | length) == 0", ".a | not", "null == .a", "3 > .a"}) {
    const auto jq = Jq::parse(expression);
    ASSERT_TRUE(jq.has_value()) << expression;
    EXPECT_TRUE(jq->matches(R"({"b":1})", budget)) << expression;
  }
}

TEST(JqNeeded, NumbersAreFoundInEverySpelling) {
  UnlimitedBudget budget;
  const auto jq = Jq::parse(".amount == 1000");
  ASSERT_TRUE(jq.has_value());
  for (const auto* json : {R"({"amount":1000})", R"({"amount":1e3})", R"({"amount":1000.00})",
                           R"({"amount":0.1E+4})", R"({"\u0061mount":1000})"})
    EXPECT_TRUE(jq->matches(json, budget)) << json;
  EXPECT_FALSE(jq->matches(R"({"amounts":1000})", budget));
}

TEST(JqNeeded, AnEscapeInANameIsNotTakenByItsLetters) {
  UnlimitedBudget budget;
  // The name is a, backslash, b; the member is called a, backspace.
  const auto jq = Jq::parse(R"(.["a\\b"] == 1)");
  ASSERT_TRUE(jq.has_value());
  EXPECT_FALSE(jq->matches(R"({"a\b":1})", budget));
  EXPECT_TRUE(jq->matches(R"({"a\\b":1})", budget));
}

TEST(JsonScan, LongTextsAndDeepOnesArePassed) {
  UnlimitedBudget budget;
  // The sizes put the quotes and brackets at every place of a step, and close to the end.
  for (std::size_t n = 0; n < 70; ++n) {
    const std::string filler(n, 'x');
    const std::string nested =
        R"({"s":")" + filler + R"(","o":{"k":[")" + filler + R"(]}",{"deep":"}"}]},"last":7})";
    EXPECT_EQ(member_of(nested, "last", budget), "7") << n;
    EXPECT_EQ(member_of(nested, "deep", budget), std::nullopt) << n;
    const std::string escaped = R"({")" + filler + R"(\"":1,"z":")" + filler + R"(\\"})";
    EXPECT_EQ(member_of(escaped, filler + "\"", budget), "1") << n;
    EXPECT_EQ(member_of(escaped, "z", budget), "\"" + filler + R"(\\")") << n;
  }
}

}  // namespace
}  // namespace jobbie::search
