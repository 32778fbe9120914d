// Three nodes in one process, connected through loopback.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <stdlib.h>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "call/desk.hpp"
#include "node/node.hpp"

namespace jobbie::node {
namespace {

using base::Blob;
using namespace std::chrono_literals;

class ClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "jobbie-cluster-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
    // Ports that are free now, and of this process alone.
    peer::Options probe;
    probe.listen = "127.0.0.1:0";
    probe.self = {.node_id = 1, .name = "probe", .address = "127.0.0.1:1"};
    for (auto& address : addresses_) {
      auto transport = peer::Transport::open(probe, nobody_);
      ASSERT_TRUE(transport);
      address = "127.0.0.1:" + std::to_string((*transport)->port());
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) open(i);
    for (std::size_t i = 0; i < nodes_.size(); ++i) until_whole(i);
  }
  void TearDown() override {
    for (auto& node : nodes_) node.reset();
    std::filesystem::remove_all(dir_);
  }

  void open(std::size_t i) {
    Options options;
    options.data_dir = dir_ + "/" + std::to_string(i);
    options.name = "n" + std::to_string(i);
    options.segment_bytes = std::size_t{4} << 20;
    options.cluster = ClusterOptions{};
    options.cluster->listen = options.cluster->address = addresses_[i];
    options.cluster->secret = "a secret of the test";
    for (const auto& address : addresses_)
      if (address != addresses_[i]) options.cluster->peers.push_back(address);
    options.on_fatal = [](const base::Error& error) { ADD_FAILURE() << error.message; };
    auto node = Node::open(std::move(options));
    ASSERT_TRUE(node) << node.error().message;
    nodes_[i] = *std::move(node);
  }
  void stop(std::size_t i) {
    nodes_[i]->drain();
    EXPECT_TRUE(nodes_[i]->stop());
    nodes_[i].reset();
  }

  std::unique_ptr<call::Call> ask(std::size_t i, call::Query query, bool strong = false) {
    call::Desk desk(*nodes_[i]);
    auto call = desk.make();
    call->query = std::move(query);
    call->strong = strong;
    return desk.ask(std::move(call));
  }
  std::unique_ptr<call::Call> run(std::size_t i, command::Command command,
                                  std::int64_t wait_ms = 0) {
    call::Desk desk(*nodes_[i]);
    auto call = desk.make();
    call->commands.push_back(std::move(command));
    call->wait = {wait_ms};
    return desk.ask(std::move(call));
  }
  call::NodeStatus status(std::size_t i) {
    return std::get<call::NodeStatus>(ask(i, call::StatusQuery{})->answer);
  }
  /// Until node i is a member, somebody leads, and it reaches all others.
  void until_whole(std::size_t i) {
    for (const auto end = std::chrono::steady_clock::now() + 30s;
         std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(20ms)) {
      const auto now = status(i);
      if (now.leader_id != 0 && now.nodes.size() == 3 &&
          std::all_of(now.nodes.begin(), now.nodes.end(),
                      [](const auto& row) { return row.connected; }))
        return;
    }
    ADD_FAILURE() << "node " << i << " does not find the others";
  }
  std::size_t leader() {
    for (const auto end = std::chrono::steady_clock::now() + 30s;
         std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(20ms))
      for (std::size_t i = 0; i < nodes_.size(); ++i)
        if (nodes_[i] && nodes_[i]->health().leader && status(i).leader) return i;
    ADD_FAILURE() << "nobody leads";
    return 0;
  }
  static command::Enqueue enqueue(std::string_view queue) {
    command::Enqueue c;
    c.job.queue = Blob(queue);
    c.job.payload = Blob("{}");
    return c;
  }
  static command::Claim claim(std::string_view queue) {
    command::Claim c;
    c.queues = {Blob(queue)};
    c.worker = Blob("w");
    return c;
  }
  std::uint64_t pending(std::size_t i, bool strong = false) {
    const auto back = ask(i, call::QueuesQuery{.page = {.limit = 10}}, strong);
    const auto* page = std::get_if<call::QueuePage>(&back->answer);
    return page == nullptr || page->rows.empty() ? 0 : page->rows[0].counts[2];
  }
  void until_equal() {
    for (const auto end = std::chrono::steady_clock::now() + 30s;
         std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(20ms)) {
      std::array<call::NodeStatus, 3> all{status(0), status(1), status(2)};
      if (all[0].applied_index == all[1].applied_index &&
          all[1].applied_index == all[2].applied_index) {
        EXPECT_EQ(all[0].state_hash, all[1].state_hash);
        EXPECT_EQ(all[1].state_hash, all[2].state_hash);
        return;
      }
    }
    ADD_FAILURE() << "the nodes do not come to the same";
  }

  class Nobody final : public peer::Handler {
   public:
    void on_hello(const peer::Hello& /*hello*/) override {}
    void on_frame(std::uint64_t /*from*/, std::uint8_t /*kind*/, std::string /*bytes*/) override {}
    void on_connected(std::uint64_t /*node*/) override {}
    void on_lost(std::uint64_t /*node*/) override {}
    void on_snapshot(peer::Incoming /*snapshot*/) override {}
  };

  Nobody nobody_;
  std::string dir_;
  std::array<std::string, 3> addresses_;
  std::array<std::unique_ptr<Node>, 3> nodes_;
};

TEST_F(ClusterTest, WhateverNodeIsAskedTheLeaderDoesIt) {
  static_cast<void>(leader());
  for (std::size_t i = 0; i < 3; ++i) {
    const auto back = run(i, enqueue("q"));
    ASSERT_EQ(back->trouble, call::Trouble::none) << i;
    EXPECT_TRUE(std::holds_alternative<command::Enqueued>(back->replies.at(0)));
    EXPECT_EQ(pending(i), i + 1) << "who writes through a node reads it there";
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(pending(i, true), 3U) << "a strong read";
  until_equal();
}

TEST_F(ClusterTest, AFetchThatWaitsAtAFollowerGetsAJobFromAnother) {
  const auto first = (leader() + 1) % 3;
  const auto second = (first + 1) % 3;
  std::thread producer([&] {
    std::this_thread::sleep_for(200ms);
    EXPECT_EQ(run(second, enqueue("q"))->trouble, call::Trouble::none);
  });
  const auto back = run(first, claim("q"), 20'000);
  producer.join();
  ASSERT_EQ(back->trouble, call::Trouble::none);
  EXPECT_EQ(std::get<command::Claimed>(back->replies.at(0)).jobs.size(), 1U);
}

TEST_F(ClusterTest, AStoppedLeaderHandsOverAndComesBack) {
  const auto old = leader();
  const auto other = (old + 1) % 3;
  EXPECT_EQ(run(other, enqueue("q"))->trouble, call::Trouble::none);
  std::atomic<bool> over = false;
  std::uint64_t done = 0;
  std::thread producer([&] {
    while (!over) {
      EXPECT_EQ(run(other, enqueue("q"))->trouble, call::Trouble::none) << "while it hands over";
      ++done;
    }
  });
  stop(old);
  static_cast<void>(leader());
  over = true;
  producer.join();
  EXPECT_EQ(pending(other, true), done + 1);
  open(old);
  until_whole(old);
  until_equal();
}

TEST_F(ClusterTest, ANodeThatLostItsDiskIsTakenInAgain) {
  const auto lost = (leader() + 1) % 3;
  const auto other = (lost + 1) % 3;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(run(other, enqueue("q"))->trouble, call::Trouble::none);
  stop(lost);
  std::filesystem::remove_all(dir_ + "/" + std::to_string(lost));
  open(lost);
  until_whole(lost);
  EXPECT_EQ(pending(lost, true), 10U);
  until_equal();
}

TEST_F(ClusterTest, AMajorityIsNotGivenUp) {
  const auto boss = leader();
  const auto gone = (boss + 1) % 3;
  stop(gone);
  const auto name = "n" + std::to_string((boss + 2) % 3);
  const auto back =
      ask(boss, call::ClusterChange{.action = call::ClusterAction::remove, .target = name});
  EXPECT_EQ(std::get<call::ClusterAnswer>(back->answer).code, "would_lose_quorum");
}

}  // namespace
}  // namespace jobbie::node
