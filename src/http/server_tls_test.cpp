// The server over TLS: the same as over plain sockets, and what can go wrong before the first
// request.
#include <atomic>
#include <random>
#include <thread>

#include "http/server_fixture.hpp"
#include "http/tls_test_client.hpp"

namespace jobbie::http {
namespace {

class ServerTlsTest : public ServerTest {
 protected:
  ServerTlsTest() { options.tls = certificate.files(); }

  TlsTestClient::Options trusting() const { return {.trusts = certificate.files().certificate}; }
  TestCertificate certificate;
};

TEST_F(ServerTlsTest, AnswersOnAKeptConnection) {
  start();
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    auto how = trusting();
    how.version = version;
    how.protocols = "\x02h2\x08http/1.1";
    TlsTestClient client(server->port(), how);
    ASSERT_TRUE(client.secured()) << version;
    EXPECT_EQ(SSL_version(client.tls()), version);
    const unsigned char* chosen = nullptr;
    unsigned length = 0;
    SSL_get0_alpn_selected(client.tls(), &chosen, &length);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(chosen), length), "http/1.1");
    EXPECT_EQ(client.ask(get("/a")).body, "GET /a ");
    EXPECT_EQ(client.ask(post("/b", "body")).body, "POST /b body");
    EXPECT_EQ(client.ask(get("/c", "Connection: close\r\n")).header("connection"), "close");
    EXPECT_EQ(client.rest(), "");
    EXPECT_TRUE(client.ended_cleanly());
  }
}

TEST_F(ServerTlsTest, RefusesWhatIsNotSafe) {
  start();
  TlsTestClient old(server->port(), {.version = TLS1_1_VERSION});
  EXPECT_FALSE(old.secured());
  TlsTestClient other_protocol(server->port(), {.protocols = "\x02h2"});
  EXPECT_FALSE(other_protocol.secured());
  TlsTestClient renegotiates(server->port(), {.version = TLS1_2_VERSION});
  ASSERT_TRUE(renegotiates.secured());
  EXPECT_EQ(SSL_renegotiate(renegotiates.tls()), 1);
  EXPECT_NE(SSL_do_handshake(renegotiates.tls()), 1);
  TlsTestClient after(server->port());
  EXPECT_EQ(after.ask(get("/")).status, 200);
}

TEST_F(ServerTlsTest, ResumesSessionsByTicket) {
  start();
  TlsTestClient first(server->port());
  EXPECT_EQ(first.ask(get("/")).status, 200);
  const std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)> session(
      SSL_get1_session(first.tls()), SSL_SESSION_free);
  TlsTestClient second(server->port(), {.resumes = session.get()});
  ASSERT_TRUE(second.secured());
  EXPECT_EQ(SSL_session_reused(second.tls()), 1);
  EXPECT_EQ(second.ask(get("/")).status, 200);
}

TEST_F(ServerTlsTest, TellsAPlainClientWhatToSpeak) {
  start();
  for (const std::string& request : {get("/"), post("/", std::string(100'000, 'x')),
                                     std::string("DELETE /x HTTP/1.1\r\nHost: h\r\n\r\n")}) {
    TestClient client(server->port());
    const TestAnswer answer = client.ask(request);
    EXPECT_EQ(answer.status, 400);
    EXPECT_NE(answer.body.find("\"code\":\"https_required\""), std::string::npos) << answer.body;
    EXPECT_EQ(answer.header("connection"), "close");
    client.end_sending();
    EXPECT_EQ(client.rest(), "");
  }
  EXPECT_TRUE(wait_until_empty());
}

TEST_F(ServerTlsTest, EndsWhatIsNoHandshake) {
  options.limits.linger_time = base::milliseconds(50);
  start();
  constexpr unsigned kSeed = 4711;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  for (int i = 0; i < 300; ++i) {
    // Half of them look like a record with a ClientHello at first.
    std::string garbage = i % 2 == 0 ? std::string("\x16\x03\x01\x00\x80\x01", 6) : std::string();
    for (std::size_t size = 1 + random() % 400; size > 0; --size)
      garbage.push_back(static_cast<char>(random() % 256));
    if (garbage[0] >= 'A' && garbage[0] <= 'Z') garbage[0] = '\0';
    TestClient client(server->port());
    client.send(garbage);
    client.end_sending();
    // At most an alert comes back.
    EXPECT_LE(client.rest().size(), 7U);
  }
  EXPECT_TRUE(wait_until_empty());
  TlsTestClient client(server->port());
  EXPECT_EQ(client.ask(get("/still")).body, "GET /still ");
}

TEST_F(ServerTlsTest, CutsSlowHandshakes) {
  options.limits.handshake_time = base::milliseconds(100);
  start();
  TestClient silent(server->port());
  TestClient drips(server->port());
  std::atomic<bool> over = false;
  // A record of 512 bytes that never comes whole; a byte now and then does not help.
  std::thread drip([&] {
    drips.send(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03", 11));
    while (!over && drips.send("a")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  EXPECT_EQ(silent.rest(), "");
  EXPECT_EQ(drips.rest(), "");
  over = true;
  drip.join();
  EXPECT_TRUE(wait_until_empty());
  // The deadline is the handshake's alone.
  TlsTestClient client(server->port());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(client.ask(get("/")).status, 200);
}

TEST_F(ServerTlsTest, CountsConnectionsBeforeTheirHandshake) {
  options.limits.connections_per_address = 2;
  start();
  TlsTestClient one(server->port());
  EXPECT_EQ(one.ask(get("/")).status, 200);
  // It counts, and makes way as it has not asked anything yet.
  TestClient silent(server->port());
  while (server->connections() < 2) std::this_thread::yield();
  TlsTestClient two(server->port());
  EXPECT_EQ(two.ask(get("/")).status, 200);
  EXPECT_EQ(silent.rest(), "");
  TlsTestClient three(server->port());
  EXPECT_FALSE(three.secured());
  one.close();
  while (server->connections() > 1) std::this_thread::yield();
  TlsTestClient four(server->port());
  EXPECT_EQ(four.ask(get("/")).status, 200);
}

TEST_F(ServerTlsTest, AnswersPipelinedRequestsInTheirOrder) {
  keep_responders();
  start();
  TlsTestClient client(server->port());
  client.send(get("/0") + get("/1") + get("/2") + get("/3"));
  EXPECT_EQ(noted(3), "kept /3");
  for (const std::size_t number : {3U, 1U, 0U, 2U}) release(number, std::to_string(number));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(client.answer().body, std::to_string(i));
}

TEST_F(ServerTlsTest, AnswersAThousandRequestsOneByOneAndAtOnce) {
  options.limits.pipelined = 8;
  start();
  TlsTestClient client(server->port());
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(client.ask(get("/" + std::to_string(i))).body, "GET /" + std::to_string(i) + " ");
  // More than one read takes, and more than may wait for an answer.
  for (const std::size_t size : {0U, 100U, 15'000U}) {
    std::string all;
    for (int i = 0; i < 200; ++i)
      all += post("/" + std::to_string(i), std::string(i % 7 == 0 ? size : 1, 'x'));
    ASSERT_TRUE(client.send(all));
    for (int i = 0; i < 200; ++i)
      ASSERT_EQ(client.answer().body,
                "POST /" + std::to_string(i) + " " + std::string(i % 7 == 0 ? size : 1, 'x'));
  }
}

TEST_F(ServerTlsTest, ReadsNoMoreThanItMayHoldUnanswered) {
  options.limits.pipelined = 4;
  keep_responders();
  start();
  TlsTestClient client(server->port());
  std::string all;
  for (std::size_t i = 0; i < 60; ++i) all += post("/" + std::to_string(i), std::string(4000, 'x'));
  ASSERT_TRUE(client.send(all));
  for (std::size_t i = 0; i < 60; ++i) {
    ASSERT_EQ(noted(i), "kept /" + std::to_string(i));
    EXPECT_LE(note_count(), i + 4);
    release(i, std::to_string(i));
    ASSERT_EQ(client.answer().body, std::to_string(i));
  }
}

TEST_F(ServerTlsTest, TakesAndGivesLargeBodies) {
  options.limits.body_bytes = 8 * 1024 * 1024;
  start();
  std::string body(5 * 1024 * 1024, ' ');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i % 23);
  // The reader is slow: its buffer is small, so that writing has to wait again and again.
  for (const int buffer : {0, 16 * 1024}) {
    TlsTestClient client(server->port(), {.receive_buffer = buffer});
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(client.send(post("/l", body)));
      EXPECT_EQ(client.answer().body, "POST /l " + body);
    }
    EXPECT_EQ(client.ask(get("/after")).body, "GET /after ");
  }
}

TEST_F(ServerTlsTest, StreamsEvents) {
  std::vector<Stream> streams;
  handler.on_request = [&](const Request& request, Responder responder) {
    responder.on_hang_up([this] { note("gone"); });
    streams.push_back(
        responder.stream({.content_type = "text/event-stream", .body = "data: first\n\n"}));
    note(std::string(request.path));
  };
  start();
  TlsTestClient client(server->port());
  client.send(get("/events"));
  EXPECT_EQ(noted(0), "/events");
  EXPECT_FALSE(client.until("data: first\n\n").empty());
  for (int i = 0; i < 50; ++i) {
    const std::string event = "data: " + std::to_string(i) + "\n\n";
    server->loop(0).post([&] { EXPECT_TRUE(streams[0].write(event)); });
    ASSERT_FALSE(client.until(event).empty());
  }
  client.end_sending();
  EXPECT_EQ(noted(1), "gone");
  server->loop(0).post([&] { streams[0].close(); });
  EXPECT_TRUE(client.rest().ends_with("0\r\n\r\n"));
  EXPECT_TRUE(client.ended_cleanly());
  server->stop();
  streams.clear();
}

TEST_F(ServerTlsTest, DeliversAnswersAfterAHalfClose) {
  keep_responders();
  start();
  TlsTestClient client(server->port());
  client.send(get("/a") + get("/b") + "GET /unfinished");
  client.end_sending();
  EXPECT_EQ(noted(2), "gone /a");
  EXPECT_EQ(noted(3), "gone /b");
  release(1, "b");
  release(0, "a");
  EXPECT_EQ(client.answer().body, "a");
  EXPECT_EQ(client.answer().body, "b");
  EXPECT_EQ(client.rest(), "");
  EXPECT_TRUE(client.ended_cleanly());
}

TEST_F(ServerTlsTest, TellsWhenAClientHasGone) {
  keep_responders();
  start();
  TlsTestClient resets(server->port());
  resets.send(get("/reset"));
  EXPECT_EQ(noted(0), "kept /reset");
  resets.reset();
  EXPECT_EQ(noted(1), "gone /reset");
  // Without a word to the TLS layer.
  TlsTestClient closes(server->port());
  closes.send(get("/close"));
  EXPECT_EQ(noted(2), "kept /close");
  closes.close();
  EXPECT_EQ(noted(3), "gone /close");
  // What is no record at all.
  TlsTestClient breaks(server->port());
  breaks.send(get("/break"));
  EXPECT_EQ(noted(4), "kept /break");
  breaks.send_raw("this is no record of TLS, as anybody can see");
  EXPECT_EQ(noted(5), "gone /break");
  for (const std::size_t i : {0U, 1U, 2U}) release(i, "into the void");
  EXPECT_TRUE(wait_until_empty());
}

TEST_F(ServerTlsTest, TakesManyHandshakesAtOnce) {
  options.threads = 2;
  start();
  constexpr int kClients = 200;
  std::vector<std::unique_ptr<TlsTestClient>> clients;
  for (int i = 0; i < kClients; ++i)
    clients.push_back(std::make_unique<TlsTestClient>(
        server->port(), TlsTestClient::Options{.shakes_hands = false}));
  while (server->connections() < kClients) std::this_thread::yield();
  std::atomic<std::size_t> next = 0;
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (std::size_t mine = next++; mine < kClients; mine = next++)
        good += clients[mine]->shake_hands() && clients[mine]->ask(get("/")).status == 200 ? 1 : 0;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, kClients);
}

TEST_F(ServerTlsTest, TakesRenewedFilesAndRefusesBrokenOnes) {
  start();
  const TlsFiles files = certificate.files();
  TlsTestClient before(server->port());
  EXPECT_EQ(before.peer_name(), "first");
  EXPECT_GT(*server->tls_expires(), base::Instant{});
  certificate.renew("second");
  ASSERT_TRUE(server->reload_tls());
  TlsTestClient renewed(server->port(), trusting());
  EXPECT_TRUE(renewed.secured());
  EXPECT_EQ(renewed.peer_name(), "second");
  // A connection that was there before goes on.
  EXPECT_EQ(before.ask(get("/")).status, 200);

  const TestCertificate other;
  const auto refused = [&](const char* why) {
    const auto read = server->reload_tls();
    ASSERT_FALSE(read) << why;
    EXPECT_EQ(read.error().code, "bad_tls_file");
    EXPECT_NE(read.error().message.find(why), std::string::npos) << read.error().message;
    TlsTestClient client(server->port());
    EXPECT_EQ(client.peer_name(), "second");
  };
  std::filesystem::copy_file(other.files().key, files.key,
                             std::filesystem::copy_options::overwrite_existing);
  refused("key values mismatch");
  TestCertificate::overwrite(files.key, "no key");
  refused("key in");
  TestCertificate::overwrite(files.certificate, "");
  refused("certificate in");
  std::filesystem::remove(files.certificate);
  refused("No such file");
  certificate.renew("third");
  EXPECT_TRUE(server->reload_tls());
  TlsTestClient third(server->port());
  EXPECT_EQ(third.peer_name(), "third");
}

TEST_F(ServerTlsTest, DoesNotListenWithoutACertificate) {
  TestCertificate::overwrite(certificate.files().certificate, "nothing");
  const auto made = Server::listen(options, handler);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "bad_tls_file");
}

TEST_F(ServerTlsTest, DrainsWithoutLosingAnswers) {
  keep_responders();
  start();
  TestClient before_handshake(server->port());
  TlsTestClient idle(server->port());
  TlsTestClient busy(server->port());
  busy.send(get("/busy"));
  EXPECT_EQ(noted(0), "kept /busy");
  EXPECT_FALSE(server->drain(base::milliseconds(20)));
  EXPECT_EQ(before_handshake.rest(), "");
  EXPECT_EQ(idle.rest(), "");
  EXPECT_TRUE(idle.ended_cleanly());
  std::thread later([&] { release(0, "done"); });
  EXPECT_EQ(busy.answer().header("connection"), "close");
  EXPECT_EQ(busy.rest(), "");
  EXPECT_TRUE(busy.ended_cleanly());
  busy.close();
  later.join();
  EXPECT_TRUE(server->drain(base::seconds(10)));
}

TEST_F(ServerTlsTest, BoundsWhatAClientDoesNotRead) {
  options.limits.answer_bytes = 256 * 1024;
  options.limits.write_time = base::milliseconds(300);
  note_and_answer(std::string(64 * 1024, 'z'));
  start();
  TlsTestClient client(server->port(), {.receive_buffer = 16 * 1024});
  std::string all;
  for (int i = 0; i < 1000; ++i) all += get("/");
  client.send(all);
  EXPECT_EQ(noted(0), "handled");
  EXPECT_TRUE(wait_until_empty());
  EXPECT_LT(note_count(), 300U);
}

}  // namespace
}  // namespace jobbie::http
