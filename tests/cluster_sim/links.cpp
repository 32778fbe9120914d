// Links between nodes, and calls between clients and nodes.
#include <algorithm>
#include <utility>

#include "tests/cluster_sim/clients.hpp"
#include "tests/cluster_sim/sim_node.hpp"
#include "tests/cluster_sim/world.hpp"

namespace jobbie::cluster_sim {
namespace {

/// A client gives up waiting after this: the outcome is not known.
constexpr std::int64_t kCallUs = 6'000'000;

}  // namespace

/// Datagrams are messages of the consensus: they may get lost, doubled, late and out of order. The
/// rest stands for connections: it arrives in one piece or not at all.
bool World::send(NodeId from, NodeId to, std::int64_t held_us, bool datagram,
                 std::function<void(SimNode&)> arrive) {
  ++counts[Count::messages];
  if (is_cut(from, to)) return false;
  if (rng.permille(traits.drop)) {
    ++counts[Count::lost_messages];
    return false;
  }
  const auto deliver = [this, from, to, arrive = std::move(arrive)] {
    SimNode* node = this->node(to);
    if (node == nullptr || !node->up() || is_cut(from, to)) return;
    arrive(*node);
  };
  const auto delay_of = [&](NodeId id) {
    const auto it = slow_.find(id);
    return it == slow_.end() ? 0 : rng.between(0, it->second);
  };
  const auto travel = [&] {
    const std::int64_t jitter = rng.percent(3) ? 10 : 1;
    return held_us + traits.link_delay / 4 + rng.between(0, traits.link_delay * jitter) +
           delay_of(from) + delay_of(to);
  };
  std::int64_t delay = travel();
  if (traits.in_order || !datagram) {
    auto& last = last_arrival_[{from, to}];
    last = std::max(last + 1, now() + delay);
    delay = last - now();
  }
  after(delay, deliver);
  if (datagram && rng.permille(traits.twice)) {
    ++counts[Count::doubled_messages];
    after(travel() * 3, deliver);
  }
  return true;
}

void World::mend_links() {
  cuts_.clear();
  slow_.clear();
}

OpPointer World::invoke(std::uint32_t client, OpKind kind, std::vector<command::Command> commands) {
  auto op = std::make_shared<Op>();
  op->id = next_op_++;
  op->client = client;
  op->kind = kind;
  op->commands = std::move(commands);
  SimNode* node = some_node();
  if (node == nullptr) {
    after(milliseconds(1), [this, op] { answer(op, Outcome::refused); });
    return op;
  }
  op->through = node->id();
  if (kind == OpKind::strong_read) op->floor = history.acknowledged();
  if (kind == OpKind::local_read) op->floor = node->seen();
  event("call", op->id, client, node->id());
  after(rng.between(50, 2000), [this, op] {
    SimNode* called = this->node(op->through);
    if (!called->up()) return answer(op, Outcome::refused);
    if (op->kind == OpKind::local_read) op->floor = called->seen();
    called->call({.op = op, .origin = called->id()});
  });
  after(kCallUs, [this, op] { answer(op, Outcome::unknown); });
  return op;
}

void World::answer(const OpPointer& op, Outcome outcome, std::uint64_t index,
                   const std::vector<command::Reply>& replies) {
  if (op->outcome != Outcome::open) return;
  event("answer", op->id, static_cast<std::uint64_t>(outcome), index);
  if (op->kind == OpKind::write) {
    history.answered(*op, outcome, index, replies);
    ++counts[outcome == Outcome::ok        ? Count::calls_ok
             : outcome == Outcome::refused ? Count::calls_refused
                                           : Count::calls_unknown];
  } else {
    op->outcome = outcome;
    if (outcome == Outcome::ok)
      ++counts[op->kind == OpKind::strong_read ? Count::strong_reads : Count::local_reads];
  }
  // The client hears of it a moment later, when whoever answered is done.
  after(rng.between(50, 1000), [this, op] { clients_[op->client]->answered(*op); });
}

}  // namespace jobbie::cluster_sim
