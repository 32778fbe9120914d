// Digests against the examples of their standards.
#include "base/digest.hpp"

#include <string>

#include <gtest/gtest.h>

namespace jobbie::base {
namespace {

// FIPS 180-4's examples.
TEST(Digest, Sha256) {
  EXPECT_EQ(hex(bytes_of(sha256(""))),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(bytes_of(sha256("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Digest, Sha256InParts) {
  Sha256Stream parts;
  parts.add("a");
  parts.add("");
  parts.add("bc");
  EXPECT_EQ(parts.finish(), sha256("abc"));
}

// RFC 4231, test cases 2 and 6.
TEST(Digest, HmacSha256) {
  EXPECT_EQ(hex(bytes_of(hmac_sha256("Jefe", "what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(bytes_of(hmac_sha256(std::string(131, '\xaa'),
                                     "Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Digest, ComparesWholeTexts) {
  EXPECT_TRUE(constant_time_equal("", ""));
  EXPECT_TRUE(constant_time_equal("secret", "secret"));
  EXPECT_FALSE(constant_time_equal("secret", "secrex"));
  EXPECT_FALSE(constant_time_equal("secret", "xecret"));
  EXPECT_FALSE(constant_time_equal("secret", "secre"));
}

// RFC 4648's examples.
TEST(Digest, Base64) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(Digest, Hex) { EXPECT_EQ(hex(std::string_view("\x00\x7f\xff", 3)), "007fff"); }

}  // namespace
}  // namespace jobbie::base
