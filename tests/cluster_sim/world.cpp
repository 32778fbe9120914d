// From the first node to the last job.
#include "tests/cluster_sim/world.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "base/hash.hpp"
#include "tests/cluster_sim/clients.hpp"
#include "tests/cluster_sim/sim_node.hpp"
#include "tests/sim/describe.hpp"

namespace jobbie::cluster_sim {
namespace {

constexpr std::int64_t kSampleUs = 50'000;
/// After everything is well again, a leader has to be there within this time,
constexpr std::int64_t kElectionUs = seconds(20);
/// and every job has to end within this, on top of what leases and backoffs allow at half speed.
constexpr std::int64_t kGraceUs = seconds(60);
constexpr std::uint64_t kClusterId = 77;
constexpr std::uint64_t kFewEntries = 10;
constexpr std::int64_t kQuietUs = seconds(10);

/// Bugs that only a loss of power shows are looked for where the power goes often.
Personality personality_for(Plant plant, Rng& rng) {
  Personality traits = draw_personality(rng);
  const bool by_power = plant != Plant::none && plant <= Plant::snapshot_not_durable;
  if (!by_power && plant != Plant::cut_too_far) return traits;
  traits.founders = 3;
  traits.pace = milliseconds(rng.between(150, 500));
  traits.blackout = plant == Plant::send_before_sync ? 40 : 10;
  traits.power_loss = 10;
  traits.fault_every = seconds(rng.between(1, 3));
  traits.checkpoint_every = seconds(rng.between(2, 8));
  traits.segment_bytes = 64u << 10;
  return traits;
}

}  // namespace

World::World(std::uint64_t seed, const SimOptions& options, Counts& counts_)
    : rng(seed),
      traits(personality_for(options.plant, rng)),
      counts(counts_),
      history(counts_, rng.next()),
      options_(options) {}

World::~World() = default;

void World::event(std::string_view what, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  trace_hash_ = base::hash_combine(trace_hash_, base::hash_bytes(what));
  trace_hash_ = base::hash_combine(trace_hash_, static_cast<std::uint64_t>(now()));
  trace_hash_ = base::hash_combine(base::hash_combine(trace_hash_, a), base::hash_combine(b, c));
  if (options_.trace)
    fmt::print("{:10.4f} {} {} {} {}\n", static_cast<double>(now()) / 1e6, what, a, b, c);
}

SimNode* World::node(NodeId id) {
  for (const auto& node : nodes_)
    if (node->id() == id) return node.get();
  return nullptr;
}

SimNode* World::leader() {
  SimNode* best = nullptr;
  for (const auto& node : nodes_)
    if (node->leads() && (best == nullptr || node->log().term() > best->log().term()))
      best = node.get();
  return best;
}

SimNode* World::some_node() {
  const auto candidates = running();
  return candidates.empty() ? nullptr : candidates[rng.below(candidates.size())];
}

std::vector<SimNode*> World::running() {
  std::vector<SimNode*> found;
  for (const auto& node : nodes_)
    if (node->up()) found.push_back(node.get());
  return found;
}

SimNode& World::add_node(const log::Configuration& founders, std::uint64_t index) {
  nodes_.push_back(std::make_unique<SimNode>(*this, next_node_++, founders, index));
  return *nodes_.back();
}

void World::begin() {
  log::Configuration founders;
  founders.cluster_id = kClusterId;
  for (NodeId id = 1; id <= traits.founders; ++id)
    founders.members.push_back({.id = id,
                                .name = fmt::format("n{}", id),
                                .address = fmt::format("10.0.0.{}:9400", id),
                                .http = {},
                                .voter = true});
  history.configured(founders, log::kBootstrap.index);
  for (NodeId id = 1; id <= traits.founders; ++id) add_node(founders, 0).start();
  sample_leader();
  std::uint32_t number = 0;
  const auto add = [&](std::unique_ptr<Client> client) {
    clients_.push_back(std::move(client));
    clients_.back()->begin();
  };
  for (std::uint32_t i = 0; i < traits.managers; ++i) add(make_manager(*this, number++));
  for (std::uint32_t i = 0; i < traits.producers; ++i) add(make_producer(*this, number++));
  for (std::uint32_t i = 0; i < traits.workers; ++i) add(make_worker(*this, number++));
  add(make_reader(*this, number));
  next_fault();
  if (traits.member_change_every != 0) next_change();
}

/// Counts the time with a leader, whatever that leader can do.
void World::sample_leader() {
  const bool led = std::ranges::any_of(nodes_, [](const auto& node) { return node->leads(); });
  if (led) led_us_ += kSampleUs;
  after(kSampleUs, [this] { sample_leader(); });
}

bool World::run_until(std::int64_t until) {
  while (history.violation().empty() && scheduler_.step(until)) {
  }
  return history.violation().empty();
}

SimResult World::run() {
  begin();
  if (run_until(seconds(static_cast<std::int64_t>(options_.minutes) * 60))) heal();
  if (!history.violation().empty()) event("violation");
  return {history.violation(), now(), trace_hash_};
}

/// All faults end, all nodes come back, clients are honest: the cluster must recover (I10).
void World::heal() {
  event("heal");
  healing_ = true;
  healed_at_ = now();
  mend_links();
  traits.drop = traits.twice = 0;
  traits.job_lease = seconds(4);
  for (const auto& node : nodes_) {
    node->slow_disk(0);
    node->set_disk_space(false);
    node->start();
  }
  const std::int64_t longest = kLongestLeaseUs + kLongestBackoffUs;
  const std::int64_t give_up = now() + kElectionUs + 2 * longest + kGraceUs;
  std::int64_t leader_by = now() + kElectionUs;
  bool settled = false;
  while (now() < give_up) {
    if (!run_until(now() + seconds(1))) return;
    if (SimNode* leading = leader(); leading != nullptr && lost_ != 0) replace_lost(*leading);
    for (const auto& node : nodes_) {
      node->start();  // those that died of a planned fault
      // One that was stopped, or waits for its disk, since before can still not vote.
      if (node->stopped()) leader_by = now() + kElectionUs;
    }
    if (now() > leader_by && leader() == nullptr)
      return history.hold(fmt::format("no leader {} s after all faults ended (I10)",
                                      (now() - healed_at_) / 1'000'000));
    settled = unfinished().empty();
    if (settled) break;
  }
  if (!settled)
    return history.hold(fmt::format("{} s after all faults ended: {} (I10)",
                                    (now() - healed_at_) / 1'000'000, unfinished()));
  check_convergence();
}

/// A member that does not run, or is more than so many entries behind.
std::string World::lagging(std::uint64_t entries) {
  for (const auto& node : nodes_) {
    const auto* member = history.configuration().find(node->id());
    if (member == nullptr || node->gone()) continue;
    if (!node->up()) return fmt::format("node {} is down", node->id());
    if (node->applied() + entries < history.last())
      return fmt::format("node {} has applied {} of {}", node->id(), node->applied(),
                         history.last());
  }
  return {};
}

std::string World::unfinished() {
  if (auto text = lagging(kFewEntries); !text.empty()) return text;
  if (lost_ != 0) return "a node that lost its disk is still a member";
  const std::size_t live = history.engine().live_jobs();
  if (live == 0) return {};
  std::string first;
  history.engine().dump([&](const command::Item& item) {
    const auto* job = std::get_if<model::JobRecord>(&item);
    if (first.empty() && job != nullptr) first = sim::show(*job);
  });
  return fmt::format("{} jobs have not ended, {}", live, first);
}

void World::check_convergence() {
  over_ = true;
  const std::int64_t until = now() + kQuietUs;
  while (!lagging(0).empty() && now() < until)
    if (!run_until(now() + milliseconds(100))) return;
  if (auto text = lagging(0); !text.empty()) return history.hold(text + " at rest (I10)");
  for (const auto& node : nodes_) {
    if (history.configuration().find(node->id()) == nullptr || node->gone()) continue;
    if (node->engine().state_hash() != history.state_hash())
      history.hold(fmt::format("node {} ends in another state (I4)", node->id()));
    if (auto text = node->engine().audit(); !text.empty())
      history.hold(fmt::format("node {}: {} (I16)", node->id(), text));
  }
  history.check_all();
}

SimResult simulate(std::uint64_t seed, const SimOptions& options, Counts& counts) {
  return std::make_unique<World>(seed, options, counts)->run();
}

}  // namespace jobbie::cluster_sim
