// The server over real sockets: what a well-behaved client sees.
#include "http/server.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>

#include "http/server_fixture.hpp"

namespace jobbie::http {
namespace {

TEST_F(ServerTest, AnswersOnAKeptConnection) {
  start();
  TestClient client(server->port());
  const TestAnswer first = client.ask(get("/a"));
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.body, "GET /a ");
  EXPECT_EQ(first.header("content-type"), "text/plain");
  EXPECT_EQ(first.header("date").size(), 29U);
  EXPECT_EQ(first.header("connection"), "-");
  EXPECT_EQ(first.header("x-request-id").size(), 24U);
  const TestAnswer second = client.ask(post("/b", "body"));
  EXPECT_EQ(second.body, "POST /b body");
  EXPECT_NE(second.header("x-request-id"), first.header("x-request-id"));
  EXPECT_EQ(server->connections(), 1U);
}

TEST_F(ServerTest, EchoesAGivenRequestId) {
  handler.on_request = [&](const Request& request, Responder responder) {
    responder.send(200, "text/plain", request.request_id);
  };
  start();
  TestClient client(server->port());
  const TestAnswer given = client.ask(get("/", "X-Request-Id: mine-1\r\n"));
  EXPECT_EQ(given.header("x-request-id"), "mine-1");
  EXPECT_EQ(given.body, "mine-1");
  const TestAnswer odd = client.ask(get("/", "X-Request-Id: not mine\r\n"));
  EXPECT_EQ(odd.header("x-request-id"), odd.body);
  EXPECT_EQ(odd.body.size(), 24U);
}

TEST_F(ServerTest, TakesChunksAndSplitBodies) {
  start();
  TestClient client(server->port());
  const std::string head = "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(client.ask(head + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n").body, "POST /c abcde");
  // Larger than every buffer on the way, and in pieces that end anywhere.
  const std::string large(700'000, 'x');
  const std::string request = post("/l", large);
  for (std::size_t at = 0; at < request.size(); at += 99'991)
    ASSERT_TRUE(client.send(std::string_view(request).substr(at, 99'991)));
  EXPECT_EQ(client.answer().body, "POST /l " + large);
  std::string chunks = head;
  for (int i = 0; i < 20'000; ++i) chunks += "1\r\ny\r\n";
  EXPECT_EQ(client.ask(chunks + "0\r\n\r\n").body, "POST /c " + std::string(20'000, 'y'));
}

TEST_F(ServerTest, AnswersPipelinedRequestsInTheirOrder) {
  keep_responders();
  start();
  TestClient client(server->port());
  client.send(get("/0") + get("/1") + get("/2") + get("/3"));
  EXPECT_EQ(noted(3), "kept /3");
  for (const std::size_t number : {3U, 1U, 0U, 2U}) release(number, std::to_string(number));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(client.answer().body, std::to_string(i));
}

TEST_F(ServerTest, AnswersThousandsOfPipelinedRequests) {
  start();
  TestClient client(server->port());
  constexpr int kCount = 20'000;
  std::thread sender([&] {
    std::string all;
    for (int i = 0; i < kCount; ++i) all += post("/" + std::to_string(i), "x");
    client.send(all);
  });
  for (int i = 0; i < kCount; ++i)
    ASSERT_EQ(client.answer().body, "POST /" + std::to_string(i) + " x");
  sender.join();
}

TEST_F(ServerTest, SendsNoBodyWhereThereMustBeNone) {
  handler.on_request = [](const Request& request, Responder responder) {
    responder.send(request.path == "/none" ? 204 : 200, "text/plain", "12345");
  };
  start();
  TestClient client(server->port());
  client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n" + get("/none") + get("/"));
  EXPECT_EQ(client.answer(true).header("content-length"), "5");
  const TestAnswer none = client.answer();
  EXPECT_EQ(none.status, 204);
  EXPECT_EQ(none.header("content-length"), "-");
  EXPECT_EQ(client.answer().body, "12345");
}

TEST_F(ServerTest, ClosesWhenAsked) {
  start();
  TestClient client(server->port());
  client.send(get("/1", "Connection: close\r\n") + get("/2"));
  const TestAnswer answer = client.answer();
  EXPECT_EQ(answer.header("connection"), "close");
  EXPECT_EQ(client.rest(), "");
  TestClient old(server->port());
  old.send("GET /1 HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.answer().body, "GET /1 ");
  EXPECT_EQ(old.rest(), "");
  TestClient kept_alive(server->port());
  const std::string request = "GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
  EXPECT_EQ(kept_alive.ask(request).header("connection"), "keep-alive");
  EXPECT_EQ(kept_alive.ask(request).status, 200);
}

TEST_F(ServerTest, SaysContinueWhenItsTurnHasCome) {
  keep_responders();
  start();
  TestClient client(server->port());
  const std::string head =
      "POST /up HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  client.send(get("/before") + head);
  EXPECT_EQ(noted(0), "kept /before");
  release(0, "first");
  EXPECT_EQ(client.answer().body, "first");
  EXPECT_EQ(client.answer().status, 100);
  client.send("ok");
  EXPECT_EQ(noted(1), "kept /up");
  release(1, "second");
  EXPECT_EQ(client.answer().body, "second");
}

TEST_F(ServerTest, DeliversAnswersAfterAHalfClose) {
  keep_responders();
  start();
  TestClient client(server->port());
  client.send(get("/a") + get("/b") + "GET /unfinished");
  client.end_sending();
  EXPECT_EQ(noted(2), "gone /a");
  EXPECT_EQ(noted(3), "gone /b");
  release(1, "b");
  release(0, "a");
  EXPECT_EQ(client.answer().body, "a");
  EXPECT_EQ(client.answer().body, "b");
  EXPECT_EQ(client.rest(), "");
}

TEST_F(ServerTest, TellsWhenAClientHasGone) {
  keep_responders();
  start();
  TestClient resets(server->port());
  resets.send(get("/reset"));
  EXPECT_EQ(noted(0), "kept /reset");
  resets.reset();
  EXPECT_EQ(noted(1), "gone /reset");
  // Also one that said that this would be its last request.
  TestClient closes(server->port());
  closes.send(get("/close", "Connection: close\r\n"));
  EXPECT_EQ(noted(2), "kept /close");
  closes.close();
  EXPECT_EQ(noted(3), "gone /close");
  release(0, "into the void");
  release(1, "likewise");
  TestClient other(server->port());
  other.send(get("/other"));
  EXPECT_EQ(noted(4), "kept /other");
}

TEST_F(ServerTest, AnswersForAHandlerThatDoesNot) {
  handler.on_request = [](const Request& request, Responder) {
    if (request.path == "/throw") throw std::runtime_error("no");
  };
  start();
  TestClient client(server->port());
  EXPECT_EQ(client.ask(get("/drop")).status, 500);
  const TestAnswer thrown = client.ask(get("/throw"));
  EXPECT_EQ(thrown.status, 500);
  EXPECT_EQ(thrown.header("content-type"), "application/problem+json");
}

TEST_F(ServerTest, StreamsInParts) {
  std::vector<Stream> streams;
  handler.on_request = [&](const Request& request, Responder responder) {
    responder.on_hang_up([this] { note("gone"); });
    streams.push_back(responder.stream({.content_type = "text/event-stream", .body = "first\n"}));
    note(std::string(request.path));
  };
  start();
  TestClient client(server->port());
  client.send(get("/1") + get("/2"));
  EXPECT_EQ(noted(1), "/2");
  server->loop(0).post([&] {
    EXPECT_TRUE(streams[1].write("waits"));
    EXPECT_TRUE(streams[0].write("more"));
    EXPECT_TRUE(streams[0].open());
    streams[0].close();
    streams[1].close();
    EXPECT_FALSE(streams[0].write("late"));
  });
  const std::string one = client.until("0\r\n\r\n");
  EXPECT_NE(one.find("transfer-encoding: chunked\r\n"), std::string::npos);
  EXPECT_TRUE(one.ends_with("\r\n\r\n6\r\nfirst\n\r\n4\r\nmore\r\n0\r\n\r\n")) << one;
  const std::string two = client.until("0\r\n\r\n");
  EXPECT_TRUE(two.ends_with("\r\n\r\n6\r\nfirst\n\r\n5\r\nwaits\r\n0\r\n\r\n")) << two;
  TestClient old(server->port());
  old.send("GET /3 HTTP/1.0\r\n\r\n");
  EXPECT_EQ(noted(2), "/3");
  server->loop(0).post([&] { streams[2].close(); });
  EXPECT_TRUE(old.rest().ends_with("\r\n\r\nfirst\n"));
  client.send(get("/4"));
  EXPECT_EQ(noted(3), "/4");
  client.close();
  EXPECT_EQ(noted(4), "gone");
  server->stop();
  streams.clear();
}

TEST_F(ServerTest, ServesFromSeveralThreads) {
  options.threads = 3;
  std::atomic<int> threads_seen = 0;
  handler.on_request = [&](const Request&, Responder responder) {
    EXPECT_TRUE(responder.loop().on_thread());
    threads_seen |= 1 << responder.loop().index();
    Loop& loop = responder.loop();
    std::thread([&loop, r = std::make_shared<Responder>(std::move(responder))]() mutable {
      loop.post([moved = std::move(r)] { moved->send(200, "text/plain", "ok"); });
    }).detach();
  };
  start();
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 12; ++i) clients.push_back(std::make_unique<TestClient>(server->port()));
  for (int round = 0; round < 20; ++round) {
    for (auto& client : clients) client->send(get("/"));
    for (auto& client : clients) ASSERT_EQ(client->answer().body, "ok");
  }
  EXPECT_EQ(threads_seen, 7);
}

TEST_F(ServerTest, WritesAnAccessLog) {
  options.access_log = [this](const AccessRecord& record) {
    note(std::string(record.method) + " " + std::string(record.target) + " " +
         std::to_string(record.status) + " " + std::to_string(record.body_bytes) + " " +
         std::string(record.request_id));
  };
  start();
  TestClient client(server->port());
  client.ask(get("/x?y", "X-Request-Id: r1\r\n"));
  EXPECT_EQ(noted(0), "GET /x?y 200 7 r1");
  client.ask("bad\r\n");
  EXPECT_EQ(noted(1).substr(0, 6), "  400 ");
}

TEST_F(ServerTest, DrainsWithoutLosingAnswers) {
  keep_responders();
  start();
  TestClient idle(server->port());
  TestClient busy(server->port());
  busy.send(get("/busy"));
  EXPECT_EQ(noted(0), "kept /busy");
  EXPECT_FALSE(server->drain(base::milliseconds(20)));
  EXPECT_EQ(idle.rest(), "");
  std::thread later([&] { release(0, "done"); });
  EXPECT_EQ(busy.answer().header("connection"), "close");
  EXPECT_EQ(busy.rest(), "");
  busy.close();
  later.join();
  EXPECT_TRUE(server->drain(base::seconds(10)));
  EXPECT_FALSE(TestClient(server->port()).connected());
}

TEST_F(ServerTest, StopsWithRequestsInFlight) {
  keep_responders();
  start();
  TestClient client(server->port());
  client.send(get("/a"));
  EXPECT_EQ(noted(0), "kept /a");
  server->stop();
  EXPECT_EQ(noted(1), "gone /a");
  EXPECT_EQ(client.rest(), "");
  server->loop(0).post([this] { note("never"); });
  EXPECT_FALSE(kept[0].waiting());
  kept.clear();
  EXPECT_EQ(note_count(), 2U);
  server.reset();
}

TEST_F(ServerTest, WhatIsPutOffIsDoneInTimeAndLetGoByTheStop) {
  handler.on_request = [this](const Request&, Responder responder) {
    Loop& loop = responder.loop();
    const std::shared_ptr<const void> owner(this, [this](const void*) { note("let go"); });
    loop.post_after(base::seconds(3'600), [owner] {});
    loop.post_after(base::milliseconds(1), [this, kept = std::move(responder)]() mutable {
      note("done");
      kept.send(200, "text/plain", "late");
    });
  };
  start();
  TestClient client(server->port());
  EXPECT_EQ(client.ask(get("/")).body, "late");
  EXPECT_EQ(noted(0), "done");
  EXPECT_EQ(note_count(), 1U);
  server->stop();
  EXPECT_EQ(noted(1), "let go");
}

/// A task that is always about to run.
void post_again(Loop& loop, std::shared_ptr<const void> owner) {
  loop.post([&loop, owner = std::move(owner)]() mutable { post_again(loop, std::move(owner)); });
}

TEST_F(ServerTest, WhatIsPostedIsLetGoByTheStop) {
  start();
  post_again(server->loop(0), {this, [this](const void*) { note("let go"); }});
  server->stop();
  EXPECT_EQ(noted(0), "let go");
}

TEST_F(ServerTest, SaysWhyItCannotListen) {
  start();
  ServerOptions same;
  same.port = server->port();
  const auto second = Server::listen(same, handler);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, "listen_failed");
  EXPECT_NE(second.error().message.find("in use"), std::string::npos) << second.error().message;
}

}  // namespace
}  // namespace jobbie::http
