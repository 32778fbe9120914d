// Logs under random faults: lost and late messages, partitions, power loss at any operation, states
// that lag behind the log, changes of the configuration, snapshots. Whole nodes under such faults
// are in tests/cluster; this one knows the log alone, and is fast.
//
// Judged by: an index has one entry, whoever applies it; a term has one leader; a configuration is
// the same for all who have applied its entry; a read shows what was committed when it was asked;
// and when the faults end, all members agree.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "log/test_cluster.hpp"

namespace jobbie::log {
namespace {

constexpr std::uint64_t kNodes = 5;
constexpr int kSteps = 6000;

struct Chaos {
  struct Node {
    SimDisk disk;
    std::unique_ptr<Log> log;
    std::uint64_t applied = 0;  ///< of the state in memory
    std::uint64_t stored = 0;   ///< of the state that a crash leaves
    std::uint64_t arrived = 0;  ///< of a snapshot's state beside it
    bool ever = false;
    explicit Node(std::uint64_t seed) : disk(seed) {}
  };

  std::mt19937_64 random;
  std::map<std::uint64_t, Node> nodes;
  std::deque<Mail> mail;
  std::set<std::pair<std::uint64_t, std::uint64_t>> cut;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::string>> entries;  ///< by index
  std::map<std::uint64_t, Configuration> configurations;                   ///< by index
  std::map<std::uint64_t, std::uint64_t> leaders;                          ///< by term
  std::map<std::uint64_t, std::uint64_t> reads;  ///< context: what was committed when asked
  std::uint64_t starts = 0;
  std::uint64_t counter = 0;
  std::uint64_t adoptions = 0;
  std::uint64_t crashes = 0;
  std::uint64_t changes = 0;
  bool healing = false;

  explicit Chaos(std::uint64_t seed) : random(seed) {
    for (std::uint64_t id = 1; id <= kNodes; ++id) nodes.try_emplace(id, seed * 100 + id);
    for (const std::uint64_t id : {1u, 2u, 3u}) open(id, test_configuration({1, 2, 3}));
  }

  std::uint64_t below(std::uint64_t n) { return random() % n; }
  bool chance(std::uint64_t percent) { return below(100) < percent; }

  void open(std::uint64_t id, const Configuration& founders = {}, std::uint64_t index = 0) {
    auto& node = nodes.at(id);
    auto opened = Log::open(node.disk, {.directory = "log",
                                        .node_id = id,
                                        .founders = founders,
                                        .founders_index = index,
                                        .segment_bytes = 8192,
                                        .seed = id * 100000 + ++starts,
                                        .preparing = Preparer::Mode::at_once});
    if (!opened && node.disk.powerless()) return crash(id);
    ASSERT_TRUE(opened) << id << ' ' << opened.error().message;
    node.ever = true;
    node.log = std::move(*opened);
    const auto base = node.log->first_index() - 1;
    if (node.stored < base && node.arrived == base) node.stored = base;
    node.applied = std::max(node.stored, base);
    const auto started = node.log->start(node.applied);
    ASSERT_TRUE(started) << id << ' ' << started.error().message;
  }

  void crash(std::uint64_t id) {
    ++crashes;
    auto& node = nodes.at(id);
    node.log.reset();
    node.disk.restart_after_power_loss();
    node.disk.lose_power_at(0);
    if (chance(10)) return;
    for (const auto& m : mail)
      if (m.to == id && m.snapshot_index != 0) report(m, false);
    std::erase_if(mail, [&](const Mail& m) { return m.to == id; });
  }

  void apply(Node& node, const Committed& entry) {
    EXPECT_EQ(entry.index, std::max<std::uint64_t>(node.applied, 1) + 1);
    node.applied = entry.index;
    const auto [at, fresh] = entries.try_emplace(entry.index, entry.term, std::string(entry.data));
    if (!fresh) EXPECT_EQ(at->second, std::make_pair(entry.term, std::string(entry.data)));
    if (chance(20)) node.stored = node.applied;
  }

  void pump(std::uint64_t id) {
    auto& node = nodes.at(id);
    if (!node.log) return;
    const Handlers handlers{
        .apply = [&](const Committed& entry) { apply(node, entry); },
        .send =
            [&](const consensus::MessageView& m) {
              mail.push_back({id, m.to, m.term, m.index, m.snapshot_index, m.type, m.reject,
                              std::string(m.bytes)});
            },
        .configured =
            [&](const Configuration& configuration, std::uint64_t index) {
              const auto [at, fresh] = configurations.try_emplace(index, configuration);
              EXPECT_EQ(at->second, configuration);
              changes += fresh ? 1 : 0;
            },
        .read = [&](std::uint64_t context,
                    std::uint64_t index) { EXPECT_GE(index, reads.at(context)) << "a stale read"; },
    };
    const auto pumped = node.log->pump(handlers);
    if (!pumped && node.disk.powerless()) return crash(id);
    ASSERT_TRUE(pumped) << id << ' ' << pumped.error().message;
    if (node.log->leader()) {
      const auto [at, fresh] = leaders.try_emplace(node.log->term(), id);
      EXPECT_EQ(at->second, id) << "two leaders in term " << at->first;
    }
  }

  void deliver(std::size_t place) {
    const auto m = std::move(mail[place]);
    mail.erase(mail.begin() + static_cast<std::ptrdiff_t>(place));
    auto& from = nodes.at(m.from);
    auto& to = nodes.at(m.to);
    const bool lost = !to.log || cut.contains({m.from, m.to}) || (!healing && chance(3));
    if (m.snapshot_index == 0) {
      if (lost) {
        if (from.log && chance(10)) from.log->report_unreachable(m.to);
        return;
      }
      (void)to.log->step(m.bytes);
      if (chance(80)) pump(m.to);
      return;
    }
    bool arrived = false;
    if (!lost) {
      const auto verdict = to.log->judge(m.bytes);
      ASSERT_TRUE(verdict) << verdict.error().message;
      arrived = *verdict != Verdict::stale;
      if (*verdict == Verdict::wanted) {
        to.arrived = m.snapshot_index;
        if (to.log->adopt(m.bytes)) {
          ++adoptions;
          to.stored = to.applied = m.snapshot_index;
        } else {
          arrived = false;
          crash(m.to);
        }
      }
    }
    report(m, arrived);
  }

  void report(const Mail& m, bool arrived) {
    if (auto& from = nodes.at(m.from); from.log) from.log->report_snapshot(m.to, arrived);
  }

  Log* leader() {
    Log* best = nullptr;
    for (auto& [id, node] : nodes)
      if (node.log && node.log->leader() && (!best || node.log->term() > best->term()))
        best = node.log.get();
    return best;
  }

  void change_something() {
    auto* log = leader();
    if (log == nullptr) return;
    const auto id = 1 + below(kNodes);
    const auto* member = log->configuration().find(id);
    auto told = test_member(id);
    told.http = std::to_string(counter++);
    if (member == nullptr) {
      // Who was removed never comes back under its id.
      if (!nodes.at(id).ever) open(id, log->configuration(), log->configuration_index());
      if (nodes.at(id).log && nodes.at(id).log->removed()) return;
      if (was_member.contains(id)) return;
      if (log->propose_change({Change::Kind::add_learner, told})) was_member.insert(id);
    } else if (!member->voter) {
      (void)log->propose_change({Change::Kind::promote, {.id = id}});
    } else if (chance(4) && log->configuration().voter_count() > 3) {
      if (id == log->node_id())
        (void)log->transfer(log->configuration().members.front().id);
      else
        (void)log->propose_change({Change::Kind::remove, {.id = id}});
    } else {
      (void)log->propose_change({Change::Kind::update, told});
    }
  }
  std::set<std::uint64_t> was_member;

  void snapshot(std::uint64_t id) {
    auto& node = nodes.at(id);
    if (node.log->wants_snapshot()) {
      (void)node.log->offer_snapshot(node.applied);
    } else if (chance(20)) {
      node.log->withdraw_snapshot();
    }
    node.stored = node.applied;
    if (node.stored > 1 && chance(40) && !node.log->cut(node.stored)) crash(id);
  }

  void partition() {
    cut.clear();
    if (chance(40)) return;
    for (std::uint64_t a = 1; a <= kNodes; ++a)
      for (std::uint64_t b = 1; b <= kNodes; ++b)
        if (a != b && chance(25)) cut.insert({a, b});
  }

  void act() {
    const auto id = 1 + below(kNodes);
    auto& node = nodes.at(id);
    const auto what = below(1000);
    if (what < 450 && !mail.empty()) return deliver(chance(97) ? 0 : below(mail.size()));
    if (what < 460 && node.ever && !node.log) return open(id);
    if (!node.log) return;
    if (what < 700) {
      node.log->tick();
      if (chance(90)) pump(id);
    } else if (what < 850) {
      if (auto* log = leader())
        (void)log->propose(std::to_string(counter++) + std::string(below(600), '.'));
    } else if (what < 870) {
      std::uint64_t committed = entries.empty() ? 0 : entries.rbegin()->first;
      reads[++counter] = committed;
      node.log->read_index(counter);
    } else if (what < 890) {
      change_something();
    } else if (what < 896) {
      partition();
    } else if (what < 902) {
      node.disk.lose_power_at(node.disk.operations() + 1 + below(6));
    } else if (what < 906) {
      crash(id);
    } else if (what < 910) {
      (void)node.log->transfer(1 + below(kNodes));
    } else if (what < 940) {
      snapshot(id);
    } else {
      pump(id);
    }
  }

  /// The faults end. Everybody who belongs to the cluster must have everything.
  void heal() {
    healing = true;
    cut.clear();
    for (auto& [id, node] : nodes) node.disk.lose_power_at(0);
    const auto before = entries.empty() ? 0 : entries.rbegin()->first;
    for (int round = 0; round < 400; ++round) {
      for (auto& [id, node] : nodes) {
        if (node.ever && !node.log) open(id);
        if (!node.log) continue;
        node.log->tick();
        pump(id);
        if (node.log && node.log->wants_snapshot()) (void)node.log->offer_snapshot(node.applied);
      }
      for (int i = 0; i < 2000 && !mail.empty(); ++i) deliver(0);
      for (auto& [id, node] : nodes) pump(id);
      if (round % 20 == 10)
        if (auto* log = leader()) (void)log->propose("healed");
    }
    auto* log = leader();
    ASSERT_NE(log, nullptr) << "nobody leads";
    EXPECT_GT(log->applied_index(), before);
    for (const auto& member : log->configuration().members) {
      auto& node = nodes.at(member.id);
      ASSERT_TRUE(node.log);
      EXPECT_EQ(node.applied, log->applied_index()) << "node " << member.id;
      EXPECT_EQ(node.log->configuration(), log->configuration()) << "node " << member.id;
    }
  }
};

TEST(Chaos, nothing_that_was_applied_is_ever_different) {
  const char* wanted = std::getenv("JOBBIE_LOG_SEEDS");
  const std::uint64_t seeds = wanted == nullptr ? 30 : std::strtoull(wanted, nullptr, 10);
  std::uint64_t adoptions = 0;
  std::uint64_t changes = 0;
  std::uint64_t crashes = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Chaos chaos(seed);
    for (int i = 0; i < kSteps && !HasFailure(); ++i) chaos.act();
    if (!HasFailure()) chaos.heal();
    if (HasFailure()) return;
    adoptions += chaos.adoptions;
    changes += chaos.changes;
    crashes += chaos.crashes;
  }
  RecordProperty("adoptions", std::to_string(adoptions));
  EXPECT_GT(adoptions, seeds / 4);
  EXPECT_GT(changes, seeds);
  EXPECT_GT(crashes, seeds);
}

}  // namespace
}  // namespace jobbie::log
