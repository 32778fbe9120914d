// The node's thread and its way in and out; what a turn does is the driver's.
#include "node/node.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <new>
#include <random>
#include <system_error>
#include <utility>

#include <arpa/inet.h>

#include "node/backups.hpp"
#include "node/bulk_runner.hpp"
#include "node/deliver.hpp"
#include "node/discovery.hpp"
#include "node/driver.hpp"
#include "node/readers.hpp"

namespace jobbie::node {
namespace {

constexpr std::size_t kReaderThreads = 2;
/// Turns that may be left out while the store is behind: others must hear of the node in time.
constexpr std::size_t kLeftOut = 20;
/// How long a stop waits for leadership to go to another node.
constexpr std::chrono::seconds kHandOver{5};

std::string log_directory(const Options& options) { return options.data_dir + "/log"; }

/// Whether "host:port" is an IPv4 address.
bool is_ipv4(const std::string& address) {
  in_addr parsed{};
  return inet_pton(AF_INET, address.substr(0, address.rfind(':')).c_str(), &parsed) == 1;
}

}  // namespace

std::uint64_t draw_id() {
  std::random_device device;
  const auto drawn = (std::uint64_t{device()} << 32) | device();
  return (drawn >> 1) | 1;
}

Node::Node(Options options, std::unique_ptr<SystemClock> clock)
    : own_clock_(std::move(clock)),
      options_(std::move(options)),
      intake_({.calls = options_.bounds.intake_calls, .bytes = options_.bounds.intake_bytes}),
      mailbox_(intake_) {
  if (options_.clock == nullptr) options_.clock = own_clock_.get();
}

base::Result<std::unique_ptr<Node>> Node::open(Options options) {
  auto node = std::unique_ptr<Node>(new Node(std::move(options), std::make_unique<SystemClock>()));
  node->bulks_ = std::make_unique<BulkRunner>(
      *node,
      BulkRunner::Options{.bound = node->options_.bounds.bulks,
                          .bound_per_caller = node->options_.bounds.bulks_per_caller},
      node->shared_.memory_room);
  auto opened = node->options_.cluster ? node->open_cluster() : node->open_alone();
  if (!opened) return std::unexpected(opened.error());
  node->ready_ = node->driver_ != nullptr;
  node->thread_ = std::thread([raw = node.get()] { raw->run(); });
  node->bulks_->start();
  return node;
}

Node::~Node() { static_cast<void>(stop()); }

base::Result<void> Node::open_alone() {
  // A member of itself, under its own name, so that others can join it one day.
  log::Configuration alone{.cluster_id = draw_id(), .members = {}};
  const auto id = draw_id();
  alone.members.push_back(
      {.id = id, .name = options_.name, .address = {}, .http = {}, .voter = true});
  if (auto opened = open_driver({.node_id = id, .founders = alone}); !opened) return opened;
  if (driver_->configuration().members.size() <= 1) return {};
  return std::unexpected(base::Error{
      .code = "is_clustered",
      .message = "This data directory belongs to a cluster of several nodes. Start the node with "
                 "--cluster, or, if the others are lost for good, see `jobbie cluster recover`."});
}

base::Result<void> Node::open_driver(const Beginning& beginning) {
  auto driver = Driver::open({.options = options_,
                              .clock = *options_.clock,
                              .shared = shared_,
                              .intake = intake_,
                              .mailbox = mailbox_},
                             beginning);
  if (!driver) return std::unexpected(driver.error());
  driver_ = *std::move(driver);
  const auto& bounds = options_.bounds;
  readers_ = std::make_unique<Readers>(
      driver_->store(), Readers::Options{.queue = {.threads = kReaderThreads,
                                                   .bound = bounds.reads,
                                                   .bound_per_caller = bounds.reads}});
  searchers_ = std::make_unique<Readers>(
      driver_->store(), Readers::Options{.queue = {.threads = kSearchThreads,
                                                   .own_threads = kOwnSearchThreads,
                                                   .left_to_others = 1,
                                                   .bound = bounds.searches,
                                                   .bound_per_caller = bounds.searches_per_caller},
                                         .pace = Pace::gentle});
  backups_ = std::make_unique<Backups>(driver_->store(), options_.data_dir, options_.journal);
  driver_->use(*readers_, *searchers_, *bulks_);
  driver_->use(*backups_);
  return {};
}

peer::Hello Node::hello(std::uint64_t node_id, std::uint64_t cluster_id) const {
  const auto& cluster = *options_.cluster;
  const auto size = cluster.discover.empty() ? cluster.peers.size() + 1 : cluster.size;
  return {.cluster_id = cluster_id,
          .node_id = node_id,
          .name = options_.name,
          .address = cluster.address,
          .http = cluster.http,
          .has_log = cluster_id != 0,
          .size = static_cast<std::uint32_t>(size)};
}

base::Result<void> Node::open_transport(const peer::Hello& self) {
  const auto& cluster = *options_.cluster;
  // What arrived before and was not adopted is of no use.
  const auto arriving = options_.data_dir + "/snapshots/arriving";
  std::error_code ignored;
  std::filesystem::remove_all(arriving, ignored);
  peer::Limits limits;
  limits.strangers_per_address =
      std::max<std::size_t>(1, limits.strangers_per_address * cluster.strangers / limits.strangers);
  limits.strangers = cluster.strangers;
  auto transport = peer::Transport::open({.listen = cluster.listen,
                                          .self = self,
                                          .secret = cluster.secret,
                                          .tls = cluster.tls,
                                          .snapshot_dir = arriving,
                                          .limits = limits,
                                          .journal = options_.journal},
                                         mailbox_);
  if (!transport) return std::unexpected(transport.error());
  transport_ = *std::move(transport);
  self_ = self;
  if (!cluster.discover.empty())
    discovery_ =
        std::make_unique<Discovery>(cluster.discover, is_ipv4(cluster.listen), options_.journal);
  return {};
}

base::Result<void> Node::open_cluster() {
  const auto disk = log::posix_disk();
  if (auto made = disk->make_directory(log_directory(options_)); !made) return made;
  const auto exists = log::Log::exists(*disk, log_directory(options_));
  if (!exists) return std::unexpected(exists.error());
  if (!*exists) return open_transport(hello(draw_id(), 0));
  if (auto opened = open_driver({}); !opened) return opened;
  const auto self = hello(driver_->node_id(), driver_->configuration().cluster_id);
  if (auto opened = open_transport(self); !opened) return opened;
  driver_->connect(*transport_, self);
  driver_->announce(options_.cluster->peers);
  return {};
}

void Node::refuse(std::unique_ptr<call::Call> call, call::Trouble trouble) {
  call->trouble = trouble;
  deliver(std::move(call));
}

void Node::submit(std::unique_ptr<call::Call> call) {
  if (stopping_.load(std::memory_order_relaxed))
    return refuse(std::move(call), call::Trouble::stopping);
  if (!intake_.push(call)) refuse(std::move(call), call::Trouble::overloaded);
}

bool Node::ready() const { return ready_.load(std::memory_order_relaxed); }

call::Health Node::health() const {
  return {.serving = ready(),
          .leader = shared_.has_leader.load(std::memory_order_relaxed),
          .log_writable = shared_.log_has_room.load(std::memory_order_relaxed),
          .database_writable = shared_.store_is_well.load(std::memory_order_relaxed)};
}

std::uint16_t Node::cluster_port() const { return transport_ ? transport_->port() : 0; }

void Node::fail(const base::Error& error) {
  ready_ = false;
  stopping_ = true;
  may_stop_ = true;
  if (options_.on_fatal) options_.on_fatal(error);
}

void Node::run() {
  if (!driver_) {
    if (auto formed = form(); !formed) return fail(formed.error());
  }
  while (!stopping_.load(std::memory_order_relaxed))
    if (auto turned = try_turn(); !turned) return fail(turned.error());
}

/// Where memory ran out in a turn, nobody knows what it has done: the next start begins from the
/// log. What the memory guard keeps free is there so that this does not happen.
base::Result<void> Node::try_turn() {
  try {
    return turn();
  } catch (const std::bad_alloc&) {
    return std::unexpected(base::Error{
        .code = "out_of_memory",
        .message = "There was no memory to go on. Give the process more, or a lower --memory."});
  }
}

base::Result<void> Node::turn() {
  for (std::size_t i = 0; i < kLeftOut && driver_->wait_for_store(); ++i) {
    if (stopping_.load(std::memory_order_relaxed)) return {};
  }
  intake_.take(items_, driver_->patience_us());
  mailbox_.take(mail_);
  if (discovery_) driver_->announce(discovery_->addresses());
  auto turned = driver_->turn(items_, mail_, draining_.load(std::memory_order_relaxed));
  if (!turned) return turned;
  may_stop_ = driver_->may_stop();
  if (driver_->wants_reopening()) return reopen();
  return driver_->has_adoption() ? swap_state() : base::Result<void>{};
}

/// The leader has sent its state: this node's own is closed, and the other one opened.
base::Result<void> Node::swap_state() {
  ready_ = false;
  readers_.reset();
  searchers_.reset();
  backups_.reset();
  if (auto adopted = driver_->adopt(); !adopted) return adopted;
  driver_.reset();
  if (auto opened = open_driver({}); !opened) return opened;
  driver_->connect(*transport_, hello(driver_->node_id(), driver_->configuration().cluster_id));
  driver_->announce(options_.cluster->peers);
  ready_ = !draining_;
  return {};
}

/// The files of the database were removed, and what was open has been saved: the node goes on from
/// there.
base::Result<void> Node::reopen() {
  ready_ = false;
  readers_.reset();
  searchers_.reset();
  backups_.reset();
  if (auto done = driver_->put_back(); !done) return done;
  driver_.reset();
  if (auto opened = open_driver({}); !opened) return opened;
  if (transport_) {
    driver_->connect(*transport_, hello(driver_->node_id(), driver_->configuration().cluster_id));
    driver_->announce(options_.cluster->peers);
  }
  ready_ = !draining_;
  return {};
}

void Node::drain() {
  draining_ = true;
  ready_ = false;
  shared_.feed.close();
  intake_.wake();
}

base::Result<void> Node::stop() {
  if (closed_) return {};
  closed_ = true;
  ready_ = false;
  if (draining_ && transport_) {
    const auto give_up = std::chrono::steady_clock::now() + kHandOver;
    while (!may_stop_ && std::chrono::steady_clock::now() < give_up)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  stopping_ = true;
  intake_.wake();
  if (thread_.joinable()) thread_.join();
  discovery_.reset();
  std::vector<Intake::Item> late;
  intake_.take(late, 0);
  for (auto& item : late) refuse(std::move(item.call), call::Trouble::stopping);
  readers_.reset();
  searchers_.reset();
  backups_.reset();
  auto closed = driver_ ? driver_->close() : base::Result<void>{};
  if (transport_) transport_->stop();
  // Last: whatever it still waited for has come back by now.
  bulks_.reset();
  return closed;
}

}  // namespace jobbie::node
