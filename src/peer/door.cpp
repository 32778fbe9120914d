// Accepting in bursts; strangers until they have proven who they are, then nodes.
#include "peer/door.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <unistd.h>
#include <utility>

#include <sys/socket.h>

#include "peer/address.hpp"
#include "peer/failure.hpp"

namespace jobbie::peer {
namespace {

constexpr int kAcceptBurst = 32;
constexpr std::int64_t kRest_ms = 100;
constexpr std::int64_t kMinute_ms = 60'000;
/// Nodes of which the count of bytes is remembered after they have gone.
constexpr std::size_t kMaxRemembered = 256;

}  // namespace

Visitors::Visitor* Visitors::find(const std::string& address) {
  const auto now = now_ms();
  if (visitors_.size() >= kMaxAddresses)
    std::erase_if(visitors_,
                  [&](const auto& each) { return now - each.second.last_ms > kMinute_ms; });
  if (visitors_.size() >= kMaxAddresses && !visitors_.contains(address)) return nullptr;
  Visitor& visitor = visitors_[address];
  visitor.last_ms = now;
  return &visitor;
}

bool Visitors::admit(const std::string& address) {
  Visitor* const visitor = find(address);
  if (visitor == nullptr) return true;
  const auto second = now_ms() / 1000;
  if (std::exchange(visitor->second, second) != second) visitor->in_second = 0;
  return ++visitor->in_second <= common_.limits().accepts_per_second;
}

void Visitors::refused(const std::string& address, const base::Error& why) {
  Visitor* const visitor = find(address);
  if (visitor == nullptr) return;
  const auto now = now_ms();
  if (visitor->told_ms != 0 && now - visitor->told_ms < kMinute_ms) {
    ++visitor->untold;
    return;
  }
  visitor->told_ms = now;
  common_.note(base::Level::warning, "peer_refused",
               {{"address", std::string_view(address)},
                {"reason", std::string_view(why.code)},
                {"message", std::string_view(why.message)},
                {"others", std::exchange(visitor->untold, 0)}});
}

Door::Door(Common& common, SnapshotReceiver& snapshots)
    : common_(common),
      snapshots_(snapshots),
      acceptor_(common.io),
      timer_(common.io),
      visitors_(common) {}

Door::~Door() = default;

base::Result<void> Door::open() {
  const auto parsed = parse_address(common_.options.listen);
  if (!parsed) return std::unexpected(parsed.error());
  asio::error_code error;
  auto address = asio::ip::make_address(parsed->host, error);
  if (error) {
    asio::ip::tcp::resolver resolver(common_.io);
    const auto found = resolver.resolve(parsed->host, "", error);
    if (!error && !found.empty()) address = found.begin()->endpoint().address();
  }
  const asio::ip::tcp::endpoint endpoint(address, parsed->port);
  if (!error) acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (!error) acceptor_.native_non_blocking(true, error);
  if (!error) port_ = acceptor_.local_endpoint(error).port();
  if (error)
    return failure("listen_failed",
                   "cannot listen on " + common_.options.listen + ": " + error.message());
  return {};
}

void Door::accept() {
  if (!acceptor_.is_open()) return;
  acceptor_.async_wait(asio::socket_base::wait_read, [this](const asio::error_code& error) {
    if (!error) accept_burst();
  });
}

void Door::accept_burst() {
  for (int i = 0; i < kAcceptBurst; ++i) {
    const int descriptor =
        ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor >= 0) {
      meet(descriptor);
      continue;
    }
    if (errno == EAGAIN) break;
    // Out of descriptors or memory: trying again at once would only burn the processor.
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
      return accept_later();
  }
  accept();
}

void Door::accept_later() {
  timer_.expires_after(std::chrono::milliseconds(kRest_ms));
  timer_.async_wait([this](const asio::error_code& error) {
    if (!error) accept();
  });
}

void Door::meet(int descriptor) {
  const auto link =
      std::make_shared<Link>(common_, *this, Role::listener, Stream(descriptor));  // see Link
  const auto& limits = common_.limits();
  const auto turn_away = [&](std::string_view message) {
    visitors_.refused(link->remote(),
                      {.code = "too_many_connections", .message = std::string(message)});
    link->drop();
  };
  if (!visitors_.admit(link->remote())) return turn_away("this address connects too often");
  const auto from_there = std::ranges::count_if(
      strangers_, [&](const auto& each) { return each->remote() == link->remote(); });
  if (strangers_.size() >= limits.strangers ||
      static_cast<std::size_t>(from_there) >= limits.strangers_per_address)
    return turn_away("too many connections have not proven anything yet");
  strangers_.push_back(link);
  link->start();
}

void Door::link_open(Link& link) {
  const auto shared = link.shared_from_this();
  if (link.purpose() == Purpose::snapshot) {
    snapshots_.receive(link);
    // One that was refused stays a stranger until it has read why.
    if (!link.is_closing()) std::erase(strangers_, shared);
    return;
  }
  std::erase(strangers_, shared);
  const Hello hello = link.other().hello;
  Links& links = nodes_[hello.node_id];
  if (!links.empty()) common_.handler.on_unheard(hello.node_id);
  if (links.size() >= common_.limits().incoming_per_node) {
    links.front()->drop();
    links.erase(links.begin());
  }
  links.push_back(shared);
  common_.handler.on_hello(hello);
}

void Door::link_frame(Link& link, Frame frame) {
  common_.handler.on_frame(link.other().hello.node_id, frame.kind, std::move(frame.payload));
}

void Door::link_closed(Link& link, const base::Error& why) {
  const auto shared = link.shared_from_this();
  if (std::erase(strangers_, shared) > 0) {
    if (why.code != "self" && why.code != "busy") visitors_.refused(link.remote(), why);
    return;
  }
  const auto node = link.other().hello.node_id;
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  if (old_received_bytes_.size() < kMaxRemembered || old_received_bytes_.contains(node))
    old_received_bytes_[node] += link.received_bytes();
  std::erase(found->second, shared);
  if (found->second.empty()) {
    nodes_.erase(found);
    common_.handler.on_unheard(node);
  }
  // One whose frames could not be opened or understood is worth a line; one that left is not.
  if (why.code != "connection_lost") visitors_.refused(link.remote(), why);
}

Door::Links Door::everybody() const {
  Links all = strangers_;
  for (const auto& [node, links] : nodes_) all.insert(all.end(), links.begin(), links.end());
  return all;
}

void Door::drop_all() {
  for (const auto& link : everybody()) link->drop();
  strangers_.clear();
  nodes_.clear();
}

void Door::redo() {
  for (const auto& [node, links] : nodes_) common_.handler.on_unheard(node);
  drop_all();
}

void Door::tick() {
  for (const auto& link : everybody()) link->tick();
}

void Door::stop() {
  asio::error_code ignored;
  acceptor_.close(ignored);
  timer_.cancel();
  drop_all();
}

std::map<std::uint64_t, Status> Door::status() const {
  std::map<std::uint64_t, Status> out;
  for (const auto& [node, links] : nodes_) {
    const Hello& hello = links.back()->other().hello;
    Status& status = out[node];
    status = {.address = hello.address, .node_id = node, .name = hello.name, .incoming = true};
    for (const auto& link : links) status.received_bytes += link->received_bytes();
  }
  for (const auto& [node, bytes] : old_received_bytes_)
    if (const auto found = out.find(node); found != out.end())
      found->second.received_bytes += bytes;
  return out;
}

}  // namespace jobbie::peer
