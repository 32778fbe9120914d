// Files of a node's state: written behind the engine, sent to those who are too far behind.
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "command/checkpoint_codec.hpp"
#include "tests/cluster_sim/sim_node.hpp"
#include "tests/cluster_sim/world.hpp"

namespace jobbie::cluster_sim {
namespace {

const std::string kFolder = "data";
const std::string kCheckpoint = "data/checkpoint";
const std::string kNew = "data/checkpoint.new";
const std::string kIncoming = "data/incoming";

/// A file begins with its entry, twice: once as it is, once inverted.
constexpr std::size_t kHeadBytes = 16;

std::optional<std::uint64_t> index_of(std::string_view file) {
  if (file.size() < kHeadBytes) return std::nullopt;
  std::array<std::uint64_t, 2> head{};
  std::memcpy(head.data(), file.data(), kHeadBytes);
  return head[0] == ~head[1] ? std::optional(head[0]) : std::nullopt;
}

/// Ended jobs and finished batches are the database's alone.
bool belongs_to_engine(const command::Item& item) {
  if (const auto* job = std::get_if<model::JobRecord>(&item)) return !model::has_ended(job->state);
  const auto* batch = std::get_if<model::BatchRecord>(&item);
  return batch == nullptr || batch->finished_at.ms == 0;
}

}  // namespace

std::string SimNode::make_file() {
  store_.apply(engine_->drain_changes());
  const std::uint64_t index = applied_ + (world_.plants(Plant::stale_checkpoint) ? 1 : 0);
  const std::array<std::uint64_t, 2> head{index, ~index};
  std::string bytes(kHeadBytes, '\0');
  std::memcpy(bytes.data(), head.data(), kHeadBytes);
  command::CheckpointWriter writer([&](std::string_view piece) { bytes += piece; });
  store_.each([&](const command::Item& item) { writer.add(item); });
  writer.finish();
  return bytes;
}

bool SimNode::load_file(std::string_view bytes) {
  const auto index = index_of(bytes);
  if (!index) return false;
  engine::Options options;
  options.hash_seed = world_.rng.next();
  store_ = {};
  engine::Loader loader(store_, options);
  command::CheckpointReader reader([&](command::Item item) -> base::Result<void> {
    store_.put(item);
    return belongs_to_engine(item) ? loader.add(std::move(item)) : base::Result<void>{};
  });
  if (!reader.feed(bytes.substr(kHeadBytes)) || !reader.finish()) return false;
  auto loaded = loader.finish();
  if (!loaded) return false;
  engine_ = std::make_unique<engine::Engine>(*std::move(loaded));
  applied_ = durable_ = *index;
  applied_term_ = 0;
  led_us_ = 0;
  world_.history.loaded(id_, applied_, *engine_);
  return true;
}

std::optional<std::string> SimNode::read_file(const std::string& path) {
  auto file = disk_->open(path, log::OpenMode::existing);
  if (!file) return std::nullopt;
  const auto size = (*file)->size();
  if (!size) return std::nullopt;
  std::string bytes(*size, '\0');
  if (!(*file)->read_at(0, bytes)) return std::nullopt;
  return bytes;
}

bool SimNode::write_file(const std::string& path, std::string_view bytes) {
  auto file = disk_->open(path, log::OpenMode::create);
  return file && (*file)->write_at(0, bytes);
}

/// The state that the log goes on from. A snapshot that was adopted and not yet put in its place is
/// put there now.
bool SimNode::load_state() {
  engine::Options options;
  options.hash_seed = world_.rng.next();
  engine_ = std::make_unique<engine::Engine>(store_, options);
  const auto file = read_file(kCheckpoint);
  if (file && !load_file(*file)) {
    if (!disk_->powerless())
      world_.history.hold(fmt::format("node {} finds a damaged checkpoint (I17)", id_));
    die("checkpoint");
    return false;
  }
  if (std::max<std::uint64_t>(applied_, 1) + 1 >= log_->first_index()) return true;
  const auto incoming = read_file(kIncoming);
  const bool swapped = incoming && index_of(*incoming) == log_->first_index() - 1 &&
                       disk_->rename(kIncoming, kCheckpoint) && disk_->sync_directory(kFolder) &&
                       load_file(*incoming);
  if (swapped) {
    ++world_.counts[Count::swaps_finished];
    return true;
  }
  if (!disk_->powerless())
    world_.history.hold(fmt::format("node {}: the log begins at {}, the state ends at {} (I1)", id_,
                                    log_->first_index(), applied_));
  die("state");
  return false;
}

void SimNode::begin_checkpoint() {
  const std::int64_t every = world_.traits.checkpoint_every;
  later(every / 2 + world_.rng.between(0, every), [this] { begin_checkpoint(); });
  if (stopped() || writing_ != 0 || adopting_ || applied_ <= durable_) return;
  const std::string bytes = make_file();
  if (world_.rng.percent(20)) {
    if (auto text = store_.difference(*engine_); !text.empty())
      world_.history.hold(fmt::format("node {}: {} (I17)", id_, text));
  }
  if (!write_file(kNew, bytes)) return disk_->powerless() ? die("disk") : void();
  ++world_.counts[Count::checkpoints];
  writing_ = applied_;
  if (world_.plants(Plant::cut_too_far) && !log_->cut(applied_)) return die("disk");
  later(milliseconds(world_.rng.between(5, 2000)),
        [this, index = applied_] { finish_checkpoint(index); });
}

void SimNode::finish_checkpoint(std::uint64_t index) {
  if (writing_ != index) return;
  if (stopped()) return later(milliseconds(500), [this, index] { finish_checkpoint(index); });
  writing_ = 0;
  auto file = disk_->open(kNew, log::OpenMode::existing);
  if (!file || !(*file)->sync() || !disk_->rename(kNew, kCheckpoint) ||
      !disk_->sync_directory(kFolder))
    return die("disk");
  durable_ = index;
  world_.event("checkpoint", id_, index);
  const std::uint64_t upto = index > world_.traits.trailing ? index - world_.traits.trailing : 0;
  if (upto < log_->first_index()) return;
  ++world_.counts[Count::cuts];
  if (!log_->cut(upto)) return die("disk");
}

/// Whether a state was offered that the core did not have.
bool SimNode::offer_snapshot() {
  if (!log_->wants_snapshot() || (offer_ && offer_->index == applied_)) return false;
  auto file = std::make_shared<const std::string>(make_file());
  if (!log_->offer_snapshot(applied_)) return false;
  ++world_.counts[Count::snapshots_offered];
  world_.event("offer", id_, applied_);
  offer_ = Offer{applied_, std::move(file)};
  return true;
}

void SimNode::send_snapshot(const Sent& sent) {
  const auto told = std::make_shared<bool>(false);
  const auto report = [this, told, to = sent.to, epoch = epoch_](bool arrived) {
    if (std::exchange(*told, true) || epoch != epoch_ || !up_) return;
    if (!arrived) ++world_.counts[Count::snapshots_failed];
    world_.event("report", id_, to, arrived ? 1 : 0);
    if (world_.plants(Plant::snapshot_unreported)) return;
    input([this, to, arrived] {
      log_->report_snapshot(to, arrived);
      turn();
    });
  };
  if (!offer_ || offer_->index != sent.snapshot_index)
    return later(milliseconds(1), [report] { report(false); });
  world_.event("snapshot", id_, sent.to, sent.snapshot_index);
  const std::int64_t travel = milliseconds(world_.rng.between(5, 800));
  world_.send(id_, sent.to, travel, false,
              [&world = world_, from = id_, message = sent.message, file = offer_->file,
               report](SimNode& to) {
                to.receive_snapshot(
                    from, message, file, [&world, from, back = to.id(), report](bool arrived) {
                      world.send(back, from, 0, false, [=](SimNode&) { report(arrived); });
                    });
              });
  later(seconds(4), [report] { report(false); });
}

void SimNode::receive_snapshot(NodeId from, std::string message,
                               std::shared_ptr<const std::string> file,
                               std::function<void(bool)> report) {
  input([this, from, message = std::move(message), file = std::move(file),
         report = std::move(report)] {
    const auto verdict = log_->judge(message);
    const auto index = index_of(*file);
    if (!verdict || *verdict != log::Verdict::wanted || adopting_ || !index)
      return report(verdict && *verdict == log::Verdict::present);
    if (!write_file(kIncoming, *file)) return disk_->powerless() ? die("disk") : report(false);
    if (!world_.plants(Plant::snapshot_not_durable)) {
      auto written = disk_->open(kIncoming, log::OpenMode::existing);
      if (!written || !(*written)->sync() || !disk_->sync_directory(kFolder)) return die("disk");
    }
    adopting_ = true;
    later(milliseconds(world_.rng.between(0, 30)), [this, from, message, index = *index, report] {
      input([this, from, message, index, report] { adopt(from, message, index, report); });
    });
  });
}

void SimNode::adopt(NodeId from, const std::string& message, std::uint64_t index,
                    const std::function<void(bool)>& report) {
  adopting_ = false;
  const auto verdict = log_->judge(message);
  if (!verdict || *verdict != log::Verdict::wanted)
    return report(verdict && *verdict == log::Verdict::present);
  world_.event("adopt", id_, from, index);
  if (auto adopted = log_->adopt(message); !adopted) {
    if (!disk_->powerless()) world_.event("adoption failed", id_);
    return die("disk");
  }
  // The point of no return is behind us: whatever happens now, this file is the state.
  if (!world_.healing() && world_.rng.percent(8)) {
    ++world_.counts[Count::power_losses];
    disk_->lose_power_at(disk_->operations() + 1 + world_.rng.below(2));
    world_.after(milliseconds(world_.rng.between(350, 5000)), [this] { start(); });
  }
  if (!disk_->rename(kIncoming, kCheckpoint) || !disk_->sync_directory(kFolder)) return die("disk");
  const auto file = read_file(kCheckpoint);
  if (!file || !load_file(*file)) {
    world_.history.hold(fmt::format("node {} cannot load a snapshot", id_));
    return die("snapshot");
  }
  ++world_.counts[Count::snapshots_adopted];
  tell_configuration(log_->configuration(), log_->configuration_index());
  writing_ = 0;
  offer_.reset();
  // What was proposed up to there may be in the snapshot, or not.
  for (auto it = proposals_.begin(); it != proposals_.end() && it->first.first <= applied_;) {
    for (Call& call : it->second.calls) reply(std::move(call), Outcome::unknown);
    it = proposals_.erase(it);
  }
  report(true);
  turn();
}

}  // namespace jobbie::cluster_sim
