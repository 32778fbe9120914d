// The log among others: messages, configuration, leadership, snapshots.
#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "consensus/message.hpp"
#include "log/log.hpp"

namespace jobbie::log {
namespace {

/// Configurations that are remembered for a snapshot that is being made.
constexpr std::size_t kRememberedConfigurations = 16;

std::unexpected<base::Error> refused(std::string_view code, std::string message) {
  return std::unexpected(base::Error{std::string(code), std::move(message)});
}

}  // namespace

const Configuration& Log::configuration() const { return configurations_.back().configuration; }
std::uint64_t Log::configuration_index() const { return configurations_.back().index; }

bool Log::removed() const {
  return told_of_removal_ ||
         (configurations_.back().joined && configuration().find(node_id()) == nullptr);
}

void Log::hear_of(const Configuration& configuration, std::uint64_t index) {
  if (configuration.cluster_id != this->configuration().cluster_id ||
      index <= configuration_index() || configuration.find(node_id()) != nullptr)
    return;
  told_of_removal_ = true;
}

void Log::remember(const Configured& configured) {
  configurations_.push_back(configured);
  if (configured.configuration.find(node_id()) != nullptr) told_of_removal_ = false;
  if (configurations_.size() > kRememberedConfigurations) configurations_.pop_front();
}

base::Result<void> Log::check_change(const Change& change) const {
  const auto& member = change.member;
  if (auto sound = check(member); !sound) return refused(kBadChange, sound.error().message);
  const auto* known = configuration().find(member.id);
  switch (change.kind) {
    case Change::Kind::add_learner:
      if (known != nullptr) return refused(kBadChange, "that node is a member already");
      if (configuration().members.size() >= kMaxMembers)
        return refused(kBadChange, "the cluster has as many members as it can have");
      return {};
    case Change::Kind::promote:
      if (known == nullptr || known->voter)
        return refused(kBadChange, "only a learner can become a voter");
      return {};
    case Change::Kind::remove:
    case Change::Kind::update:
      break;
  }
  if (known == nullptr) return refused(kBadChange, "that node is no member");
  if (change.kind == Change::Kind::remove && member.id == node_id())
    return refused(kIsLeader, "the leader cannot be removed: hand leadership over first");
  return {};
}

base::Result<std::uint64_t> Log::propose_change(const Change& change) {
  if (auto refused = refusal(encode_entry(configuration(), change).size()))
    return std::unexpected(*std::move(refused));
  if (auto sound = check_change(change); !sound) return std::unexpected(sound.error());
  status_ = core_->status();
  // The core would make an empty entry of it. Its first look is at entries from before its time.
  if (status_.pending_conf_change)
    return refused(kChangePending, "another change may be under way");
  const auto data = encode_entry(configuration(), change);
  if (auto proposed = core_->propose_conf_change(data); !proposed)
    return std::unexpected(proposed.error());
  ++pending_entries_;
  pending_bytes_ += data.size();
  return ++status_.last_index;
}

/// The entry is committed and about to be applied. Its configuration is made durable here and now:
/// the caller's state may be durable a moment later, and a start from that one does not see the
/// entry again.
base::Result<void> Log::reconfigure(const consensus::EntryView& entry, const Handlers& handlers) {
  // After a start the configuration can be ahead of what is applied.
  if (entry.index <= configuration_index()) return {};
  const auto change = decode_entry(entry.data);
  if (!change || entry.type != consensus::EntryType::conf_change_v2)
    return refused("corrupt_log",
                   fmt::format("entry {} is no change that this version knows", entry.index));
  const auto before = configurations_.back();
  Configured next{.configuration = apply(before.configuration, *change), .index = entry.index};
  const bool member = next.configuration.find(node_id()) != nullptr;
  next.joined = before.joined || member;
  auto hard_state = wal_->hard_state();
  hard_state.commit = std::max(hard_state.commit, entry.index);
  wrote_ = true;
  if (auto written = wal_->configure(hard_state, next); !written) return written;
  remember(next);
  const bool differs = conf_state_of(before.configuration) != conf_state_of(next.configuration);
  // A core that leads and is no member fails at the next look at itself, so it is made anew.
  remake_core_ =
      !member && before.configuration.find(node_id()) != nullptr && !options_.test.keep_core;
  if (differs && !remake_core_) {
    // By our own reckoning, so that the core's configuration and ours never differ.
    auto to_core = entry;
    const auto data = encode_entry(before.configuration, *change);
    to_core.data = data;
    if (auto applied = core_->apply_conf_change(to_core); !applied)
      return std::unexpected(applied.error());
  }
  if (handlers.configured) handlers.configured(configuration(), entry.index);
  return {};
}

/// After our own removal: a core that follows, and can only follow.
base::Result<bool> Log::remade() {
  if (auto made = make_core(); !made) return std::unexpected(made.error());
  return true;
}

base::Result<void> Log::step(std::string_view message) {
  JOBBIE_CHECK(core_ != nullptr);
  if (wal_->failure()) return std::unexpected(*wal_->failure());
  const auto head = consensus::read_head(message);
  if (!head) return refused("malformed", "this is no message");
  if (head->to != node_id())
    return refused(kOtherNode, fmt::format("a message for node {}", head->to));
  if (head->type == consensus::kMsgSnapshot)
    return refused("misuse", "a snapshot is judged and adopted");
  // The core would abort: the leader remembers entries of ours that we do not have.
  if (head->type == consensus::kMsgHeartbeat && head->term >= status_.term &&
      head->commit > status_.last_index)
    return refused(kLogMismatch,
                   fmt::format("node {} counts on entry {} and the log ends at {}: this node has "
                               "lost a part of its log. Wipe it and let it join again.",
                               head->from, head->commit, status_.last_index));
  if (head->type == consensus::kMsgAppend && head->entry_count > 0) {
    const auto entries = pending_entries_ + head->entry_count;
    const auto bytes = pending_bytes_ + head->entry_bytes;
    const auto most = wal_->max_payload(entries);
    if (pending_entries_ > 0 && bytes > most)
      return refused(kLogBusy, "more than one record of the log can take");
    if (!wal_->has_room(1, std::min(bytes, wal_->max_payload(1))))
      return refused(kDiskFull, "the log has no space left");
    pending_entries_ = entries;
    pending_bytes_ = bytes;
  }
  ticks_since_step_ = 0;
  auto stepped = core_->step(message);
  status_ = core_->status();
  return stepped;
}

base::Result<void> Log::transfer(std::uint64_t to) {
  JOBBIE_CHECK(core_ != nullptr);
  if (!leader()) return refused(kNotLeader, "this node does not lead");
  if (to == node_id() || !configuration().is_voter(to))
    return refused(kBadChange, "leadership goes to another voter");
  core_->transfer_leader(to);
  status_ = core_->status();
  return {};
}

base::Result<void> Log::campaign() {
  JOBBIE_CHECK(core_ != nullptr);
  auto stood = core_->campaign();
  status_ = core_->status();
  return stood;
}

/// The leader keeps questions apart by their context alone, so it has to tell nodes, and the lives
/// of one node, from one another.
void Log::read_index(std::uint64_t context) {
  JOBBIE_CHECK(core_ != nullptr);
  std::string bytes;
  base::ByteWriter writer(bytes);
  writer.u64(node_id());
  writer.u64(read_salt_);
  writer.u64(context);
  core_->read_index(bytes);
}

void Log::answer_reads(std::span<const consensus::ReadView> reads, const Handlers& handlers) {
  if (!handlers.read) return;
  for (const auto& read : reads) {
    base::ByteReader reader(read.context);
    const bool ours = reader.u64() == node_id() && reader.u64() == read_salt_;
    const auto context = reader.u64();
    if (ours && reader.ok() && reader.at_end()) handlers.read(context, read.index);
  }
}

std::optional<consensus::Progress> Log::progress(std::uint64_t id) const {
  if (core_ == nullptr || !leader()) return std::nullopt;
  return core_->progress(id);
}

void Log::report_unreachable(std::uint64_t id) {
  if (core_ != nullptr) core_->report_unreachable(id);
}

bool Log::wants_snapshot() const { return leader() && status_.wants_snapshot; }

base::Result<void> Log::offer_snapshot(std::uint64_t index) {
  JOBBIE_CHECK(core_ != nullptr && index <= applied_);
  const auto term = wal_->terms().term(index);
  const auto at = std::find_if(configurations_.rbegin(), configurations_.rend(),
                               [&](const Configured& c) { return c.index <= index; });
  if (!term || at == configurations_.rend())
    return refused(kUnknownState, fmt::format("the log no longer knows about entry {}", index));
  const auto& there = options_.test.old_configuration ? configurations_.front() : *at;
  const auto conf_state = conf_state_of(there.configuration);
  const auto data = encode(there);
  auto set = core_->set_snapshot({{index, *term}, conf_state, data});
  status_ = core_->status();
  return set;
}

void Log::withdraw_snapshot() {
  if (core_ != nullptr) core_->clear_snapshot();
}

void Log::report_snapshot(std::uint64_t id, bool arrived) {
  if (core_ != nullptr) core_->report_snapshot(id, arrived);
}

base::Result<Verdict> Log::judge(std::string_view message) const {
  JOBBIE_CHECK(core_ != nullptr);
  const auto snapshot = read_snapshot_message(message);
  if (!snapshot) return std::unexpected(snapshot.error());
  if (snapshot->to != node_id())
    return refused(kOtherNode, fmt::format("a snapshot for node {}", snapshot->to));
  if (snapshot->term < status_.term || (snapshot->term == status_.term && leader()))
    return Verdict::stale;
  if (snapshot->at.index <= status_.commit ||
      wal_->terms().term(snapshot->at.index) == snapshot->at.term)
    return Verdict::present;
  if (snapshot->configured.configuration.find(node_id()) == nullptr) return Verdict::stale;
  return Verdict::wanted;
}

base::Result<void> Log::adopt(std::string_view message) {
  const auto verdict = judge(message);
  if (!verdict) return std::unexpected(verdict.error());
  if (*verdict != Verdict::wanted) return refused(kNotWanted, "the log has no need of that state");
  if (wal_->failure()) return std::unexpected(*wal_->failure());
  auto snapshot = *read_snapshot_message(message);
  // What the core was told since the last pump() is forgotten with it: nothing was promised yet.
  if (snapshot.term > hard_state_.term) {
    hard_state_.term = snapshot.term;
    hard_state_.vote = 0;
  }
  hard_state_.commit = snapshot.at.index;
  snapshot.configured.joined = true;
  wrote_ = true;
  if (auto reset = wal_->reset(hard_state_, snapshot.at, snapshot.configured); !reset) return reset;
  configurations_.clear();
  remember(snapshot.configured);
  applied_ = snapshot.at.index;
  return make_core();
}

}  // namespace jobbie::log
