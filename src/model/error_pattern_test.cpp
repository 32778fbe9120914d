// Which errors are alike.
#include "model/error_pattern.hpp"

#include <gtest/gtest.h>

namespace jobbie::model {
namespace {

TEST(NormaliseError, LeavesOutWhatDiffers) {
  EXPECT_EQ(normalise_error("timeout after 3012 ms"), "timeout after # ms");
  EXPECT_EQ(normalise_error("connect to 10.0.3.17:5432 failed"), "connect to #.#.#.#:# failed");
  EXPECT_EQ(normalise_error("at 0x7ffe12ab in eth0"), "at # in eth#");
  EXPECT_EQ(normalise_error("commit 9fceb02d0ae598e95dc970b74767f19372d61af8"), "commit #");
  EXPECT_EQ(normalise_error("job_01JZ0000000000000000000001 is gone"), "job_# is gone");
  EXPECT_EQ(normalise_error("id de305d54-abcd-beef-face-aabbccddeeff!"), "id #!");
  EXPECT_EQ(normalise_error(R"(no user "bob" in 'eu' or `us`)"), "no user ? in ? or ?");
  EXPECT_EQ(normalise_error(R"(key "a\"b" missing)"), "key ? missing");
  EXPECT_EQ(normalise_error("can't open, won't try"), "can't open, won't try");
  EXPECT_EQ(normalise_error("  a\n\tb  "), "a b");
  EXPECT_EQ(normalise_error("an \"open quote"), "an \"open quote");
  EXPECT_EQ(normalise_error("deadbeef and effaced"), "deadbeef and effaced");
  EXPECT_EQ(normalise_error(""), "");
  EXPECT_LE(normalise_error(std::string(10'000, 'x')).size(), kTellingBytes);
}

TEST(Fingerprint, IsReadAsItIsWritten) {
  EXPECT_EQ(parse_fingerprint("00c5b2de726c95cc"), 0x00c5b2de726c95ccU);
  EXPECT_EQ(parse_fingerprint("ffffffffffffffff"), ~std::uint64_t{0});
  for (const char* text : {"", "c5b2", "0x00c5b2de726c95", "-0c5b2de726c95cc", "00c5b2de726c95ccd",
                           "00c5b2de726c95cg", " 0c5b2de726c95cc"})
    EXPECT_EQ(parse_fingerprint(text), std::nullopt) << text;
}

}  // namespace
}  // namespace jobbie::model
