// URLs: taken apart, or refused.
#include "base/url.hpp"

#include <gtest/gtest.h>

namespace jobbie::base {
namespace {

TEST(Url, TakesApart) {
  const auto plain = parse_url("http://example.com");
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->tls);
  EXPECT_EQ(plain->port, 80);
  EXPECT_EQ(plain->target, "/");
  EXPECT_EQ(plain->authority(), "example.com");
  EXPECT_EQ(plain->host_and_port(), "example.com:80");
  const auto full = parse_url("https://[2606:4700::1]:8443/a/b?c=d");
  ASSERT_TRUE(full);
  EXPECT_TRUE(full->tls);
  EXPECT_EQ(full->host, "2606:4700::1");
  EXPECT_EQ(full->target, "/a/b?c=d");
  EXPECT_EQ(full->authority(), "[2606:4700::1]:8443");
  EXPECT_EQ(parse_url("http://h?x=1")->target, "/?x=1");
}

TEST(Url, RefusesWhatServersReadDifferently) {
  for (const auto* text :
       {"", "ftp://h/", "file:///etc/passwd", "//h/", "http://", "http:///x", "http://user@h/",
        "http://h:0/", "http://h:65536/", "http://h:8x/", "http://h/ x", "http://h/\r\nx: y",
        "http://h/#f", "http://[::1/", "http://[::1]x/", "http://h\\@evil/", "http://ex\xc3\xa4/"})
    EXPECT_FALSE(parse_url(text)) << text;
}

TEST(Url, EncodesNames) {
  EXPECT_EQ(percent_encode("emails.send-1_~"), "emails.send-1_~");
  EXPECT_EQ(percent_encode("mail/eu \xC3\xA9"), "mail%2Feu%20%C3%A9");
}

}  // namespace
}  // namespace jobbie::base
