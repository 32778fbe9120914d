// One change at a time: whatever cannot be done now is tried again at the next upkeep.
#include "node/membership.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cluster/messages.hpp"

namespace jobbie::node {
namespace {

using call::ClusterAction;
using call::ClusterAnswer;

/// A learner that lacks no more than this many entries has caught up.
constexpr std::uint64_t kNearlyThere = 200;
constexpr std::int64_t kChangeUs = 15'000'000;
/// Who seems to be away may only be connecting anew, as nodes do that have just become members.
constexpr std::int64_t kReconnectUs = 1'000'000;
/// Somebody who is no member and has been silent for so long needs no connection.
constexpr std::int64_t kStrangerUs = 30'000'000;

const char* name_of(std::uint32_t replication) {
  constexpr const char* kNames[] = {"probe", "replicate", "snapshot"};
  return replication < std::size(kNames) ? kNames[replication] : nullptr;
}

}  // namespace

Membership::Membership(Context context)
    : log_(context.log),
      transport_(context.transport),
      journal_(context.journal),
      self_(std::move(context.self)) {}

void Membership::announce(std::vector<std::string> addresses) {
  announced_ = std::move(addresses);
  dial();
}

void Membership::note(const peer::Hello& hello, std::int64_t now_us) {
  hellos_[hello.node_id] = hello;
  dial();
  const auto& configuration = log_.configuration();
  if (hello.has_log && hello.cluster_id == configuration.cluster_id &&
      configuration.find(hello.node_id) == nullptr)
    tell_of_removal(hello.node_id, now_us);
}

void Membership::link(std::uint64_t node, bool up) {
  if (up)
    links_.insert(node);
  else
    links_.erase(node);
}

void Membership::configured() { dial(); }

/// Members where they were heard of last, those that were announced or invited, and those who have
/// to be told something.
void Membership::dial() {
  std::set<std::string> addresses(announced_.begin(), announced_.end());
  addresses.insert(invited_.begin(), invited_.end());
  for (const auto& [id, heard_us] : strangers_) addresses.insert(hellos_.at(id).address);
  for (const auto& member : log_.configuration().members) {
    if (member.id == log_.node_id()) continue;
    const auto heard = hellos_.find(member.id);
    const auto& address = heard != hellos_.end() ? heard->second.address : member.address;
    if (!address.empty()) addresses.insert(address);
  }
  std::vector<std::string> all(addresses.begin(), addresses.end());
  if (all == dialled_) return;
  dialled_ = all;
  transport_.dial(std::move(all));
}

void Membership::propose(const log::Change& change) {
  const auto proposed = log_.propose_change(change);
  if (journal_ == nullptr) return;
  if (proposed)
    journal_->write(base::Level::info, "cluster_change",
                    {{"kind", std::uint64_t{static_cast<std::uint8_t>(change.kind)}},
                     {"node", std::string_view(change.member.name)},
                     {"index", *proposed}});
  else if (proposed.error().code != log::kChangePending)
    journal_->write(base::Level::warning, "cluster_change_refused",
                    {{"node", std::string_view(change.member.name)},
                     {"code", std::string_view(proposed.error().code)},
                     {"message", std::string_view(proposed.error().message)}});
}

void Membership::join(const log::Member& member) {
  if (!log_.leader()) {
    transport_.send(log_.leader_id(), cluster::wire(cluster::Kind::join),
                    cluster::encode_member(member));
    return;
  }
  const auto& configuration = log_.configuration();
  if (configuration.find(member.id) != nullptr) {
    transport_.send(member.id, cluster::wire(cluster::Kind::welcome),
                    cluster::encode(cluster::Welcome{.index = log_.configuration_index(),
                                                     .configuration = configuration}));
    return;
  }
  if (const auto* namesake = configuration.find_name(member.name)) {
    if (namesake->id == log_.node_id() || linked(namesake->id)) {
      if (journal_ != nullptr)
        journal_->write(base::Level::warning, "join_refused",
                        {{"node", std::string_view(member.name)},
                         {"address", std::string_view(member.address)},
                         {"message", std::string_view("another node of that name is here")}});
      return;
    }
    // It has lost its disk: what it was is gone for good.
    return propose({.kind = log::Change::Kind::remove, .member = *namesake});
  }
  log::Member learner = member;
  learner.voter = false;
  propose({.kind = log::Change::Kind::add_learner, .member = learner});
}

void Membership::tell_of_removal(std::uint64_t node, std::int64_t now_us) {
  if (!hellos_.contains(node)) return;
  if (strangers_.insert_or_assign(node, now_us).second) dial();
  transport_.send(node, cluster::wire(cluster::Kind::welcome),
                  cluster::encode(cluster::Welcome{.index = log_.configuration_index(),
                                                   .configuration = log_.configuration()}));
}

void Membership::ask(const call::ClusterChange& change, std::int64_t now_us, Answer answer) {
  requests_.push_back({.change = change, .answer = std::move(answer), .asked_us = now_us});
  if (further(requests_.back(), now_us) == Progress::done) requests_.pop_back();
}

void Membership::give_up(const std::string& code, const std::string& message) {
  for (auto& request : std::exchange(requests_, {})) request.answer({code, message});
}

void Membership::upkeep(std::int64_t now_us, bool leads) {
  std::erase_if(requests_, [&](Request& request) {
    if (further(request, now_us) == Progress::done) return true;
    if (request.asked_us + kChangeUs > now_us) return false;
    if (request.change.action == ClusterAction::add && !is_heard_of(request.change.target)) {
      invited_.erase(request.change.target);
      dial();
      request.answer({"not_connected",
                      fmt::format("No node answers at {}. Start it with --cluster and the secret "
                                  "of this one, and add it again.",
                                  request.change.target)});
      return true;
    }
    request.answer(
        {"timeout", "This was begun and is not done yet; look at the cluster's status."});
    return true;
  });
  if (std::erase_if(strangers_,
                    [&](const auto& each) { return each.second + kStrangerUs < now_us; }) > 0)
    dial();
  if (!leads) return;
  promote_learners();
  update_addresses();
}

Membership::Progress Membership::further(Request& request, std::int64_t now_us) {
  switch (request.change.action) {
    case ClusterAction::transfer:
      return transfer(request);
    case ClusterAction::remove:
      return remove(request, now_us);
    case ClusterAction::add:
      return add(request);
    case ClusterAction::snapshot:
      break;  // the driver's
  }
  request.answer({"not_supported", "This node cannot do that."});
  return Progress::done;
}

std::vector<std::uint64_t> Membership::heirs() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
  for (const auto& member : log_.configuration().members) {
    if (member.id == log_.node_id() || !member.voter || !linked(member.id)) continue;
    if (const auto progress = log_.progress(member.id))
      found.emplace_back(progress->matched, member.id);
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::uint64_t> out;
  for (const auto& [matched, id] : found) out.push_back(id);
  return out;
}

Membership::Progress Membership::transfer(Request& request) {
  const auto done = [&](ClusterAnswer answer) {
    request.answer(std::move(answer));
    return Progress::done;
  };
  const auto& target = request.change.target;
  if (!log_.leader()) return done({});
  const log::Member* to = log_.configuration().find_name(target);
  if (target.empty()) {
    const auto candidates = heirs();
    if (candidates.empty()) return done({"no_heir", "No other voter is connected."});
    to = log_.configuration().find(candidates.front());
  }
  if (to == nullptr)
    return done({"not_found", fmt::format("There is no node called \"{}\".", target)});
  if (to->id == log_.node_id()) return done({});
  if (!to->voter) return done({"not_a_voter", fmt::format("{} is still catching up.", to->name)});
  if (!linked(to->id)) return done({"not_connected", fmt::format("{} is away.", to->name)});
  if (!log_.transferring()) static_cast<void>(log_.transfer(to->id));
  return Progress::goes_on;
}

/// An empty code: a majority is left, before and after.
ClusterAnswer Membership::quorum_without(const log::Member& member) const {
  std::size_t alive = 0;
  std::size_t voters = 0;
  bool target_is_alive = false;
  // Both ways, and heard of by all who are told: of a node that has gone, one of these may be
  // noticed before the others.
  for (const auto& other : rows()) {
    if (!other.voter) continue;
    ++voters;
    const bool here = other.self || (other.connected && linked(other.id));
    alive += here ? 1 : 0;
    if (other.id == member.id) target_is_alive = here;
  }
  if (!member.voter) return {};
  const auto left = voters - 1;
  const auto alive_left = alive - (target_is_alive ? 1 : 0);
  if (left == 0) return {"last_node", "It is the only voter there is."};
  if (alive_left * 2 > left) return {};
  return {"would_lose_quorum",
          fmt::format("Without {} there would be {} voters, of which {} can be reached: no "
                      "majority. Bring the others back first.",
                      member.name, left, alive_left)};
}

Membership::Progress Membership::remove(Request& request, std::int64_t now_us) {
  const auto done = [&](ClusterAnswer answer) {
    request.answer(std::move(answer));
    return Progress::done;
  };
  if (!log_.leader()) return done({"not_leader", "Another node leads now."});
  const auto* member = log_.configuration().find_name(request.change.target);
  if (member == nullptr) {
    if (request.begun) return done({});
    return done(
        {"not_found", fmt::format("There is no node called \"{}\".", request.change.target)});
  }
  if (!request.begun)
    if (auto refusal = quorum_without(*member); !refusal.code.empty()) {
      if (request.asked_us + kReconnectUs > now_us) return Progress::goes_on;
      return done(std::move(refusal));
    }
  request.begun = true;
  if (member->id == log_.node_id()) {
    // Somebody else has to do it: when leadership has moved, the question goes there.
    const auto candidates = heirs();
    if (candidates.empty()) return done({"no_heir", "No other voter is connected."});
    if (!log_.transferring()) static_cast<void>(log_.transfer(candidates.front()));
    return Progress::goes_on;
  }
  propose({.kind = log::Change::Kind::remove, .member = *member});
  return Progress::goes_on;
}

bool Membership::is_heard_of(const std::string& address) const {
  return std::any_of(hellos_.begin(), hellos_.end(), [&](const auto& each) {
    return each.second.address == address && linked(each.first);
  });
}

Membership::Progress Membership::add(Request& request) {
  const auto& address = request.change.target;
  for (const auto& member : log_.configuration().members) {
    if (member.address != address) continue;
    invited_.erase(address);
    request.answer({});
    return Progress::done;
  }
  if (invited_.insert(address).second) dial();
  for (const auto& [id, hello] : hellos_)
    if (hello.address == address && !hello.has_log && linked(id))
      transport_.send(id, cluster::wire(cluster::Kind::invite),
                      cluster::encode_number(log_.configuration().cluster_id));
  return Progress::goes_on;
}

void Membership::promote_learners() {
  for (const auto& member : log_.configuration().members) {
    if (member.voter) continue;
    const auto progress = log_.progress(member.id);
    if (!progress || !progress->recently_active || progress->state != 1 ||
        progress->matched + kNearlyThere < log_.commit_index())
      continue;
    return propose({.kind = log::Change::Kind::promote, .member = member});
  }
}

void Membership::update_addresses() {
  for (const auto& member : log_.configuration().members) {
    const auto heard = hellos_.find(member.id);
    const peer::Hello* hello = member.id == log_.node_id() ? &self_
                               : heard != hellos_.end()    ? &heard->second
                                                           : nullptr;
    if (hello == nullptr || (hello->name == member.name && hello->address == member.address &&
                             hello->http == member.http))
      continue;
    log::Member changed = member;
    changed.name = hello->name;
    changed.address = hello->address;
    changed.http = hello->http;
    const auto* namesake = log_.configuration().find_name(changed.name);
    if (namesake != nullptr && namesake->id != member.id) changed.name = member.name;
    if (changed == member) continue;
    return propose({.kind = log::Change::Kind::update, .member = changed});
  }
}

std::vector<call::NodeRow> Membership::rows() const {
  std::map<std::uint64_t, peer::Status> links;
  for (auto& status : transport_.status()) {
    if (status.node_id == 0) continue;
    // A node that has moved is still dialled where it was.
    auto& link = links[status.node_id];
    if (!link.outgoing) link = std::move(status);
  }
  std::vector<call::NodeRow> rows;
  for (const auto& member : log_.configuration().members) {
    // Told of its removal, a node still has the configuration from before.
    if (member.id == log_.node_id() && log_.removed()) continue;
    call::NodeRow row{.id = member.id,
                      .name = member.name,
                      .address = member.address,
                      .http = member.http,
                      .voter = member.voter,
                      .leader = member.id == log_.leader_id(),
                      .self = member.id == log_.node_id()};
    row.connected = row.self;
    if (const auto link = links.find(member.id); link != links.end() && !row.self) {
      row.connected = link->second.outgoing && link->second.incoming;
      row.round_trip_us = link->second.round_trip_us;
      row.since = link->second.since;
      row.last_error = link->second.last_error;
    }
    if (row.self) {
      row.matched_index = log_.last_index();
    } else if (const auto progress = log_.progress(member.id)) {
      row.matched_index = progress->matched;
      row.replication = name_of(progress->state);
    }
    rows.push_back(std::move(row));
  }
  std::ranges::sort(rows, {}, &call::NodeRow::name);
  return rows;
}

}  // namespace jobbie::node
