// The rules of driving the core (DESIGN.md) that one node can break: each test fails without its
// rule. Where breaking it ends in an abort inside the core, that abort is shown too.
#include <array>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "log/log.hpp"
#include "log/sim_disk.hpp"

namespace jobbie::log {
namespace {

Options rule_options() {
  return {.directory = "r",
          .node_id = 1,
          .segment_bytes = 8192,
          .seed = 1,
          .preparing = Preparer::Mode::at_once};
}

consensus::Start core_start(std::string_view conf_state) {
  return {.id = 1,
          .seed = 1,
          .applied = 1,
          .hard_state = {.term = 1, .vote = 0, .commit = 1},
          .base = {1, 1},
          .last_index = 1,
          .runs = {},
          .conf_state = conf_state,
          .fetch = [](const auto&, const auto&) { return false; }};
}

std::string sole_voter() {
  const std::uint64_t self = 1;
  return consensus::conf_state_of({&self, 1});
}

// Rule 1: one Ready is one record, so its hard state and its entries share their fate; and the
// commit index is persisted.
TEST(Rule1, the_vote_of_an_election_is_durable_exactly_if_its_entry_is) {
  for (std::uint64_t n = 1; n < 40; ++n) {
    SimDisk disk(n);
    disk.lose_power_at(n);
    if (auto log = Log::open(disk, rule_options()); log && (*log)->start(0))
      (void)(*log)->pump([](const Committed&) {});
    disk.restart_after_power_loss();
    auto wal = Wal::open(disk, {.directory = "r",
                                .node_id = 1,
                                .segment_bytes = 8192,
                                .seed = 1,
                                .preparing = Preparer::Mode::at_once});
    ASSERT_TRUE(wal) << n << ' ' << wal.error().message;
    EXPECT_EQ((*wal)->hard_state().term == 2, (*wal)->terms().last().index == 2) << n;
  }
}

TEST(Rule1, the_commit_index_is_persisted_when_idle_and_at_close) {
  SimDisk disk(1);
  auto log = std::move(*Log::open(disk, rule_options()));
  ASSERT_TRUE(log->start(0));
  ASSERT_TRUE(log->pump([](const Committed&) {}));
  ASSERT_TRUE(log->propose("a"));
  ASSERT_TRUE(log->pump([](const Committed&) {}));
  ASSERT_TRUE(log->close());
  log.reset();
  auto wal = Wal::open(disk, {.directory = "r", .node_id = 1, .segment_bytes = 8192});
  ASSERT_TRUE(wal);
  EXPECT_EQ((*wal)->hard_state().commit, 3u);
}

// Rule 3: what is handed out is durable, all of it, in order.
TEST(Rule3, an_entry_is_handed_out_after_its_sync) {
  SimDisk disk(1);
  auto log = std::move(*Log::open(disk, rule_options()));
  ASSERT_TRUE(log->start(0));
  ASSERT_TRUE(log->pump([](const Committed&) {}));
  const auto before = disk.operations();
  ASSERT_TRUE(log->propose("a"));
  bool handed_out = false;
  ASSERT_TRUE(log->pump([&](const Committed&) {
    handed_out = true;
    EXPECT_EQ(disk.operations(), before + 2) << "written and synced";
  }));
  EXPECT_TRUE(handed_out);
}

// Rule 7: a log begins with a snapshot at an index of at least 1.
TEST(Rule7, a_new_log_begins_behind_a_snapshot) {
  SimDisk disk(1);
  const auto log = std::move(*Log::open(disk, rule_options()));
  EXPECT_EQ(log->first_index(), kBootstrap.index + 1);
  EXPECT_GE(kBootstrap.index, 1u);
}

// Rule 8: a sole voter that is not leader and has unwritten entries is not ticked.
TEST(Rule8DeathTest, the_core_aborts_if_a_sole_voter_stands_with_unwritten_entries) {
  EXPECT_DEATH(
      {
        auto core = std::move(*consensus::Core::make(core_start(sole_voter())));
        (void)core->campaign();
        // The leader's entry is not durable yet when a message of a later term, from a node that
        // used to be a voter, makes it a follower: MsgHeartbeat, to 1, from 2, term 9.
        (void)core->ready();
        core->advance_append_async();
        (void)core->step(std::string("\x08\x08\x10\x01\x18\x02\x20\x09", 8));
        for (int i = 0; i < 50; ++i) core->tick();
      },
      "");
}

// Rule 9: at a restart the commit index is clamped into what the log has.
TEST(Rule9, a_commit_index_beyond_a_torn_tail_is_clamped) {
  SimDisk disk(1);
  {
    auto wal = std::move(*Wal::open(disk, {.directory = "r",
                                           .node_id = 1,
                                           .segment_bytes = 8192,
                                           .preparing = Preparer::Mode::at_once}));
    ASSERT_TRUE(wal->append({.term = 2, .vote = 1, .commit = 50}, {}));
  }
  auto log = std::move(*Log::open(disk, rule_options()));
  ASSERT_TRUE(log->start(0));
  ASSERT_TRUE(log->pump([](const Committed&) {}));
  EXPECT_TRUE(log->leader());
  EXPECT_EQ(log->commit_index(), 2u);
}

TEST(Rule9DeathTest, the_core_aborts_on_a_commit_index_beyond_the_log) {
  EXPECT_DEATH(
      {
        auto start = core_start(sole_voter());
        const auto conf = sole_voter();
        start.conf_state = conf;
        start.hard_state.commit = 50;
        (void)consensus::Core::make(start);
      },
      "");
}

// Rule 10: compact only up to what is applied; propose only on the leader.
TEST(Rule10, compaction_stops_at_applied_and_only_a_leader_proposes) {
  const auto conf = sole_voter();
  auto core = std::move(*consensus::Core::make(core_start(conf)));
  EXPECT_EQ(core->compact(2).error().code, "misuse");
  SimDisk disk(1);
  auto log = std::move(*Log::open(disk, rule_options()));
  ASSERT_TRUE(log->start(0));
  EXPECT_EQ(log->propose("too early").error().code, kNotLeader);
}

}  // namespace
}  // namespace jobbie::log
