// Transports on this machine, talking to one another.
#include "peer/transport.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "peer/test_node.hpp"
#include "peer/test_relay.hpp"

namespace jobbie::peer {
namespace {

TEST(Transport, TwoNodesMeetAndTellWhoTheyAre) {
  TestNode a(test_options(1));
  TestNode b(test_options(2));
  a.transport->dial({b.address()});
  b.transport->dial({a.address()});
  ASSERT_TRUE(a.wait_connected(2));
  ASSERT_TRUE(b.wait_connected(1));
  ASSERT_TRUE(a.wait([](const auto& seen) { return seen.hellos.size() == 2; }));
  for (const auto& hello : a.seen().hellos) EXPECT_EQ(hello, test_options(2).self);
  ASSERT_TRUE(a.wait_status([](const Status& status) {
    return status.outgoing && status.incoming && status.node_id == 2 && status.name == "node-2" &&
           status.round_trip_us && *status.round_trip_us < 5'000'000 && status.sent_bytes > 0 &&
           status.received_bytes > 0 && status.last_error.empty();
  }));
}

TEST(Transport, FramesArriveInOrderOnceAndWithTheirKinds) {
  TestNode a(test_options(1));
  TestNode b(test_options(2));
  a.transport->dial({b.address()});
  ASSERT_TRUE(a.wait_connected(2));
  constexpr std::size_t kCount = 20'000;
  for (std::size_t i = 0; i < kCount; ++i)
    while (!a.transport->send(2, static_cast<std::uint8_t>(i % 240), std::to_string(i)))
      std::this_thread::yield();
  ASSERT_TRUE(b.wait_frames(kCount));
  const auto frames = b.seen().frames;
  ASSERT_EQ(frames.size(), kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(frames[i].bytes, std::to_string(i));
    ASSERT_EQ(frames[i].kind, i % 240);
    ASSERT_EQ(frames[i].from, 1);
  }
  EXPECT_FALSE(b.transport->send(1, 0, "nobody dialled"));
  EXPECT_FALSE(a.transport->send(3, 0, "nobody is there"));
}

TEST(Transport, ThreeNodesSendToOneAnotherFromSeveralThreads) {
  TestNode nodes[] = {TestNode(test_options(1)), TestNode(test_options(2)),
                      TestNode(test_options(3))};
  for (auto& node : nodes)
    node.transport->dial({nodes[0].address(), nodes[1].address(), nodes[2].address()});
  for (std::uint64_t i = 0; i < 3; ++i)
    for (std::uint64_t k = 0; k < 3; ++k)
      if (i != k) ASSERT_TRUE(nodes[i].wait_connected(k + 1));
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 3; ++i)
    for (std::uint64_t k = 0; k < 3; ++k)
      if (i != k)
        threads.emplace_back([&nodes, i, k] {
          for (int n = 0; n < 2000; ++n)
            EXPECT_TRUE(nodes[i].transport->send(k + 1, 1, std::to_string(n)));
        });
  for (auto& thread : threads) thread.join();
  for (auto& node : nodes) {
    ASSERT_TRUE(node.wait_frames(4000));
    std::map<std::uint64_t, int> next;
    for (const auto& frame : node.seen().frames)
      ASSERT_EQ(frame.bytes, std::to_string(next[frame.from]++));
  }
}

TEST(Transport, BigFramesArriveWhole) {
  auto options = test_options(1);
  options.limits.frame_bytes = 20 << 20;
  TestNode a(options);
  options.self.node_id = 2;
  TestNode b(options);
  a.transport->dial({b.address()});
  ASSERT_TRUE(a.wait_connected(2));
  const auto big = random_bytes(20 << 20, 1);
  EXPECT_TRUE(a.transport->send(2, 1, big));
  EXPECT_TRUE(a.transport->send(2, 2, ""));
  EXPECT_TRUE(a.transport->send(2, 3, random_bytes(1 << 20, 2)));
  EXPECT_FALSE(a.transport->send(2, 4, big + "x"));
  ASSERT_TRUE(b.wait_frames(3));
  EXPECT_TRUE(b.seen().frames[0].bytes == big);
  EXPECT_EQ(b.seen().frames[1].bytes, "");
  EXPECT_TRUE(b.seen().frames[2].bytes == random_bytes(1 << 20, 2));
  EXPECT_EQ(a.seen().connections.size(), 1U);
}

TEST(Transport, FramesLongerThanTheReceiverAllowsEndTheConnection) {
  TestNode a(test_options(1));
  auto options = test_options(2);
  options.limits.frame_bytes = 1000;
  TestJournal journal;
  options.journal = journal.get();
  TestNode b(options);
  a.transport->dial({b.address()});
  ASSERT_TRUE(a.wait_connected(2));
  EXPECT_TRUE(a.transport->send(2, 1, std::string(1001, 'x')));
  ASSERT_TRUE(a.wait([](const auto& seen) { return seen.connections.size() >= 2; }));
  EXPECT_TRUE(b.seen().frames.empty());
  EXPECT_TRUE(journal.wait("frame_too_long"));
}

TEST(Transport, AFullQueueRefusesAndAStalledPeerIsLost) {
  auto options = test_options(1);
  options.limits.queue_bytes = 1 << 20;
  TestNode a(options);
  TestNode b(test_options(2));
  TestRelay relay(b.transport->port());
  a.transport->dial({relay.address()});
  ASSERT_TRUE(a.wait_connected(2));
  relay.stalled = true;
  // The system's buffers take some megabytes before the queue has to keep them.
  int refusals = 0;
  for (int i = 0; i < 10'000 && refusals < 50; ++i) {
    const bool taken = a.transport->send(2, 1, std::string(100'000, 'x'));
    refusals = taken ? 0 : refusals + 1;
    if (!taken) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(refusals, 50);
  ASSERT_TRUE(a.wait([](const auto& seen) { return seen.connections.size() >= 2; }));
  EXPECT_EQ(a.seen().connections[1], -2);
  relay.stalled = false;
  ASSERT_TRUE(a.wait_connected(2));
  EXPECT_TRUE(a.transport->send(2, 9, "again"));
  ASSERT_TRUE(b.wait([](const auto& seen) {
    return !seen.frames.empty() && seen.frames.back().bytes == "again";
  }));
}

TEST(Transport, ASilentPeerIsLostInBothDirections) {
  TestNode a(test_options(1));
  TestNode b(test_options(2));
  TestRelay relay(b.transport->port());
  a.transport->dial({relay.address()});
  ASSERT_TRUE(a.wait_connected(2));
  ASSERT_TRUE(b.wait_status([](const Status& s) { return s.incoming; }));
  relay.stalled = true;
  ASSERT_TRUE(a.wait([](const auto& seen) { return seen.connections.size() >= 2; }));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!b.transport->status().empty() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(b.transport->status().empty());
}

TEST(Transport, AConnectionWithoutTrafficStays) {
  TestNode a(test_options(1));
  TestNode b(test_options(2));
  a.transport->dial({b.address()});
  ASSERT_TRUE(a.wait_connected(2));
  EXPECT_FALSE(a.wait([](const auto& seen) { return seen.connections.size() > 1; }, 2'500));
}

TEST(Transport, ARestartedPeerIsFoundAgain) {
  TestNode a(test_options(1));
  auto options = test_options(2);
  auto b = std::make_unique<TestNode>(options);
  options.listen = b->address();
  a.transport->dial({b->address()});
  ASSERT_TRUE(a.wait_connected(2));
  for (int i = 0; i < 3; ++i) {
    b.reset();
    ASSERT_TRUE(a.wait([&](const auto& seen) { return seen.connections.back() == -2; }));
    EXPECT_FALSE(a.transport->send(2, 1, "x"));
    options.self.node_id = 2;
    b = std::make_unique<TestNode>(options);
    ASSERT_TRUE(a.wait_connected(2));
    EXPECT_TRUE(a.transport->send(2, 1, "hello again"));
    ASSERT_TRUE(b->wait_frames(1));
  }
  const auto connections = a.seen().connections;
  for (std::size_t i = 0; i < connections.size(); ++i)
    EXPECT_EQ(connections[i], i % 2 == 0 ? 2 : -2);
}

TEST(Transport, PeersThatComeLaterAreFound) {
  TestNode a(test_options(1));
  std::uint16_t port = 0;
  { const auto free = TestSocket::listen(port); }
  const auto address = "localhost:" + std::to_string(port);
  a.transport->dial({address, "no-such-host.invalid:1", "nonsense"});
  ASSERT_TRUE(a.wait_status(
      [&](const Status& s) { return s.address == address && !s.last_error.empty(); }));
  ASSERT_TRUE(a.wait_status(
      [&](const Status& s) { return s.address == "nonsense" && !s.last_error.empty(); }));
  auto options = test_options(2);
  options.listen = "127.0.0.1:" + std::to_string(port);
  TestNode b(options);
  ASSERT_TRUE(a.wait_connected(2));
}

TEST(Transport, OurOwnAddressIsLeftAlone) {
  TestJournal journal;
  auto options = test_options(1);
  options.journal = journal.get();
  TestNode a(options);
  a.transport->dial({a.address()});
  ASSERT_TRUE(a.wait_status([](const Status& s) { return s.is_self; }));
  EXPECT_FALSE(a.wait([](const auto& seen) { return !seen.connections.empty(); }, 200));
  EXPECT_TRUE(a.seen().hellos.empty());
  EXPECT_EQ(journal.text(), "");
}

TEST(Transport, ACopyOfANodeIsRefused) {
  TestNode a(test_options(1));
  TestNode copy(test_options(1));
  a.transport->dial({copy.address()});
  ASSERT_TRUE(a.wait_status(
      [](const Status& s) { return s.last_error.find("same id") != std::string::npos; }));
  EXPECT_FALSE(a.transport->status().front().is_self);
}

TEST(Transport, TwoAddressesOfOneNodeAreOneConnection) {
  TestNode a(test_options(1));
  TestNode b(test_options(2));
  TestRelay relay(b.transport->port());
  a.transport->dial({b.address(), relay.address()});
  ASSERT_TRUE(a.wait_connected(2));
  ASSERT_TRUE(a.wait_status(
      [](const Status& s) { return s.last_error.find("another address") != std::string::npos; }));
  EXPECT_TRUE(a.transport->send(2, 1, "x"));
  ASSERT_TRUE(b.wait_frames(1));
  EXPECT_EQ(a.seen().connections.size(), 1U);
}

TEST(Transport, WhoIsNoLongerDialledIsLeft) {
  TestNode a(test_options(1));
  TestNode b(test_options(2));
  TestNode c(test_options(3));
  a.transport->dial({b.address(), c.address()});
  ASSERT_TRUE(a.wait_connected(2));
  ASSERT_TRUE(a.wait_connected(3));
  a.transport->dial({c.address()});
  ASSERT_TRUE(a.wait([](const auto& seen) { return seen.connections.back() == -2; }));
  EXPECT_FALSE(a.transport->send(2, 1, "x"));
  EXPECT_TRUE(a.transport->send(3, 1, "x"));
  EXPECT_EQ(a.seen().connections.size(), 3U);
}

TEST(Transport, AnIntroductionReachesEverybody) {
  TestNode a(test_options(1));
  TestNode b(test_options(2));
  a.transport->dial({b.address()});
  b.transport->dial({a.address()});
  ASSERT_TRUE(a.wait_connected(2));
  ASSERT_TRUE(b.wait_connected(1));
  auto hello = test_options(1).self;
  hello.http = "elsewhere:80";
  a.transport->introduce(hello);
  ASSERT_TRUE(b.wait([&](const auto& seen) {
    // Once on our connection to it, once on its connection to us.
    return std::ranges::count(seen.hellos, hello) >= 2;
  }));
  ASSERT_TRUE(a.wait_connected(2));
  ASSERT_TRUE(b.wait_connected(1));
  hello.cluster_id = 99;
  a.transport->introduce(hello);
  ASSERT_TRUE(a.wait_status(
      [](const Status& s) { return s.last_error.find("not the same") != std::string::npos; }));
}

TEST(Transport, OpenTellsWhatIsWrong) {
  TestNode taken(test_options(1));
  TestNode handler(test_options(9));
  const auto code = [&](const Options& options) {
    const auto opened = Transport::open(options, handler);
    return opened ? "" : opened.error().code;
  };
  auto options = test_options(2);
  options.listen = taken.address();
  EXPECT_EQ(code(options), "listen_failed");
  options.listen = "nonsense";
  EXPECT_EQ(code(options), "bad_address");
  options = test_options(0);
  EXPECT_EQ(code(options), "malformed");
  options = test_options(2);
  options.tls = TlsFiles{.cert = "/no/cert", .key = "/no/key", .ca = "/no/ca"};
  EXPECT_EQ(code(options), "tls_failed");
  options = test_options(2);
  options.snapshot_dir = "/proc/no/such";
  EXPECT_EQ(code(options), "io_error");
  options = test_options(2);
  options.listen.clear();
  EXPECT_EQ(code(options), "");
}

TEST(Transport, StoppingEndsEverythingOnce) {
  TestNode a(test_options(1));
  TestNode b(test_options(2));
  a.transport->dial({b.address()});
  ASSERT_TRUE(a.wait_connected(2));
  a.transport->stop();
  a.transport->stop();
  EXPECT_FALSE(a.transport->send(2, 1, "x"));
  a.send_snapshot(2, "/nowhere");
  ASSERT_EQ(a.seen().sent.size(), 1U);
  EXPECT_EQ(a.seen().sent[0].error().code, "stopped");
  EXPECT_EQ(a.seen().connections.size(), 1U);
}

}  // namespace
}  // namespace jobbie::peer
