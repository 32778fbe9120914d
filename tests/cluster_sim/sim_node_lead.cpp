// Calls: on their way to the leader, in an entry, and back. What only a leader does.
#include <algorithm>
#include <utility>

#include "command/codec.hpp"
#include "tests/cluster_sim/sim_node.hpp"
#include "tests/cluster_sim/world.hpp"

namespace jobbie::cluster_sim {
namespace {

constexpr std::int64_t kPatienceUs = 1'000'000;  ///< of a call while no leader is known
constexpr std::size_t kCallsPerEntry = 6;
constexpr std::int64_t kSilenceUs = 300'000;

}  // namespace

/// Whether something was proposed that has to be pumped.
bool SimNode::duties() {
  if (!log_->leader()) {
    if (std::exchange(lead_term_, 0) != 0) {
      world_.event("deposed", id_);
      log_clock_.reset();
      tick_proposed_ = false;
      if (world_.plants(Plant::nothing_happened))
        for (auto& [key, proposal] : std::exchange(proposals_, {}))
          for (Call& call : proposal.calls) reply(std::move(call), Outcome::refused);
    }
    forward_backlog();
    return false;
  }
  if (lead_term_ != log_->term()) {
    world_.history.leads(id_, log_->term());
    // Until an entry of its own term is applied, a leader does not know all that was committed.
    if (applied_term_ != log_->term() && !world_.plants(Plant::no_barrier)) return false;
    return begin_lead();
  }
  hear_of_leader();
  return propose_due();
}

bool SimNode::begin_lead() {
  tick_proposed_ = false;
  const bool careless = world_.plants(Plant::time_from_wall);
  log_clock_.emplace(*this, careless ? base::Instant{} : engine_->now());
  const base::Instant now = log_clock_->now();
  command::Entry entry{.now = now, .random = world_.rng.next()};
  if (careless || world_.plants(Plant::no_resume))
    entry.commands.emplace_back(command::Tick{});
  else
    entry.commands.emplace_back(command::Resume{.lost = lost_time(now)});
  if (!propose(std::move(entry), {}, false)) return false;
  lead_term_ = log_->term();
  world_.event("leads", id_, lead_term_, applied_);
  return true;
}

/// A leader is heard of many times a second. After a longer silence, in which this node itself may
/// have been stopped, nobody knows whether somebody led: what was said long ago is read only now.
void SimNode::hear_of_leader() {
  const std::int64_t now = steady_us();
  led_us_ += std::min(now - heard_us_, kSilenceUs);
  heard_us_ = now;
}

/// How much of the time since the latest entry nobody has led, as far as this node knows.
base::Duration SimNode::lost_time(base::Instant now) const {
  const std::int64_t passed = std::max<std::int64_t>((now - engine_->now()).ms, 0);
  return {std::max<std::int64_t>(passed - led_us_ / 1000, 0)};
}

bool SimNode::propose_due() {
  const base::Instant now = log_clock_->now();
  const bool due = !tick_proposed_ && engine_->next_deadline() <= now;
  if (!due && backlog_.empty()) return false;
  command::Entry entry{.now = now, .random = world_.rng.next()};
  if (due) entry.commands.emplace_back(command::Tick{});
  std::vector<Call> calls;
  while (!backlog_.empty() && calls.size() < kCallsPerEntry) {
    const auto& commands = backlog_.front().op->commands;
    entry.commands.insert(entry.commands.end(), commands.begin(), commands.end());
    calls.push_back(std::move(backlog_.front()));
    backlog_.pop_front();
  }
  return propose(std::move(entry), std::move(calls), due);
}

bool SimNode::propose(command::Entry entry, std::vector<Call> calls, bool tick) {
  std::string bytes;
  command::encode(entry, bytes);
  const auto index = log_->propose(bytes);
  if (!index) {
    if (index.error().code == log::kLogBusy && !calls.empty()) {
      for (auto it = calls.rbegin(); it != calls.rend(); ++it) backlog_.push_front(std::move(*it));
      return true;
    }
    for (Call& call : calls) reply(std::move(call), Outcome::refused);
    return false;
  }
  Proposal proposal{.index = *index, .term = log_->term(), .tick = tick};
  std::vector<Share> shares;
  std::size_t first = entry.commands.size();
  for (const Call& call : calls) first -= call.op->commands.size();
  for (const Call& call : calls) {
    shares.push_back({call.op, first, call.op->commands.size()});
    proposal.shares.emplace_back(first, call.op->commands.size());
    first += call.op->commands.size();
  }
  proposal.calls = std::move(calls);
  world_.history.proposed(entry, std::move(shares), world_.led_us());
  tick_proposed_ = tick_proposed_ || tick;
  if (world_.plants(Plant::answered_too_early))
    for (const Call& call : proposal.calls) reply(call, Outcome::ok, *index);
  proposals_.emplace(std::pair(proposal.index, proposal.term), std::move(proposal));
  return true;
}

/// An entry is ours if index and term are those that we proposed. If another one stands in its
/// place, nothing has come of ours and never will.
void SimNode::settle(const log::Committed& committed, const std::vector<command::Reply>& replies) {
  auto it = proposals_.lower_bound({committed.index, 0});
  while (it != proposals_.end() && it->first.first == committed.index) {
    Proposal& proposal = it->second;
    const bool ours = proposal.term == committed.term || world_.plants(Plant::ours_by_index);
    if (proposal.tick) tick_proposed_ = false;
    if (!ours) ++world_.counts[Count::overwritten];
    for (std::size_t i = 0; i < proposal.calls.size(); ++i) {
      Answer answer{.call = std::move(proposal.calls[i]),
                    .outcome = ours ? Outcome::ok : Outcome::refused,
                    .index = ours ? committed.index : 0};
      const auto [first, count] = proposal.shares[i];
      if (ours && first + count <= replies.size())
        answer.replies.assign(replies.begin() + static_cast<std::ptrdiff_t>(first),
                              replies.begin() + static_cast<std::ptrdiff_t>(first + count));
      answers_.push_back(std::move(answer));
    }
    it = proposals_.erase(it);
  }
}

void SimNode::call(Call call) {
  input([this, call = std::move(call)]() mutable {
    call.since_us = world_.now();
    if (call.op->kind != OpKind::write) {
      read(std::move(call));
    } else if (call.origin != id_ && !log_->leader()) {
      reply(std::move(call), Outcome::refused);
    } else {
      backlog_.push_back(std::move(call));
    }
    turn();
  });
}

void SimNode::forward_backlog() {
  const NodeId leader = log_->leader_id();
  std::deque<Call> kept;
  for (Call& call : std::exchange(backlog_, {})) {
    if (call.origin != id_) {
      reply(std::move(call), Outcome::refused);
    } else if (leader == 0 || leader == id_) {
      kept.push_back(std::move(call));
    } else {
      // If it does not arrive, the caller hears nothing and gives up: the outcome is not known.
      ++world_.counts[Count::forwarded];
      world_.send(id_, leader, 0, false, [call](SimNode& to) { to.call(call); });
    }
  }
  backlog_ = std::move(kept);
}

void SimNode::reply(Call call, Outcome outcome, std::uint64_t index,
                    std::vector<command::Reply> replies) {
  if (call.origin == id_) {
    if (outcome == Outcome::ok) call_answered(index);
    return world_.answer(call.op, outcome, index, replies);
  }
  world_.send(
      id_, call.origin, 0, false,
      [op = call.op, outcome, index, replies = std::move(replies), &world = world_](SimNode& to) {
        if (outcome == Outcome::ok) to.call_answered(index);
        world.answer(op, outcome, index, replies);
      });
}

void SimNode::call_answered(std::uint64_t index) { seen_ = std::max(seen_, index); }

/// Calls that wait for a leader, and reads whose question was lost, do not wait for ever.
void SimNode::expire_calls() {
  const std::int64_t since = world_.now() - kPatienceUs;
  const auto expired = [&](const Call& call) { return call.since_us < since; };
  if (!log_->leader() || lead_term_ == 0) {
    std::deque<Call> kept;
    for (Call& call : std::exchange(backlog_, {})) {
      if (expired(call))
        reply(std::move(call), Outcome::refused);
      else
        kept.push_back(std::move(call));
    }
    backlog_ = std::move(kept);
  }
  for (auto it = strong_reads_.begin(); it != strong_reads_.end();) {
    if (!expired(it->second)) {
      ++it;
      continue;
    }
    world_.answer(it->second.op, Outcome::unknown);
    it = strong_reads_.erase(it);
  }
}

void SimNode::read(Call call) {
  const bool strong = call.op->kind == OpKind::strong_read;
  if (strong && !world_.plants(Plant::stale_read)) {
    const std::uint64_t context = call.op->id;
    strong_reads_.emplace(context, std::move(call));
    return log_->read_index(context);
  }
  const bool waits = !strong && !world_.plants(Plant::own_write_unseen);
  waiting_reads_.emplace_back(waits ? seen_ : 0, std::move(call));
}

void SimNode::answer_reads() {
  for (auto& [index, call] : std::exchange(waiting_reads_, {})) {
    if (index > applied_) {
      waiting_reads_.emplace_back(index, std::move(call));
      continue;
    }
    world_.event("read", id_, call.op->id, applied_);
    world_.history.shown(*call.op, applied_);
    world_.answer(call.op, Outcome::ok);
  }
}

}  // namespace jobbie::cluster_sim
