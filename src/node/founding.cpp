// A node without a log: it looks for others, until it founds a cluster with them or is taken in.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cluster/forming.hpp"
#include "cluster/messages.hpp"
#include "node/deliver.hpp"
#include "node/discovery.hpp"
#include "node/driver.hpp"
#include "node/node.hpp"

namespace jobbie::node {
namespace {

using cluster::Kind;

constexpr std::int64_t kLookUs = 100'000;
constexpr std::int64_t kStepUs = 300'000;
constexpr std::int64_t kReportUs = 10'000'000;

/// How many of the addresses lead to nobody yet. One node may have several.
std::size_t count_away(const std::vector<std::string>& addresses,
                       const peer::Transport& transport) {
  const auto links = transport.status();
  std::set<std::uint64_t> reached;
  for (const auto& link : links)
    if (link.outgoing) reached.insert(link.node_id);
  std::set<std::string> away(addresses.begin(), addresses.end());
  for (const auto& link : links)
    if (link.is_self || reached.contains(link.node_id)) away.erase(link.address);
  return away.size();
}

}  // namespace

struct Node::Founding {
  peer::Hello self;
  cluster::Forming forming;
  std::optional<cluster::Welcome> begins_with;
  std::map<std::uint64_t, std::string> addresses;  ///< of whoever has introduced itself
  std::set<std::string> inviters;                  ///< to be dialled: one cannot answer otherwise
  base::Instant since{0};
  std::int64_t next_step_us = 0;
  std::int64_t next_report_us = 0;
};

base::Result<void> Node::form() {
  const auto self = self_;
  Founding founding{.self = self,
                    .forming = cluster::Forming(self, draw_id()),
                    .begins_with = {},
                    .addresses = {},
                    .inviters = {},
                    .since = base::Instant{options_.clock->wall_us() / 1000}};
  while (!stopping_.load(std::memory_order_relaxed) && !founding.begins_with) {
    intake_.take(items_, kLookUs);
    mailbox_.take(mail_);
    refuse_items(founding);
    take_letters(founding);
    further(founding);
    may_stop_ = true;
  }
  if (!founding.begins_with) return {};
  may_stop_ = false;
  if (auto opened = open_driver({.node_id = self.node_id,
                                 .founders = founding.begins_with->configuration,
                                 .founders_index = founding.begins_with->index});
      !opened)
    return opened;
  const auto known = hello(self.node_id, driver_->configuration().cluster_id);
  transport_->introduce(known);
  driver_->connect(*transport_, known);
  driver_->announce(options_.cluster->peers);
  ready_ = !draining_;
  if (options_.journal != nullptr)
    options_.journal->write(
        base::Level::info, "member",
        {{"node", std::string_view(options_.name)},
         {"id", self.node_id},
         {"cluster", driver_->configuration().cluster_id},
         {"nodes", std::uint64_t{founding.begins_with->configuration.members.size()}}});
  return {};
}

/// Nothing can be done yet, but how it stands can be told.
void Node::refuse_items(const Founding& founding) {
  for (auto& item : std::exchange(items_, {})) {
    if (!std::holds_alternative<call::StatusQuery>(item.call->query)) {
      refuse(std::move(item.call), call::Trouble::no_leader);
      continue;
    }
    call::NodeStatus status;
    status.node_id = founding.self.node_id;
    status.name = options_.name;
    status.role = "forming";
    status.now = base::Instant{options_.clock->wall_us() / 1000};
    status.started_at = founding.since;
    item.call->answer = std::move(status);
    deliver(std::move(item.call));
  }
}

void Node::take_letters(Founding& founding) {
  for (const auto& letter : mail_) {
    if (const auto* hello = std::get_if<peer::Hello>(&letter)) {
      founding.forming.note(*hello);
      founding.addresses[hello->node_id] = hello->address;
    } else if (const auto* link = std::get_if<Link>(&letter)) {
      if (link->up)
        founding.forming.connected(link->node);
      else
        founding.forming.lost(link->node);
    } else if (const auto* frame = std::get_if<Frame>(&letter)) {
      take_frame(founding, *frame);
    } else if (const auto* incoming = std::get_if<peer::Incoming>(&letter)) {
      transport_->finish(incoming->token, false);
    }
  }
  mail_.clear();
}

void Node::take_frame(Founding& founding, const Frame& frame) {
  const auto kind = static_cast<Kind>(frame.kind);
  if (kind == Kind::found) {
    auto configuration = log::decode_configuration(frame.bytes);
    if (configuration && founding.forming.accepts(frame.from, *configuration))
      founding.begins_with = {.index = 0, .configuration = *std::move(configuration)};
  } else if (kind == Kind::welcome) {
    auto welcome = cluster::decode_welcome(frame.bytes);
    if (welcome && welcome->configuration.find(founding.self.node_id) != nullptr)
      founding.begins_with = *std::move(welcome);
  } else if (kind == Kind::founded) {
    if (founding.forming.begun(frame.from))
      founding.begins_with = {.index = 0, .configuration = founding.forming.founders()};
  } else if (kind == Kind::invite) {
    if (const auto found = founding.addresses.find(frame.from); found != founding.addresses.end())
      founding.inviters.insert(found->second);
    transport_->send(frame.from, wire(Kind::join),
                     cluster::encode_member({.id = founding.self.node_id,
                                             .name = founding.self.name,
                                             .address = founding.self.address,
                                             .http = founding.self.http,
                                             .voter = false}));
  }
}

void Node::further(Founding& founding) {
  const auto now = options_.clock->steady_us();
  if (now < founding.next_step_us || founding.begins_with) return;
  founding.next_step_us = now + kStepUs;
  const auto& cluster = *options_.cluster;
  auto addresses = discovery_ ? discovery_->addresses() : cluster.peers;
  for (const auto& inviter : founding.inviters)
    if (std::find(addresses.begin(), addresses.end(), inviter) == addresses.end())
      addresses.push_back(inviter);
  transport_->dial(std::move(addresses));
  if (discovery_) {
    // Whoever else the name stands for has to be there too: where it stands for more than `size`,
    // each of two halves would be enough.
    const auto all = founding.forming.seen() + count_away(discovery_->addresses(), *transport_);
    founding.forming.expect(std::max<std::size_t>(cluster.size, all));
  } else {
    const auto& peers = cluster.peers;
    // Somebody may have listed this node among the others.
    std::size_t expected = peers.size() + 1;
    for (const auto& status : transport_->status())
      if (status.is_self && std::find(peers.begin(), peers.end(), status.address) != peers.end())
        --expected;
    founding.forming.expect(expected);
  }
  const auto step = founding.forming.next();
  using StepKind = cluster::Forming::Step::Kind;
  if (step.kind == StepKind::join) {
    transport_->send(step.to.front(), wire(Kind::join),
                     cluster::encode_member({.id = founding.self.node_id,
                                             .name = founding.self.name,
                                             .address = founding.self.address,
                                             .http = founding.self.http,
                                             .voter = false}));
  } else if (step.kind == StepKind::found) {
    const auto founders = founding.forming.founders();
    for (const auto node : step.to)
      transport_->send(node, wire(Kind::found), log::encode(founders));
    if (step.to.empty()) founding.begins_with = {.index = 0, .configuration = founders};
  }
  if (now < founding.next_report_us || options_.journal == nullptr) return;
  founding.next_report_us = now + kReportUs;
  const auto clash = founding.forming.clash();
  options_.journal->write(
      clash.empty() ? base::Level::info : base::Level::warning, "forming",
      {{"seen", std::uint64_t{founding.forming.seen()}},
       {"expected", std::uint64_t{founding.forming.expected()}},
       {"message",
        clash.empty()
            ? std::string_view("waiting for the other nodes, or to be taken in")
            : std::string_view("two nodes have the same name: give them others with --node")}});
}

}  // namespace jobbie::node
