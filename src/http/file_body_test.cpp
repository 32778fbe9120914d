// Files as answers: whole, no faster than the client takes them, and let go in the end.
#include "http/file_body.hpp"

#include <cstdlib>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "http/server_fixture.hpp"

namespace jobbie::http {
namespace {

class FileBodyTest : public ServerTest {
 protected:
  FileBodyTest() {
    for (std::size_t i = 0; content.size() < 6'000'000; ++i) content += std::to_string(i * 7919);
    char name[] = "/tmp/jobbie_file_body_XXXXXX";
    descriptor = ::mkstemp(name);
    EXPECT_GE(descriptor, 0);
    ::unlink(name);
    EXPECT_EQ(::write(descriptor, content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
    handler.on_request = [this](const Request& request, Responder responder) {
      if (request.path != "/file") return responder.send(200, "text/plain", "other");
      // Whoever owns the file notes that it was let go.
      const std::shared_ptr<const void> owner(&descriptor, [this](const void*) { note("let go"); });
      send_file(std::move(responder), {.content_type = "application/octet-stream"},
                {.descriptor = descriptor, .bytes = promised, .owner = owner});
    };
    promised = content.size();
  }
  ~FileBodyTest() override {
    server->stop();
    ::close(descriptor);
  }

  std::string content;
  std::uint64_t promised = 0;
  int descriptor = -1;
};

TEST_F(FileBodyTest, ComesWholeAndTheConnectionGoesOn) {
  start();
  TestClient client(server->port(), 4'096);
  client.send(get("/file") + get("/other") + get("/file"));
  const auto first = client.answer();
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.header("content-length"), std::to_string(content.size()));
  EXPECT_EQ(first.header("transfer-encoding"), "-");
  EXPECT_EQ(first.header("content-type"), "application/octet-stream");
  EXPECT_TRUE(first.body == content);
  EXPECT_EQ(client.answer().body, "other");
  EXPECT_TRUE(client.answer().body == content);
  EXPECT_EQ(noted(1), "let go");
}

TEST_F(FileBodyTest, AHeadAndAnOldClientAreServedToo) {
  start();
  TestClient client(server->port());
  client.send("HEAD /file HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.answer(true).header("content-length"), std::to_string(content.size()));
  EXPECT_EQ(noted(0), "let go");
  EXPECT_EQ(client.ask(get("/other")).body, "other");
  TestClient old(server->port());
  old.send("GET /file HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(old.rest().ends_with("\r\n\r\n" + content));
}

TEST_F(FileBodyTest, AClientThatStopsReadingHoldsLittleAndOneThatGoesLetsGo) {
  start();
  TestClient client(server->port(), 4'096);
  client.send(get("/file"));
  EXPECT_FALSE(client.until("\r\n\r\n").empty());
  EXPECT_EQ(note_count(), 0U);  // most of it is still to be read
  client.reset();
  EXPECT_EQ(noted(0), "let go");
}

TEST_F(FileBodyTest, AFileThatIsTooShortBreaksTheConnection) {
  promised = content.size() + 1;
  start();
  TestClient client(server->port());
  client.send(get("/file") + get("/other"));
  const auto all = client.rest();
  EXPECT_EQ(all.find("other"), std::string::npos);
  EXPECT_LE(all.size(), content.size() + 500);
  EXPECT_EQ(noted(0), "let go");
}

TEST_F(FileBodyTest, AStoppingServerLetsGo) {
  start();
  TestClient client(server->port(), 4'096);
  client.send(get("/file"));
  EXPECT_FALSE(client.until("\r\n\r\n").empty());
  server->stop();
  EXPECT_EQ(noted(0), "let go");
}

}  // namespace
}  // namespace jobbie::http
