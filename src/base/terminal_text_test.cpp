// Texts of others on a terminal.
#include "base/terminal_text.hpp"

#include <gtest/gtest.h>

namespace jobbie::base {
namespace {

TEST(TerminalText, ShowsWhatPeopleWrite) {
  for (const std::string text : {"plain", "äöü €", "日本語", "עברית", "🙂", "a\\u0041", ""})
    EXPECT_EQ(printable(text), text);
}

TEST(TerminalText, ShowsNothingThatATerminalActsUpon) {
  EXPECT_EQ(printable("a\x1b[31mb\nc\td"), "a\\u001b[31mb c d");
  EXPECT_EQ(printable("one\r\ntwo\rthree\x7f"), "one two\\u000dthree\\u007f");
  EXPECT_EQ(printable("a\nb\tc\x1b", Lines::many), "a\nb\tc\\u001b");
  EXPECT_EQ(printable("\u009b31m \u0080\u009f"), "\\u009b31m \\u0080\\u009f");
  EXPECT_EQ(printable("\u2028\u2029"), "\\u2028\\u2029");
  EXPECT_EQ(printable("\u202e\u2066\u2069\u202a"), "\\u202e\\u2066\\u2069\\u202a");
  EXPECT_EQ(printable("\u200b\ufeff\u00ad"), "\\u200b\\ufeff\\u00ad");
  EXPECT_EQ(printable("\U000e0041"), "\\U000e0041");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\u0000b");
  // Bytes that are no UTF-8: alone, cut off, too long, half of a pair.
  EXPECT_EQ(printable("\x9b"), "\\x9b");
  EXPECT_EQ(printable("\xe2\x80"), "\\xe2\\x80");
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
}

TEST(TerminalText, KnowsTheEndsOfItsRanges) {
  for (const std::uint32_t unsafe : {0x0U, 0x1FU, 0x7FU, 0x9FU, 0xADU, 0x200BU, 0x200FU, 0x2028U,
                                     0x202EU, 0x2060U, 0x206FU, 0xFEFFU, 0xE007FU})
    EXPECT_TRUE(is_unsafe_to_show(unsafe)) << unsafe;
  for (const std::uint32_t safe : {0x20U, 0x7EU, 0xA0U, 0xACU, 0xAEU, 0x200AU, 0x2010U, 0x2027U,
                                   0x202FU, 0x205FU, 0x2070U, 0xFF00U, 0xE0080U, 0x10FFFFU})
    EXPECT_FALSE(is_unsafe_to_show(safe)) << safe;
}

TEST(TerminalText, JsonStaysTheSameValue) {
  EXPECT_EQ(printable_json("{\"a\": \"\u009b\u202e\U000e0041ä\x7f\"}\n"),
            "{\"a\": \"\\u009b\\u202e\\udb40\\udc41ä\\u007f\"}\n");
  EXPECT_EQ(printable_json("[\"\\u001b\",\t1]"), "[\"\\u001b\",\t1]");
}

}  // namespace
}  // namespace jobbie::base
