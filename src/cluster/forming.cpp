// Decisions from what is seen now; nothing is remembered but a proposal that was made.
#include "cluster/forming.hpp"

#include <algorithm>

namespace jobbie::cluster {

void Forming::note(const peer::Hello& hello) {
  if (hello.node_id != self_.node_id) known_[hello.node_id] = hello;
}

void Forming::lost(std::uint64_t node) {
  reached_.erase(node);
  known_.erase(node);
}

std::vector<const peer::Hello*> Forming::fresh() const {
  std::vector<const peer::Hello*> out;
  for (const auto& [node, hello] : known_)
    if (reached_.contains(node) && !hello.has_log) out.push_back(&hello);
  return out;
}

std::string Forming::clash() const {
  std::set<std::string> names{self_.name};
  for (const auto* hello : fresh())
    if (!names.insert(hello->name).second) return hello->name;
  return {};
}

std::size_t Forming::seen() const { return fresh().size() + 1; }

Forming::Step Forming::next() const {
  for (const auto& [node, hello] : known_)
    if (reached_.contains(node) && hello.has_log && hello.cluster_id != 0)
      return {.kind = Step::Kind::join, .to = {node}};
  const auto there = fresh();
  Step step{.kind = Step::Kind::found, .to = {}};
  // What was proposed once is proposed again until enough have begun.
  for (const auto& member : proposed_.members)
    if (member.id != self_.node_id) step.to.push_back(member.id);
  if (!step.to.empty()) return step;
  const bool lowest = std::all_of(there.begin(), there.end(), [&](const auto* hello) {
    return hello->node_id > self_.node_id;
  });
  if (expected_ == 0 || there.size() + 1 < expected_ || !lowest || !clash().empty()) return {};
  // Somebody who was told of more nodes knows better.
  if (std::any_of(there.begin(), there.end(),
                  [&](const auto* hello) { return hello->size > there.size() + 1; }))
    return {};
  for (const auto* hello : there) step.to.push_back(hello->node_id);
  return step;
}

log::Configuration Forming::founders() {
  if (!proposed_.members.empty()) return proposed_;
  const auto member = [](const peer::Hello& hello) {
    return log::Member{.id = hello.node_id,
                       .name = hello.name,
                       .address = hello.address,
                       .http = hello.http,
                       .voter = true};
  };
  proposed_.cluster_id = id_;
  proposed_.members.push_back(member(self_));
  for (const auto* hello : fresh()) proposed_.members.push_back(member(*hello));
  std::sort(proposed_.members.begin(), proposed_.members.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  begun_.clear();
  return proposed_;
}

bool Forming::begun(std::uint64_t node) {
  if (proposed_.find(node) == nullptr) return false;
  begun_.insert(node);
  return (begun_.size() + 1) * 2 > proposed_.members.size();
}

bool Forming::accepts(std::uint64_t from, const log::Configuration& founders) const {
  if (founders.find(self_.node_id) == nullptr) return false;
  return proposed_.members.empty() || from < self_.node_id;
}

}  // namespace jobbie::cluster
