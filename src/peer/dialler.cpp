// Attempts, with pauses that double and scatter; what a connection that stands is good for.
#include "peer/dialler.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "peer/address.hpp"
#include "peer/failure.hpp"

namespace jobbie::peer {
namespace {

/// Two addresses of one node: the second is looked at again after this.
constexpr std::int64_t kDuplicate_ms = 10'000;
constexpr unsigned kMaxDoublings = 16;

base::Instant wall_clock() {
  using std::chrono::duration_cast;
  return {
      duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count()};
}

}  // namespace

Dialler::Dialler(Common& common)
    : common_(common), random_(static_cast<std::minstd_rand::result_type>(random_number())) {}

Dialler::~Dialler() = default;

void Dialler::set(const std::vector<std::string>& addresses) {
  if (stopped_) return;
  for (auto each = targets_.begin(); each != targets_.end();) {
    if (std::ranges::find(addresses, each->first) != addresses.end()) {
      ++each;
      continue;
    }
    const auto gone = each->second;  // stays until its connection is closed
    each = targets_.erase(each);
    disconnect(*gone);
  }
  for (const auto& address : addresses) {
    if (targets_.contains(address)) continue;
    const auto target =
        std::make_shared<Target>(common_);  // its waits look whether it is still here
    target->status = {.address = address, .since = wall_clock()};
    targets_.emplace(address, target);
    if (auto parsed = parse_address(address)) {
      target->host = std::move(parsed->host);
      target->port = parsed->port;
      attempt(*target);
    } else {
      target->status.last_error = parsed.error().message;
    }
  }
}

void Dialler::redo() {
  for (const auto& [address, target] : Targets(targets_)) {
    disconnect(*target);
    target->failures = 0;
    if (target->port != 0) attempt(*target);
  }
}

void Dialler::stop() {
  stopped_ = true;
  {
    const std::lock_guard lock(mutex_);
    routes_.clear();
  }
  for (const auto& [address, target] : targets_) {
    target->timer.cancel();
    target->resolver.cancel();
    if (target->link) target->link->drop();
  }
  targets_.clear();
}

void Dialler::tick() {
  for (const auto& [address, target] : Targets(targets_))
    if (const auto link = target->link) link->tick();
}

bool Dialler::send(std::uint64_t node, std::uint8_t kind, std::string bytes) {
  std::shared_ptr<Link> link;
  {
    const std::lock_guard lock(mutex_);
    const auto found = routes_.find(node);
    if (found == routes_.end()) return false;
    link = found->second;
  }
  return link->send(kind, std::move(bytes));
}

std::optional<asio::ip::tcp::endpoint> Dialler::endpoint_of(std::uint64_t node) const {
  for (const auto& [address, target] : targets_)
    if (target->counted && target->status.node_id == node) return target->endpoint;
  return std::nullopt;
}

std::vector<Status> Dialler::status() const {
  std::vector<Status> out;
  for (const auto& [address, target] : targets_) {
    Status status = target->status;
    status.outgoing = target->counted;
    status.sent_bytes = target->old_sent_bytes;
    if (target->link) {
      status.sent_bytes += target->link->sent_bytes();
      status.queued_bytes = target->link->queued_bytes();
      status.round_trip_us = target->link->round_trip_us();
    }
    out.push_back(std::move(status));
  }
  return out;
}

void Dialler::attempt(Target& target) {
  if (target.status.is_self || target.link) return;
  asio::error_code error;
  const auto literal = asio::ip::make_address(target.host, error);
  if (!error) return attempt_at(target, {literal, target.port});
  const auto shared = targets_.at(target.status.address);
  target.resolver.async_resolve(
      target.host, std::to_string(target.port), asio::ip::resolver_base::numeric_service,
      [this, weak = std::weak_ptr(shared)](const asio::error_code& why, const auto& found) {
        const auto still = weak.lock();
        if (!still || stopped_ || still->link || why == asio::error::operation_aborted) return;
        if (why || found.empty())
          return failed(*still, {.code = "unknown_host", .message = why.message()});
        auto one = found.begin();
        std::advance(one, static_cast<std::ptrdiff_t>(still->attempts++ % found.size()));
        attempt_at(*still, one->endpoint());
      });
}

void Dialler::attempt_at(Target& target, const asio::ip::tcp::endpoint& endpoint) {
  auto stream = Stream::connect(*endpoint.data(), static_cast<unsigned>(endpoint.size()));
  if (!stream) return failed(target, stream.error());
  target.endpoint = endpoint;
  target.link = std::make_shared<Link>(common_, *this, Role::dialler, std::move(*stream));
  const auto link = target.link;
  link->start();
}

void Dialler::attempt_later(Target& target, std::int64_t delay_ms) {
  const auto shared = targets_.at(target.status.address);
  target.timer.expires_after(std::chrono::milliseconds(delay_ms));
  target.timer.async_wait([this, weak = std::weak_ptr(shared)](const asio::error_code& error) {
    const auto still = weak.lock();
    if (!error && still && !stopped_) attempt(*still);
  });
}

std::int64_t Dialler::backoff_ms(unsigned failures) {
  const auto& limits = common_.limits();
  const auto doubled = limits.shortest_backoff.ms << std::min(failures, kMaxDoublings);
  const auto longest =
      std::clamp<std::int64_t>(doubled, 1, std::max<std::int64_t>(1, limits.longest_backoff.ms));
  return std::uniform_int_distribution<std::int64_t>((longest + 1) / 2, longest)(random_);
}

void Dialler::failed(Target& target, const base::Error& why) {
  target.status.last_error = why.message;
  if (why.code == "self") {
    target.status.is_self = true;
    target.status.last_error.clear();
    return;
  }
  // A peer that stays away is worth one line, not one for each attempt.
  if (std::exchange(target.last_code, why.code) != why.code)
    common_.note(base::Level::warning, "peer_unreachable",
                 {{"address", std::string_view(target.status.address)},
                  {"reason", std::string_view(why.code)},
                  {"message", std::string_view(why.message)}});
  attempt_later(target, why.code == "duplicate" ? kDuplicate_ms : backoff_ms(target.failures++));
}

Dialler::Target* Dialler::find(const Link& link) {
  const auto found = std::ranges::find_if(
      targets_, [&](const auto& each) { return each.second->link.get() == &link; });
  return found == targets_.end() ? nullptr : found->second.get();
}

void Dialler::link_open(Link& link) {
  Target* const target = find(link);
  if (target == nullptr) return link.drop();
  const Hello hello = link.other().hello;
  {
    const std::lock_guard lock(mutex_);
    if (routes_.emplace(hello.node_id, link.shared_from_this()).second) target->counted = true;
  }
  target->status.node_id = hello.node_id;
  target->status.name = hello.name;
  if (!target->counted) {
    link.drop();
    target->link.reset();
    return failed(*target, {.code = "duplicate", .message = "another address leads to this node"});
  }
  target->opened_ms = now_ms();
  target->status.since = wall_clock();
  target->status.last_error.clear();
  target->last_code.clear();
  common_.note(base::Level::info, "peer_connected",
               {{"address", std::string_view(target->status.address)},
                {"node", hello.node_id},
                {"name", std::string_view(hello.name)}});
  common_.handler.on_hello(hello);
  common_.handler.on_connected(hello.node_id);
}

void Dialler::link_frame(Link& link, Frame) {
  // A link that was dialled takes no frames; see Link.
  link.drop();
}

void Dialler::link_closed(Link& link, const base::Error& why) {
  Target* const target = find(link);
  if (target == nullptr) return;
  if (target->counted && now_ms() - target->opened_ms >= common_.limits().ping_time.ms)
    target->failures = 0;
  if (target->counted) {
    target->last_code = why.code;
    common_.note(base::Level::warning, "peer_lost",
                 {{"address", std::string_view(target->status.address)},
                  {"node", target->status.node_id},
                  {"reason", std::string_view(why.code)},
                  {"message", std::string_view(why.message)}});
  }
  uncount(*target);
  failed(*target, why);
}

void Dialler::uncount(Target& target) {
  if (target.link) target.old_sent_bytes += target.link->sent_bytes();
  target.link.reset();
  if (!std::exchange(target.counted, false)) return;
  {
    const std::lock_guard lock(mutex_);
    routes_.erase(target.status.node_id);
  }
  target.status.since = wall_clock();
  common_.handler.on_lost(target.status.node_id);
}

void Dialler::disconnect(Target& target) {
  target.timer.cancel();
  target.resolver.cancel();
  if (target.link) target.link->drop();
  uncount(target);
}

}  // namespace jobbie::peer
