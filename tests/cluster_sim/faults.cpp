// What goes wrong: drawn by the seed, one thing after another, several at once.
#include <algorithm>
#include <array>
#include <utility>

#include "tests/cluster_sim/sim_node.hpp"
#include "tests/cluster_sim/world.hpp"

namespace jobbie::cluster_sim {

void World::next_fault() {
  after(traits.fault_every / 4 + rng.between(0, traits.fault_every * 3 / 2), [this] {
    if (healing_) return;
    do_fault();
    next_fault();
  });
}

void World::do_fault() {
  using Fault = std::pair<std::uint32_t, std::function<void()>>;
  const auto links_heal = [this] {
    after(milliseconds(rng.between(200, 25'000)), [this] { mend_links(); });
  };
  const std::array<Fault, 12> faults = {{
      {traits.kill, [this] { stop_nodes(0); }},
      {traits.power_loss, [this] { stop_nodes(1); }},
      {traits.pause, [this] { stop_nodes(2); }},
      {traits.blackout, [this] { blackout(); }},
      {traits.disk_error, [this] { fail_disk(); }},
      {traits.full_disk, [this] { fill_disk(); }},
      {traits.slow_disk,
       [this] {
         SimNode* node = some_node();
         if (node == nullptr) return;
         ++counts[Count::slow_disks];
         node->slow_disk(milliseconds(rng.between(1, 400)));
         after(seconds(rng.between(1, 15)), [node] { node->slow_disk(0); });
       }},
      {traits.partition, [this, links_heal] { partition(), links_heal(); }},
      {traits.one_way, [this, links_heal] { one_way(), links_heal(); }},
      {traits.bridge, [this, links_heal] { bridge(), links_heal(); }},
      {traits.slow_link,
       [this, links_heal] {
         SimNode* node = some_node();
         if (node == nullptr) return;
         ++counts[Count::slow_links];
         slow_down(node->id(), milliseconds(rng.between(10, 900)));
         links_heal();
       }},
      {traits.clock_jump, [this] { jump_clock(); }},
  }};
  std::uint64_t total = 0;
  for (const Fault& fault : faults) total += fault.first;
  if (total == 0) return;
  std::uint64_t draw = rng.below(total);
  for (const Fault& fault : faults) {
    if (draw < fault.first) return fault.second();
    draw -= fault.first;
  }
}

/// Two sides that do not hear each other.
void World::partition() {
  ++counts[Count::partitions];
  event("partition");
  std::vector<bool> left;
  for (std::size_t i = 0; i < nodes_.size(); ++i) left.push_back(rng.coin());
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    for (std::size_t j = 0; j < nodes_.size(); ++j)
      if (left[i] != left[j]) cut(nodes_[i]->id(), nodes_[j]->id());
}

/// One node, the leader perhaps, is heard and does not hear, or the other way round.
void World::one_way() {
  SimNode* node = rng.coin() && leader() != nullptr ? leader() : some_node();
  if (node == nullptr) return;
  ++counts[Count::one_way_cuts];
  const bool deaf = rng.coin();
  event("one way", node->id(), deaf ? 1 : 0);
  for (const auto& other : nodes_) {
    if (other.get() == node || rng.percent(20)) continue;
    if (deaf)
      cut(other->id(), node->id());
    else
      cut(node->id(), other->id());
  }
}

/// Two sides that only one node connects.
void World::bridge() {
  SimNode* middle = some_node();
  if (middle == nullptr) return;
  ++counts[Count::bridges];
  event("bridge", middle->id());
  std::vector<bool> left;
  for (std::size_t i = 0; i < nodes_.size(); ++i) left.push_back(rng.coin());
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    for (std::size_t j = 0; j < nodes_.size(); ++j)
      if (left[i] != left[j] && nodes_[i].get() != middle && nodes_[j].get() != middle)
        cut(nodes_[i]->id(), nodes_[j]->id());
}

/// Kill, loss of power, or a stop by signal; the leader more often than others, sometimes several.
void World::stop_nodes(std::uint32_t kind) {
  const std::uint64_t many = rng.percent(20) ? 2 : 1;
  for (std::uint64_t i = 0; i < many; ++i) {
    SimNode* node = rng.percent(40) && leader() != nullptr ? leader() : some_node();
    if (node == nullptr) return;
    event("stop", node->id(), kind);
    if (kind == 2) {
      ++counts[Count::pauses];
      node->pause(milliseconds(rng.between(50, 20'000)));
      continue;
    }
    ++counts[kind == 0 ? Count::kills : Count::power_losses];
    if (kind == 0)
      node->kill();
    else
      node->lose_power(1 + rng.below(12));
    after(milliseconds(rng.between(350, 20'000)), [node] { node->start(); });
  }
}

/// The power goes everywhere at once: what was acknowledged must be on the disks.
void World::blackout() {
  ++counts[Count::blackouts];
  event("blackout");
  // Whoever led stays away for longer, most of the time: the others must know what it knew.
  const SimNode* led = rng.percent(70) ? leader() : nullptr;
  for (SimNode* node : running()) {
    node->lose_power(1 + rng.below(4));
    const std::int64_t away = node == led ? rng.between(4000, 9000) : rng.between(350, 2500);
    after(milliseconds(away), [node] { node->start(); });
  }
}

void World::fail_disk() {
  SimNode* node = some_node();
  if (node == nullptr) return;
  ++counts[Count::disk_errors];
  event("disk error", node->id());
  node->fail_disk(1 + rng.below(10));
  after(seconds(rng.between(1, 10)), [node] {
    node->kill();  // whoever has met the error is dead already
    node->start();
  });
}

void World::fill_disk() {
  SimNode* node = some_node();
  if (node == nullptr) return;
  ++counts[Count::full_disks];
  event("full disk", node->id());
  node->set_disk_space(true);
  after(seconds(rng.between(1, 20)), [node] { node->set_disk_space(false); });
}

void World::jump_clock() {
  SimNode* node = rng.coin() && leader() != nullptr ? leader() : some_node();
  if (node == nullptr) return;
  ++counts[Count::clock_jumps];
  std::int64_t jump = milliseconds(rng.between(-2000, 2000));
  if (rng.percent(30)) jump = seconds(rng.between(-3600, 3600));
  event("clock", node->id(), static_cast<std::uint64_t>(jump));
  node->move_wall(jump);
}

}  // namespace jobbie::cluster_sim
