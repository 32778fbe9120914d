// The server against clients that are slow, greedy, broken or hostile.
#include <atomic>
#include <random>
#include <thread>

#include <sys/resource.h>

#include "http/server_fixture.hpp"

namespace jobbie::http {
namespace {

TEST_F(ServerTest, RefusesWithAProblemAndCloses) {
  start();
  TestClient client(server->port());
  client.send(get("/good") + "GET / HTTP/1.1\r\nHost : h\r\n\r\n" + get("/never"));
  EXPECT_EQ(client.answer().body, "GET /good ");
  const TestAnswer refused = client.answer();
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.header("content-type"), "application/problem+json");
  EXPECT_EQ(refused.header("connection"), "close");
  EXPECT_NE(refused.body.find("\"code\":\"bad_header\""), std::string::npos) << refused.body;
  EXPECT_EQ(client.rest(), "");
}

TEST_F(ServerTest, RefusesALargeBodyBeforeReadingIt) {
  options.limits.body_bytes = 1000;
  handler.limit = 2000;
  start();
  TestClient expects(server->port());
  const TestAnswer early = expects.ask(
      "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_EQ(early.status, 413);
  // One that sends on regardless still sees the answer.
  TestClient pushes(server->port());
  pushes.send(post("/", std::string(1'000'000, 'x')));
  EXPECT_EQ(pushes.answer().status, 413);
  pushes.end_sending();
  EXPECT_EQ(pushes.rest(), "");
  TestClient chunks(server->port());
  chunks.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n");
  EXPECT_EQ(chunks.answer().status, 413);
  // The handler may allow more, and that holds for its path alone.
  TestClient client(server->port());
  EXPECT_EQ(client.ask(post("/large", std::string(2000, 'x'))).status, 200);
  EXPECT_EQ(client.ask(post("/", std::string(1001, 'x'))).status, 413);
}

TEST_F(ServerTest, CutsClientsThatStall) {
  options.limits.header_time = base::milliseconds(60);
  options.limits.body_time = base::milliseconds(60);
  options.limits.idle_time = base::milliseconds(60);
  start();
  TestClient head(server->port());
  // A byte now and then does not help.
  std::atomic<bool> over = false;
  std::thread drip([&] {
    head.send("GET / HTTP/1.1\r\nX: ");
    while (!over && head.send("a")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  EXPECT_EQ(head.answer().status, 408);
  over = true;
  drip.join();
  TestClient body(server->port());
  EXPECT_EQ(body.ask("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc").status, 408);
  TestClient idle(server->port());
  EXPECT_EQ(idle.rest(), "");
  TestClient after(server->port());
  EXPECT_EQ(after.ask(get("/")).status, 200);
  EXPECT_EQ(after.rest(), "");
}

TEST_F(ServerTest, GivesAWaitingRequestAllTheTimeItNeeds) {
  options.limits.idle_time = options.limits.header_time = base::milliseconds(20);
  keep_responders();
  start();
  TestClient client(server->port());
  client.send(get("/slow"));
  EXPECT_EQ(noted(0), "kept /slow");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  release(0, "at last");
  EXPECT_EQ(client.answer().body, "at last");
}

TEST_F(ServerTest, ReadsNoMoreThanItMayHoldUnanswered) {
  options.limits.pipelined = 8;
  keep_responders();
  start();
  TestClient client(server->port());
  constexpr std::size_t kCount = 100;
  std::string all;
  for (std::size_t i = 0; i < kCount; ++i) all += get("/" + std::to_string(i));
  client.send(all);
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(noted(std::min(i + 7, kCount - 1)),
              "kept /" + std::to_string(std::min(i + 7, kCount - 1)));
    EXPECT_LE(note_count(), i + 8);
    release(i, std::to_string(i));
    ASSERT_EQ(client.answer().body, std::to_string(i));
  }
}

TEST_F(ServerTest, BoundsWhatAClientDoesNotRead) {
  options.limits.answer_bytes = 256 * 1024;
  options.limits.write_time = base::milliseconds(300);
  note_and_answer(std::string(64 * 1024, 'z'));
  start();
  TestClient client(server->port(), 16 * 1024);
  std::string all;
  for (int i = 0; i < 2000; ++i) all += get("/");
  client.send(all);
  EXPECT_EQ(noted(0), "handled");
  EXPECT_TRUE(wait_until_empty());
  // What fits the sockets' buffers and ours, and not 128 MB.
  EXPECT_LT(note_count(), 300U);
}

TEST_F(ServerTest, CutsAStreamThatIsNotRead) {
  options.limits.answer_bytes = 256 * 1024;
  handler.on_request = [this](const Request&, Responder responder) {
    responder.on_hang_up([this] { note("gone"); });
    Stream stream = responder.stream({.content_type = "text/event-stream"});
    const std::string part(64 * 1024, 'e');
    int parts = 0;
    while (stream.write(part)) ++parts;
    note(std::to_string(parts));
    EXPECT_FALSE(stream.open());
  };
  start();
  TestClient client(server->port());
  client.send(get("/"));
  EXPECT_EQ(noted(0), "gone");
  EXPECT_EQ(noted(1), "3");
}

TEST_F(ServerTest, TurnsAwayConnectionsBeyondItsLimits) {
  options.limits.connections_per_address = 2;
  start();
  TestClient one(server->port());
  TestClient two(server->port());
  EXPECT_EQ(one.ask(get("/")).status, 200);
  EXPECT_EQ(two.ask(get("/")).status, 200);
  TestClient three(server->port());
  EXPECT_EQ(three.answer().status, 503);
  one.close();
  while (server->connections() > 1) std::this_thread::yield();
  TestClient four(server->port());
  EXPECT_EQ(four.ask(get("/")).status, 200);
}

TEST_F(ServerTest, UnfinishedRequestsMakeWayForOthers) {
  options.limits.connections = 6;
  options.limits.connections_per_address = 4;
  keep_responders();
  start();
  // One that waits for its answer and one between two requests are left alone.
  TestClient waiting(server->port());
  waiting.send(get("/waiting"));
  EXPECT_EQ(noted(0), "kept /waiting");
  TestClient idle(server->port());
  idle.send(get("/idle"));
  EXPECT_EQ(noted(1), "kept /idle");
  release(1, "idle");
  EXPECT_EQ(idle.answer().body, "idle");
  // Hundreds that never finish a request do not keep the next one out.
  std::vector<std::unique_ptr<TestClient>> slow;
  for (int i = 0; i < 300; ++i) {
    slow.push_back(std::make_unique<TestClient>(server->port()));
    slow.back()->send(i % 3 == 0   ? ""
                      : i % 3 == 1 ? "GET / HTTP/1.1\r\nHo"
                                   : "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n1");
  }
  TestClient next(server->port());
  next.send(get("/next"));
  EXPECT_EQ(noted(2), "kept /next");
  release(2, "next");
  EXPECT_EQ(next.answer().body, "next");
  EXPECT_LE(server->connections(), 4U);
  release(0, "at last");
  EXPECT_EQ(waiting.answer().body, "at last");
  idle.send(get("/again"));
  EXPECT_EQ(noted(3), "kept /again");
  release(3, "again");
  EXPECT_EQ(idle.answer().body, "again");
}

TEST_F(ServerTest, HoldsNoMoreIncompleteRequestsThanItMay) {
  options.limits.held_bytes = 1024 * 1024;
  options.limits.body_bytes = 16 * 1024 * 1024;
  start();
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n";
  std::vector<std::unique_ptr<TestClient>> clients;
  int refused = 0;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<TestClient>(server->port()));
    clients.back()->send(head + std::string(400'000, 'x'));
  }
  for (auto& client : clients) {
    client->send(std::string(600'000, 'x'));
    refused += client->answer().status == 503 ? 1 : 0;
  }
  EXPECT_GE(refused, 1);
  clients.clear();
  while (server->connections() > 0) std::this_thread::yield();
  TestClient after(server->port());
  EXPECT_EQ(after.ask(post("/", std::string(500'000, 'x'))).status, 200);
}

TEST_F(ServerTest, RestsWhenThereAreNoDescriptors) {
  // The sanitizer needs descriptors of its own when it meets a type for the first time.
  start();
  {
    TestClient first(server->port());
    first.send(get("/"));
    ASSERT_EQ(first.answer().status, 200);
  }
  server->stop();
  auto made = Server::listen(options, handler);
  ASSERT_TRUE(made.has_value());
  server = std::move(*made);
  TestClient client(server->port());
  client.send(get("/"));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = ::dup(0);
  ::close(lowest_free);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(lowest_free);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  server->start();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(server->connections(), 0U);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(client.answer().status, 200);
}

TEST_F(ServerTest, AnswersAfterThousandsOfMutatedRequests) {
  options.limits.linger_time = base::milliseconds(50);
  start();
  const std::vector<std::string> bases = {
      get("/a?b", "X-Y: z\r\n"), post("/j", "{\"a\":1}"),
      "POST /j HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"};
  constexpr unsigned kSeed = 4711;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  for (int i = 0; i < 2000; ++i) {
    std::string input = bases[random() % bases.size()] + bases[random() % bases.size()];
    for (std::size_t edits = 1 + random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % input.size();
      if (random() % 2 == 0)
        input[at] = static_cast<char>(random() % 256);
      else
        input.erase(at, 1 + random() % 8);
      if (input.empty()) input = "x";
    }
    TestClient client(server->port());
    ASSERT_TRUE(client.connected());
    client.send(input);
    if (random() % 2 == 0) {
      client.end_sending();
      client.rest();
    }
  }
  TestClient client(server->port());
  EXPECT_EQ(client.ask(get("/still")).body, "GET /still ");
}

}  // namespace
}  // namespace jobbie::http
