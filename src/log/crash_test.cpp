// Power loss, failing disks and rotten bits at every place, judged by one rule: what was handed out
// is there again, in order, and nothing is there that was not written.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "log/log.hpp"
#include "log/sim_disk.hpp"

namespace jobbie::log {
namespace {

constexpr std::size_t kSegment = 8192;
constexpr int kSteps = 24;

Options crash_options(TestSwitches test = {}) {
  return {.directory = "d",
          .node_id = 1,
          .segment_bytes = kSegment,
          .seed = 99,
          .preparing = Preparer::Mode::at_once,
          .test = test};
}

/// The application above the log: its checkpoint is durable on a disk of its own.
struct World {
  explicit World(std::uint64_t seed) : disk(seed) {}

  SimDisk disk;
  TestSwitches test;
  std::vector<std::string> proposed;  ///< every payload ever proposed
  std::uint64_t checkpoint = 0;       ///< entries up to here are durable elsewhere
  std::uint64_t last_acknowledged = 0;
  std::vector<std::pair<std::uint64_t, std::string>> seen;  ///< by index, over all lives

  std::string next_payload() {
    const auto n = proposed.size();
    return std::to_string(n) + ":" + std::string((n * 131) % 1400, static_cast<char>('a' + n % 26));
  }

  /// One life of the process, until it ends or a call fails. `close`: it ends well.
  std::optional<base::Error> live(int steps, bool close = false) {
    auto log = Log::open(disk, crash_options(test));
    if (!log) return log.error();
    if (auto started = (*log)->start(checkpoint); !started) return started.error();
    auto expected = std::max<std::uint64_t>(checkpoint, kBootstrap.index);
    const Handlers apply{.apply = [&](const Committed& entry) {
      EXPECT_EQ(entry.index, ++expected);
      note(entry);
    }};
    if (auto pumped = (*log)->pump(apply); !pumped) return pumped.error();
    EXPECT_TRUE((*log)->leader());
    EXPECT_GE(expected, last_acknowledged);
    for (int step = 0; step < steps; ++step) {
      for (int k = 0; k <= step % 3; ++k) {
        const auto payload = next_payload();
        if (!(*log)->has_room(payload.size())) break;
        const auto index = (*log)->propose(payload);
        if (!index && index.error().code == kLogBusy) break;
        if (!index) return index.error();
        proposed.push_back(payload);
      }
      if (auto pumped = (*log)->pump(apply); !pumped) return pumped.error();
      if (step % 4 == 3) (*log)->tick();
      if (step % 7 == 6) {
        checkpoint = expected > 4 ? expected - 2 : checkpoint;
        if (auto cut = (*log)->cut(checkpoint); !cut) return cut.error();
      }
    }
    if (!close) return std::nullopt;
    if (auto closed = (*log)->close(); !closed) return closed.error();
    return std::nullopt;
  }

  /// An index means the same payload in every life.
  void note(const Committed& entry) {
    if (!entry.data.empty() &&
        std::find(proposed.begin(), proposed.end(), entry.data) == proposed.end())
      ADD_FAILURE() << "entry " << entry.index << " was never proposed";
    last_acknowledged = std::max(last_acknowledged, entry.index);
    for (const auto& [index, data] : seen) {
      if (index != entry.index) continue;
      if (data != entry.data) ADD_FAILURE() << "entry " << index << " has changed";
      return;
    }
    seen.emplace_back(entry.index, entry.data);
  }
};

/// How many operations a whole run takes.
std::uint64_t operations_of_a_run() {
  World world(1);
  EXPECT_FALSE(world.live(kSteps));
  return world.disk.operations();
}

class PowerLoss : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(PowerLoss, at_every_operation_loses_nothing_that_was_handed_out) {
  const auto operations = operations_of_a_run();
  ASSERT_GT(operations, 60u);
  for (std::uint64_t n = 1; n <= operations + 1; ++n) {
    SCOPED_TRACE("seed " + std::to_string(GetParam()) + ", operation " + std::to_string(n));
    World world(GetParam() * 100003 + n);
    world.disk.lose_power_at(n);
    (void)world.live(kSteps);
    world.disk.restart_after_power_loss();
    // The second life dies too, often while it recovers; the third must find everything.
    world.disk.lose_power_at(world.disk.operations() + 1 + n % 9);
    (void)world.live(kSteps / 4);
    world.disk.restart_after_power_loss();
    const auto failed = world.live(2);
    ASSERT_FALSE(failed) << failed->message;
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, PowerLoss, ::testing::Values(1, 2, 3, 4));

TEST(FailingDisk, stops_the_log_at_the_first_failure_and_is_survived) {
  const auto operations = operations_of_a_run();
  for (const auto code : {kDiskFailed, kDiskFull}) {
    for (std::uint64_t n = 1; n <= operations; ++n) {
      SCOPED_TRACE(std::string(code) + " at operation " + std::to_string(n));
      World world(n);
      world.disk.fail_at(n, code);
      const auto failed = world.live(kSteps);
      if (failed) EXPECT_EQ(failed->code, code) << failed->message;
      // Restarted without a power loss: the cache shows what the disk may not have. Then the
      // power goes as well.
      world.disk.restart_process();
      const auto again = world.live(1);
      ASSERT_FALSE(again) << again->message;
      world.disk.restart_after_power_loss();
      const auto last = world.live(1);
      ASSERT_FALSE(last) << last->message;
      if (HasFailure()) return;
    }
  }
}

TEST(FailingDisk, nothing_is_handed_out_after_the_first_failure) {
  SimDisk disk(5);
  auto log = std::move(*Log::open(disk, crash_options()));
  int handed_out = 0;
  const Handlers count{.apply = [&](const Committed&) { ++handed_out; }};
  ASSERT_TRUE(log->start(0));
  ASSERT_TRUE(log->pump(count));
  handed_out = 0;
  ASSERT_TRUE(log->propose("lost"));
  disk.fail_at(disk.operations() + 2, kDiskFailed);  // the sync
  EXPECT_EQ(log->pump(count).error().code, kDiskFailed);
  EXPECT_EQ(handed_out, 0);
  // The disk is well again, the log is not.
  EXPECT_EQ(log->pump(count).error().code, kDiskFailed);
  EXPECT_EQ(log->propose("more").error().code, kDiskFailed);
  EXPECT_FALSE(log->has_room(1));
  EXPECT_EQ(log->cut(2).error().code, kDiskFailed);
  EXPECT_EQ(log->close().error().code, kDiskFailed);
  log->tick();
  EXPECT_EQ(handed_out, 0);
}

TEST(RottenBits, are_found_or_do_no_harm) {
  World before(3);
  ASSERT_FALSE(before.live(kSteps, true));
  const auto last = before.last_acknowledged;
  int refused = 0;
  for (const auto& path : before.disk.paths()) {
    const auto size = before.disk.bytes(path)->size();
    for (std::size_t at = 0; at < size; at += 7) {
      SCOPED_TRACE(path + " byte " + std::to_string(at));
      World world(3);
      world.disk = before.disk.clone();
      world.proposed = before.proposed;
      world.seen = before.seen;
      world.checkpoint = before.checkpoint;
      world.last_acknowledged = last;
      auto& byte = (*world.disk.bytes(path))[at];
      byte = static_cast<char>(byte ^ (1 << (at % 8)));
      const auto failed = world.live(0);
      refused += failed ? 1 : 0;
      if (failed) {
        EXPECT_EQ(failed->code, "corrupt_log") << failed->message;
        EXPECT_NE(failed->message.find(".wal"), std::string::npos) << failed->message;
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(RottenBits, a_segment_that_was_cut_short_is_refused) {
  World world(3);
  ASSERT_FALSE(world.live(kSteps, true));
  for (const auto& path : world.disk.paths())
    if (path.ends_with(".wal")) world.disk.bytes(path)->resize(kSegment - 512);
  const auto failed = world.live(0);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code, "corrupt_log");
}

// A check that cannot fail proves nothing: with each fault switched on, the runs above do fail.

/// Whether some power loss makes a third life miss something, or refuse to start.
bool power_loss_is_noticed(TestSwitches test, bool lying_disk) {
  const auto operations = operations_of_a_run();
  for (std::uint64_t n = 1; n <= operations; ++n) {
    World world(n);
    world.test = test;
    world.disk.lie_about_syncs(lying_disk);
    world.disk.lose_power_at(n);
    (void)world.live(kSteps);
    world.disk.restart_after_power_loss();
    auto log = Log::open(world.disk, crash_options(test));
    if (!log || !(*log)->start(world.checkpoint)) return true;
    std::vector<std::pair<std::uint64_t, std::string>> now;
    const Handlers take{.apply = [&](const Committed& e) { now.emplace_back(e.index, e.data); }};
    if (!(*log)->pump(take)) return true;
    if ((*log)->last_index() < world.last_acknowledged) return true;
    for (const auto& [index, data] : world.seen)
      for (const auto& [i, d] : now)
        if (i == index && d != data) return true;
    for (const auto& [i, d] : now)
      if (!d.empty() &&
          std::find(world.proposed.begin(), world.proposed.end(), d) == world.proposed.end())
        return true;
  }
  return false;
}

TEST(PlantedFaults, are_noticed) {
  EXPECT_FALSE(power_loss_is_noticed({}, false)) << "without a fault nothing must be noticed";
  EXPECT_TRUE(power_loss_is_noticed({.ack_before_sync = true}, false));
  EXPECT_TRUE(power_loss_is_noticed({.accept_torn = true}, false));
  EXPECT_TRUE(power_loss_is_noticed({}, true)) << "a disk that lies about syncs";
}

}  // namespace
}  // namespace jobbie::log
