// Logs with peers: elections, replication, changes of the configuration, snapshots.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "log/test_cluster.hpp"

namespace jobbie::log {
namespace {

constexpr int kElection = static_cast<int>(consensus::kElectionTicks);

using Strings = std::vector<std::string>;

TEST(Peers, three_nodes_elect_one_and_agree) {
  TestCluster cluster({1, 2, 3});
  const auto leader = cluster.elect();
  for (const std::uint64_t id : {1u, 2u, 3u}) EXPECT_EQ(cluster.log(id).leader_id(), leader);
  cluster.propose(leader, "a");
  cluster.propose(leader, "b");
  cluster.settle();
  cluster.tick();
  for (const std::uint64_t id : {1u, 2u, 3u}) {
    EXPECT_EQ(cluster.payloads(id), (Strings{"a", "b"})) << id;
    EXPECT_EQ(cluster.log(id).node_id(), id);
    EXPECT_EQ(cluster.log(id).configuration(), test_configuration({1, 2, 3}));
  }
  EXPECT_EQ(cluster.log(leader).progress(leader % 3 + 1)->matched,
            cluster.log(leader).last_index());
  EXPECT_FALSE(cluster.log(leader % 3 + 1).progress(leader));
  EXPECT_EQ(cluster.log(leader % 3 + 1).propose("x").error().code, kNotLeader);
}

TEST(Peers, a_minority_commits_nothing) {
  TestCluster cluster({1, 2, 3});
  cluster.lead(1);
  cluster.stop(2);
  cluster.stop(3);
  cluster.propose(1, "alone");
  cluster.settle();
  EXPECT_TRUE(cluster.payloads(1).empty());
  cluster.tick(3 * kElection);
  EXPECT_FALSE(cluster.log(1).leader()) << "a leader that hears from no majority steps down";
  EXPECT_TRUE(cluster.payloads(1).empty());
}

TEST(Peers, a_follower_that_lost_unsynced_writes_catches_up) {
  TestCluster cluster({1, 2, 3});
  cluster.lead(1);
  for (int i = 0; i < 20; ++i) {
    cluster.propose(1, "entry " + std::to_string(i));
    cluster.settle();
    if (i % 3 != 0) continue;
    // The power goes during the write of the next entry.
    auto& disk = cluster.node(2).disk;
    disk.lose_power_at(disk.operations() + 1 + static_cast<std::uint64_t>(i) % 2);
    cluster.propose(1, "torn " + std::to_string(i));
    ASSERT_TRUE(cluster.pump(1));
    while (!cluster.mail.empty()) {
      const auto m = cluster.mail.front();
      cluster.mail.pop_front();
      if (m.to == 2) {
        (void)cluster.log(2).step(m.bytes);
        if (!cluster.pump(2)) break;
      }
    }
    EXPECT_TRUE(disk.powerless());
    cluster.crash(2);
    cluster.open(2);
    cluster.tick(3);
  }
  EXPECT_EQ(cluster.payloads(2), cluster.payloads(1));
  EXPECT_EQ(cluster.payloads(1).size(), 27u);
}

TEST(Peers, a_tail_that_was_never_committed_is_replaced) {
  TestCluster cluster({1, 2, 3});
  cluster.lead(1);
  cluster.propose(1, "kept");
  cluster.settle();
  for (const std::uint64_t other : {2u, 3u}) cluster.cut.insert({1, other});
  for (int i = 0; i < 5; ++i) cluster.propose(1, "lost " + std::to_string(i));
  cluster.settle();
  const auto ended = cluster.log(1).last_index();
  cluster.cut.insert({2, 1});
  cluster.cut.insert({3, 1});
  cluster.tick(40);
  const auto leader = cluster.leader();
  ASSERT_NE(leader, 1u);
  cluster.propose(leader, "new");
  cluster.settle();
  cluster.cut.clear();
  cluster.tick(5);
  EXPECT_LT(cluster.log(1).last_index(), ended);
  EXPECT_EQ(cluster.payloads(1), (Strings{"kept", "new"}));
  // Also on its disk.
  cluster.node(1).applied = 0;
  cluster.node(1).state.clear();
  cluster.crash(1);
  cluster.open(1);
  cluster.tick(3);
  EXPECT_EQ(cluster.payloads(1), (Strings{"kept", "new"}));
}

TEST(Peers, a_message_larger_than_a_record_is_written_in_parts) {
  TestCluster cluster({1, 2, 3});
  cluster.lead(1);
  cluster.stop(3);
  for (int i = 0; i < 60; ++i) {
    cluster.propose(1, std::to_string(i) + std::string(700, '.'));
    cluster.settle();
  }
  cluster.open(3);
  cluster.tick(3);
  EXPECT_EQ(cluster.payloads(3), cluster.payloads(1));
  cluster.crash(3);
  cluster.node(3).applied = 0;
  cluster.node(3).state.clear();
  cluster.open(3);
  cluster.tick(3);
  EXPECT_EQ(cluster.payloads(3), cluster.payloads(1));
}

TEST(Peers, bad_messages_are_refused) {
  TestCluster cluster({1, 2, 3});
  cluster.lead(1);
  EXPECT_EQ(cluster.log(1).step("\xff\xff").error().code, "malformed");
  cluster.propose(1, "a");
  ASSERT_TRUE(cluster.pump(1));
  const auto to_two = cluster.mail.front();
  ASSERT_EQ(to_two.to, 2u);
  EXPECT_EQ(cluster.log(3).step(to_two.bytes).error().code, kOtherNode);
  // MsgSnapshot, to 1; MsgHeartbeat, to 1, from 2, of a later term, with a commit index of 99.
  EXPECT_EQ(cluster.log(1).step("\x08\x07\x10\x01").error().code, "misuse");
  EXPECT_EQ(cluster.log(1).step("\x08\x08\x10\x01\x18\x02\x20\x63\x40\x63").error().code,
            kLogMismatch);
}

TEST(Membership, a_learner_joins_and_is_promoted) {
  TestCluster cluster({1});
  cluster.settle();
  cluster.propose(1, "before");
  cluster.settle();
  // It begins with what it was told, in which it is missing.
  cluster.open(2, cluster.log(1).configuration());
  EXPECT_FALSE(cluster.log(2).removed());
  cluster.tick(50);
  EXPECT_FALSE(cluster.log(2).leader()) << "a stranger does not stand for election";
  cluster.change(1, {Change::Kind::add_learner, test_member(2, true)});
  EXPECT_FALSE(cluster.log(1).configuration().is_voter(2));
  cluster.tick(2);
  EXPECT_EQ(cluster.payloads(2), Strings{"before"});
  cluster.change(1, {Change::Kind::promote, {.id = 2}});
  for (const std::uint64_t id : {1u, 2u}) {
    EXPECT_EQ(cluster.log(id).configuration(), test_configuration({1, 2})) << id;
    EXPECT_EQ(cluster.node(id).configured.size(), 2u) << id;
  }
  auto moved = test_member(2);
  moved.address = "elsewhere:1";
  cluster.change(1, {Change::Kind::update, moved});
  EXPECT_EQ(cluster.log(2).configuration().find(2)->address, "elsewhere:1");
  EXPECT_TRUE(cluster.log(2).configuration().is_voter(2));
  // Both are needed now.
  cluster.stop(2);
  cluster.propose(1, "after");
  cluster.settle();
  EXPECT_EQ(cluster.payloads(1), Strings{"before"});
}

TEST(Membership, a_configuration_outlives_a_restart_and_is_not_applied_twice) {
  TestCluster cluster({1, 2, 3});
  cluster.lead(1);
  cluster.open(4, cluster.log(1).configuration());
  cluster.change(1, {Change::Kind::add_learner, test_member(4)});
  cluster.change(1, {Change::Kind::promote, {.id = 4}});
  cluster.change(1, {Change::Kind::remove, {.id = 3}});
  const auto now = cluster.log(1).configuration();
  ASSERT_EQ(now.members.size(), 3u);
  cluster.stop(3);
  for (const std::uint64_t id : {1u, 2u, 4u}) {
    cluster.crash(id);
    // Its state is older than its configuration: the changes are handed out again.
    cluster.node(id).applied = 0;
    cluster.node(id).state.clear();
    cluster.node(id).configured.clear();
    cluster.open(id);
    EXPECT_EQ(cluster.log(id).configuration(), now) << id;
  }
  cluster.elect();
  cluster.tick(2);
  for (const std::uint64_t id : {1u, 2u, 4u}) {
    EXPECT_EQ(cluster.log(id).configuration(), now) << id;
    EXPECT_TRUE(cluster.node(id).configured.empty()) << id;
  }
}

TEST(Membership, one_that_joins_late_is_told_what_holds_now) {
  TestCluster cluster({1});
  cluster.settle();
  // Node 2 came, moved, and went.
  cluster.change(1, {Change::Kind::add_learner, test_member(2)});
  cluster.change(1, {Change::Kind::update, {.id = 2, .name = "moved"}});
  cluster.change(1, {Change::Kind::remove, {.id = 2}});
  cluster.open(3, cluster.log(1).configuration(), cluster.log(1).configuration_index());
  cluster.change(1, {Change::Kind::add_learner, test_member(3)});
  cluster.tick(2);
  EXPECT_EQ(cluster.log(3).configuration(), cluster.log(1).configuration());
  EXPECT_EQ(cluster.node(3).configured.size(), 1u) << "of what was before, it sees nothing";
}

TEST(Membership, changes_come_one_at_a_time_and_make_sense) {
  TestCluster cluster({1, 2, 3});
  cluster.lead(1);
  auto& log = cluster.log(1);
  const auto code = [&](Change::Kind kind, std::uint64_t id) {
    return log.propose_change({kind, test_member(id)}).error().code;
  };
  EXPECT_EQ(code(Change::Kind::add_learner, 2), kBadChange);
  EXPECT_EQ(code(Change::Kind::promote, 2), kBadChange);
  EXPECT_EQ(code(Change::Kind::promote, 9), kBadChange);
  EXPECT_EQ(code(Change::Kind::remove, 9), kBadChange);
  EXPECT_EQ(code(Change::Kind::remove, 1), kIsLeader);
  EXPECT_EQ(log.propose_change({Change::Kind::update, {.id = 0}}).error().code, kBadChange);
  EXPECT_EQ(cluster.log(2).propose_change({Change::Kind::remove, {.id = 3}}).error().code,
            kNotLeader);
  ASSERT_TRUE(log.propose_change({Change::Kind::add_learner, test_member(4)}));
  EXPECT_EQ(code(Change::Kind::add_learner, 5), kChangePending);
  cluster.settle();
  EXPECT_TRUE(log.propose_change({Change::Kind::add_learner, test_member(5)}));
}

TEST(Membership, a_removed_node_is_told_so_if_it_hears_of_it) {
  TestCluster cluster({1, 2, 3});
  cluster.lead(1);
  ASSERT_TRUE(cluster.log(1).propose_change({Change::Kind::remove, {.id = 3}}));
  cluster.settle();
  cluster.tick(2);
  EXPECT_FALSE(cluster.log(1).configuration().find(3));
  EXPECT_EQ(cluster.log(1).configuration().voter_count(), 2u);
  EXPECT_FALSE(cluster.log(1).progress(3));
  EXPECT_FALSE(cluster.log(1).removed());
  cluster.propose(1, "without it");
  cluster.settle();
  EXPECT_EQ(cluster.payloads(2), Strings{"without it"});
  EXPECT_TRUE(cluster.payloads(3).empty());
  // Whether it was told or not, it disturbs nobody.
  const auto term = cluster.log(1).term();
  cluster.tick(60);
  EXPECT_EQ(cluster.log(1).term(), term);
  EXPECT_FALSE(cluster.log(3).leader());
}

TEST(Membership, a_removed_node_has_no_leader_whatever_comes_late) {
  TestCluster cluster({1, 2, 3});
  cluster.lead(1);
  std::vector<Mail> late;
  cluster.before_step = [&](const Mail& m) {
    if (m.to == 3 && m.type == consensus::kMsgHeartbeat) late.push_back(m);
  };
  cluster.tick(2);
  ASSERT_FALSE(late.empty());
  cluster.cut.insert({1, 2});
  ASSERT_TRUE(cluster.log(1).propose_change({Change::Kind::remove, {.id = 3}}));
  cluster.settle();
  ASSERT_TRUE(cluster.log(3).removed());
  EXPECT_EQ(cluster.log(3).leader_id(), 0u);
  ASSERT_TRUE(cluster.log(3).step(late.back().bytes));
  EXPECT_EQ(cluster.log(3).leader_id(), 0u);
  // Who does not know of the removal may need its vote, and is answered when the leader is away.
  cluster.stop(1);
  for (int i = 0; i < kElection; ++i) {
    cluster.log(2).tick();
    cluster.log(3).tick();
  }
  cluster.mail.clear();
  ASSERT_TRUE(cluster.log(2).campaign());
  cluster.pump_well(2);
  for (const auto& m : std::exchange(cluster.mail, {}))
    if (m.to == 3) {
      ASSERT_TRUE(cluster.log(3).step(m.bytes));
    }
  cluster.pump_well(3);
  EXPECT_TRUE(std::ranges::any_of(cluster.mail, [](const Mail& m) { return m.to == 2; }));
}

TEST(Membership, a_node_that_was_removed_while_away_is_told_by_others) {
  TestCluster cluster({1, 2, 3});
  cluster.lead(1);
  cluster.stop(3);
  ASSERT_TRUE(cluster.log(1).propose_change({Change::Kind::remove, {.id = 3}}));
  cluster.settle();
  cluster.mail.clear();
  cluster.open(3);
  auto& log = cluster.log(3);
  cluster.tick(60);
  EXPECT_FALSE(log.removed()) << "nobody sends it anything";
  const auto& now = cluster.log(1).configuration();
  const auto index = cluster.log(1).configuration_index();
  auto other = now;
  other.cluster_id = 78;
  log.hear_of(other, index);
  log.hear_of(now, log.configuration_index());
  log.hear_of(log.configuration(), index);
  EXPECT_FALSE(log.removed()) << "another cluster, old news, or itself among the members";
  log.hear_of(now, index);
  EXPECT_TRUE(log.removed());
  EXPECT_EQ(log.leader_id(), 0u);
  const auto sent = cluster.sent.size();
  for (int i = 0; i < 200; ++i) {
    log.tick();
    cluster.pump_well(3);
  }
  EXPECT_EQ(cluster.sent.size(), sent) << "it asks for no votes";
}

TEST(Leadership, is_handed_over) {
  TestCluster cluster({1, 2, 3});
  cluster.lead(1);
  EXPECT_EQ(cluster.log(1).transfer(1).error().code, kBadChange);
  EXPECT_EQ(cluster.log(1).transfer(9).error().code, kBadChange);
  EXPECT_EQ(cluster.log(2).transfer(3).error().code, kNotLeader);
  ASSERT_TRUE(cluster.log(1).transfer(3));
  EXPECT_TRUE(cluster.log(1).transferring());
  EXPECT_EQ(cluster.log(1).propose("x").error().code, kTransferring);
  cluster.settle();
  EXPECT_TRUE(cluster.log(3).leader());
  EXPECT_FALSE(cluster.log(1).transferring());
  // To one that does not answer it is given up.
  cluster.stop(2);
  ASSERT_TRUE(cluster.log(3).transfer(2));
  cluster.tick(kElection + 2);
  EXPECT_FALSE(cluster.log(3).transferring());
  EXPECT_TRUE(cluster.log(3).leader());
}

TEST(Reading, every_node_learns_what_is_committed) {
  TestCluster cluster({1, 2, 3});
  cluster.lead(1);
  cluster.propose(1, "a");
  cluster.settle();
  const auto committed = cluster.log(1).commit_index();
  for (const std::uint64_t id : {1u, 2u, 3u}) cluster.log(id).read_index(5);
  cluster.settle();
  for (const std::uint64_t id : {1u, 2u, 3u}) {
    ASSERT_EQ(cluster.node(id).reads.count(5), 1u) << id;
    EXPECT_GE(cluster.node(id).reads[5], committed) << id;
  }
  // A leader that was deposed without knowing gets no answer.
  for (const std::uint64_t other : {2u, 3u}) cluster.cut.insert({other, 1});
  cluster.log(1).read_index(6);
  cluster.settle();
  EXPECT_EQ(cluster.node(1).reads.count(6), 0u);
}

TEST(Reading, a_single_node_answers_itself) {
  TestCluster cluster({1});
  cluster.settle();
  cluster.log(1).read_index(1);
  cluster.settle();
  EXPECT_EQ(cluster.node(1).reads[1], cluster.log(1).commit_index());
}

TEST(Snapshots, a_follower_that_is_too_far_behind_adopts_one) {
  TestCluster cluster({1, 2, 3});
  cluster.lead(1);
  cluster.stop(3);
  for (int i = 0; i < 10; ++i) cluster.propose(1, "old " + std::to_string(i));
  cluster.settle();
  ASSERT_TRUE(cluster.log(1).cut(cluster.node(1).applied));
  cluster.open(3);
  cluster.tick(2);
  ASSERT_TRUE(cluster.log(1).wants_snapshot());
  cluster.offer(1);
  EXPECT_FALSE(cluster.log(1).wants_snapshot());
  cluster.tick(3);
  EXPECT_EQ(cluster.payloads(3), cluster.payloads(1));
  EXPECT_EQ(cluster.log(3).first_index(), cluster.log(1).first_index());
  cluster.propose(1, "new");
  cluster.settle();
  cluster.tick();
  EXPECT_EQ(cluster.payloads(3), cluster.payloads(1));
  const auto term = cluster.log(3).term();
  cluster.crash(3);
  cluster.open(3);
  EXPECT_EQ(cluster.log(3).term(), term);
  cluster.tick(2);
  EXPECT_EQ(cluster.payloads(3), cluster.payloads(1));
  EXPECT_EQ(cluster.log(3).configuration(), test_configuration({1, 2, 3}));
  // A copy that is gone is not sent; the next follower makes the log ask again.
  cluster.log(1).withdraw_snapshot();
  cluster.stop(2);
  for (int i = 0; i < 10; ++i) cluster.propose(1, "newer " + std::to_string(i));
  cluster.settle();
  ASSERT_TRUE(cluster.log(1).cut(cluster.node(1).applied));
  cluster.open(2);
  cluster.tick(2);
  EXPECT_TRUE(cluster.log(1).wants_snapshot());
}

/// A snapshot message that node 3 is about to get.
Mail snapshot_for_three(TestCluster& cluster) {
  cluster.lead(1);
  cluster.stop(3);
  for (int i = 0; i < 10; ++i) cluster.propose(1, "old " + std::to_string(i));
  cluster.settle();
  EXPECT_TRUE(cluster.log(1).cut(cluster.node(1).applied));
  cluster.open(3);
  cluster.tick(2);
  cluster.offer(1);
  cluster.deliver_snapshots = false;
  cluster.tick(3);
  for (const auto& m : cluster.sent)
    if (m.snapshot_index != 0) return m;
  ADD_FAILURE() << "no snapshot was sent";
  return {};
}

TEST(Snapshots, are_judged) {
  TestCluster cluster({1, 2, 3});
  const auto m = snapshot_for_three(cluster);
  const auto read = read_snapshot_message(m.bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->from, 1u);
  EXPECT_EQ(read->at.index, m.snapshot_index);
  EXPECT_EQ(read->configured.configuration, test_configuration({1, 2, 3}));
  EXPECT_EQ(cluster.log(2).judge(m.bytes).error().code, kOtherNode);
  EXPECT_EQ(cluster.log(3).judge("\x08\x07\x10\x03").error().code, "malformed");
  ASSERT_EQ(cluster.log(3).judge(m.bytes), Verdict::wanted);
  ASSERT_TRUE(cluster.log(3).adopt(m.bytes));
  EXPECT_EQ(cluster.log(3).judge(m.bytes), Verdict::present);
  EXPECT_EQ(cluster.log(3).adopt(m.bytes).error().code, kNotWanted);
  EXPECT_EQ(cluster.log(3).commit_index(), m.snapshot_index);
  EXPECT_EQ(cluster.log(3).last_index(), m.snapshot_index);
}

TEST(Snapshots, of_an_old_leader_are_not_wanted) {
  TestCluster cluster({1, 2, 3});
  const auto m = snapshot_for_three(cluster);
  // MsgHeartbeat, to 3, from 2, of term 99: a new leader.
  ASSERT_TRUE(cluster.log(3).step("\x08\x08\x10\x03\x18\x02\x20\x63"));
  EXPECT_EQ(cluster.log(3).judge(m.bytes), Verdict::stale);
}

TEST(Snapshots, a_state_whose_place_is_forgotten_is_not_offered) {
  TestCluster cluster({1});
  cluster.settle();
  for (int i = 0; i < 5; ++i) cluster.propose(1, "x");
  cluster.settle();
  ASSERT_TRUE(cluster.log(1).cut(5));
  EXPECT_EQ(cluster.log(1).offer_snapshot(4).error().code, kUnknownState);
  EXPECT_TRUE(cluster.log(1).offer_snapshot(5));
}

TEST(Lives, a_log_exists_from_its_first_record_on) {
  SimDisk disk(1);
  EXPECT_EQ(Log::exists(disk, "log"), false);
  TestCluster unused({});
  const auto options = unused.options(5, test_configuration({5, 6}));
  // Every crash while it is begun leaves none, or one with these founders.
  for (std::uint64_t n = 1; n < 12; ++n) {
    SimDisk crashing(n);
    crashing.lose_power_at(n);
    (void)Log::open(crashing, options);
    crashing.restart_after_power_loss();
    const auto there = Log::exists(crashing, "log");
    ASSERT_TRUE(there);
    auto other = options;
    other.node_id = 6;
    const auto log = Log::open(crashing, other);
    ASSERT_TRUE(log) << n << ' ' << log.error().message;
    EXPECT_EQ((*log)->node_id(), *there ? 5u : 6u) << n;
  }
  ASSERT_TRUE(Log::open(disk, options));
  EXPECT_EQ(Log::exists(disk, "log"), true);
  EXPECT_EQ(Log::begin_at(disk, options, {9, 3}, options.founders).error().code, kLogExists);
}

TEST(Lives, a_log_begins_behind_a_restored_state) {
  TestCluster cluster({});
  SimDisk disk(1);
  const auto alone = test_configuration({5});
  ASSERT_TRUE(Log::begin_at(disk, cluster.options(5), {900, 12}, alone));
  auto log = std::move(*Log::open(disk, cluster.options(1)));
  EXPECT_EQ(log->node_id(), 5u);
  EXPECT_EQ(log->first_index(), 901u);
  EXPECT_EQ(log->configuration(), alone);
  EXPECT_EQ(log->configuration_index(), 900u);
  ASSERT_TRUE(log->start(900));
  ASSERT_TRUE(log->pump({}));
  EXPECT_TRUE(log->leader());
  EXPECT_EQ(log->term(), 13u);
  SimDisk other(1);
  EXPECT_FALSE(Log::begin_at(other, cluster.options(5), {0, 0}, alone));
}

TEST(Lives, a_node_goes_on_alone_with_all_that_it_has) {
  TestCluster cluster({1, 2, 3});
  cluster.lead(1);
  cluster.propose(1, "committed");
  cluster.settle();
  cluster.stop(2);
  cluster.stop(3);
  cluster.propose(1, "nobody else has it");
  // A change that nobody committed is not applied to the new configuration.
  ASSERT_TRUE(cluster.log(1).propose_change({Change::Kind::add_learner, test_member(4)}));
  cluster.settle();
  cluster.stop(1);
  auto& disk = cluster.node(1).disk;
  auto alone = test_configuration({1});
  alone.cluster_id = 78;
  EXPECT_FALSE(Log::recover_alone(disk, cluster.options(1), test_configuration({2})));
  EXPECT_FALSE(Log::recover_alone(disk, cluster.options(1), test_configuration({1, 2})));
  ASSERT_TRUE(Log::recover_alone(disk, cluster.options(1), alone));
  cluster.open(1);
  cluster.settle();
  EXPECT_TRUE(cluster.log(1).leader());
  EXPECT_EQ(cluster.log(1).configuration(), alone);
  EXPECT_EQ(cluster.payloads(1), (Strings{"committed", "nobody else has it"}));
  cluster.propose(1, "alone");
  cluster.settle();
  EXPECT_EQ(cluster.payloads(1).back(), "alone");
  SimDisk empty(1);
  EXPECT_EQ(Log::recover_alone(empty, cluster.options(1), alone).error().code, kNoLog);
}

}  // namespace
}  // namespace jobbie::log
