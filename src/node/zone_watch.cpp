// One page of schedules a step.
#include "node/zone_watch.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace jobbie::node {
namespace {

/// The changes after `now` up to `until`.
std::span<const model::ZoneTransition> changes_in(const model::ZoneRules& rules, base::Instant now,
                                                  base::Instant until) {
  const auto after = [&](base::Instant at) {
    return std::upper_bound(rules.transitions.begin(), rules.transitions.end(), at,
                            [](base::Instant t, const auto& change) { return t < change.at; });
  };
  return {after(now), after(until)};
}

}  // namespace

bool agree(const model::ZoneRules& a, const model::ZoneRules& b, base::Instant now,
           base::Instant until) {
  if (a.offset_at(now) != b.offset_at(now)) return false;
  const auto ours = changes_in(a, now, until);
  const auto theirs = changes_in(b, now, until);
  return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end());
}

void ZoneWatch::begin_again() {
  next_look_ = {};
  seen_ = {};
  loaded_.clear();
  proposed_.clear();
}

const model::ZoneRules* ZoneWatch::system_rules(const std::string& name, base::Instant now) {
  const auto [entry, fresh] = loaded_.try_emplace(name);
  if (fresh) {
    if (auto rules = load_(name, now - kBefore, now + kAfter)) entry->second = *std::move(rules);
  }
  return entry->second ? &*entry->second : nullptr;
}

std::vector<command::UpdateZone> ZoneWatch::step(const engine::Engine& engine, base::Instant now) {
  std::vector<command::UpdateZone> out;
  if (now < next_look_) return out;
  const auto page = engine.schedules(seen_, kSchedulesPerStep);
  for (const auto& schedule : page) {
    const auto& zone = schedule.spec.zone;
    seen_ = schedule.id;
    if (proposed_.contains(zone.name)) continue;
    const auto* rules = system_rules(zone.name, now);
    if (rules == nullptr || agree(zone, *rules, now, now + kHorizon)) continue;
    proposed_.insert(zone.name);
    out.push_back({.zone = *rules});
  }
  if (page.size() < kSchedulesPerStep) {
    begin_again();
    next_look_ = now + kEvery;
  }
  return out;
}

}  // namespace jobbie::node
