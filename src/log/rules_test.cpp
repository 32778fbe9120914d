// The rules of driving the core (DESIGN.md). Each test fails without its rule, which is shown by
// breaking it with a switch, or on a bare core; where that ends in an abort inside the core, the
// abort is shown.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "log/log.hpp"
#include "log/sim_disk.hpp"
#include "log/test_cluster.hpp"

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
/// Whether some power loss leaves the new term without the entry that came with it, or the other
/// way round.
bool an_election_can_be_halved(TestSwitches test) {
  for (std::uint64_t n = 1; n < 40; ++n) {
    SimDisk disk(n);
    disk.lose_power_at(n);
    auto options = rule_options();
    options.test = test;
    if (auto log = Log::open(disk, options); log && (*log)->start(0)) (void)(*log)->pump({});
    disk.restart_after_power_loss();
    const auto wal = Wal::open(disk, {.directory = "r",
                                      .node_id = 1,
                                      .segment_bytes = 8192,
                                      .seed = 1,
                                      .preparing = Preparer::Mode::at_once});
    EXPECT_TRUE(wal) << n << ' ' << wal.error().message;
    if (((*wal)->hard_state().term == 2) != ((*wal)->terms().last().index == 2)) return true;
  }
  return false;
}

TEST(Rule1, the_vote_of_an_election_is_durable_exactly_if_its_entry_is) {
  EXPECT_FALSE(an_election_can_be_halved({}));
  EXPECT_TRUE(an_election_can_be_halved({.split_records = true}));
}

/// The commit index that a follower finds again: it had an entry, knew it as committed, and then
/// got another one.
std::uint64_t commit_index_found_again(TestSwitches test) {
  TestCluster cluster({1, 2, 3}, test);
  cluster.lead(1);
  cluster.propose(1, "a");
  cluster.settle();
  cluster.propose(1, "b");
  cluster.settle();
  cluster.crash(2);
  const auto wal = Wal::open(cluster.node(2).disk, {.directory = "log", .segment_bytes = 8192});
  return (*wal)->hard_state().commit;
}

TEST(Rule1, the_commit_index_is_persisted_with_what_follows) {
  // Without it, the node would stand for election under a configuration from before a change that
  // it has applied.
  const auto found = commit_index_found_again({});
  EXPECT_GE(found, 3u);
  EXPECT_LT(commit_index_found_again({.forget_commit = true}), found);
}

TEST(Rule1, the_commit_index_is_persisted_when_idle_and_at_close) {
  SimDisk disk(1);
  auto log = std::move(*Log::open(disk, rule_options()));
  ASSERT_TRUE(log->start(0));
  ASSERT_TRUE(log->pump({}));
  ASSERT_TRUE(log->propose("a"));
  ASSERT_TRUE(log->pump({}));
  ASSERT_TRUE(log->close());
  log.reset();
  auto wal = Wal::open(disk, {.directory = "r", .node_id = 1, .segment_bytes = 8192});
  ASSERT_TRUE(wal);
  EXPECT_EQ((*wal)->hard_state().commit, 3u);
}

/// The power goes while node `id` writes what it was told last, and nothing of that is left.
/// Whether it had said something by then, of a kind that `is_a_promise` knows, that its log does
/// not bear out afterwards.
template <typename IsAPromise>
bool breaks_a_promise(TestCluster& cluster, std::uint64_t id, IsAPromise is_a_promise) {
  auto& node = cluster.node(id);
  node.disk.lose_power_at(node.disk.operations() + 1);
  cluster.sent.clear();
  EXPECT_FALSE(cluster.pump(id)) << "it had something to write";
  auto left = node.disk.clone_durable();
  const auto wal = Wal::open(left, {.directory = "log", .segment_bytes = 8192});
  EXPECT_TRUE(wal);
  return std::ranges::any_of(cluster.sent, [&](const Mail& m) { return is_a_promise(m, **wal); });
}

// Rule 2: no message leaves before a changed term or vote is durable.
bool a_term_can_be_used_twice(TestSwitches test) {
  TestCluster cluster({1, 2, 3}, test);
  // Pre-votes are asked for and given; then it becomes a candidate.
  EXPECT_TRUE(cluster.log(1).campaign());
  EXPECT_TRUE(cluster.pump(1));
  const auto asked = cluster.mail;
  cluster.mail.clear();
  for (const auto& m : asked) {
    EXPECT_TRUE(cluster.log(m.to).step(m.bytes));
    EXPECT_TRUE(cluster.pump(m.to));
  }
  for (const auto& m : cluster.mail)
    if (m.to == 1) EXPECT_TRUE(cluster.log(1).step(m.bytes));
  return breaks_a_promise(cluster, 1, [](const Mail& m, const Wal& wal) {
    return m.type == consensus::kMsgRequestVote && m.term > wal.hard_state().term;
  });
}

TEST(Rule2, a_candidate_asks_for_votes_when_its_term_is_durable) {
  EXPECT_FALSE(a_term_can_be_used_twice({}));
  EXPECT_TRUE(a_term_can_be_used_twice({.send_before_sync = true}));
}

bool a_leader_can_forget_its_term(TestSwitches test) {
  // A sole voter is elected at once, and its first message to a learner is that of a leader.
  TestCluster cluster({1}, test);
  cluster.settle();
  cluster.open(2, cluster.log(1).configuration());
  cluster.change(1, {Change::Kind::add_learner, test_member(2)});
  cluster.stop(1);
  cluster.open(1);
  return breaks_a_promise(
      cluster, 1, [](const Mail& m, const Wal& wal) { return m.term > wal.hard_state().term; });
}

TEST(Rule2, a_leader_speaks_when_its_term_is_durable) {
  EXPECT_FALSE(a_leader_can_forget_its_term({}));
  EXPECT_TRUE(a_leader_can_forget_its_term({.send_before_sync = true}));
}

// Rule 3: nothing is acknowledged before it and all before it are durable.
bool an_acknowledged_entry_can_be_lost(TestSwitches test) {
  TestCluster cluster({1, 2, 3}, test);
  cluster.lead(1);
  cluster.propose(1, "a");
  EXPECT_TRUE(cluster.pump(1));
  for (const auto& m : cluster.mail)
    if (m.to == 2) EXPECT_TRUE(cluster.log(2).step(m.bytes));
  return breaks_a_promise(cluster, 2, [](const Mail& m, const Wal& wal) {
    return m.type == consensus::kMsgAppendResponse && !m.reject &&
           m.index > wal.terms().last().index;
  });
}

TEST(Rule3, a_follower_acknowledges_what_is_durable) {
  EXPECT_FALSE(an_acknowledged_entry_can_be_lost({}));
  EXPECT_TRUE(an_acknowledged_entry_can_be_lost({.send_before_sync = true}));
}

TEST(Rule3, a_leader_s_entries_leave_before_its_own_sync) {
  TestCluster cluster({1, 2, 3});
  cluster.lead(1);
  cluster.propose(1, "a");
  const auto before = cluster.node(1).disk.operations();
  std::size_t early = 0;
  ASSERT_TRUE(cluster.log(1).pump({.send = [&](const consensus::MessageView& m) {
    early += m.type == consensus::kMsgAppend && cluster.node(1).disk.operations() == before;
  }}));
  EXPECT_EQ(early, 2u);
}

// Rule 3: what is handed out is durable, all of it, in order.
TEST(Rule3, an_entry_is_handed_out_after_its_sync) {
  SimDisk disk(1);
  auto log = std::move(*Log::open(disk, rule_options()));
  ASSERT_TRUE(log->start(0));
  ASSERT_TRUE(log->pump({}));
  const auto before = disk.operations();
  ASSERT_TRUE(log->propose("a"));
  bool handed_out = false;
  ASSERT_TRUE(log->pump({.apply = [&](const Committed&) {
    handed_out = true;
    EXPECT_EQ(disk.operations(), before + 2) << "written and synced";
  }}));
  EXPECT_TRUE(handed_out);
}

// Rule 4: a Ready with a snapshot blocks the core until it is durable. Ours never has one: a
// snapshot is made durable first and then becomes the place where a new core begins.
TEST(Rule4, the_core_never_sees_a_snapshot) {
  TestCluster cluster({1, 2, 3});
  // MsgSnapshot, to 1, from 2, of term 9. The type again, with a bit that the core does not look
  // at.
  EXPECT_EQ(cluster.log(1).step("\x08\x07\x10\x01\x18\x02\x20\x09").error().code, "misuse");
  EXPECT_EQ(cluster.log(1).step("\x08\x87\x80\x80\x80\x10\x10\x01").error().code, "misuse");
}

/// A bare core that is ticked while its snapshot is not durable yet.
void go_on_with_a_snapshot() {
  const std::vector<std::uint64_t> voters{1, 2};
  const auto conf = consensus::conf_state_of(voters);
  auto core = std::move(*consensus::Core::make(core_start(conf)));
  // MsgSnapshot, to 1, from 2, term 9: of {index 100, term 8, voters 1 and 2}.
  const auto delimited = [](char tag, const std::string& bytes) {
    return std::string{tag, static_cast<char>(bytes.size())} + bytes;
  };
  const auto metadata = delimited('\x0a', conf) + "\x10\x64\x18\x08";
  const auto snapshot =
      "\x08\x07\x10\x01\x18\x02\x20\x09" + delimited('\x4a', delimited('\x12', metadata));
  if (!core->step(snapshot) || !core->ready()->snapshot) return;
  core->advance_append_async();
  // Standing for election, it looks at entries that its log no longer has.
  for (int i = 0; i < 50; ++i) core->tick();
}

TEST(Rule4DeathTest, a_core_that_goes_on_before_its_snapshot_is_durable_aborts) {
  EXPECT_DEATH(go_on_with_a_snapshot(), "");
}

// Rule 5: the leader is never removed; a node that applies its own removal all the same, because it
// became leader with that entry in its log, gets a new core.
void elect_one_that_is_being_removed(TestCluster& cluster) {
  cluster.lead(1);
  // It has proposals of its own under way when the removal is applied.
  cluster.before_step = [&](const Mail& m) {
    if (m.to == 2 && cluster.log(2).leader()) (void)cluster.log(2).propose("proposed");
  };
  cluster.settle();
  ASSERT_TRUE(cluster.log(1).propose_change({Change::Kind::remove, {.id = 2}}));
  // The entry reaches everybody, and no acknowledgement comes back.
  ASSERT_TRUE(cluster.pump(1));
  const auto entries = cluster.mail;
  for (const auto& m : entries) {
    ASSERT_TRUE(cluster.log(m.to).step(m.bytes));
    ASSERT_TRUE(cluster.pump(m.to));
  }
  cluster.mail.clear();
  cluster.stop(1);
  for (int i = 0; i < 200 && cluster.leader() != 2; ++i) {
    cluster.log(2).tick();
    if (i % 3 == 0) cluster.log(3).tick();
    cluster.settle();
  }
}

TEST(Rule5, a_node_that_removes_itself_gets_a_new_core) {
  TestCluster cluster({1, 2, 3});
  elect_one_that_is_being_removed(cluster);
  ASSERT_TRUE(cluster.log(2).removed());
  EXPECT_FALSE(cluster.log(2).leader());
  // The others go on without it.
  cluster.open(1);
  const auto leader = cluster.elect();
  EXPECT_NE(leader, 2u);
  cluster.tick(60);
  EXPECT_TRUE(cluster.log(2).removed());
  EXPECT_EQ(cluster.log(leader).configuration(), test_configuration({1, 3}));
  cluster.propose(leader, "after");
  cluster.settle();
  EXPECT_EQ(cluster.payloads(leader).back(), "after");
  cluster.crash(2);
  cluster.open(2);
  EXPECT_TRUE(cluster.log(2).removed()) << "it remembers";
}

void go_on_after_the_removal() {
  TestCluster cluster({1, 2, 3}, {.keep_core = true});
  elect_one_that_is_being_removed(cluster);
}

TEST(Rule5DeathTest, a_core_that_removed_itself_aborts) {
  EXPECT_DEATH(go_on_after_the_removal(), "");
}

TEST(Rule5, the_leader_is_not_removed) {
  TestCluster cluster({1, 2, 3});
  cluster.lead(1);
  EXPECT_EQ(cluster.log(1).propose_change({Change::Kind::remove, {.id = 1}}).error().code,
            kIsLeader);
}

// Rule 6: what became of a snapshot is always reported.
TEST(Rule6, a_follower_waits_for_the_report_of_its_snapshot) {
  constexpr std::uint32_t kWaiting = 2;
  TestCluster cluster({1, 2, 3});
  cluster.lead(1);
  cluster.stop(3);
  cluster.propose(1, "a");
  cluster.settle();
  ASSERT_TRUE(cluster.log(1).cut(cluster.node(1).applied));
  cluster.open(3);
  cluster.tick(2);
  cluster.offer(1);
  cluster.deliver_snapshots = false;
  cluster.tick(3);
  ASSERT_EQ(cluster.log(1).progress(3)->state, kWaiting);
  cluster.tick(100);
  EXPECT_EQ(cluster.log(1).progress(3)->state, kWaiting) << "without a report, for ever";
  EXPECT_TRUE(cluster.payloads(3).empty());
  cluster.log(1).report_snapshot(3, false);
  cluster.deliver_snapshots = true;
  cluster.tick(3);
  EXPECT_EQ(cluster.payloads(3), cluster.payloads(1));
}

// Rule 7: a snapshot is sent only if the receiver is in it. One that is not would ignore it.
TEST(Rule7, a_snapshot_without_its_receiver_is_not_sent) {
  TestCluster cluster({1});
  cluster.settle();
  cluster.propose(1, "a");
  cluster.settle();
  cluster.offer(1);
  ASSERT_TRUE(cluster.log(1).cut(cluster.node(1).applied));
  cluster.open(2, cluster.log(1).configuration());
  cluster.change(1, {Change::Kind::add_learner, test_member(2)});
  cluster.tick(3);
  for (const auto& m : cluster.sent) EXPECT_EQ(m.snapshot_index, 0u);
  EXPECT_TRUE(cluster.log(1).wants_snapshot());
  cluster.offer(1);
  cluster.tick(3);
  EXPECT_EQ(cluster.payloads(2), cluster.payloads(1));
}

// And a log begins with a snapshot at an index of at least 1.
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

/// Its entry is unwritten when it is deposed, and it is ticked for long.
void depose_a_sole_voter(TestSwitches test) {
  TestCluster cluster({1}, test);
  cluster.settle();
  cluster.propose(1, "unwritten");
  // MsgHeartbeat, to 1, from 2, term 9.
  EXPECT_TRUE(cluster.log(1).step("\x08\x08\x10\x01\x18\x02\x20\x09"));
  EXPECT_FALSE(cluster.log(1).leader());
  for (int i = 0; i < 50; ++i) cluster.log(1).tick();
  cluster.settle();
  EXPECT_TRUE(cluster.log(1).leader());
}

TEST(Rule8, a_sole_voter_with_unwritten_entries_is_not_ticked) { depose_a_sole_voter({}); }

TEST(Rule8DeathTest, ticking_it_aborts) {
  EXPECT_DEATH(depose_a_sole_voter({.tick_always = true}), "");
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
  ASSERT_TRUE(log->pump({}));
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

TEST(Rule9DeathTest, the_log_aborts_without_clamping) {
  SimDisk disk(1);
  auto options = rule_options();
  options.test.clamp_nothing = true;
  {
    auto wal = std::move(*Wal::open(disk, {.directory = "r",
                                           .node_id = 1,
                                           .segment_bytes = 8192,
                                           .preparing = Preparer::Mode::at_once}));
    ASSERT_TRUE(wal->append({.term = 2, .vote = 1, .commit = 50}, {}));
  }
  EXPECT_DEATH({ (void)(*Log::open(disk, options))->start(0); }, "");
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

// Rule 10: a configuration is in force, and durable, before its entry counts as applied.
TEST(Rule10, a_configuration_is_durable_when_its_entry_is_handed_out) {
  TestCluster cluster({1});
  cluster.settle();
  ASSERT_TRUE(cluster.log(1).propose_change({Change::Kind::add_learner, test_member(2)}));
  bool seen = false;
  auto& disk = cluster.node(1).disk;
  ASSERT_TRUE(cluster.log(1).pump({.apply = [&](const Committed& entry) {
    EXPECT_TRUE(cluster.log(1).configuration().find(2));
    // The power goes here: a start from this entry has to know of it.
    auto then = disk.clone_durable();
    auto log = std::move(*Log::open(then, cluster.options(1)));
    EXPECT_TRUE(log->start(entry.index));
    EXPECT_TRUE(log->configuration().find(2));
    seen = true;
  }}));
  EXPECT_TRUE(seen);
}

// A node that lost its log under its old id would be believed to have what it lost.
TEST(Rule10, a_wiped_node_under_its_old_id_is_noticed) {
  TestCluster cluster({1, 2, 3});
  cluster.lead(1);
  for (int i = 0; i < 5; ++i) cluster.propose(1, "x");
  cluster.settle();
  cluster.tick();
  cluster.stop(3);
  cluster.nodes.erase(3);
  cluster.open(3, test_configuration({1, 2, 3}));
  bool noticed = false;
  for (int i = 0; i < 3; ++i) {
    cluster.log(1).tick();
    ASSERT_TRUE(cluster.pump(1));
    for (const auto& m : cluster.mail) {
      if (m.to != 3) continue;
      const auto stepped = cluster.log(3).step(m.bytes);
      noticed = noticed || (!stepped && stepped.error().code == kLogMismatch);
    }
    cluster.mail.clear();
  }
  EXPECT_TRUE(noticed);
}

}  // namespace
}  // namespace jobbie::log
