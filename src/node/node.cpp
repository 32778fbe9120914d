// The node's thread and its way in and out; what a turn does is the driver's.
#include "node/node.hpp"

#include <utility>

#include "node/backups.hpp"
#include "node/bulk_runner.hpp"
#include "node/deliver.hpp"
#include "node/driver.hpp"
#include "node/readers.hpp"

namespace jobbie::node {
namespace {

constexpr std::size_t kReaderThreads = 2;
constexpr std::size_t kSearchThreads = 2;

}  // namespace

Node::Node(Options options, std::unique_ptr<SystemClock> clock)
    : own_clock_(std::move(clock)),
      options_(std::move(options)),
      intake_({.calls = options_.bounds.intake_calls, .bytes = options_.bounds.intake_bytes}) {
  if (options_.clock == nullptr) options_.clock = own_clock_.get();
}

base::Result<std::unique_ptr<Node>> Node::open(Options options) {
  auto node = std::unique_ptr<Node>(new Node(std::move(options), std::make_unique<SystemClock>()));
  auto driver = Driver::open(node->options_, *node->options_.clock);
  if (!driver) return std::unexpected(driver.error());
  node->driver_ = *std::move(driver);
  node->readers_ = std::make_unique<Readers>(node->driver_->store(), kReaderThreads,
                                             node->options_.bounds.reads);
  node->searchers_ = std::make_unique<Readers>(node->driver_->store(), kSearchThreads,
                                               node->options_.bounds.searches);
  node->bulks_ = std::make_unique<BulkRunner>(*node, node->options_.bounds.bulks);
  node->driver_->use(*node->readers_, *node->searchers_, *node->bulks_);
  node->backups_ = std::make_unique<Backups>(node->driver_->store(), node->options_.data_dir,
                                             node->options_.journal);
  node->driver_->use(*node->backups_);
  node->ready_ = true;
  node->thread_ = std::thread([raw = node.get()] { raw->run(); });
  node->bulks_->start();
  return node;
}

Node::~Node() { static_cast<void>(stop()); }

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
  auto health = driver_->health();
  health.serving = ready();
  return health;
}

call::EventFeed* Node::events() { return &driver_->feed(); }

const call::KeyBoard* Node::keys() { return &driver_->keys(); }

call::Bell* Node::outbox_bell() { return &driver_->outbox_bell(); }

void Node::run() {
  std::vector<Intake::Item> items;
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (driver_->wait_for_store()) continue;
    intake_.take(items, driver_->patience_us());
    auto turned = driver_->turn(items, draining_.load(std::memory_order_relaxed));
    if (turned) continue;
    ready_ = false;
    stopping_ = true;
    if (options_.on_fatal) options_.on_fatal(turned.error());
  }
}

void Node::drain() {
  draining_ = true;
  ready_ = false;
  driver_->feed().close();
  intake_.wake();
}

base::Result<void> Node::stop() {
  if (closed_) return {};
  closed_ = true;
  ready_ = false;
  stopping_ = true;
  intake_.wake();
  if (thread_.joinable()) thread_.join();
  std::vector<Intake::Item> late;
  intake_.take(late, 0);
  for (auto& item : late) refuse(std::move(item.call), call::Trouble::stopping);
  if (!driver_) return {};
  readers_.reset();
  searchers_.reset();
  backups_.reset();
  auto closed = driver_->close();
  // Last: whatever it still waited for has come back by now.
  bulks_.reset();
  return closed;
}

}  // namespace jobbie::node
