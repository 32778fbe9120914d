// The simulated world: one thread, one virtual clock, nodes, links, clients, and what goes wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "log/configuration.hpp"
#include "tests/cluster_sim/history.hpp"
#include "tests/cluster_sim/options.hpp"
#include "tests/cluster_sim/personality.hpp"
#include "tests/cluster_sim/scheduler.hpp"

namespace jobbie::cluster_sim {

class SimNode;
class Client;

class World {
 public:
  World(std::uint64_t seed, const SimOptions& options, Counts& counts);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  SimResult run();

  [[nodiscard]] std::int64_t now() const { return scheduler_.now(); }
  void after(std::int64_t delay, Scheduler::Action action) {
    scheduler_.after(delay, std::move(action));
  }
  [[nodiscard]] bool plants(Plant plant) const { return options_.plant == plant; }
  [[nodiscard]] bool healing() const { return healing_; }
  [[nodiscard]] bool over() const { return over_; }  ///< nobody calls any more
  /// Told in a trace, and part of the hash by which two runs are compared.
  void event(std::string_view what, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0);
  /// Time during which some node led, so far.
  [[nodiscard]] std::int64_t led_us() const { return led_us_; }

  // Nodes (world.cpp).
  [[nodiscard]] SimNode* node(NodeId id);
  [[nodiscard]] const std::vector<std::unique_ptr<SimNode>>& nodes() const { return nodes_; }
  /// The one that leads in the highest term, as it sees itself; nothing: nobody does.
  [[nodiscard]] SimNode* leader();
  SimNode& add_node(const log::Configuration& founders, std::uint64_t index);
  /// Some node that runs.
  [[nodiscard]] SimNode* some_node();

  // Links (links.cpp). A message or a piece of a connection; whether it will arrive.
  bool send(NodeId from, NodeId to, std::int64_t held_us, bool datagram,
            std::function<void(SimNode&)> arrive);
  [[nodiscard]] bool is_cut(NodeId from, NodeId to) const { return cuts_.contains({from, to}); }
  void cut(NodeId from, NodeId to) { cuts_.insert({from, to}); }
  void mend_links();
  void slow_down(NodeId node, std::int64_t delay) { slow_[node] = delay; }

  // Calls of clients (calls.cpp).
  OpPointer invoke(std::uint32_t client, OpKind kind, std::vector<command::Command> commands);
  void answer(const OpPointer& op, Outcome outcome, std::uint64_t index = 0,
              const std::vector<command::Reply>& replies = {});

  Rng rng;
  Personality traits;
  Counts& counts;
  History history;

 private:
  void begin();
  void sample_leader();
  bool run_until(std::int64_t until);
  void heal();
  /// What is still to come before the cluster has recovered; empty: nothing.
  [[nodiscard]] std::string unfinished();
  [[nodiscard]] std::string lagging(std::uint64_t entries);
  void check_convergence();

  // What goes wrong (faults.cpp).
  void next_fault();
  void do_fault();
  void partition();
  void one_way();
  void bridge();
  void stop_nodes(std::uint32_t kind);
  void blackout();
  void fail_disk();
  void fill_disk();
  void jump_clock();
  std::vector<SimNode*> running();

  // The operator (operator.cpp).
  void next_change();
  void change_members();
  void add_member(SimNode& leader);
  void promote_member(SimNode& leader);
  void remove_member(SimNode& leader);
  void transfer(SimNode& leader);
  void lose_disk();
  void replace_lost(SimNode& leader);
  void propose(SimNode& leader, const log::Change& change, Count count);

  SimOptions options_;
  Scheduler scheduler_;
  std::uint64_t trace_hash_ = 0;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::set<std::pair<NodeId, NodeId>> cuts_;
  std::map<NodeId, std::int64_t> slow_;
  std::map<std::pair<NodeId, NodeId>, std::int64_t> last_arrival_;
  std::uint64_t next_op_ = 1;
  NodeId next_node_ = 1;
  bool healing_ = false;
  bool over_ = false;
  std::int64_t healed_at_ = 0;
  std::int64_t led_us_ = 0;
  NodeId lost_ = 0;                   ///< a member whose disk is gone, until it is removed
  std::uint64_t change_pending_ = 0;  ///< entry of the operator's latest change
};

}  // namespace jobbie::cluster_sim
