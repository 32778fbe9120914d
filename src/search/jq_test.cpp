// The language of payload_jq, example by example.
#include "search/jq.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace jobbie::search {
namespace {

bool matches(std::string_view expression, std::string_view json) {
  const auto jq = Jq::parse(expression);
  EXPECT_TRUE(jq.has_value()) << expression << ": " << jq.error().message;
  UnlimitedBudget budget;
  return jq && jq->matches(json, budget);
}

constexpr std::string_view kPayload =
    R"({"email":"user@example.com","amount":150,"tags":["vip","new"],"metadata":{"region":"us-east"},)"
    R"("template":"welcome_mail","items":[1,2,3,4,5,6],"none":null,"yes":true,"no":false,"big":9007199254740993,)"
    R"("one":1.0,"a b":{"c\"d":[{"x":-2}]},"text":"Grüße"})";

TEST(Jq, SeedExamples) {
  EXPECT_TRUE(matches(R"(.email == "user@example.com")", kPayload));
  EXPECT_FALSE(matches(R"(.email == "user@example.org")", kPayload));
  EXPECT_TRUE(matches(".amount > 100", kPayload));
  EXPECT_FALSE(matches(".amount > 150", kPayload));
  EXPECT_TRUE(matches(R"(.tags | contains("vip"))", kPayload));
  EXPECT_FALSE(matches(R"(.tags | contains("vi"))", kPayload));
  EXPECT_TRUE(matches(R"(.metadata.region == "us-east")", kPayload));
  EXPECT_TRUE(matches(R"(.template | startswith("welcome"))", kPayload));
  EXPECT_TRUE(matches(".items | length > 5", kPayload));
  EXPECT_FALSE(matches(".items | length > 6", kPayload));
}

TEST(Jq, PathsAndIndexes) {
  EXPECT_TRUE(matches(".items[0] == 1 and .items[-1] == 6", kPayload));
  EXPECT_TRUE(matches(R"(.["a b"]["c\"d"][0].x == -2)", kPayload));
  EXPECT_TRUE(matches(R"(."a b"."c\"d".[0]."x" < 0)", kPayload));
  EXPECT_TRUE(matches(".items[9] == null", kPayload));
  EXPECT_TRUE(matches(".missing.deeper.still == null", kPayload));
  EXPECT_FALSE(matches(".missing", kPayload));
  EXPECT_TRUE(matches(".[1] == \"b\"", R"(["a","b"])"));
  EXPECT_TRUE(matches(". == 5", " 5 "));
}

TEST(Jq, ErrorsAreNoMatchEvenUnderNot) {
  EXPECT_FALSE(matches(".amount.x == null", kPayload));
  EXPECT_FALSE(matches("(.amount.x == null) | not", kPayload));
  EXPECT_FALSE(matches(R"(.amount | startswith("1"))", kPayload));
  EXPECT_FALSE(matches(".yes | length == 0", kPayload));
  EXPECT_FALSE(matches(".amount.x? == null", kPayload));
}

TEST(Jq, Logic) {
  EXPECT_TRUE(matches(".none | not", kPayload));
  EXPECT_TRUE(matches(".no or .yes", kPayload));
  EXPECT_FALSE(matches(".no and .amount.x", kPayload));
  EXPECT_TRUE(matches(".yes or .amount.x", kPayload));
  EXPECT_TRUE(matches("(.no or .none) | not", kPayload));
  EXPECT_TRUE(matches(".yes and (.amount == 1 or .amount == 150)", kPayload));
  EXPECT_TRUE(matches(".amount != 151 and .amount >= 150 and .amount <= 150", kPayload));
  EXPECT_TRUE(matches(".tags", kPayload));
  EXPECT_TRUE(matches("select(.amount > 1) | .yes", kPayload));
  EXPECT_FALSE(matches("select(.amount > 1000) | true", kPayload));
}

TEST(Jq, NumbersAreExact) {
  EXPECT_TRUE(matches(".big == 9007199254740993", kPayload));
  EXPECT_FALSE(matches(".big == 9007199254740992", kPayload));
  EXPECT_TRUE(matches(".one == 1", kPayload));
  EXPECT_TRUE(matches(".one == 10e-1", kPayload));
  EXPECT_FALSE(matches(".one == 1.0000000000000000000000001", kPayload));
  EXPECT_TRUE(matches(". < 1e999999999999999999999", "123456789012345678901234567890"));
  EXPECT_TRUE(matches(". == -0", "0.00"));
  EXPECT_TRUE(matches(". < 0.1", "0.09"));
  EXPECT_TRUE(matches(". > -0.2", "-0.1999"));
}

TEST(Jq, KindsAreOrderedAsInJq) {
  EXPECT_TRUE(matches("null < false and false < true and true < 0", "0"));
  EXPECT_TRUE(matches(R"(9 < "" and "z" < [] and [1] < {})", "0"));
  EXPECT_TRUE(matches("[1,2] < [1,2,0] and [1,2] < [1,3]", "0"));
  EXPECT_TRUE(matches(R"({"a":1,"b":2} == {"b":2.0,"a":1})", "0"));
  EXPECT_TRUE(matches(R"({"a":9} < {"b":1})", "0"));
  EXPECT_FALSE(matches(R"(.amount == "150")", kPayload));
}

TEST(Jq, Functions) {
  EXPECT_TRUE(matches(R"(has("amount") and (has("x") | not))", kPayload));
  EXPECT_TRUE(matches(".items | has(5)", kPayload));
  EXPECT_FALSE(matches(".items | has(6)", kPayload));
  EXPECT_TRUE(matches(R"(.email | endswith(".com"))", kPayload));
  EXPECT_TRUE(matches(R"(.email | contains("@exa"))", kPayload));
  EXPECT_TRUE(matches(R"(.tags | contains(["vi"]))", kPayload));
  EXPECT_TRUE(matches(R"(. | contains({"metadata":{"region":"us"}}))", kPayload));
  EXPECT_TRUE(matches(".text | length == 5", kPayload));
  EXPECT_TRUE(matches(R"(.items | type == "array")", kPayload));
  EXPECT_TRUE(matches(R"(.x | ascii_downcase == "abc")", R"({"x":"aBC"})"));
  EXPECT_TRUE(
      matches(R"(.x | ascii_downcase | ascii_downcase == "abc\n")", R"({"x":"\u0041BC\n"})"));
  EXPECT_TRUE(
      matches(R"((.x | ascii_downcase) == (.y | ascii_downcase))", R"({"x":"aB","y":"Ab"})"));
  EXPECT_TRUE(
      matches(R"((.x | ascii_downcase) == (.x | ascii_downcase))", R"({"x":"aB","y":"Ab"})"));
  EXPECT_TRUE(matches(". | length == 2", R"({"a":1,"a":2,"b":3})"));
  EXPECT_TRUE(matches(".a == 2", R"({"a":1,"a":2,"b":3})"));
}

TEST(Jq, EscapesMeanTheSameOnBothSides) {
  EXPECT_TRUE(matches(R"(.k == "é\n")", "{\"\\u006b\":\"\\u00e9\\u000a\"}"));
  EXPECT_TRUE(matches(R"(.k | startswith("\u00e9"))", R"({"k":"école"})"));
}

TEST(Jq, Test) {
  EXPECT_TRUE(matches(R"(.email | test("^user@.*\\.com$"))", kPayload));
  EXPECT_TRUE(matches(R"(.email | test("example"))", kPayload));
  EXPECT_FALSE(matches(R"(.email | test("^example"))", kPayload));
  EXPECT_TRUE(matches(R"(.email | test("u.er"))", kPayload));
  EXPECT_FALSE(matches(R"(.email | test("^user$"))", kPayload));
  EXPECT_TRUE(matches(R"(. | test("^a.*a$"))", R"("aa")"));
  EXPECT_FALSE(matches(R"(. | test("^a.*a$"))", R"("a")"));
}

struct Bad {
  std::string_view text;
  std::size_t position;
};

TEST(Jq, FaultsNameTheirPlace) {
  const Bad cases[] = {{"", 0},           {".a ==", 5},
                       {".a = 1", 3},     {".a == 1 == 2", 8},
                       {".[] == 1", 1},   {"..", 1},
                       {".a | foo", 5},   {".a | map(.b)", 5},
                       {"(.a == 1", 0},   {".a == 'x'", 6},
                       {".a == \"x", 8},  {"$x", 0},
                       {".a + 1", 3},     {R"(.a | test("(a+)+"))", 10},
                       {"startswith", 0}, {"{a:1} == .", 1},
                       {".a == 1)", 7},   {".a.", 3}};
  for (const auto& [text, position] : cases) {
    const auto jq = Jq::parse(text);
    ASSERT_FALSE(jq.has_value()) << text;
    EXPECT_EQ(jq.error().code, kBadJq) << text;
    EXPECT_EQ(jq.error().position, position) << text << ": " << jq.error().message;
    EXPECT_FALSE(jq.error().message.empty());
  }
}

TEST(Jq, ExpressionsAreBounded) {
  EXPECT_FALSE(
      Jq::parse(std::string(kMaxJqDepth + 1, '(') + "." + std::string(kMaxJqDepth + 1, ')')));
  std::string many = ".";
  for (std::size_t i = 0; i < kMaxJqNodes; ++i) many += " or .";
  EXPECT_FALSE(Jq::parse(many));
  EXPECT_FALSE(Jq::parse(std::string(kMaxJqBytes + 1, ' ')));
  EXPECT_TRUE(
      Jq::parse(std::string(kMaxJqDepth - 1, '(') + "." + std::string(kMaxJqDepth - 1, ')')));
}

TEST(Jq, MemberEquals) {
  const auto tag = Jq::member_equals("te\"nant", R"("acme")");
  UnlimitedBudget budget;
  EXPECT_TRUE(tag.matches(R"({"te\"nant":"acme"})", budget));
  EXPECT_FALSE(tag.matches(R"({"te\"nant":"acm"})", budget));
  EXPECT_FALSE(tag.matches("{}", budget));
  EXPECT_FALSE(tag.matches("null", budget));
}

}  // namespace
}  // namespace jobbie::search
