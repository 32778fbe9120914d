// The log as the node uses it, on a disk without faults.
#include "log/log.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "log/sim_disk.hpp"

namespace jobbie::log {
namespace {

constexpr std::size_t kSmallSegment = 16u << 10;

struct LogFixture : ::testing::Test {
  SimDisk disk{1};
  std::unique_ptr<Log> log;
  std::vector<std::pair<std::uint64_t, std::string>> applied;

  static Options options(std::size_t segment_bytes = kSmallSegment) {
    return {.directory = "data",
            .node_id = 7,
            .segment_bytes = segment_bytes,
            .seed = 42,
            .preparing = Preparer::Mode::at_once};
  }
  void open(std::size_t segment_bytes = kSmallSegment) {
    auto opened = Log::open(disk, options(segment_bytes));
    ASSERT_TRUE(opened) << opened.error().message;
    log = std::move(*opened);
  }
  void pump() {
    const auto pumped = log->pump({.apply = [this](const Committed& entry) {
      applied.emplace_back(entry.index, std::string(entry.data));
    }});
    ASSERT_TRUE(pumped) << pumped.error().message;
  }
  void start(std::uint64_t from) {
    open();
    const auto started = log->start(from);
    ASSERT_TRUE(started) << started.error().message;
    pump();
  }
  std::uint64_t propose(std::string_view data) {
    const auto index = log->propose(data);
    EXPECT_TRUE(index) << index.error().message;
    return index.value_or(0);
  }
  void restart(std::uint64_t from) {
    log.reset();
    applied.clear();
    start(from);
  }
  std::vector<std::string> payloads() const {
    std::vector<std::string> out;
    for (const auto& [index, data] : applied)
      if (!data.empty()) out.push_back(data);
    return out;
  }
};

TEST_F(LogFixture, a_sole_voter_leads_after_the_first_pump) {
  start(0);
  EXPECT_TRUE(log->leader());
  EXPECT_EQ(log->term(), 2);
  // The bootstrap snapshot is entry 1, the leader's own entry 2.
  ASSERT_EQ(applied.size(), 1);
  EXPECT_EQ(applied[0], std::make_pair(std::uint64_t{2}, std::string()));
  EXPECT_EQ(log->commit_index(), 2);
  EXPECT_EQ(log->last_index(), 2);
  EXPECT_EQ(log->first_index(), 2);
}

TEST_F(LogFixture, proposals_are_handed_out_in_order_and_again_after_a_restart) {
  start(0);
  EXPECT_EQ(propose("a"), 3);
  EXPECT_EQ(propose("b"), 4);
  EXPECT_EQ(log->last_index(), 4);
  EXPECT_TRUE(payloads().empty());
  pump();
  EXPECT_EQ(payloads(), (std::vector<std::string>{"a", "b"}));

  restart(0);
  EXPECT_EQ(payloads(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(log->leader());
  restart(3);
  EXPECT_EQ(payloads(), (std::vector<std::string>{"b"}));
  for (std::size_t i = 1; i < applied.size(); ++i)
    EXPECT_EQ(applied[i].first, applied[i - 1].first + 1);
}

TEST_F(LogFixture, one_pump_is_one_sync) {
  start(0);
  const auto before = disk.operations();
  for (int i = 0; i < 64; ++i) propose("entry");
  pump();
  EXPECT_EQ(disk.operations() - before, 2);  // a write and a sync
}

TEST_F(LogFixture, a_state_that_does_not_fit_the_log_is_refused) {
  start(0);
  propose("a");
  pump();
  log.reset();
  open();
  const auto newer = log->start(4);
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, kLogMismatch);
  EXPECT_NE(newer.error().message.find("newer than the log"), std::string::npos);
}

TEST_F(LogFixture, cutting_recycles_segments_and_an_older_state_is_refused) {
  start(0);
  const std::string data(1000, 'x');
  for (int i = 0; i < 100; ++i) {
    propose(data);
    pump();
  }
  EXPECT_GT(log->segment_count(), 5u);
  const auto cut_at = applied.back().first;
  ASSERT_TRUE(log->cut(cut_at));
  EXPECT_EQ(log->segment_count(), 1u);
  // The current segment, the next, and two spares.
  EXPECT_EQ(disk.paths().size(), 4u);
  for (int i = 0; i < 200; ++i) {
    propose(data);
    pump();
    ASSERT_TRUE(log->cut(applied.back().first));
  }
  EXPECT_LE(disk.paths().size(), 4u);
  const auto last = applied.back().first;
  restart(last);
  EXPECT_TRUE(payloads().empty());
  EXPECT_TRUE(log->leader());
  log.reset();
  open();
  const auto older = log->start(3);
  ASSERT_FALSE(older);
  EXPECT_NE(older.error().message.find("older than the log"), std::string::npos);
}

TEST_F(LogFixture, a_long_log_is_replayed_from_its_segments) {
  start(0);
  std::vector<std::string> sent;
  for (int i = 0; i < 300; ++i) {
    for (int k = 0; k < 4; ++k) {
      sent.push_back(std::to_string(i) + ":" + std::to_string(k) + std::string(100, '.'));
      propose(sent.back());
    }
    pump();
  }
  restart(0);
  EXPECT_EQ(payloads(), sent);
}

TEST_F(LogFixture, a_full_disk_is_told_before_a_write_fails_and_passes) {
  start(0);
  disk.set_capacity(3 * kSmallSegment);
  const std::string data(1000, 'x');
  int written = 0;
  while (log->has_room(data.size())) {
    propose(data);
    pump();
    ++written;
    ASSERT_LT(written, 100);
  }
  EXPECT_GT(written, 20);
  const auto refused = log->propose(data);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, kDiskFull);
  log->tick();
  pump();
  EXPECT_FALSE(log->has_room(data.size()));
  // Space comes back either way: from outside, or by cutting.
  ASSERT_TRUE(log->cut(applied.back().first));
  EXPECT_TRUE(log->has_room(data.size()));
  disk.set_capacity(UINT64_MAX);
  for (int i = 0; i < 50; ++i) {
    propose(data);
    pump();
  }
  const auto last = applied.back().first;
  restart(last);
  EXPECT_EQ(log->last_index(), last + 1);
}

TEST_F(LogFixture, an_idle_tick_makes_the_commit_index_durable_once) {
  start(0);
  propose("a");
  pump();
  log->tick();
  pump();
  const auto before = disk.operations();
  log->tick();
  pump();
  EXPECT_EQ(disk.operations() - before, 2);
  log->tick();
  pump();
  EXPECT_EQ(disk.operations() - before, 2);
}

TEST_F(LogFixture, a_log_knows_its_node_and_a_second_user_is_refused) {
  start(0);
  EXPECT_EQ(Log::open(disk, options()).error().code, kDirectoryInUse);
  log.reset();
  auto other = options();
  other.node_id = 8;
  const auto opened = Log::open(disk, other);
  ASSERT_TRUE(opened);
  EXPECT_EQ((*opened)->node_id(), 7);
}

}  // namespace
}  // namespace jobbie::log
