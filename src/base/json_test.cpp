// JSON: what is accepted and refused, members under any spelling of their names, and hostile input.
#include "base/json.hpp"

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace jobbie::base::json {
namespace {

/// The text in a block of exactly its size, so that AddressSanitizer sees a read past its end.
class Exact {
 public:
  explicit Exact(std::string_view text)
      : bytes_(std::make_unique_for_overwrite<char[]>(text.size())), size_(text.size()) {
    text.copy(bytes_.get(), size_);
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

bool valid(std::string_view text) { return is_valid(Exact(text).view()); }

std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') +
         std::string(static_cast<std::size_t>(depth), ']');
}

TEST(JsonIsValid, AcceptsEveryKindOfValue) {
  for (const char* text : {"null",
                           "true",
                           "false",
                           "0",
                           "-0",
                           "1",
                           "-12",
                           "1.5",
                           "-0.25",
                           "1e3",
                           "1E+3",
                           "2e-07",
                           "123456789012345678901234567890",
                           "\"\"",
                           "\"a\"",
                           "[]",
                           "{}",
                           "[ ]",
                           "{ }",
                           " \t\r\n1 \n",
                           "[1,2 , 3]",
                           "[[],{}]",
                           R"({"a":1})",
                           R"({ "a" : [ { "b" : null } ] , "c" : "d" })",
                           R"({"a":1,"a":2})",
                           R"({"":0})"}) {
    EXPECT_TRUE(valid(text)) << text;
  }
}

TEST(JsonIsValid, RefusesWhatIsAlmostJson) {
  for (const char* text : {"",
                           " ",
                           "nul",
                           "nulll",
                           "True",
                           "NaN",
                           "Infinity",
                           "+1",
                           "01",
                           "-01",
                           "-",
                           "1.",
                           ".5",
                           "1.e3",
                           "1e",
                           "1e+",
                           "0x10",
                           "1 2",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "[",
                           "]",
                           "[1",
                           "{",
                           "}",
                           "{]",
                           "[}",
                           R"({"a"})",
                           R"({"a":})",
                           R"({"a":1,})",
                           R"({,"a":1})",
                           R"({a:1})",
                           R"({'a':1})",
                           R"({1:2})",
                           R"({"a":1 "b":2})",
                           R"({"a" 1})",
                           "'a'",
                           "\"",
                           "\"a",
                           "\"a\"b",
                           "// c\n1",
                           "1/**/",
                           "[1]]",
                           "{}{}",
                           "\xEF\xBB\xBF{}"}) {
    EXPECT_FALSE(valid(text)) << text;
  }
  EXPECT_FALSE(valid(std::string_view("1\0", 2)));
  EXPECT_FALSE(valid("\v1"));
}

TEST(JsonIsValid, ChecksEscapes) {
  for (const char* text : {R"("\"\\\/\b\f\n\r\t")", R"("\u0041")", R"("\uabCD")", R"("\u0000")",
                           R"("\ud83d\ude00")", R"("\uD83D\uDE00")", R"("\uffff")"}) {
    EXPECT_TRUE(valid(text)) << text;
  }
  for (const char* text :
       {R"("\a")", R"("\x41")", R"("\u")", R"("\u004")", R"("\u00g0")", R"("\U0041")", R"("\)",
        R"("\ud83d")", R"("\ude00")", R"("\ud83dx")", R"("\ud83d\n")", R"("\ud83d\ud83d")",
        R"("\ud83d\u0041")", R"("\ud83d\)", R"("\ud83d\ude0)", R"("\'")"}) {
    EXPECT_FALSE(valid(text)) << text;
  }
}

TEST(JsonIsValid, RefusesControlCharactersInStringsAtEveryOffset) {
  // Every offset, because eight bytes are looked at together.
  for (std::size_t at = 0; at < 24; ++at) {
    for (int c = 0; c < 256; ++c) {
      std::string text = "\"" + std::string(24, 'x') + "\"";
      text[1 + at] = static_cast<char>(c);
      const bool plain = c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
      EXPECT_EQ(valid(text), plain) << "byte " << c << " at " << at;
    }
  }
}

TEST(JsonIsValid, ChecksUtf8) {
  for (const char* text :
       {"\"\xC2\x80\"", "\"\xDF\xBF\"", "\"\xE0\xA0\x80\"", "\"\xED\x9F\xBF\"", "\"\xEE\x80\x80\"",
        "\"\xEF\xBF\xBF\"", "\"\xF0\x90\x80\x80\"", "\"\xF4\x8F\xBF\xBF\"", "\"grüße, 世界 😀\""}) {
    EXPECT_TRUE(valid(text)) << text;
  }
  for (const char* text :
       {"\"\x80\"", "\"\xBF\"", "\"\xC0\x80\"", "\"\xC1\xBF\"", "\"\xC2\"", "\"\xC2x\"",
        "\"\xE0\x9F\xBF\"", "\"\xE0\xA0\"", "\"\xED\xA0\x80\"", "\"\xED\xBF\xBF\"",
        "\"\xF0\x8F\xBF\xBF\"", "\"\xF0\x90\x80\"", "\"\xF4\x90\x80\x80\"", "\"\xF5\x80\x80\x80\"",
        "\"\xFE\"", "\"\xFF\"", "\"\xE2\x82", "\"\xF0\x90\x80\x80"}) {
    EXPECT_FALSE(valid(text)) << text;
  }
  EXPECT_FALSE(valid("\xC3\xA9"));
}

TEST(JsonIsValid, BoundsTheDepth) {
  EXPECT_TRUE(valid(nested(kMaxDepth)));
  EXPECT_FALSE(valid(nested(kMaxDepth + 1)));
  EXPECT_FALSE(valid(nested(1'000'000)));
  EXPECT_FALSE(valid(std::string(1'000'000, '[')));
  std::string objects;
  for (int i = 0; i < kMaxDepth; ++i) objects += "{\"a\":";
  const std::string deepest = objects + "1" + std::string(kMaxDepth, '}');
  EXPECT_TRUE(valid(deepest));
  EXPECT_FALSE(valid("[" + deepest + "]"));
  // Width is no depth.
  std::string wide = "[[]";
  for (int i = 0; i < 1000; ++i) wide += ",[[]]";
  EXPECT_TRUE(valid(wide + "]"));
}

TEST(JsonIsValid, KeepsArraysAndObjectsApartAtEveryLevel) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::string open;
    std::string close;
    for (int i = 0; i < kMaxDepth; ++i) {
      const bool object = random() % 2 == 0;
      open += object ? "{\"k\":" : "[";
      close.insert(close.begin(), object ? '}' : ']');
    }
    EXPECT_TRUE(valid(open + "0" + close));
    const std::size_t at = random() % close.size();
    close[at] = close[at] == '}' ? ']' : '}';
    EXPECT_FALSE(valid(open + "0" + close));
  }
}

TEST(JsonIsObject, IsTrueForObjectsAlone) {
  EXPECT_TRUE(is_object("{}"));
  EXPECT_TRUE(is_object(" {\"a\":[1]} "));
  for (const char* text : {"", "[]", "1", "\"{}\"", "{", "{}}", "[{}]", "{\"a\":01}"})
    EXPECT_FALSE(is_object(text)) << text;
}

TEST(JsonMember, GivesTheRawValue) {
  const std::string_view object =
      R"( { "n" : 9007199254740993 , "f":1.0,"s": "a\u0041" ,"o":{ "n" : 1 },"l":[ 1, 2 ] } )";
  EXPECT_EQ(member(object, "n"), "9007199254740993");
  EXPECT_EQ(member(object, "f"), "1.0");
  EXPECT_EQ(member(object, "s"), R"("a\u0041")");
  EXPECT_EQ(member(object, "o"), R"({ "n" : 1 })");
  EXPECT_EQ(member(object, "l"), "[ 1, 2 ]");
  EXPECT_EQ(member(object, "x"), std::nullopt);
  EXPECT_EQ(member(object, ""), std::nullopt);
  EXPECT_EQ(member(R"({"":5})", ""), "5");
}

TEST(JsonMember, TakesTheLastOfTwo) {
  EXPECT_EQ(member(R"({"a":1,"b":2,"a":3})", "a"), "3");
  EXPECT_EQ(member(R"({"a":1,"\u0061":4})", "a"), "4");
}

TEST(JsonMember, ComparesNamesAfterResolvingEscapes) {
  EXPECT_EQ(member(R"({"\u0061\/\n":1})", "a/\n"), "1");
  EXPECT_EQ(member(R"({"\b\f\n\r\t\"\\":1})", "\b\f\n\r\t\"\\"), "1");
  EXPECT_EQ(member(R"({"gr\u00fc\u00dfe":1})", "grüße"), "1");
  EXPECT_EQ(member(R"({"\u4e16":1})", "世"), "1");
  EXPECT_EQ(member(R"({"\ud83d\ude00":1})", "😀"), "1");
  EXPECT_EQ(member(R"({"\udbff\udfff":1})", "\xF4\x8F\xBF\xBF"), "1");
  EXPECT_EQ(member(R"({"a\u0000b":1})", std::string_view("a\0b", 3)), "1");
  // The key is text, not JSON: its own backslashes are not escapes.
  EXPECT_EQ(member(R"({"a\n":1})", "a\\n"), std::nullopt);
  EXPECT_EQ(member(R"({"a\\n":1})", "a\\n"), "1");
}

TEST(JsonMember, IsNothingWhereTheTextIsNoObject) {
  for (const char* text : {"", "1", "[]", R"([{"a":1}])", R"({"a":1)", R"({"a":1}x)", R"({"a":1,})",
                           R"({"a":1,"b":01})", R"({"a":1,"b":"\ud800"})"}) {
    EXPECT_EQ(member(text, "a"), std::nullopt) << text;
  }
  EXPECT_EQ(member("{\"a\":" + nested(kMaxDepth - 1) + "}", "a"), nested(kMaxDepth - 1));
  EXPECT_EQ(member("{\"a\":" + nested(kMaxDepth) + "}", "a"), std::nullopt);
}

TEST(JsonWithMember, PutsTheMemberLast) {
  EXPECT_EQ(with_member("", "a", "1"), R"({"a":1})");
  EXPECT_EQ(with_member("{}", "a", "1"), R"({"a":1})");
  EXPECT_EQ(with_member(" { } ", "a", "1"), R"({"a":1})");
  EXPECT_EQ(with_member(R"({"b": 1.0})", "a", "[2]"), R"({"b": 1.0,"a":[2]})");
  EXPECT_EQ(with_member(R"({"b":1})", "x\"\n", "2"), R"({"b":1,"x\"\n":2})");
}

TEST(JsonWithMember, ReplacesEverySpelling) {
  EXPECT_EQ(with_member(R"({"a":1,"b":2})", "a", "3"), R"({"b":2,"a":3})");
  EXPECT_EQ(with_member(R"({"a":1,"b":2,"\u0061":4})", "a", "3"), R"({"b":2,"a":3})");
  EXPECT_EQ(with_member(R"({"a":1})", "a", "3"), R"({"a":3})");
}

TEST(JsonWithMember, IsNothingWhereTheResultWouldNotBeJson) {
  for (const char* object : {" ", "1", "[]", "{", R"({"a":1}})", R"({"a":01})"})
    EXPECT_EQ(with_member(object, "k", "1"), std::nullopt) << object;
  for (const char* value : {"", "x", "1,\"y\":2", "1}", "{"})
    EXPECT_EQ(with_member("{}", "k", value), std::nullopt) << value;
  EXPECT_EQ(with_member("{}", "\xFF", "1"), std::nullopt);
  EXPECT_NE(with_member("{}", "k", nested(kMaxDepth - 1)), std::nullopt);
  EXPECT_EQ(with_member("{}", "k", nested(kMaxDepth)), std::nullopt);
}

TEST(JsonQuote, EscapesWhatMustBe) {
  EXPECT_EQ(quote(""), R"("")");
  EXPECT_EQ(quote("a/b"), R"("a/b")");
  EXPECT_EQ(quote("\"\\\b\f\n\r\t"), R"("\"\\\b\f\n\r\t")");
  EXPECT_EQ(quote(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
  EXPECT_EQ(quote("grüße 😀"), "\"grüße 😀\"");
}

TEST(JsonQuote, IsValidWhateverTheBytes) {
  EXPECT_EQ(quote("a\xFFz"), "\"a\uFFFDz\"");
  EXPECT_EQ(quote("\xE2\x82"), "\"\uFFFD\uFFFD\"");
  std::mt19937_64 random(11);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 40, '\0');
    for (char& c : text) c = static_cast<char>(random());
    EXPECT_TRUE(valid(quote(text)));
  }
}

/// A random document: every production of the grammar, space in every legal place.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::string value(int depth) {
    switch (random_() % (depth > 0 ? 8 : 5)) {
      case 0:
        return pick({"null", "true", "false"});
      case 1:
        return pick({"0", "-0", "7", "-31"}) + pick({"", ".0", ".25"}) + pick({"", "e1", "E-2"});
      case 2:
      case 3:
      case 4:
        return string();
      case 5:
        return list(depth, '[', ']');
      default:
        return list(depth, '{', '}');
    }
  }
  std::string object(int depth) { return list(depth, '{', '}'); }
  std::uint64_t next() { return random_(); }

 private:
  std::string pick(std::vector<const char*> of) { return of[random_() % of.size()]; }
  std::string space() { return pick({"", "", " ", "\n\t", "\r "}); }
  std::string string() {
    std::string out = "\"";
    for (auto n = random_() % 12; n > 0; --n)
      out += pick({"a", "bcdefghijk", "é", "世", "😀", "\\n", "\\u00e9", "\\ud83d\\ude00", "\\\\"});
    return out + "\"";
  }
  std::string list(int depth, char open, char close) {
    std::string out = open + space();
    const auto count = random_() % 5;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i > 0) out += "," + space();
      if (open == '{') out += string() + space() + ":" + space();
      out += value(depth - 1) + space();
    }
    return out + close;
  }
  std::mt19937_64 random_;
};

TEST(JsonCanonical, GivesOneTextForEverySpelling) {
  const std::vector<std::vector<std::string>> same = {
      {R"("Müller")", R"( "M\u00fcller" )", R"("\u004d\u00FCller")"},
      {R"("/")", R"("\/")"},
      {"1", "1.0", "1e0", "10e-1", "0.1e+1", "1.000"},
      {"100", "1e2", "1E+2", "100.00"},
      {"-1.5", "-15e-1", "-1.50"},
      {"0", "-0", "0.0", "0e99999999999999999999"},
      {"0.05", "5e-2", "0.0500"},
      {"1e21", "1000000000000000000000"},
      {"1e-21", "0.000000000000000000001"},
      {"9007199254740993", "9007199254740993.0"},
      {R"({"a":1,"b":[1,{}]})", R"({ "b" : [ 1.0 , { } ], "a" : 1 })",
       R"({"a":2,"b":[1,{}],"\u0061":1})"},
      {"[]", "[ ]"},
      {"true", " true"},
      {"null", "null "},
  };
  for (const auto& spellings : same)
    for (const auto& text : spellings) {
      EXPECT_EQ(canonical(Exact(text).view()), spellings.front()) << text;
      EXPECT_EQ(canonical(canonical(text)), canonical(text)) << text;
    }
}

TEST(JsonCanonical, KeepsDifferentValuesApart) {
  const std::vector<std::string> all = {"1",
                                        "-1",
                                        "10",
                                        "0.1",
                                        "1e22",
                                        "1e23",
                                        R"("1")",
                                        "true",
                                        "null",
                                        "[]",
                                        "{}",
                                        "[1]",
                                        "[[1]]",
                                        R"(["1"])",
                                        R"("")",
                                        R"({"a":1})",
                                        R"({"a":2})",
                                        "9007199254740992",
                                        "9007199254740993"};
  for (const auto& a : all)
    for (const auto& b : all) EXPECT_EQ(canonical(a) == canonical(b), a == b) << a << " " << b;
}

TEST(JsonCanonical, LeavesWhatIsNotJson) {
  for (const char* text : {"", "{", "[1,", "01", "nul", R"("\ud800")", "1 2", R"({"a" 1})"})
    EXPECT_EQ(canonical(Exact(text).view()), text);
  EXPECT_EQ(canonical(nested(kMaxDepth + 1)), nested(kMaxDepth + 1));
  EXPECT_EQ(canonical(nested(kMaxDepth)), nested(kMaxDepth));
  EXPECT_EQ(canonical("1e9999999999999999"), "1e9999999999999999");
}

TEST(JsonRandom, DocumentsAreValidAndTheirPrefixesAreNot) {
  const std::uint64_t seed = 20'260'115;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Generator generator(seed);
  for (int round = 0; round < 200; ++round) {
    const std::string text = generator.object(5);
    ASSERT_TRUE(valid(text)) << text;
    for (std::size_t size = 0; size < text.size(); ++size)
      ASSERT_FALSE(valid(std::string_view(text).substr(0, size))) << text.substr(0, size);
    const auto joined = with_member(text, "a", "[1]");
    ASSERT_TRUE(joined && valid(*joined));
    EXPECT_EQ(member(*joined, "a"), "[1]");
    EXPECT_EQ(with_member(*joined, "a", "[1]"), joined);
    ASSERT_TRUE(valid(canonical(text))) << text;
    EXPECT_EQ(canonical(canonical(text)), canonical(text)) << text;
  }
}

TEST(JsonRandom, DamagedDocumentsAreReadTotally) {
  const std::uint64_t seed = 20'260'115;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Generator generator(seed);
  for (int round = 0; round < 3000; ++round) {
    std::string text = generator.object(4);
    for (auto n = generator.next() % 3 + 1; n > 0; --n)
      text[generator.next() % text.size()] = static_cast<char>(generator.next());
    const Exact exact(text);
    const bool object = is_object(exact.view());
    // The two ways of reading an object must agree on what one is.
    EXPECT_EQ(with_member(exact.view(), "k", "1").has_value(), object) << text;
    if (!object) {
      EXPECT_EQ(member(exact.view(), "a"), std::nullopt) << text;
    }
  }
}

}  // namespace
}  // namespace jobbie::base::json
