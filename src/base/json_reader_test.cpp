// The pull reader: what it gives, what it refuses, and where it says the fault is.
#include "base/json_reader.hpp"

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace jobbie::base::json {
namespace {

TEST(JsonReader, WalksAnObject) {
  Reader reader(R"( { "a" : 1.0 , "b\n":"x\u0041", "c":[ 1, "two" ,null ], "d":{}, "e": true } )");
  ASSERT_TRUE(reader.begin_object());
  std::string_view name;
  std::string_view text;
  ASSERT_TRUE(reader.next_member(name));
  EXPECT_EQ(name, "a");
  EXPECT_EQ(reader.peek(), Kind::number);
  ASSERT_TRUE(reader.number(text));
  EXPECT_EQ(text, "1.0");
  ASSERT_TRUE(reader.next_member(name));
  EXPECT_EQ(name, "b\n");
  ASSERT_TRUE(reader.string(text));
  EXPECT_EQ(text, "xA");
  ASSERT_TRUE(reader.next_member(name));
  ASSERT_TRUE(reader.begin_array());
  ASSERT_TRUE(reader.next_element());
  ASSERT_TRUE(reader.value(text));
  EXPECT_EQ(text, "1");
  ASSERT_TRUE(reader.next_element());
  ASSERT_TRUE(reader.string(text));
  EXPECT_EQ(text, "two");
  ASSERT_TRUE(reader.next_element());
  ASSERT_TRUE(reader.null());
  EXPECT_FALSE(reader.next_element());
  ASSERT_TRUE(reader.next_member(name));
  ASSERT_TRUE(reader.begin_object());
  EXPECT_FALSE(reader.next_member(name));
  ASSERT_TRUE(reader.next_member(name));
  bool flag = false;
  ASSERT_TRUE(reader.boolean(flag));
  EXPECT_TRUE(flag);
  EXPECT_FALSE(reader.next_member(name));
  EXPECT_FALSE(reader.failed());
  EXPECT_TRUE(reader.finish());
}

TEST(JsonReader, PassesValuesAsTheyStand) {
  Reader reader(R"([ {"a":[1 , 2],"n":9007199254740993} , "é\u00e9"])");
  std::string_view raw;
  ASSERT_TRUE(reader.begin_array());
  ASSERT_TRUE(reader.next_element());
  ASSERT_TRUE(reader.value(raw));
  EXPECT_EQ(raw, R"({"a":[1 , 2],"n":9007199254740993})");
  ASSERT_TRUE(reader.next_element());
  ASSERT_TRUE(reader.value(raw));
  EXPECT_EQ(raw, R"("é\u00e9")");
  EXPECT_FALSE(reader.next_element());
  EXPECT_TRUE(reader.finish());
}

struct FaultCase {
  std::string text;
  Fault fault;
  std::size_t position;
};

TEST(JsonReader, TellsWhatIsWrongAndWhere) {
  const std::vector<FaultCase> cases = {
      {"", Fault::ends_early, 0},
      {"   ", Fault::ends_early, 3},
      {"[1", Fault::ends_early, 2},
      {"\"abc", Fault::ends_early, 4},
      {"{\"a\"", Fault::ends_early, 4},
      {"nul", Fault::ends_early, 3},
      {"nulx", Fault::unexpected, 3},
      {"[1 2]", Fault::unexpected, 3},
      {"[1,]", Fault::unexpected, 3},
      {"{\"a\" 1}", Fault::unexpected, 5},
      {"{\"a\":1,}", Fault::unexpected, 7},
      {"{a:1}", Fault::unexpected, 1},
      {"[}", Fault::unexpected, 1},
      {"01", Fault::bad_number, 1},
      {"-x", Fault::bad_number, 1},
      {"1.x", Fault::bad_number, 2},
      {"[1e+]", Fault::bad_number, 4},
      {"\"a\nb\"", Fault::control_character, 2},
      {"\"a\\q\"", Fault::bad_escape, 2},
      {"\"a\\ud800\"", Fault::bad_escape, 2},
      {"\"a\xFF\"", Fault::bad_utf8, 2},
      {"\"\xC3\"", Fault::bad_utf8, 1},
      {"1 2", Fault::trailing, 2},
      {"{} x", Fault::trailing, 3},
      {std::string(65, '['), Fault::too_deep, 64},
  };
  for (const auto& c : cases) {
    Reader reader(c.text);
    std::string_view raw;
    EXPECT_FALSE(reader.value(raw) && reader.finish()) << c.text;
    EXPECT_EQ(reader.fault(), c.fault) << c.text << ": " << to_string(reader.fault());
    EXPECT_EQ(reader.position(), c.position) << c.text;
  }
}

TEST(JsonReader, StaysFailed) {
  Reader reader("[1 2, 3]");
  std::string_view raw;
  ASSERT_TRUE(reader.begin_array());
  ASSERT_TRUE(reader.next_element());
  ASSERT_TRUE(reader.value(raw));
  EXPECT_FALSE(reader.next_element());
  EXPECT_TRUE(reader.failed());
  EXPECT_EQ(reader.position(), 3U);
  EXPECT_EQ(reader.peek(), Kind::none);
  EXPECT_FALSE(reader.value(raw));
  EXPECT_FALSE(reader.string(raw));
  EXPECT_FALSE(reader.number(raw));
  EXPECT_FALSE(reader.null());
  EXPECT_FALSE(reader.begin_object());
  EXPECT_FALSE(reader.next_member(raw));
  EXPECT_FALSE(reader.next_element());
  EXPECT_FALSE(reader.finish());
  EXPECT_EQ(reader.fault(), Fault::unexpected);
  EXPECT_EQ(reader.position(), 3U);
}

TEST(JsonReader, RefusesAnotherKindThanAskedFor) {
  std::string_view text;
  bool flag = false;
  EXPECT_FALSE(Reader("1").string(text));
  EXPECT_FALSE(Reader("\"a\"").number(text));
  EXPECT_FALSE(Reader("1").boolean(flag));
  EXPECT_FALSE(Reader("1").null());
  EXPECT_FALSE(Reader("[]").begin_object());
  EXPECT_FALSE(Reader("{}").begin_array());
}

TEST(JsonReader, CountsTheDepthOfOpenedContainersToo) {
  std::string_view raw;
  Reader reader("[[[1]]]", 2);
  ASSERT_TRUE(reader.begin_array());
  ASSERT_TRUE(reader.next_element());
  EXPECT_FALSE(reader.value(raw));
  EXPECT_EQ(reader.fault(), Fault::too_deep);
  Reader opened("[[[", 2);
  ASSERT_TRUE(opened.begin_array());
  ASSERT_TRUE(opened.next_element());
  ASSERT_TRUE(opened.begin_array());
  ASSERT_TRUE(opened.next_element());
  EXPECT_FALSE(opened.begin_array());
  EXPECT_EQ(opened.fault(), Fault::too_deep);
}

TEST(JsonReader, FindsTheEndOfAStringAtEveryOffset) {
  // Sixteen and eight bytes are looked at together, so every length and every neighbour is tried.
  for (std::size_t size = 0; size < 70; ++size) {
    for (const char* special : {"", "\\n", "é", "\\\""}) {
      const std::string inside = std::string(size, 'x') + special + std::string(size % 19, 'y');
      const std::string text = "\"" + inside + "\"";
      // A copy without spare bytes behind it, so that reading on is seen by the sanitizer.
      const std::unique_ptr<char[]> exact(std::make_unique<char[]>(text.size()));
      text.copy(exact.get(), text.size());
      Reader reader(std::string_view(exact.get(), text.size()));
      std::string_view raw;
      ASSERT_TRUE(reader.value(raw)) << text;
      EXPECT_EQ(raw, text);
    }
  }
}

/// Reads with the pull interface what value() passes over, and the other way round.
bool pull(Reader& reader) {
  std::string_view text;
  switch (reader.peek()) {
    case Kind::object:
      if (!reader.begin_object()) return false;
      while (reader.next_member(text)) {
        if (!pull(reader)) return false;
      }
      return !reader.failed();
    case Kind::array:
      if (!reader.begin_array()) return false;
      while (reader.next_element()) {
        if (!pull(reader)) return false;
      }
      return !reader.failed();
    case Kind::string:
      return reader.string(text);
    default:
      return reader.value(text);
  }
}

TEST(JsonReader, BothWaysOfReadingAgree) {
  const std::uint64_t seed = 20'261'115;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  constexpr std::string_view kAlphabet = "{}[]\",:\\u0041eE+-.ntfalsrue é\xFF\n ";
  for (int round = 0; round < 20'000; ++round) {
    std::string text = R"({"a":[1,{"b":"\u00e9"}],"c":null,"d":[true,false,-1.5e3]})";
    for (auto n = random() % 4; n > 0; --n)
      text[random() % text.size()] = kAlphabet[random() % kAlphabet.size()];
    text.resize(text.size() - random() % 3);
    Reader whole(text);
    Reader pulled(text);
    std::string_view raw;
    const bool valid = whole.value(raw) && whole.finish();
    EXPECT_EQ(valid, pull(pulled) && pulled.finish()) << text;
    EXPECT_EQ(whole.fault(), pulled.fault()) << text;
    if (!valid) EXPECT_EQ(whole.position(), pulled.position()) << text;
  }
}

}  // namespace
}  // namespace jobbie::base::json
