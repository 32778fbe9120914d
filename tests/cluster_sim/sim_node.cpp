// A node's life: start, turn, death.
#include "tests/cluster_sim/sim_node.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "command/codec.hpp"
#include "tests/cluster_sim/world.hpp"

namespace jobbie::cluster_sim {
namespace {

constexpr std::int64_t kTickUs = 50'000;
constexpr std::int64_t kOperationUs = 150;  ///< of a disk in good health
/// The wall clock when the simulation begins.
constexpr std::int64_t kEpochUs = 1'800'000'000'000'000;

}  // namespace

SimNode::SimNode(World& world, NodeId id, log::Configuration founders, std::uint64_t index)
    : world_(world),
      id_(id),
      founders_(std::move(founders)),
      founders_index_(index),
      rate_ppm_(world.rng.between(-3000, 3000)),
      wall_offset_(world.rng.percent(50) ? 0 : milliseconds(world.rng.between(-3000, 3000))),
      disk_(std::make_unique<log::SimDisk>(world.rng.next())) {}

SimNode::~SimNode() = default;

std::int64_t SimNode::steady_us() {
  return world_.now() + world_.now() / 1'000'000 * rate_ppm_ + seconds(static_cast<int>(id_));
}
std::int64_t SimNode::wall_us() { return kEpochUs + world_.now() + wall_offset_; }

bool SimNode::stopped() const { return world_.now() < paused_until_; }

void SimNode::start() {
  if (up_ || gone_) return;
  if (powerless_)
    disk_->restart_after_power_loss();
  else
    disk_->restart_process();
  powerless_ = false;
  paused_until_ = 0;
  ++epoch_;
  ++world_.counts[Count::starts];
  world_.event("start", id_);
  up_ = true;
  if (!boot_node()) return;
  schedule_tick();
  const std::int64_t first = world_.rng.between(1, world_.traits.checkpoint_every);
  later(first, [this] { begin_checkpoint(); });
  turn();
}

/// Everything that a start does before the first turn; false if the node is dead again.
bool SimNode::boot_node() {
  log::Options options;
  options.directory = "log";
  options.node_id = id_;
  options.founders = founders_;
  options.founders_index = founders_index_;
  options.segment_bytes = world_.traits.segment_bytes;
  options.seed = world_.rng.next();
  options.preparing = log::Preparer::Mode::at_once;
  options.test.ack_before_sync = world_.plants(Plant::ack_before_sync);
  options.test.accept_torn = world_.plants(Plant::torn_record_accepted);
  options.test.send_before_sync = world_.plants(Plant::send_before_sync);
  options.test.old_configuration = world_.plants(Plant::old_configuration);
  auto opened = log::Log::open(*disk_, options);
  if (!opened) {
    if (!disk_->powerless())
      world_.history.hold(
          fmt::format("node {} cannot open its log: {}", id_, opened.error().message));
    die("open");
    return false;
  }
  log_ = *std::move(opened);
  if (!load_state()) return false;
  if (auto started = log_->start(applied_); !started) {
    if (!disk_->powerless())
      world_.history.hold(fmt::format("node {} cannot start at {}: {} (I6)", id_, applied_,
                                      started.error().message));
    die("start");
    return false;
  }
  if (log_->term() < durable_term_)
    world_.history.hold(
        fmt::format("node {} forgot term {} and is in {} (I6)", id_, durable_term_, log_->term()));
  tell_configuration(log_->configuration(), log_->configuration_index());
  return true;
}

void SimNode::tell_configuration(const log::Configuration& configuration, std::uint64_t index) {
  if (index > log::kBootstrap.index) world_.history.configured(configuration, index);
}

void SimNode::die(const char* why) {
  if (!up_) return;
  world_.event(why, id_);
  up_ = false;
  ++epoch_;
  if (disk_->powerless()) powerless_ = true;
  log_.reset();
  engine_.reset();
  store_ = {};
  applied_ = applied_term_ = durable_ = seen_ = lead_term_ = 0;
  writing_ = 0;
  adopting_ = tick_proposed_ = false;
  led_us_ = heard_us_ = 0;
  log_clock_.reset();
  offer_.reset();
  inbox_.clear();
  sent_.clear();
  // Connections break: nobody knows what came of the calls.
  const auto lose = [&](Call& call) {
    if (call.origin == id_) world_.answer(call.op, Outcome::unknown);
  };
  for (auto& [key, proposal] : proposals_)
    for (Call& call : proposal.calls) lose(call);
  for (Call& call : backlog_) lose(call);
  for (auto& [context, call] : strong_reads_) lose(call);
  for (auto& [index, call] : waiting_reads_) lose(call);
  for (Answer& answer : answers_) lose(answer.call);
  proposals_.clear();
  backlog_.clear();
  strong_reads_.clear();
  waiting_reads_.clear();
  answers_.clear();
}

void SimNode::kill() { die("kill"); }

void SimNode::lose_power(std::uint64_t operations) {
  if (!up_) return;
  disk_->lose_power_at(disk_->operations() + operations);
  const std::uint64_t epoch = epoch_;
  world_.after(milliseconds(300), [this, epoch] {
    if (epoch != epoch_ || !up_) return;
    powerless_ = true;
    die("power");
  });
}

void SimNode::fail_disk(std::uint64_t operations) {
  if (!up_) return;
  const auto at = disk_->operations() + operations;
  disk_->fail_at(at, log::kDiskFailed, at + 1000);
}

void SimNode::set_disk_space(bool full) {
  std::uint64_t used = 0;
  for (const auto& path : disk_->paths()) used += disk_->bytes(path)->size();
  disk_->set_capacity(full ? used + 1000 : UINT64_MAX);
}

void SimNode::pause(std::int64_t us) {
  if (!up_) return;
  paused_until_ = std::max(paused_until_, world_.now() + us);
  later(us + 1, [this] { drain_inbox(); });
}

void SimNode::retire() {
  die("retire");
  gone_ = true;
}

void SimNode::replace_disk() {
  die("lose disk");
  disk_ = std::make_unique<log::SimDisk>(world_.rng.next());
  powerless_ = false;
  durable_term_ = 0;
}

/// Runs when the node is neither stopped nor waits for its disk, in the order it came.
void SimNode::input(std::function<void()> action) {
  if (!up_) return;
  if (stopped() || !inbox_.empty()) {
    inbox_.push_back(std::move(action));
    return;
  }
  action();
}

void SimNode::drain_inbox() {
  while (up_ && !stopped() && !inbox_.empty()) {
    auto action = std::move(inbox_.front());
    inbox_.pop_front();
    action();
  }
}

void SimNode::later(std::int64_t delay, std::function<void()> action) {
  const std::uint64_t epoch = epoch_;
  world_.after(delay, [this, epoch, action = std::move(action)] {
    if (epoch == epoch_ && up_) action();
  });
}

void SimNode::schedule_tick() {
  later(kTickUs - kTickUs * rate_ppm_ / 1'000'000, [this] {
    schedule_tick();
    if (!stopped()) drain_inbox();
    if (!stopped()) tick();
  });
}

void SimNode::tick() {
  if (!up_) return;
  log_->tick();
  expire_calls();
  if (offer_ && offer_->index + 200 < applied_) {
    log_->withdraw_snapshot();
    offer_.reset();
  }
  if (world_.plants(Plant::ticks_on_followers) && !log_->leader() &&
      engine_->next_deadline() <= base::Instant{wall_us() / 1000})
    engine_->apply({.now = {wall_us() / 1000}, .random = 1, .commands = {command::Tick{}}});
  turn();
}

void SimNode::receive(NodeId from, std::string message) {
  input([this, from, message = std::move(message)] {
    static_cast<void>(log_->step(message));
    if (log_->leader_id() == from) hear_of_leader();
    turn();
  });
}

/// Pumps, and does what that allows, until nothing is left.
void SimNode::turn() {
  while (up_) {
    operations_ = disk_->operations();
    if (!pump()) return die("disk");
    if (disk_delay_ != 0 && disk_->operations() != operations_) pause(disk_delay_);
    answer_reads();
    send_messages();
    send_answers();
    const bool offered = offer_snapshot();
    if (!up_ || (!duties() && !offered)) break;
  }
}

bool SimNode::pump() {
  log::Handlers handlers;
  handlers.apply = [this](const log::Committed& committed) { apply(committed); };
  handlers.send = [this](const consensus::MessageView& message) {
    // What was sent before the power went is on its way.
    if (message.snapshot_index != 0) {
      sent_.push_back({message.to, message.snapshot_index, std::string(message.bytes)});
      return;
    }
    const auto held = static_cast<std::int64_t>(disk_->operations() - operations_) *
                      (kOperationUs + disk_delay_ / 2);
    world_.send(
        id_, message.to, held, true,
        [from = id_, bytes = std::string(message.bytes)](SimNode& to) { to.receive(from, bytes); });
  };
  handlers.configured = [this](const log::Configuration& configuration, std::uint64_t index) {
    world_.event("configuration", id_, index, configuration.members.size());
    tell_configuration(configuration, index);
  };
  handlers.read = [this](std::uint64_t context, std::uint64_t index) {
    const auto it = strong_reads_.find(context);
    if (it == strong_reads_.end()) return;
    waiting_reads_.emplace_back(index, std::move(it->second));
    strong_reads_.erase(it);
  };
  if (!log_->pump(handlers)) return false;
  durable_term_ = log_->term();
  return true;
}

void SimNode::apply(const log::Committed& committed) {
  if (committed.index != applied_ + 1 && applied_ != 0)
    world_.history.hold(
        fmt::format("node {} is given entry {} after {}", id_, committed.index, applied_));
  applied_ = committed.index;
  applied_term_ = committed.term;
  std::vector<command::Reply> replies;
  if (!committed.data.empty()) {
    const auto entry = command::decode_entry(committed.data);
    if (!entry) return world_.history.hold("an entry cannot be read: " + entry.error().message);
    replies = engine_->apply(*entry).replies;
    led_us_ = 0;
  }
  world_.event("apply", id_, committed.index, committed.term);
  world_.history.applied(id_, committed.index, committed.term, committed.data, *engine_);
  settle(committed, replies);
}

void SimNode::send_messages() {
  for (const Sent& sent : std::exchange(sent_, {})) send_snapshot(sent);
}

void SimNode::send_answers() {
  for (Answer& answer : std::exchange(answers_, {}))
    reply(std::move(answer.call), answer.outcome, answer.index, std::move(answer.replies));
}

}  // namespace jobbie::cluster_sim
