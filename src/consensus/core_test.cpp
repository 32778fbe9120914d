// The core through its wrapper: one voter, then three that talk in memory.
#include "consensus/core.hpp"

#include <array>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "consensus/message.hpp"

namespace jobbie::consensus {
namespace {

constexpr Position kBase{1, 1};

Start start_of(std::uint64_t id, std::string_view conf_state) {
  return {.id = id,
          .seed = id,
          .applied = kBase.index,
          .hard_state = {.term = 1, .vote = 0, .commit = 1},
          .base = kBase,
          .last_index = kBase.index,
          .runs = {},
          .conf_state = conf_state,
          .fetch = [](const FetchRange&, const EntrySink&) { return false; }};
}

std::unique_ptr<Core> make(const Start& start) {
  auto core = Core::make(start);
  EXPECT_TRUE(core) << core.error().message;
  return std::move(*core);
}

TEST(Core, a_sole_voter_elects_itself_and_commits_what_is_durable) {
  const std::array<std::uint64_t, 1> self{1};
  const auto core = make(start_of(1, conf_state_of(self)));
  EXPECT_TRUE(core->status().sole_voter);
  ASSERT_TRUE(core->campaign());
  auto ready = core->ready();
  ASSERT_TRUE(ready);
  EXPECT_TRUE(ready->must_sync);
  EXPECT_TRUE(ready->term_or_vote_changed);
  ASSERT_TRUE(ready->hard_state);
  EXPECT_EQ(*ready->hard_state, (HardState{2, 1, 1}));
  ASSERT_EQ(ready->entries.size(), 1u);
  EXPECT_EQ(ready->entries[0].index, 2u);
  EXPECT_TRUE(ready->committed.empty());
  const auto light = core->advance_append();
  EXPECT_EQ(light.commit, 2u);
  ASSERT_EQ(light.committed.size(), 1u);
  core->advance_apply_to(2);
  EXPECT_EQ(core->status().role, Role::leader);

  const std::array<std::string_view, 2> payloads{"a", "b"};
  ASSERT_TRUE(core->propose(payloads));
  ready = core->ready();
  ASSERT_TRUE(ready);
  ASSERT_EQ(ready->entries.size(), 2u);
  EXPECT_EQ(ready->entries[1].data, "b");
  EXPECT_TRUE(ready->committed.empty()) << "not before it is durable";
  EXPECT_EQ(core->advance_append().committed.size(), 2u);
}

TEST(Core, bad_input_is_refused) {
  const std::array<std::uint64_t, 3> voters{1, 2, 3};
  const auto core = make(start_of(1, conf_state_of(voters)));
  EXPECT_FALSE(core->status().sole_voter);
  EXPECT_EQ(core->step("\xff\xff\xff").error().code, "malformed");
  const std::string_view payload = "a";
  EXPECT_EQ(core->propose({&payload, 1}).error().code, "dropped");
  EXPECT_EQ(core->propose_conf_change("").error().code, "dropped");
  EXPECT_EQ(core->compact(5).error().code, "misuse");
  EXPECT_EQ(Core::make(start_of(1, "\xff")).error().code, "raft");
  EXPECT_FALSE(core->progress(9));
}

TEST(Core, compaction_and_eviction_shrink_the_window) {
  const std::array<std::uint64_t, 1> self{1};
  const auto conf = conf_state_of(self);
  auto start = start_of(1, conf);
  std::vector<FetchRange> fetched;
  start.fetch = [&](const FetchRange& range, const EntrySink& sink) {
    fetched.push_back(range);
    for (auto i = range.low; i < range.high; ++i) sink({i, 1, EntryType::plain, "old"});
    return true;
  };
  // A log of entries 2...9 whose payloads are not in memory: 2...5 are applied, 6...9 committed.
  const std::array<TermRun, 1> runs{TermRun{2, 1}};
  start.runs = runs;
  start.last_index = 9;
  start.applied = 5;
  start.hard_state.commit = 9;
  const auto core = make(start);
  const auto ready = core->ready();
  ASSERT_TRUE(ready);
  ASSERT_EQ(ready->committed.size(), 4u);
  EXPECT_EQ(ready->committed[0].index, 6u);
  EXPECT_EQ(ready->committed[3].data, "old");
  ASSERT_FALSE(fetched.empty());
  EXPECT_EQ(fetched[0].low, 6u);
  EXPECT_EQ(core->advance_append().committed.size(), 0u);
  core->advance_apply_to(9);
  ASSERT_TRUE(core->campaign());
  ASSERT_TRUE(core->ready());
  EXPECT_EQ(core->advance_append().committed.size(), 1u);
  core->advance_apply_to(10);
  EXPECT_GT(core->status().window_bytes, 0u);
  core->evict(10, 0);
  EXPECT_EQ(core->status().window_bytes, 0u);
  ASSERT_TRUE(core->compact(10));
  EXPECT_EQ(core->status().first_index, 11u);
}

/// Three cores whose messages arrive at once; a Ready is durable as soon as it is taken.
struct Trio {
  std::map<std::uint64_t, std::unique_ptr<Core>> cores;
  std::map<std::uint64_t, std::vector<std::string>> applied;

  Trio() {
    const std::array<std::uint64_t, 3> voters{1, 2, 3};
    const auto conf = conf_state_of(voters);
    for (const auto id : voters) cores[id] = make(start_of(id, conf));
  }
  void take(std::uint64_t id, std::span<const EntryView> committed) {
    for (const auto& entry : committed)
      if (!entry.data.empty()) applied[id].emplace_back(entry.data);
  }
  void settle() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (auto& [id, core] : cores) {
        std::vector<std::pair<std::uint64_t, std::string>> mail;
        while (const auto ready = core->ready()) {
          moved = true;
          auto last = ready->committed.empty() ? 0 : ready->committed.back().index;
          take(id, ready->committed);
          for (const auto& m : ready->messages) mail.emplace_back(m.to, m.bytes);
          const auto light = core->advance_append();
          take(id, light.committed);
          if (!light.committed.empty()) last = light.committed.back().index;
          for (const auto& m : light.messages) mail.emplace_back(m.to, m.bytes);
          if (last != 0) core->advance_apply_to(last);
        }
        for (const auto& [to, bytes] : mail) EXPECT_TRUE(cores[to]->step(bytes));
      }
    }
  }
};

TEST(Core, three_voters_elect_replicate_and_hand_over) {
  Trio trio;
  ASSERT_TRUE(trio.cores[1]->campaign());
  trio.settle();
  EXPECT_EQ(trio.cores[1]->status().role, Role::leader);
  EXPECT_EQ(trio.cores[2]->status().leader, 1u);
  const std::string_view payload = "x";
  ASSERT_TRUE(trio.cores[1]->propose({&payload, 1}));
  trio.settle();
  trio.cores[1]->tick();
  trio.settle();
  for (const std::uint64_t id : {1u, 2u, 3u})
    EXPECT_EQ(trio.applied[id], std::vector<std::string>{"x"}) << id;
  EXPECT_EQ(trio.cores[1]->progress(3)->matched, 3u);
  trio.cores[1]->transfer_leader(2);
  trio.settle();
  EXPECT_EQ(trio.cores[2]->status().role, Role::leader);
  EXPECT_EQ(trio.cores[1]->status().role, Role::follower);
}

TEST(Core, a_snapshot_is_sent_when_there_is_one_that_knows_the_receiver) {
  const std::array<std::uint64_t, 1> self{1};
  const std::array<std::uint64_t, 1> learner{2};
  const auto alone = conf_state_of(self);
  const auto both = conf_state_of(self, learner);
  // A log that begins behind entry 9, and a learner that has nothing.
  auto start = start_of(1, both);
  start.base = {9, 1};
  start.applied = start.last_index = start.hard_state.commit = 9;
  const auto core = make(start);
  const auto run = [&] {
    std::vector<std::string> snapshots;
    while (const auto ready = core->ready()) {
      auto last = ready->committed.empty() ? 0 : ready->committed.back().index;
      const auto take = [&](std::span<const MessageView> messages) {
        for (const auto& m : messages)
          if (m.snapshot_index != 0) snapshots.emplace_back(m.bytes);
      };
      take(ready->messages);
      const auto light = core->advance_append();
      take(light.messages);
      if (!light.committed.empty()) last = light.committed.back().index;
      if (last != 0) core->advance_apply_to(last);
    }
    return snapshots;
  };
  ASSERT_TRUE(core->campaign());
  EXPECT_TRUE(run().empty());
  // MsgAppendResponse, to 1, from 2, term 2, index 9: refused, there is nothing after entry 1.
  ASSERT_TRUE(core->step("\x08\x04\x10\x01\x18\x02\x20\x02\x30\x09\x50\x01\x58\x01"));
  EXPECT_TRUE(run().empty()) << "there is none yet";
  EXPECT_TRUE(core->status().wants_snapshot);
  const auto heard = [&] {
    // MsgHeartbeatResponse, to 1, from 2, term 2.
    EXPECT_TRUE(core->step("\x08\x09\x10\x01\x18\x02\x20\x02"));
    return run();
  };
  ASSERT_TRUE(core->set_snapshot({{9, 1}, alone, "without it"}));
  EXPECT_TRUE(heard().empty()) << "one that does not know the receiver";
  core->clear_snapshot();
  ASSERT_TRUE(core->set_snapshot({{10, 2}, both, "data"}));
  const auto snapshots = heard();
  ASSERT_EQ(snapshots.size(), 1u);
  const auto head = read_head(snapshots[0]);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->type, kMsgSnapshot);
  EXPECT_EQ(head->to, 2u);
  EXPECT_EQ(head->from, 1u);
  EXPECT_EQ(head->term, 2u);
  EXPECT_NE(head->snapshot.find("data"), std::string_view::npos);
}

TEST(MessageHead, is_read_from_anything) {
  EXPECT_TRUE(read_head(""));
  EXPECT_FALSE(read_head("\xff"));
  EXPECT_FALSE(read_head("\x08"));
  EXPECT_FALSE(
      read_head("\x4a\x05"
                "abc"))
      << "shorter than it says";
  EXPECT_FALSE(read_head("\x0b\x01")) << "a wire type that there is not";
  const auto head = read_head(
      "\x08\x83\x80\x80\x80\x10\x3a\x02"
      "ab\x3a\x01"
      "c\x40\x07");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->type, kMsgAppend) << "the low half, as the core reads it";
  EXPECT_EQ(head->entry_count, 2u);
  EXPECT_EQ(head->entry_bytes, 3u);
  EXPECT_EQ(head->commit, 7u);
}

TEST(Core, election_time_outs_follow_the_seed) {
  const std::array<std::uint64_t, 3> voters{1, 2, 3};
  const auto conf = conf_state_of(voters);
  std::vector<std::uint64_t> drawn;
  for (const std::uint64_t seed : {5u, 5u, 6u, 7u, 8u, 9u}) {
    auto start = start_of(1, conf);
    start.seed = seed;
    drawn.push_back(make(start)->status().election_timeout_ticks);
    EXPECT_GE(drawn.back(), kElectionTicks);
    EXPECT_LT(drawn.back(), 2 * kElectionTicks);
  }
  EXPECT_EQ(drawn[0], drawn[1]);
  EXPECT_NE(std::vector<std::uint64_t>(drawn.size(), drawn[0]), drawn);
}

}  // namespace
}  // namespace jobbie::consensus
