// The operator: adds, promotes and removes members, hands leadership over, replaces lost disks.
//
// It never does what would make a cluster unable to recover: at most one disk is lost at a time,
// and nobody else is removed before that node is.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tests/cluster_sim/sim_node.hpp"
#include "tests/cluster_sim/world.hpp"

namespace jobbie::cluster_sim {
namespace {

constexpr std::size_t kMostMembers = 7;
constexpr std::uint64_t kCaughtUp = 30;  ///< entries that a learner may be behind

}  // namespace

void World::next_change() {
  const std::int64_t every = traits.member_change_every;
  after(every / 4 + rng.between(0, every * 3 / 2), [this] {
    if (healing_) return;
    change_members();
    next_change();
  });
}

void World::change_members() {
  SimNode* leading = leader();
  if (leading == nullptr || leading->stopped()) return;
  // Nodes that were removed are switched off, now or later.
  for (const auto& node : nodes_) {
    if (node->removed()) ++counts[Count::removed_nodes_seen];
    if (!node->gone() && history.configuration().find(node->id()) == nullptr &&
        history.configuration().cluster_id != 0 && node->removed() && rng.coin())
      node->retire();
  }
  if (history.last() < change_pending_) return;
  if (lost_ != 0) return replace_lost(*leading);
  switch (rng.below(6)) {
    case 0:
      return transfer(*leading);
    case 1:
      return remove_member(*leading);
    case 2:
      return lose_disk();
    case 3:
      return promote_member(*leading);
    default:
      for (const auto& member : history.configuration().members)
        if (!member.voter) return promote_member(*leading);
      return add_member(*leading);
  }
}

void World::propose(SimNode& leader, const log::Change& change, Count count) {
  const auto index = leader.log().propose_change(change);
  event("change", static_cast<std::uint64_t>(change.kind), change.member.id, index ? *index : 0);
  if (!index) return;
  change_pending_ = std::max(change_pending_, *index);
  ++counts[count];
  leader.turn();
}

void World::add_member(SimNode& leader) {
  if (history.configuration().members.size() >= kMostMembers) return;
  SimNode& node = add_node(leader.log().configuration(), leader.log().configuration_index());
  log::Change change{.kind = log::Change::Kind::add_learner,
                     .member = {.id = node.id(),
                                .name = fmt::format("n{}", node.id()),
                                .address = fmt::format("10.0.0.{}:9400", node.id()),
                                .http = {},
                                .voter = false}};
  node.start();
  propose(leader, change, Count::learners_added);
}

void World::promote_member(SimNode& leader) {
  for (const auto& member : leader.log().configuration().members) {
    const auto progress = leader.log().progress(member.id);
    if (member.voter || !progress || progress->matched + kCaughtUp < leader.log().last_index())
      continue;
    return propose(leader, {.kind = log::Change::Kind::promote, .member = member},
                   Count::promotions);
  }
}

void World::remove_member(SimNode& leader) {
  const auto& configuration = leader.log().configuration();
  if (configuration.members.empty()) return;
  const auto member = configuration.members[rng.below(configuration.members.size())];
  if (member.voter && configuration.voter_count() <= 2) return;
  if (member.id == leader.id()) return transfer(leader);
  propose(leader, {.kind = log::Change::Kind::remove, .member = member}, Count::removals);
}

void World::transfer(SimNode& leader) {
  const auto& members = leader.log().configuration().members;
  if (members.empty()) return;
  const NodeId to = members[rng.below(members.size())].id;
  if (to == leader.id() || !leader.log().transfer(to)) return;
  ++counts[Count::transfers];
  event("transfer", leader.id(), to);
  leader.turn();
}

/// A disk is gone for good. Its node never comes back; another one takes its place.
void World::lose_disk() {
  const auto& configuration = history.configuration();
  if (configuration.voter_count() < 3) return;
  SimNode* node = some_node();
  if (node == nullptr || configuration.find(node->id()) == nullptr) return;
  ++counts[Count::lost_disks];
  event("lost disk", node->id());
  if (plants(Plant::disk_lost_id_kept)) {
    node->replace_disk();
    after(milliseconds(rng.between(100, 3000)), [node] { node->start(); });
    return;
  }
  node->retire();
  lost_ = node->id();
}

void World::replace_lost(SimNode& leader) {
  if (history.last() < change_pending_) return;
  const auto* member = leader.log().configuration().find(lost_);
  if (member != nullptr)
    return propose(leader, {.kind = log::Change::Kind::remove, .member = *member}, Count::removals);
  if (history.configuration().find(lost_) == nullptr) lost_ = 0;
}

}  // namespace jobbie::cluster_sim
