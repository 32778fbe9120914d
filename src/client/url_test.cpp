// Addresses of servers, and the event stream's format.
#include "client/url.hpp"

#include <gtest/gtest.h>

#include "client/events.hpp"

namespace jobbie::client {
namespace {

TEST(ServerAddress, Reads) {
  const auto plain = parse_server_address("http://example.com");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->url.host_and_port(), "example.com:80");
  EXPECT_EQ(plain->prefix, "");
  const auto full = parse_server_address("http://[::1]:8080/jobs/");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->url.host, "::1");
  EXPECT_EQ(full->url.authority(), "[::1]:8080");
  EXPECT_EQ(full->prefix, "/jobs");
  EXPECT_EQ(parse_server_address("localhost:9")->url.port, 9);
  EXPECT_FALSE(parse_server_address("localhost:9")->url.tls);
  const auto secure = parse_server_address("https://example.com/jobs");
  ASSERT_TRUE(secure);
  EXPECT_TRUE(secure->url.tls);
  EXPECT_EQ(secure->url.host_and_port(), "example.com:443");
  EXPECT_EQ(parse_server_address("https://example.com:8443")->url.port, 8443);
}

TEST(ServerAddress, Refuses) {
  for (const char* text :
       {"", "https://", "https://http://x", "ftp://x", "http://", "http://x:0", "http://x:99999",
        "http://x:a", "http://a b", "http://x/?q", "http://x\r\nEvil: 1", "http://me@x"})
    EXPECT_FALSE(parse_server_address(text)) << text;
}

TEST(Events, ComeInPiecesOfAnySize) {
  const std::string stream =
      ": comment\r\n\r\nid: 1-2\nevent: failed\ndata: {\"a\":\ndata: 1}\n\ndata:x\n\nevent: "
      "nothing\n\nid: 3\ndata: y\n\n";
  for (std::size_t size = 1; size <= stream.size(); ++size) {
    EventParser parser;
    std::vector<Event> seen;
    for (std::size_t at = 0; at < stream.size(); at += size)
      EXPECT_TRUE(parser.feed(std::string_view(stream).substr(at, size), [&](const Event& event) {
        seen.push_back(event);
        return true;
      }));
    ASSERT_EQ(seen.size(), 3U);
    EXPECT_EQ(seen[0].type, "failed");
    EXPECT_EQ(seen[0].data, "{\"a\":\n1}");
    EXPECT_EQ(seen[1].type, "message");
    EXPECT_EQ(seen[1].id, "1-2");
    EXPECT_EQ(seen[2].id, "3");
  }
}

TEST(Events, StopWhenToldTo) {
  EventParser parser;
  int seen = 0;
  EXPECT_FALSE(parser.feed("data: 1\n\ndata: 2\n\n", [&](const Event&) { return ++seen < 1; }));
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace jobbie::client
