// JSON trees keep the text they were read from.
#include "client/json.hpp"

#include <gtest/gtest.h>

namespace jobbie::client {
namespace {

TEST(Json, KeepsTextAndReadsValues) {
  const auto document = Document::parse(
      R"( {"n": 9007199254740993, "f": 1.50, "s": "a\u00e9\n", "t": true, "a": [1, [2]]} )");
  ASSERT_TRUE(document);
  EXPECT_EQ((*document)["n"].raw(), "9007199254740993");
  EXPECT_EQ((*document)["n"].integer(), 9007199254740993);
  EXPECT_EQ((*document)["f"].raw(), "1.50");
  EXPECT_DOUBLE_EQ((*document)["f"].number(), 1.5);
  EXPECT_EQ((*document)["s"].text(), "a\xc3\xa9\n");
  EXPECT_TRUE((*document)["t"].boolean());
  EXPECT_EQ((*document)["a"].raw(), "[1, [2]]");
  EXPECT_EQ((*document)["a"].items()[1].items()[0].integer(), 2);
  EXPECT_EQ(document->root().members().size(), 5U);
}

TEST(Json, WhatIsMissingIsNull) {
  const auto document = Document::parse("[]");
  ASSERT_TRUE(document);
  EXPECT_TRUE((*document)["a"]["b"].is_null());
  EXPECT_EQ((*document)["a"].text("none"), "none");
  EXPECT_EQ((*document)["a"].integer(-1), -1);
}

TEST(Json, SurvivesAMove) {
  auto made = Document::parse(R"({"a":"b"})");
  ASSERT_TRUE(made);
  const Document moved = std::move(*made);
  EXPECT_EQ(moved["a"].raw(), "\"b\"");
}

TEST(Json, RefusesWhatIsNone) {
  for (const char* text : {"", "{", "{} x", "{\"a\"}", "[1,]", "nul"})
    EXPECT_FALSE(Document::parse(text)) << text;
}

}  // namespace
}  // namespace jobbie::client
