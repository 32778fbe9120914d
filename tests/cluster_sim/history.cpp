// Compares what nodes do with what the history says.
#include "tests/cluster_sim/history.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/hash.hpp"
#include "command/codec.hpp"
#include "tests/sim/describe.hpp"

namespace jobbie::cluster_sim {
namespace {

/// States are compared at every entry whose number this divides, and whenever one is loaded.
constexpr std::uint64_t kHashEvery = 3;

engine::Options engine_options(std::uint64_t seed) {
  engine::Options options;
  options.hash_seed = seed;  // of no consequence, or nodes would not agree
  return options;
}

}  // namespace

History::History(Counts& counts, std::uint64_t seed)
    : counts_(counts),
      rng_(seed),
      engine_(std::make_unique<engine::Engine>(store_, engine_options(seed))) {}

void History::hold(std::string violation) {
  if (violation_.empty()) violation_ = std::move(violation);
}

void History::proposed(const command::Entry& entry, std::vector<Share> shares,
                       std::int64_t led_us) {
  proposed_[entry.random] = {std::move(shares), led_us, false};
}

void History::leads(NodeId node, std::uint64_t term) {
  const auto [it, fresh] = leaders_.emplace(term, node);
  if (fresh) ++counts_[Count::elections];
  if (it->second != node)
    hold(fmt::format("nodes {} and {} lead in term {} (I5)", it->second, node, term));
}

void History::applied(NodeId node, std::uint64_t index, std::uint64_t term, std::string_view data,
                      engine::Engine& engine) {
  const std::uint64_t digest = base::hash_bytes(data);
  if (index > entries_.size() + 1 && !entries_.empty())
    return hold(
        fmt::format("node {} applies entry {} after {} (I1)", node, index, entries_.size()));
  if (index > entries_.size()) {
    entries_.resize(index);
    entries_.back() = {term, digest, 0};
    if (!data.empty()) apply_first(index, data);
    if (index % kHashEvery == 0) entries_.back().state = engine_->state_hash();
  }
  const Known& known = entries_[index - 1];
  if (known.term != term || known.digest != digest)
    return hold(
        fmt::format("node {} applies entry {} of term {}, another one of term {} was "
                    "committed there (I1, I4)",
                    node, index, term, known.term));
  if (index % kHashEvery == 0) compare_state(node, index, engine, "after applying");
}

void History::compare_state(NodeId node, std::uint64_t index, engine::Engine& engine,
                            const char* when) {
  const Known& known = entries_[index - 1];
  if (known.state == 0) return;
  ++counts_[Count::hashes_compared];
  if (engine.state_hash() == known.state) return;
  std::string text;
  if (index == entries_.size()) {
    sim::Store dumped;
    engine.dump([&](const command::Item& item) { dumped.put(item); });
    text = dumped.difference(*engine_);
  }
  hold(fmt::format("node {} has another state {} entry {} (I4) {}", node, when, index, text));
}

void History::loaded(NodeId node, std::uint64_t index, engine::Engine& engine) {
  if (index == 0) return;
  if (index > entries_.size())
    return hold(
        fmt::format("node {} loads a state at {}, beyond {} (I17)", node, index, entries_.size()));
  ++counts_[Count::restarts_compared];
  compare_state(node, index, engine, "loaded at");
  if (const auto text = engine.audit(); !text.empty())
    hold(fmt::format("node {} loads a state that contradicts itself: {} (I16)", node, text));
}

void History::configured(const log::Configuration& configuration, std::uint64_t index) {
  const auto [it, fresh] = configurations_.emplace(index, configuration);
  if (it->second != configuration)
    return hold(fmt::format("two configurations at entry {}", index));
  if (index < configuration_index_) return;
  configuration_index_ = index;
  configuration_ = configuration;
}

void History::apply_first(std::uint64_t index, std::string_view data) {
  const auto entry = command::decode_entry(data);
  if (!entry) return hold(fmt::format("entry {} cannot be read: {}", index, entry.error().message));
  const auto it = proposed_.find(entry->random);
  if (it == proposed_.end()) return hold(fmt::format("nobody proposed entry {} (I2)", index));
  Proposed& proposed = it->second;
  if (std::exchange(proposed.applied, true))
    return hold(fmt::format("entry {} was applied before (I2)", index));
  if (entry->now < stamped_)
    return hold(fmt::format("log time goes back from {} to {} at entry {} (I13)", stamped_.ms,
                            entry->now.ms, index));
  stamped_ = entry->now;
  ++counts_[Count::entries];
  const engine::Outcome outcome = engine_->apply(*entry);
  if (auto text = ledger_.read(*entry, outcome, *engine_); !text.empty()) return hold(text);
  settle_shares(index, proposed, outcome);
  read_events(outcome, proposed.led_us);  // first: what has ended may begin again in the same entry
  read_leases(*entry, outcome, proposed.led_us);
  if (rng_.percent(10)) check_order(outcome);
  if (rng_.percent(2)) {
    store_.apply(engine_->drain_changes());
    if (auto text = store_.difference(*engine_); !text.empty()) hold(text + " (I17)");
  }
  if (rng_.permille(5)) check_all();
  events_ = outcome.events;
}

void History::settle_shares(std::uint64_t index, Proposed& proposed,
                            const engine::Outcome& outcome) {
  for (Share& share : proposed.shares) {
    Op& op = *share.op;
    if (op.index != 0)
      return hold(fmt::format("call {} was applied at {} and again at {}", op.id, op.index, index));
    if (op.outcome == Outcome::refused)
      return hold(fmt::format("call {} was told that nothing happened, and is applied at {}", op.id,
                              index));
    op.index = index;
    const auto from = outcome.replies.begin() + static_cast<std::ptrdiff_t>(share.first);
    op.replies.assign(from, from + static_cast<std::ptrdiff_t>(share.count));
  }
  proposed.shares.clear();
}

void History::answered(Op& op, Outcome outcome, std::uint64_t index,
                       const std::vector<command::Reply>& replies) {
  if (op.outcome != Outcome::open) return;  // it has given up waiting
  op.outcome = outcome;
  if (outcome == Outcome::unknown) return;
  if (outcome == Outcome::refused) {
    if (op.index != 0)
      hold(fmt::format("call {} is told that nothing happened, but was applied at {}", op.id,
                       op.index));
    return;
  }
  if (op.index == 0 || op.index != index)
    return hold(fmt::format("call {} is acknowledged as entry {}, but was applied at {} (I1)",
                            op.id, index, op.index));
  if (replies != op.replies)
    return hold(fmt::format("call {} is given another reply than entry {} had (I4)", op.id, index));
  acknowledged_ = std::max(acknowledged_, index);
}

void History::shown(const Op& op, std::uint64_t applied) {
  if (applied >= op.floor) return;
  hold(fmt::format("{} read {} through node {} shows entry {}, but {} was acknowledged before",
                   op.kind == OpKind::strong_read ? "strong" : "local", op.id, op.through, applied,
                   op.floor));
}

/// I21 where it can be read off: of a queue without limits the job that stands first is claimed.
void History::check_order(const engine::Outcome& outcome) {
  std::map<std::string, std::pair<std::int32_t, std::uint64_t>> claimed;
  for (const auto& reply : outcome.replies) {
    const auto* got = std::get_if<command::Claimed>(&reply);
    if (got == nullptr) continue;
    for (const auto& job : got->jobs)
      claimed[std::string(job.queue.view())] = {job.priority, job.job.sequence()};
  }
  if (claimed.empty()) return;
  std::set<base::JobId> moved;  // in this very entry
  for (const auto& event : outcome.events) moved.insert(event.job);
  engine_->dump([&](const command::Item& item) {
    const auto* job = std::get_if<model::JobRecord>(&item);
    if (job == nullptr || job->state != model::State::pending || moved.contains(job->id)) return;
    const auto it = claimed.find(std::string(job->spec.queue.view()));
    if (it == claimed.end() || !job->spec.group.empty() || !job->spec.requires_.none()) return;
    if (std::pair(job->spec.priority, job->id.sequence()) < it->second)
      hold(fmt::format("{} was passed over (I21)", sim::show(job->id)));
  });
}

/// I15: a unique key is held by one live job at most.
void History::check_unique() {
  std::set<std::pair<std::string, std::string>> held;
  engine_->dump([&](const command::Item& item) {
    const auto* job = std::get_if<model::JobRecord>(&item);
    if (job == nullptr || !job->holds_unique) return;
    if (model::has_ended(job->state) ||
        !held.emplace(job->spec.queue.view(), job->spec.unique.key.view()).second)
      hold(fmt::format("{} holds a key that is not its own (I15)", sim::show(job->id)));
  });
}

void History::check_all() {
  if (auto text = engine_->audit(); !text.empty()) hold("engine.audit(): " + text + " (I16)");
  if (auto text = ledger_.check_all(*engine_); !text.empty()) hold(text);
  check_unique();
}

}  // namespace jobbie::cluster_sim
