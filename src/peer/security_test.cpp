// Those who do not belong to the cluster: on the port, and between two nodes.
#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "peer/seal.hpp"
#include "peer/test_node.hpp"
#include "peer/test_relay.hpp"
#include "peer/wire.hpp"

namespace jobbie::peer {
namespace {

std::string preface() {
  std::string bytes;
  encode(Preface{}, bytes);
  return bytes;
}

/// The node still does what it is there for.
void expect_service(TestNode& node) {
  TestNode friendly(test_options(77));
  friendly.transport->dial({node.address()});
  ASSERT_TRUE(friendly.wait_connected(1));
  const auto before = node.seen().frames.size();
  EXPECT_TRUE(friendly.transport->send(1, 5, "still there?"));
  ASSERT_TRUE(node.wait_frames(before + 1));
  EXPECT_EQ(node.seen().frames.back().bytes, "still there?");
}

TEST(Strangers, AnotherSecretIsRefusedAndNeverWritten) {
  TestJournal journal;
  auto options = test_options(1, "the right secret");
  options.journal = journal.get();
  TestNode a(options);
  options = test_options(2, "the wrong secret");
  options.journal = journal.get();
  TestNode b(options);
  a.transport->dial({b.address()});
  b.transport->dial({a.address()});
  for (auto* node : {&a, &b})
    ASSERT_TRUE(node->wait_status([](const Status& s) {
      return s.last_error.find("another cluster secret") != std::string::npos;
    }));
  ASSERT_TRUE(journal.wait("peer_refused"));
  EXPECT_TRUE(a.seen().hellos.empty());
  EXPECT_TRUE(b.seen().hellos.empty());
  EXPECT_EQ(journal.count("the wrong"), 0U);
  EXPECT_EQ(journal.count("the right"), 0U);
}

TEST(Strangers, AnEmptySecretIsASecretToo) {
  TestNode a(test_options(1, ""));
  TestNode b(test_options(2, ""));
  TestNode c(test_options(3, "x"));
  a.transport->dial({b.address(), c.address()});
  ASSERT_TRUE(a.wait_connected(2));
  ASSERT_TRUE(a.wait_status([](const Status& s) {
    return s.last_error.find("another cluster secret") != std::string::npos;
  }));
}

TEST(Strangers, AnotherClusterIsRefusedAndOneWithoutIsNot) {
  TestNode a(test_options(1));
  auto options = test_options(2);
  options.self.cluster_id = 8;
  TestNode b(options);
  options = test_options(3);
  options.self.cluster_id = 0;
  TestNode c(options);
  a.transport->dial({b.address(), c.address()});
  ASSERT_TRUE(a.wait_connected(3));
  ASSERT_TRUE(a.wait_status(
      [](const Status& s) { return s.last_error.find("not the same") != std::string::npos; }));
  EXPECT_TRUE(b.seen().hellos.empty());
}

TEST(Strangers, GarbageIsRefusedAndToldOnce) {
  TestJournal journal;
  auto options = test_options(1);
  options.journal = journal.get();
  options.limits.accepts_per_second = 100'000;
  TestNode node(options);
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const auto socket = TestSocket::connect(node.transport->port());
    std::string bytes = random_bytes(1 + random() % 3000, static_cast<unsigned>(random()));
    // Some look like nodes at first.
    if (i % 3 == 0) bytes = preface().substr(0, random() % kPrefaceBytes) + bytes;
    if (i % 3 == 1) bytes = preface() + bytes;
    socket.send(bytes);
    ::shutdown(socket.fd(), SHUT_WR);
    const auto answer = socket.receive();
    EXPECT_LE(answer.size(), kPrefaceBytes + kProofBytes);
    EXPECT_EQ(answer.find("<timeout>"), std::string::npos);
  }
  EXPECT_TRUE(node.seen().hellos.empty());
  EXPECT_TRUE(node.seen().frames.empty());
  EXPECT_EQ(journal.count("peer_refused"), 1U);
  expect_service(node);
}

TEST(Strangers, TenThousandRandomFramesDoNothing) {
  TestNode node(test_options(1));
  std::mt19937 random(2);
  std::string bytes = preface();
  for (int i = 0; i < 10'000; ++i)
    Seal().seal(static_cast<std::uint8_t>(random()),
                random_bytes(random() % 200, static_cast<unsigned>(random())), bytes);
  const auto socket = TestSocket::connect(node.transport->port());
  socket.send(bytes);
  ::shutdown(socket.fd(), SHUT_WR);
  EXPECT_EQ(socket.receive().find("<timeout>"), std::string::npos);
  EXPECT_TRUE(node.seen().hellos.empty());
  EXPECT_TRUE(node.seen().frames.empty());
  expect_service(node);
}

TEST(Strangers, ASlowHandshakeIsCut) {
  auto options = test_options(1);
  options.limits.handshake_time = {300};
  TestNode node(options);
  const auto start = std::chrono::steady_clock::now();
  const auto silent = TestSocket::connect(node.transport->port());
  const auto slow = TestSocket::connect(node.transport->port());
  // A byte now and then does not lengthen the time.
  for (const char c : preface())
    if (!slow.send(std::string(1, c)) ||
        std::chrono::steady_clock::now() - start > std::chrono::seconds(10))
      break;
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(silent.receive(), "");
  EXPECT_EQ(slow.receive(), "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));
  expect_service(node);
}

TEST(Strangers, AreFew) {
  TestJournal journal;
  auto options = test_options(1);
  options.journal = journal.get();
  options.limits.strangers_per_address = 5;
  options.limits.handshake_time = {20'000};
  TestNode node(options);
  std::vector<TestSocket> held;
  for (int i = 0; i < 5; ++i) {
    held.push_back(TestSocket::connect(node.transport->port()));
    held.back().send(preface());
    EXPECT_EQ(held.back().receive(kPrefaceBytes).size(), kPrefaceBytes);
  }
  const auto turned_away = TestSocket::connect(node.transport->port());
  EXPECT_EQ(turned_away.receive(), "");
  ASSERT_TRUE(journal.wait("too_many_connections"));
  held.clear();
  expect_service(node);
}

TEST(Strangers, WhoComesTooOftenIsTurnedAway) {
  auto options = test_options(1);
  options.limits.accepts_per_second = 3;
  TestNode node(options);
  int answered = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) {
    const auto socket = TestSocket::connect(node.transport->port());
    socket.send(preface());
    ::shutdown(socket.fd(), SHUT_WR);
    if (socket.receive().size() > 0) ++answered;
  }
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start)
          .count();
  EXPECT_GE(answered, 3);
  EXPECT_LE(answered, 3 * (seconds + 2));
  expect_service(node);
}

/// Two nodes with a relay between them, and frames under way.
class Between : public testing::Test {
 protected:
  void connect() {
    a_.transport->dial({relay_.address()});
    ASSERT_TRUE(a_.wait_connected(2));
    ASSERT_TRUE(a_.transport->send(2, 1, "first"));
    ASSERT_TRUE(b_.wait_frames(1));
  }
  /// The connection is given up because of `reason`, and nothing but what was sent arrived.
  void expect_refused(const std::string& reason) {
    ASSERT_TRUE(a_.wait([](const auto& seen) { return seen.connections.size() >= 2; }));
    EXPECT_TRUE(journal_.wait(reason));
    relay_.change({});
    ASSERT_TRUE(a_.wait_connected(2));
    while (!a_.transport->send(2, 1, "last")) std::this_thread::yield();
    ASSERT_TRUE(b_.wait([](const auto& seen) {
      return !seen.frames.empty() && seen.frames.back().bytes == "last";
    }));
    std::size_t seconds = 0;
    for (const auto& frame : b_.seen().frames) {
      EXPECT_TRUE(frame.bytes == "first" || frame.bytes == "second" || frame.bytes == "last");
      if (frame.bytes == "second") ++seconds;
    }
    EXPECT_LE(seconds, 1U);
  }
  Options with_journal(std::uint64_t node) {
    auto options = test_options(node);
    options.journal = journal_.get();
    return options;
  }

  TestJournal journal_;
  TestNode a_{test_options(1)};
  TestNode b_{with_journal(2)};
  TestRelay relay_{b_.transport->port()};
};

TEST_F(Between, AChangedBitIsNoticed) {
  connect();
  relay_.change([](TestRelay::Way way, std::string& bytes) {
    if (way == TestRelay::Way::there) bytes.back() = static_cast<char>(bytes.back() ^ 1);
  });
  a_.transport->send(2, 1, "second");
  expect_refused("bad_seal");
}

TEST_F(Between, ARepeatedFrameIsNoticed) {
  connect();
  relay_.change([](TestRelay::Way way, std::string& bytes) {
    if (way == TestRelay::Way::there) bytes += std::string(bytes);
  });
  a_.transport->send(2, 1, "second");
  expect_refused("bad_seal");
}

TEST_F(Between, ALostFrameIsNoticed) {
  connect();
  relay_.change([lost = false](TestRelay::Way way, std::string& bytes) mutable {
    if (way == TestRelay::Way::there && !std::exchange(lost, true)) bytes.clear();
  });
  a_.transport->send(2, 1, "second");
  expect_refused("bad_seal");
}

TEST_F(Between, AnInventedLengthIsNoticed) {
  connect();
  relay_.change([](TestRelay::Way way, std::string& bytes) {
    if (way == TestRelay::Way::there && bytes.size() > 4) bytes[3] = static_cast<char>(0x7f);
  });
  a_.transport->send(2, 1, "second");
  expect_refused("frame_too_long");
}

TEST_F(Between, ARecordedConnectionCannotBePlayedAgain) {
  std::mutex mutex;
  std::string recorded;
  relay_.change([&](TestRelay::Way way, std::string& bytes) {
    const std::lock_guard lock(mutex);
    if (way == TestRelay::Way::there) recorded += bytes;
  });
  connect();
  const auto frames = b_.seen().frames.size();
  const auto hellos = b_.seen().hellos.size();
  const auto socket = TestSocket::connect(b_.transport->port());
  {
    const std::lock_guard lock(mutex);
    socket.send(recorded);
  }
  EXPECT_EQ(socket.receive().size(), kPrefaceBytes + kProofBytes);
  EXPECT_TRUE(journal_.wait("wrong_secret"));
  EXPECT_EQ(b_.seen().frames.size(), frames);
  EXPECT_EQ(b_.seen().hellos.size(), hellos);
  relay_.change({});
}

TEST_F(Between, NothingThatMattersIsReadable) {
  std::mutex mutex;
  std::string recorded;
  relay_.change([&](TestRelay::Way, std::string& bytes) {
    const std::lock_guard lock(mutex);
    recorded += bytes;
  });
  connect();
  relay_.change({});
  EXPECT_EQ(recorded.find("first"), std::string::npos);
  EXPECT_EQ(recorded.find("node-"), std::string::npos);
}

TEST_F(Between, ACutConnectionIsMadeAnew) {
  connect();
  relay_.cut = true;
  ASSERT_TRUE(a_.wait([](const auto& seen) { return seen.connections.size() >= 3; }));
  EXPECT_EQ(a_.seen().connections[1], -2);
  EXPECT_EQ(a_.seen().connections[2], 2);
}

}  // namespace
}  // namespace jobbie::peer
