// Files on their way, and what can happen to them there.
#include <chrono>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "peer/snapshot_file.hpp"
#include "peer/test_node.hpp"
#include "peer/test_relay.hpp"

namespace jobbie::peer {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

class Snapshots : public testing::Test {
 protected:
  Options receiver() {
    auto options = test_options(2);
    options.snapshot_dir = arriving_.path("in");
    options.journal = journal_.get();
    return options;
  }
  std::string file(std::size_t size, const std::string& name = "snapshot") {
    const auto path = leaving_.path(name);
    std::ofstream(path, std::ios::binary) << random_bytes(size, static_cast<unsigned>(size));
    return path;
  }
  void connect(TestNode& b, const std::string& address) {
    a_.transport->dial({address});
    ASSERT_TRUE(a_.wait_connected(2));
    ASSERT_TRUE(b.wait([](const auto& seen) { return !seen.hellos.empty(); }));
  }
  base::Result<void> result(std::size_t index = 0) {
    EXPECT_TRUE(a_.wait([&](const auto& seen) { return seen.sent.size() > index; }, 60'000));
    const auto sent = a_.seen().sent;
    return sent.size() > index ? sent[index] : base::Result<void>();
  }
  std::size_t files_left() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(arriving_.path("in")), {}));
  }
  /// Removed soon after the sender heard of it, or before.
  bool becomes_empty() const {
    for (int i = 0; i < 2000 && files_left() > 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return files_left() == 0;
  }

  TempFolder leaving_;
  TempFolder arriving_;
  TestJournal journal_;
  TestNode a_{test_options(1)};
};

TEST_F(Snapshots, ArriveWholeWhileFramesGoOn) {
  TestNode b(receiver());
  connect(b, b.address());
  const auto path = file(50 * kMegabyte + 123);
  a_.send_snapshot(2, path);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(a_.transport->send(2, 1, std::to_string(i)));
  ASSERT_TRUE(b.wait([](const auto& seen) { return !seen.snapshots.empty(); }, 60'000));
  ASSERT_TRUE(b.wait_frames(100));
  const auto incoming = b.seen().snapshots[0];
  EXPECT_EQ(incoming.from, 1U);
  EXPECT_EQ(incoming.header, "header");
  EXPECT_EQ(incoming.bytes, 50 * kMegabyte + 123);
  EXPECT_TRUE(contents(incoming.path) == contents(path));
  EXPECT_TRUE(a_.seen().sent.empty());
  b.transport->finish(incoming.token, true);
  EXPECT_TRUE(result().has_value());
  EXPECT_EQ(files_left(), 1U);
  EXPECT_TRUE(std::filesystem::exists(incoming.path));
  EXPECT_EQ(a_.seen().connections.size(), 1U);
}

TEST_F(Snapshots, MayBeEmpty) {
  TestNode b(receiver());
  connect(b, b.address());
  a_.send_snapshot(2, file(0));
  ASSERT_TRUE(b.wait([](const auto& seen) { return !seen.snapshots.empty(); }));
  b.transport->finish(b.seen().snapshots[0].token, true);
  EXPECT_TRUE(result().has_value());
}

TEST_F(Snapshots, TheReceiverMayTakeItsTimeAndSayNo) {
  auto options = receiver();
  TestNode b(options);
  connect(b, b.address());
  a_.send_snapshot(2, file(kMegabyte));
  ASSERT_TRUE(b.wait([](const auto& seen) { return !seen.snapshots.empty(); }));
  // Longer than a stall may last: the receiver lives, and says so.
  EXPECT_FALSE(a_.wait([](const auto& seen) { return !seen.sent.empty(); }, 2'500));
  b.transport->finish(b.seen().snapshots[0].token, false);
  const auto refused = result();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "refused");
  EXPECT_NE(refused.error().message.find("not_taken"), std::string::npos);
  EXPECT_EQ(files_left(), 0U);
}

TEST_F(Snapshots, DamagedOnTheWayAreRefused) {
  TestNode b(receiver());
  TestRelay relay(b.transport->port());
  connect(b, relay.address());
  relay.change([count = std::size_t{0}](TestRelay::Way way, std::string& bytes) mutable {
    if (way != TestRelay::Way::there) return;
    const bool there = count < 2 * kMegabyte && count + bytes.size() >= 2 * kMegabyte;
    count += bytes.size();
    if (there) bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  });
  a_.send_snapshot(2, file(5 * kMegabyte));
  EXPECT_FALSE(result().has_value());
  EXPECT_TRUE(b.seen().snapshots.empty());
  EXPECT_TRUE(becomes_empty());
  EXPECT_TRUE(journal_.wait("bad_seal"));
}

TEST_F(Snapshots, CutOffMidwayLeaveNothing) {
  TestNode b(receiver());
  TestRelay relay(b.transport->port());
  connect(b, relay.address());
  relay.change([&relay, count = std::size_t{0}](TestRelay::Way way, std::string& bytes) mutable {
    if (way == TestRelay::Way::there) count += bytes.size();
    if (count > 20 * kMegabyte) relay.cut = true;
  });
  a_.send_snapshot(2, file(50 * kMegabyte));
  const auto lost = result();
  ASSERT_FALSE(lost.has_value());
  EXPECT_EQ(lost.error().code, "connection_lost");
  EXPECT_TRUE(becomes_empty());
  EXPECT_TRUE(b.seen().snapshots.empty());
  // The next one goes through.
  relay.change({});
  ASSERT_TRUE(a_.wait_connected(2));
  a_.send_snapshot(2, file(kMegabyte));
  ASSERT_TRUE(b.wait([](const auto& seen) { return !seen.snapshots.empty(); }));
  b.transport->finish(b.seen().snapshots[0].token, true);
  EXPECT_TRUE(result(1).has_value());
}

TEST_F(Snapshots, StalledOnesAreGivenUpOnBothSides) {
  TestNode b(receiver());
  TestRelay relay(b.transport->port());
  connect(b, relay.address());
  relay.change([&relay](TestRelay::Way, std::string&) {
    if (relay.passed > 10 * kMegabyte) relay.stalled = true;
  });
  a_.send_snapshot(2, file(50 * kMegabyte));
  const auto stalled = result();
  ASSERT_FALSE(stalled.has_value());
  EXPECT_EQ(stalled.error().code, "stalled");
  EXPECT_TRUE(becomes_empty());
  relay.stalled = false;
  relay.change({});
}

TEST_F(Snapshots, ThoseThatCannotBeSentAreTold) {
  TestNode b(receiver());
  connect(b, b.address());
  a_.send_snapshot(2, leaving_.path("missing"));
  EXPECT_EQ(result(0).error().code, "io_error");
  a_.send_snapshot(2, leaving_.path());
  EXPECT_EQ(result(1).error().code, "io_error");
  a_.send_snapshot(3, file(10));
  EXPECT_EQ(result(2).error().code, "not_connected");
}

TEST_F(Snapshots, AFullDiskIsTold) {
  auto options = receiver();
  options.snapshot_dir = "/dev/shm/peer_test_full_" + std::to_string(getpid());
  TestNode b(options);
  connect(b, b.address());
  const auto path = leaving_.path("huge");
  std::ofstream(path) << "x";
  std::filesystem::resize_file(path, std::uintmax_t{1} << 43);  // of holes
  a_.send_snapshot(2, path);
  const auto refused = result();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "refused");
  EXPECT_NE(refused.error().message.find("disk_full"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(options.snapshot_dir));
  std::filesystem::remove_all(options.snapshot_dir);
}

TEST_F(Snapshots, AreTakenOneOrTwoAtATimeAndNotByEverybody) {
  auto options = receiver();
  options.limits.receiving = 1;
  TestNode b(options);
  connect(b, b.address());
  a_.send_snapshot(2, file(10));
  ASSERT_TRUE(b.wait([](const auto& seen) { return seen.snapshots.size() == 1; }));
  a_.send_snapshot(2, file(10));
  const auto busy = result(0);
  ASSERT_FALSE(busy.has_value());
  EXPECT_NE(busy.error().message.find("busy"), std::string::npos) << busy.error().message;
  b.transport->finish(b.seen().snapshots[0].token, true);
  EXPECT_TRUE(result(1).has_value());

  TestNode none(test_options(3));
  a_.transport->dial({none.address()});
  ASSERT_TRUE(a_.wait_connected(3));
  a_.send_snapshot(3, file(10));
  const auto refused = result(2);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("no_snapshots"), std::string::npos);
}

TEST_F(Snapshots, StoppingEndsThoseUnderWay) {
  auto options = receiver();
  {
    TestNode b(options);
    connect(b, b.address());
    a_.send_snapshot(2, file(kMegabyte));
    ASSERT_TRUE(b.wait([](const auto& seen) { return !seen.snapshots.empty(); }));
  }
  const auto result_a = result();
  ASSERT_FALSE(result_a.has_value());
  EXPECT_EQ(files_left(), 1U);  // the handler has it, and did not say no

  TestNode b(options);
  connect(b, b.address());
  a_.send_snapshot(2, file(kMegabyte));
  ASSERT_TRUE(b.wait([](const auto& seen) { return !seen.snapshots.empty(); }));
  a_.transport->stop();
  EXPECT_EQ(result(1).error().code, "stopped");
}

TEST_F(Snapshots, WhatHalfArrivedBeforeIsRemoved) {
  auto options = receiver();
  std::filesystem::create_directories(options.snapshot_dir);
  for (const auto* name : {"incoming-1.part", "incoming-2.snapshot", "other.part"})
    std::ofstream(options.snapshot_dir + "/" + name) << "x";
  TestNode b(options);
  EXPECT_FALSE(std::filesystem::exists(options.snapshot_dir + "/incoming-1.part"));
  EXPECT_EQ(files_left(), 2U);
}

TEST_F(Snapshots, AWrongDigestOrLengthIsNotKept) {
  const auto folder = arriving_.path();
  const auto digest = base::sha256("abc");
  {
    auto file = ArrivingFile::create(folder, 3);
    ASSERT_TRUE(file.has_value());
    ASSERT_TRUE(file->write("abd").has_value());
    EXPECT_EQ(file->keep(base::bytes_of(digest)).error().code, "bad_digest");
  }
  {
    auto file = ArrivingFile::create(folder, 4);
    ASSERT_TRUE(file->write("abc").has_value());
    EXPECT_EQ(file->keep(base::bytes_of(digest)).error().code, "incomplete");
  }
  {
    auto file = ArrivingFile::create(folder, 2);
    EXPECT_EQ(file->write("abc").error().code, "incomplete");
  }
  EXPECT_EQ(arriving_.count(), 0U);
  auto file = ArrivingFile::create(folder, 3);
  ASSERT_TRUE(file->write("abc").has_value());
  const auto path = file->keep(base::bytes_of(digest));
  ASSERT_TRUE(path.has_value());
  EXPECT_EQ(contents(*path), "abc");
}

}  // namespace
}  // namespace jobbie::peer
