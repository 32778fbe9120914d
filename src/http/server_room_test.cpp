// What the server owes: to one client, and to all together.
#include <string>
#include <thread>

#include "http/server_fixture.hpp"

namespace jobbie::http {
namespace {

constexpr std::size_t kLarge = std::size_t{1} << 20;

class ServerRoomTest : public ServerTest {
 protected:
  ServerRoomTest() {
    handler.large_bytes = kLarge;
    options.limits.answer_bytes = kLarge - 1;
    keep_responders();
  }
  static std::string requests(const std::string& path, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += get(path + std::to_string(i));
    return all;
  }
  /// Makes the handler answer from a task of the loop's, as the node does, with `bytes`.
  void answer_later(std::size_t bytes) {
    handler.on_request = [this, bytes](const Request& request, Responder responder) {
      note(std::string(request.path));
      Loop& loop = responder.loop();
      loop.post([answering = std::move(responder), bytes]() mutable {
        answering.send(200, "text/plain", std::string(bytes, 'z'));
      });
    };
  }
  /// Waits until nothing has been noted for a while.
  std::size_t settled_count() {
    for (std::size_t last = note_count();;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const std::size_t now = note_count();
      if (now == last) return now;
      last = now;
    }
  }
};

TEST_F(ServerRoomTest, HandlesOneRequestForALargeAnswerAtATime) {
  start();
  TestClient client(server->port());
  client.send(requests("/large/", 128));
  for (std::size_t i = 0; i < 128; ++i) {
    ASSERT_EQ(noted(i), "kept /large/" + std::to_string(i));
    EXPECT_EQ(note_count(), i + 1);
    release(i, std::to_string(i));
    ASSERT_EQ(client.answer().body, std::to_string(i));
  }
}

TEST_F(ServerRoomTest, StopsWhenAClientDoesNotReadWhatIsPreparedElsewhere) {
  options.limits.write_time = base::milliseconds(300);
  answer_later(kLarge);
  start();
  TestClient client(server->port(), 16 * 1024);
  client.send(requests("/large/", 128));
  EXPECT_EQ(noted(0), "/large/0");
  EXPECT_TRUE(wait_until_empty());
  // What fits the sockets' buffers, the bound and one more, and not 128 MiB.
  EXPECT_LT(note_count(), 10U);
}

TEST_F(ServerRoomTest, GoesOnAsTheClientReads) {
  answer_later(kLarge);
  start();
  TestClient client(server->port(), 16 * 1024);
  client.send(requests("/large/", 40));
  for (int i = 0; i < 40; ++i) ASSERT_EQ(client.answer().body.size(), kLarge) << i;
}

TEST_F(ServerRoomTest, HandlesSmallOnesTogetherUpToTheBound) {
  options.limits.answer_bytes = 20 * kSmallAnswerBytes;
  start();
  TestClient client(server->port());
  client.send(requests("/", 100));
  EXPECT_EQ(noted(20), "kept /20");
  EXPECT_EQ(settled_count(), 21U);
}

TEST_F(ServerRoomTest, SeesAClientGoThatHasSentMoreRequests) {
  start();
  TestClient client(server->port());
  client.send(get("/wait/0") + get("/wait/1"));
  EXPECT_EQ(noted(0), "kept /wait/0");
  client.end_sending();
  EXPECT_EQ(noted(1), "gone /wait/0");
  // It is told once, and both answers still come.
  EXPECT_EQ(settled_count(), 2U);
  release(0, "zero");
  EXPECT_EQ(client.answer().body, "zero");
  EXPECT_EQ(noted(2), "gone /wait/1");
  EXPECT_EQ(noted(3), "kept /wait/1");
  release(1, "one");
  EXPECT_EQ(client.answer().body, "one");
  EXPECT_EQ(client.rest(), "");
}

TEST_F(ServerRoomTest, LargeAnswersOfAllConnectionsWaitForRoom) {
  options.limits.total_answer_bytes = 4 * kLarge;
  start();
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(std::make_unique<TestClient>(server->port()));
    clients.back()->send(get("/large/" + std::to_string(i)));
  }
  EXPECT_NE(noted(3), "");
  EXPECT_EQ(settled_count(), 4U);
  // Small ones and those that wait for something do not.
  TestClient other(server->port());
  other.send(get("/small"));
  EXPECT_EQ(noted(4), "kept /small");
  release(4, "small");
  EXPECT_EQ(other.answer().body, "small");
  other.send(get("/wait/x"));
  EXPECT_EQ(noted(5), "kept /wait/x");
  // Each that is answered lets in the one that has waited longest.
  release(0, "a");
  EXPECT_NE(noted(6), "");
  EXPECT_EQ(settled_count(), 7U);
  for (const std::size_t number : {1U, 2U, 3U}) release(number, "a");
  EXPECT_NE(noted(9), "");
  for (const std::size_t number : {6U, 7U, 8U, 9U}) release(number, "a");
  EXPECT_NE(noted(11), "");
  for (const std::size_t number : {10U, 11U}) release(number, "a");
  for (const auto& client : clients) EXPECT_EQ(client->answer().body, "a");
}

TEST_F(ServerRoomTest, RefusesWhatHasWaitedTooLongForRoom) {
  options.limits.total_answer_bytes = 2 * kLarge;
  options.limits.room_time = base::milliseconds(200);
  start();
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(std::make_unique<TestClient>(server->port()));
    clients.back()->send(get("/large/" + std::to_string(i)));
  }
  EXPECT_NE(noted(1), "");
  TestClient late(server->port());
  const TestAnswer refused = late.ask(get("/large/late"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("retry-after"), "1");
  EXPECT_NE(refused.body.find("\"code\":\"overloaded\""), std::string::npos) << refused.body;
  release(0, "a");
  EXPECT_EQ(clients[0]->answer().body, "a");
  TestClient next(server->port());
  next.send(get("/large/next"));
  EXPECT_EQ(noted(2), "kept /large/next");
}

TEST_F(ServerRoomTest, CutsOffWhoReadsNothingWhileOthersWait) {
  options.limits.total_answer_bytes = 16 * kLarge;
  options.limits.write_time = base::seconds(60);
  options.limits.room_time = base::seconds(30);
  options.limits.stalled_time = base::milliseconds(200);
  answer_later(8 * kLarge);
  handler.large_bytes = 8 * kLarge;
  start();
  std::vector<std::unique_ptr<TestClient>> greedy;
  for (int i = 0; i < 6; ++i) {
    greedy.push_back(std::make_unique<TestClient>(server->port(), 16 * 1024));
    greedy.back()->send(get("/large/" + std::to_string(i)));
  }
  EXPECT_NE(noted(1), "");
  TestClient reader(server->port());
  EXPECT_EQ(reader.ask(get("/large/reader")).body.size(), 8 * kLarge);
}

TEST_F(ServerRoomTest, DropsAnswersBeyondTwiceTheRoomWithTheirConnections) {
  options.limits.total_answer_bytes = 8 * kLarge;
  options.limits.answer_bytes = 64 * kLarge;
  options.limits.stalled_time = options.limits.write_time = base::seconds(60);
  start();
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<TestClient>(server->port(), 16 * 1024));
    clients.back()->send(get("/wait/" + std::to_string(i)));
  }
  EXPECT_NE(noted(7), "");
  constexpr std::size_t kBody = 4 * kLarge - 1024;  // with its head, a quarter of twice the room
  // In one turn: nothing is written between them.
  server->loop(0).post([this] {
    for (Responder& responder : kept) responder.send(200, "text/plain", std::string(kBody, 'z'));
  });
  // Four fit into twice the room.
  for (std::size_t i = 8; i < 12; ++i) EXPECT_TRUE(noted(i).starts_with("gone")) << noted(i);
  EXPECT_EQ(settled_count(), 12U);
  int answered = 0;
  for (const auto& client : clients) answered += client->answer().body.size() == kBody ? 1 : 0;
  EXPECT_EQ(answered, 4);
}

TEST_F(ServerRoomTest, CutsOffStreamsThatAreBehindWhileTooMuchIsOwed) {
  options.limits.total_answer_bytes = 2 * kLarge;
  options.limits.connections = 16;
  std::vector<Stream> streams;
  handler.on_request = [this, &streams](const Request& request, Responder responder) {
    responder.on_hang_up([this, path = std::string(request.path)] { note("gone " + path); });
    if (!request.path.starts_with("/stream")) {
      kept.push_back(std::move(responder));
      return note("kept " + std::string(request.path));
    }
    streams.push_back(responder.stream({.content_type = "text/event-stream"}));
    note("streams");
  };
  start();
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<TestClient>(server->port(), 16 * 1024));
    clients.back()->send(get("/stream/" + std::to_string(i)));
    EXPECT_EQ(noted(static_cast<std::size_t>(i)), "streams");
  }
  server->loop(0).post([this, &streams] {
    // Each stays within its own bound; all together do not.
    for (Stream& stream : streams) note(stream.write(std::string(900'000, 'e')) ? "yes" : "no");
  });
  std::string said;
  for (std::size_t i = 4; i < 10; ++i) said += noted(i) + " ";
  EXPECT_EQ(said, "yes yes gone /stream/2 no gone /stream/3 no ");
  server->stop();
  streams.clear();
}

}  // namespace
}  // namespace jobbie::http
