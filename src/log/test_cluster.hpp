// Some logs on disks in memory, and a network that is cranked by hand. For tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "consensus/message.hpp"
#include "log/log.hpp"
#include "log/sim_disk.hpp"

namespace jobbie::log {

inline Member test_member(std::uint64_t id, bool voter = true) {
  return {.id = id,
          .name = "n" + std::to_string(id),
          .address = "10.0.0." + std::to_string(id) + ":7001",
          .http = "10.0.0." + std::to_string(id) + ":7000",
          .voter = voter};
}

inline Configuration test_configuration(const std::vector<std::uint64_t>& voters) {
  Configuration out{.cluster_id = 77, .members = {}};
  for (const auto id : voters) out.members.push_back(test_member(id));
  return out;
}

struct Mail {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t term = 0;
  std::uint64_t index = 0;
  std::uint64_t snapshot_index = 0;
  std::uint32_t type = 0;
  bool reject = false;
  std::string bytes;
};

using TestState = std::vector<std::pair<std::uint64_t, std::string>>;

struct TestNode {
  explicit TestNode(std::uint64_t id) : disk(id) {}

  SimDisk disk;
  std::unique_ptr<Log> log;
  TestState state;            ///< all that was applied; durable
  std::uint64_t applied = 0;  ///< up to where
  TestState offered;          ///< the copy for followers
  std::map<std::uint64_t, std::uint64_t> reads;
  std::vector<std::uint64_t> configured;  ///< indexes
};

class TestCluster {
 public:
  static constexpr std::size_t kSegment = 8192;

  std::map<std::uint64_t, TestNode> nodes;
  std::deque<Mail> mail;
  std::vector<Mail> sent;  ///< everything, ever
  std::set<std::pair<std::uint64_t, std::uint64_t>> cut;
  TestSwitches test;
  /// A snapshot that arrives is taken and reported at once.
  bool deliver_snapshots = true;
  /// Sees every message that is about to be stepped.
  std::function<void(const Mail&)> before_step;

  explicit TestCluster(const std::vector<std::uint64_t>& voters, TestSwitches switches = {})
      : test(switches) {
    for (const auto id : voters) open(id, test_configuration(voters));
  }

  Options options(std::uint64_t id, const Configuration& founders = {},
                  std::uint64_t founders_index = 0) const {
    return {.directory = "log",
            .node_id = id,
            .founders = founders,
            .founders_index = founders_index,
            .segment_bytes = kSegment,
            .seed = id * 1000 + starts_,
            .preparing = Preparer::Mode::at_once,
            .test = test};
  }

  void open(std::uint64_t id, const Configuration& founders = {},
            std::uint64_t founders_index = 0) {
    ++starts_;
    auto& node = nodes.try_emplace(id, id).first->second;
    auto opened = Log::open(node.disk, options(id, founders, founders_index));
    ASSERT_TRUE(opened) << opened.error().message;
    node.log = std::move(*opened);
    const auto started = node.log->start(node.applied);
    ASSERT_TRUE(started) << started.error().message;
  }
  void stop(std::uint64_t id) { nodes.at(id).log.reset(); }
  /// The power goes: what was not synced may be lost. The node's state is durable.
  void crash(std::uint64_t id) {
    stop(id);
    nodes.at(id).disk.restart_after_power_loss();
    std::erase_if(mail, [&](const Mail& m) { return m.to == id; });
  }

  Log& log(std::uint64_t id) { return *nodes.at(id).log; }
  TestNode& node(std::uint64_t id) { return nodes.at(id); }

  base::Result<void> pump(std::uint64_t id) {
    auto& node = nodes.at(id);
    const Handlers handlers{
        .apply =
            [&](const Committed& entry) {
              EXPECT_EQ(entry.index, std::max<std::uint64_t>(node.applied, 1) + 1);
              node.applied = entry.index;
              if (!entry.data.empty()) node.state.emplace_back(entry.index, entry.data);
            },
        .send =
            [&](const consensus::MessageView& m) {
              mail.push_back({id, m.to, m.term, m.index, m.snapshot_index, m.type, m.reject,
                              std::string(m.bytes)});
              sent.push_back(mail.back());
            },
        .configured = [&](const Configuration&,
                          std::uint64_t index) { node.configured.push_back(index); },
        .read = [&](std::uint64_t context, std::uint64_t index) { node.reads[context] = index; },
    };
    return node.log->pump(handlers);
  }
  void pump_well(std::uint64_t id) {
    const auto pumped = pump(id);
    ASSERT_TRUE(pumped) << id << ": " << pumped.error().message;
  }

  /// Delivers the oldest message. False if there is none.
  bool deliver() {
    if (mail.empty()) return false;
    const auto m = std::move(mail.front());
    mail.pop_front();
    const auto to = nodes.find(m.to);
    const bool lost = cut.contains({m.from, m.to}) || to == nodes.end() || !to->second.log;
    if (m.snapshot_index != 0) {
      if (deliver_snapshots) deliver_snapshot(m, lost);
      return true;
    }
    if (lost) return true;
    if (before_step) before_step(m);
    (void)to->second.log->step(m.bytes);
    pump_well(m.to);
    return true;
  }
  /// Until nobody has anything to do.
  void settle() {
    for (int rounds = 0; rounds < 10000; ++rounds) {
      for (auto& [id, node] : nodes)
        if (node.log) pump_well(id);
      if (mail.empty()) return;
      while (!mail.empty()) deliver();
    }
    FAIL() << "it never settles";
  }
  void tick(int times = 1) {
    for (int i = 0; i < times; ++i) {
      for (auto& [id, node] : nodes)
        if (node.log) node.log->tick();
      settle();
    }
  }
  /// Ticks until somebody leads whom a majority follows.
  std::uint64_t elect() {
    for (int i = 0; i < 200; ++i) {
      tick();
      if (const auto id = leader(); id != 0) return id;
    }
    ADD_FAILURE() << "nobody is elected";
    return 0;
  }
  std::uint64_t leader() {
    std::uint64_t best = 0;
    for (auto& [id, node] : nodes)
      if (node.log && node.log->leader() && (best == 0 || node.log->term() > log(best).term()))
        best = id;
    return best;
  }
  /// Makes `id` lead, everybody being there.
  void lead(std::uint64_t id) {
    if (leader() == 0) elect();
    if (leader() == id) return;
    ASSERT_TRUE(log(leader()).transfer(id));
    settle();
    ASSERT_EQ(leader(), id);
    tick();
  }
  void propose(std::uint64_t id, std::string_view data) {
    const auto index = log(id).propose(data);
    ASSERT_TRUE(index) << index.error().message;
  }
  void change(std::uint64_t leader, const Change& change) {
    const auto index = log(leader).propose_change(change);
    ASSERT_TRUE(index) << index.error().message;
    settle();
    tick();
  }
  /// As a node does it when the log wants one.
  void offer(std::uint64_t id) {
    auto& node = nodes.at(id);
    node.offered = node.state;
    const auto offered = node.log->offer_snapshot(node.applied);
    ASSERT_TRUE(offered) << offered.error().message;
  }
  std::vector<std::string> payloads(std::uint64_t id) {
    std::vector<std::string> out;
    for (const auto& [index, data] : nodes.at(id).state) out.push_back(data);
    return out;
  }

 private:
  void deliver_snapshot(const Mail& m, bool lost) {
    auto& from = nodes.at(m.from);
    bool arrived = false;
    if (!lost) {
      auto& to = nodes.at(m.to);
      const auto verdict = to.log->judge(m.bytes);
      ASSERT_TRUE(verdict) << verdict.error().message;
      if (*verdict == Verdict::wanted) {
        to.state.clear();
        for (const auto& entry : from.offered)
          if (entry.first <= m.snapshot_index) to.state.push_back(entry);
        to.applied = m.snapshot_index;
        const auto adopted = to.log->adopt(m.bytes);
        ASSERT_TRUE(adopted) << adopted.error().message;
        pump_well(m.to);
      }
      arrived = *verdict != Verdict::stale;
    }
    if (from.log) from.log->report_snapshot(m.to, arrived);
  }

  std::uint64_t starts_ = 0;
};

}  // namespace jobbie::log
