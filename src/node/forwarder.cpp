// Numbers go out with calls, and come back with replies.
#include "node/forwarder.hpp"

#include <algorithm>
#include <utility>

#include "cluster/messages.hpp"

namespace jobbie::node {
namespace {

/// How long a leader may take for a call beyond the time that the call may wait.
constexpr std::int64_t kOverdueUs = 15'000'000;
/// How long a leader that has handed over may take for its last replies.
constexpr std::int64_t kLastRepliesUs = 500'000;

bool is_repeatable(const command::Command& command) {
  if (const auto* ack = std::get_if<command::Ack>(&command)) return ack->ref.lease != 0;
  if (const auto* one = std::get_if<command::Enqueue>(&command))
    return !one->idempotency.key.empty();
  if (const auto* many = std::get_if<command::EnqueueMany>(&command))
    return !many->idempotency.key.empty();
  return std::holds_alternative<command::Claim>(command) ||
         std::holds_alternative<command::Heartbeat>(command) ||
         std::holds_alternative<command::RegisterWorker>(command);
}

}  // namespace

bool is_repeatable(const call::Call& call) {
  return !call.audit && std::all_of(call.commands.begin(), call.commands.end(),
                                    [](const auto& command) { return is_repeatable(command); });
}

bool Forwarder::send(Held& held, std::uint64_t leader, std::int64_t now_us) {
  const base::Duration wait{std::max<std::int64_t>(held.wait_until_us - now_us, 0) / 1000};
  if (!transport_.send(leader, cluster::wire(cluster::Kind::forward),
                       cluster::encode_forward(next_, *held.call, wait)))
    return false;
  away_.emplace(next_++, Away{.held = std::move(held),
                              .node = leader,
                              .overdue_us = now_us + wait.ms * 1000 + kOverdueUs});
  return true;
}

Held Forwarder::take(std::uint64_t number) {
  const auto found = away_.find(number);
  if (found == away_.end()) return {};
  Held held = std::move(found->second.held);
  away_.erase(found);
  return held;
}

template <typename Predicate>
std::vector<Held> Forwarder::take_if(Predicate predicate) {
  std::vector<Held> out;
  for (auto it = away_.begin(); it != away_.end();) {
    if (!predicate(it->second)) {
      ++it;
      continue;
    }
    out.push_back(std::move(it->second.held));
    it = away_.erase(it);
  }
  return out;
}

std::vector<Held> Forwarder::take_all(std::uint64_t node) {
  return take_if([&](const Away& away) { return away.node == node; });
}

std::vector<Held> Forwarder::take_all() {
  return take_if([](const Away&) { return true; });
}

std::vector<Held> Forwarder::take_overdue(std::int64_t now_us) {
  return take_if([&](const Away& away) { return away.overdue_us <= now_us; });
}

std::vector<Held> Forwarder::take_superseded(std::uint64_t leader, std::int64_t now_us) {
  if (leader == 0) return {};
  return take_if([&](Away& away) {
    if (away.node == leader) return false;
    if (away.superseded_us == 0) away.superseded_us = now_us;
    return away.superseded_us + kLastRepliesUs <= now_us;
  });
}

void Forwarder::call_off(bool all) {
  for (auto& [number, away] : away_) {
    const auto& call = *away.held.call;
    if (away.called_off || !(call.has_hung_up() || (all && call.wait.ms > 0))) continue;
    away.called_off = transport_.send(away.node, cluster::wire(cluster::Kind::cancel),
                                      cluster::encode_number(number));
  }
}

}  // namespace jobbie::node
