// Power loss at every operation of what a node does among peers: adopting a snapshot, changing the
// configuration, going on with a log of an older version.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "log/test_cluster.hpp"
#include "tests/support/golden_file.hpp"

namespace jobbie::log {
namespace {

constexpr std::uint64_t kSeeds = 3;

/// Node 3 with a log of several segments, stopped, and the snapshot that it is to adopt.
struct Adoption {
  TestCluster cluster{{1, 2, 3}};
  Mail message;
  std::uint64_t old_first = 0;
  std::uint64_t old_last = 0;
  std::uint64_t old_applied = 0;
  std::uint64_t old_term = 0;
  int old_ones = 0;  ///< that check() found
  int new_ones = 0;

  Adoption() {
    cluster.lead(1);
    for (int i = 0; i < 30; ++i) {
      cluster.propose(1, std::to_string(i) + std::string(700, 'o'));
      cluster.settle();
    }
    cluster.tick();
    auto& three = cluster.log(3);
    EXPECT_GT(three.segment_count(), 2u);
    old_first = three.first_index();
    old_last = three.last_index();
    old_applied = cluster.node(3).applied;
    old_term = three.term();
    cluster.stop(3);
    // While it is away another node is elected, a learner joins, and the log is cut.
    cluster.lead(2);
    cluster.change(2, {Change::Kind::add_learner, test_member(4)});
    for (int i = 0; i < 5; ++i) cluster.propose(2, "new");
    cluster.settle();
    EXPECT_TRUE(cluster.log(2).cut(cluster.node(2).applied));
    cluster.offer(2);
    cluster.deliver_snapshots = false;
    auto disk = cluster.node(3).disk.clone();
    cluster.open(3);
    cluster.tick(5);
    for (const auto& m : cluster.sent)
      if (m.snapshot_index != 0 && m.to == 3) message = m;
    EXPECT_NE(message.snapshot_index, 0u);
    cluster.stop(3);
    cluster.node(3).disk = std::move(disk);
  }

  /// One life: adopts and writes a little behind it. Whether adopt() was done.
  bool live(SimDisk& disk) {
    auto log = Log::open(disk, cluster.options(3));
    if (!log || !(*log)->start(old_applied) || !(*log)->pump({})) return false;
    if (!(*log)->adopt(message.bytes)) return false;
    (*log)->tick();
    (void)(*log)->pump({});
    return true;
  }

  void check(SimDisk& disk, bool adopted, const std::string& where) {
    SCOPED_TRACE(where);
    auto opened = Log::open(disk, cluster.options(3));
    ASSERT_TRUE(opened) << opened.error().message;
    auto& log = **opened;
    EXPECT_EQ(log.node_id(), 3u);
    if (log.first_index() == message.snapshot_index + 1) {
      ++new_ones;
      ASSERT_TRUE(log.start(message.snapshot_index));
      EXPECT_EQ(log.last_index(), message.snapshot_index);
      EXPECT_EQ(log.commit_index(), message.snapshot_index);
      EXPECT_EQ(log.term(), message.term);
      EXPECT_NE(log.configuration().find(4), nullptr);
      return;
    }
    ++old_ones;
    EXPECT_FALSE(adopted) << "it was adopted and is gone";
    EXPECT_EQ(log.first_index(), old_first);
    ASSERT_TRUE(log.start(old_applied));
    EXPECT_EQ(log.last_index(), old_last);
    EXPECT_EQ(log.term(), old_term);
    EXPECT_EQ(log.configuration(), test_configuration({1, 2, 3}));
  }
};

TEST(AdoptionCrash, leaves_the_old_log_or_the_new_one) {
  Adoption adoption;
  std::uint64_t operations = 0;
  {
    auto disk = adoption.cluster.node(3).disk.clone();
    ASSERT_TRUE(adoption.live(disk));
    operations = disk.operations();
    adoption.check(disk, true, "without a crash");
  }
  EXPECT_GT(operations, 5u);
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (std::uint64_t n = 1; n <= operations + 1; ++n) {
      auto disk = adoption.cluster.node(3).disk.clone(seed * 1000 + n);
      disk.lose_power_at(n);
      const bool adopted = adoption.live(disk);
      disk.restart_after_power_loss();
      // Once more, during the recovery.
      for (std::uint64_t k = 1; k <= 4; ++k) {
        auto again = disk.clone(k);
        again.lose_power_at(k);
        (void)Log::open(again, adoption.cluster.options(3));
        again.restart_after_power_loss();
        adoption.check(again, adopted,
                       "operation " + std::to_string(n) + ", then " + std::to_string(k));
      }
      adoption.check(disk, adopted, "operation " + std::to_string(n));
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
  }
  EXPECT_GT(adoption.old_ones, 20);
  EXPECT_GT(adoption.new_ones, 20);
}

/// A sole voter whose configuration changes again and again; its state is durable at once.
struct Changing {
  SimDisk disk;
  std::uint64_t applied = 0;
  Configuration expected = test_configuration({1});
  std::uint64_t told = 0;  ///< the index of the last configuration that we were told of
  std::optional<Change> under_way;
  int next = 0;

  explicit Changing(std::uint64_t seed) : disk(seed) {}

  Change change() const {
    auto member = test_member(2 + static_cast<std::uint64_t>(next / 3));
    member.http = "changed " + std::to_string(next);
    if (next % 3 == 0) return {Change::Kind::add_learner, member};
    if (next % 3 == 1) return {Change::Kind::update, member};
    // Every other one is removed again; a sole voter cannot promote without being alone no more.
    member.id = 2 + static_cast<std::uint64_t>(next / 6 * 2);
    return {next % 2 == 0 ? Change::Kind::remove : Change::Kind::update, member};
  }

  bool live(const Options& options, int changes) {
    auto log = Log::open(disk, options);
    if (!log || !(*log)->start(applied)) return false;
    const Handlers handlers{.apply = [&](const Committed& entry) { applied = entry.index; },
                            .configured =
                                [&](const Configuration& c, std::uint64_t index) {
                                  expected = c;
                                  told = index;
                                }};
    // What we were told of is there. The change after it may be durable as well.
    EXPECT_GE((*log)->configuration_index(), told);
    if ((*log)->configuration_index() > told && under_way && told > 0)
      expected = log::apply(expected, *under_way);
    if (told > 0) EXPECT_EQ((*log)->configuration(), expected);
    told = (*log)->configuration_index();
    if (!(*log)->pump(handlers)) return false;
    EXPECT_EQ((*log)->configuration(), expected);
    for (int i = 0; i < changes; ++i) {
      under_way = change();
      const auto proposed = (*log)->propose_change(*under_way);
      ++next;
      if (!proposed && proposed.error().code != kBadChange) return false;
      if (!(*log)->propose("between")) return false;
      if (!(*log)->pump(handlers)) return false;
      under_way.reset();
      if (i % 4 == 3 && !(*log)->cut(applied - 1)) return false;
    }
    return true;
  }
};

TEST(ConfigurationCrash, a_configuration_is_as_new_as_what_was_applied) {
  TestCluster unused({});
  const auto options = unused.options(1, test_configuration({1}));
  std::uint64_t operations = 0;
  {
    Changing world(1);
    ASSERT_TRUE(world.live(options, 14));
    operations = world.disk.operations();
    EXPECT_GT(world.expected.members.size(), 2u);
  }
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (std::uint64_t n = 1; n <= operations; ++n) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", operation " + std::to_string(n));
      Changing world(seed * 1000 + n);
      world.disk.lose_power_at(n);
      (void)world.live(options, 14);
      world.disk.restart_after_power_loss();
      // What was told as configured is in force, and what was applied is not asked for again.
      EXPECT_TRUE(world.live(options, 3));
      if (HasFailure()) return;
    }
  }
}

TEST(OldVersionCrash, a_log_of_version_1_goes_on) {
  const auto golden = jobbie::testing::read_golden("wal_v1.hex");
  ASSERT_EQ(golden.size(), 1u);
  const WalOptions options{
      .directory = "w", .segment_bytes = 8192, .seed = 5, .preparing = Preparer::Mode::at_once};
  for (std::uint64_t n = 1; n < 40; ++n) {
    SimDisk disk(n);
    // The segment, and the next one, made ready by that version.
    for (const std::uint64_t sequence : {3u, 4u}) {
      const auto path = segment_path("w", {sequence, SegmentKind::active});
      auto file = std::move(*disk.open(path, OpenMode::create));
      auto bytes = golden[0].second;
      if (sequence == 4)
        bytes = encode_segment_header({.sequence = 4,
                                       .salt = 9,
                                       .segment_bytes = 8192,
                                       .node_id = 1,
                                       .version = kFirstSegmentVersion});
      bytes.resize(8192);
      ASSERT_TRUE(file->write_at(0, bytes));
    }
    auto crashing = disk.clone(n);
    crashing.lose_power_at(n);
    std::uint64_t last = 12;
    if (auto wal = Wal::open(crashing, options)) {
      const consensus::EntryView entry{13, 5, consensus::EntryType::plain, "more"};
      if ((*wal)->append({5, 1, 12}, {&entry, 1})) last = 13;
      if (last == 13 && (*wal)->cut(13)) (void)(*wal)->append({5, 1, 13}, {});
    }
    crashing.restart_after_power_loss();
    const auto wal = Wal::open(crashing, options);
    ASSERT_TRUE(wal) << n << ' ' << wal.error().message;
    EXPECT_GE((*wal)->terms().last().index, last) << n;
    EXPECT_EQ((*wal)->configured().configuration.members.size(), 1u) << n;
  }
}

}  // namespace
}  // namespace jobbie::log
