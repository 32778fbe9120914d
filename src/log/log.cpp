// The driver of the Raft core. The rules it keeps, and why, are in DESIGN.md. What concerns peers
// alone is in peers.cpp.
#include "log/log.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/hash.hpp"

namespace jobbie::log {
namespace {

/// Payloads that the core keeps in memory for followers that are a little behind.
constexpr std::size_t kWindowBytes = 4u << 20;

}  // namespace

Log::Log(std::unique_ptr<Wal> wal, const Options& options)
    : options_(options), wal_(std::move(wal)), hard_state_(wal_->hard_state()) {
  configurations_.push_back(wal_->configured());
  status_.term = hard_state_.term;
}
Log::~Log() = default;

base::Result<std::unique_ptr<Log>> Log::open(Disk& disk, const Options& options) {
  auto wal = Wal::open(disk, wal_options(options));
  if (!wal) return std::unexpected(wal.error());
  // The constructor is private, so make_unique cannot call it.
  return std::unique_ptr<Log>(new Log(std::move(*wal), options));
}

base::Result<void> Log::start(std::uint64_t applied) {
  JOBBIE_CHECK(core_ == nullptr);
  const auto base = wal_->terms().base().index;
  const auto last = wal_->terms().last().index;
  // A log begins behind a snapshot of the empty state: no state at all is that one.
  applied_ = std::max(applied, kBootstrap.index);
  if (applied_ < base)
    return std::unexpected(base::Error{
        std::string(kLogMismatch),
        fmt::format("The database ends at entry {} and the log begins after entry {}: it is older "
                    "than the log. Restore both from the same backup.",
                    applied, base)});
  if (applied_ > last)
    return std::unexpected(base::Error{
        std::string(kLogMismatch),
        fmt::format("The database ends at entry {} and the log at entry {}: it is newer than the "
                    "log. Restore both from the same backup.",
                    applied, last)});
  // The commit index may be older than what was applied, because it rides on the next record; and
  // newer than the log's end, if that was torn.
  if (!options_.test.clamp_nothing)
    hard_state_.commit = std::clamp(std::max(hard_state_.commit, applied_), base, last);
  read_salt_ = base::hash_combine(base::hash_combine(options_.seed, hard_state_.term), last);
  return make_core();
}

base::Result<void> Log::make_core() {
  core_.reset();
  remake_core_ = false;
  pending_entries_ = 0;
  pending_bytes_ = 0;
  const auto conf_state = conf_state_of(configuration());
  auto core = consensus::Core::make({
      .id = node_id(),
      .seed = base::hash_combine(base::hash_combine(options_.seed, node_id()), applied_),
      .election_ticks = options_.election_ticks,
      .applied = applied_,
      .hard_state = hard_state_,
      .base = wal_->terms().base(),
      .last_index = wal_->terms().last().index,
      .runs = wal_->terms().runs(),
      .conf_state = conf_state,
      .fetch = [this](const auto& range, const auto& sink) { return fetch(range, sink); },
  });
  if (!core) return std::unexpected(core.error());
  core_ = std::move(*core);
  status_ = core_->status();
  return {};
}

std::uint64_t Log::first_index() const { return wal_->terms().base().index + 1; }

bool Log::fetch(const consensus::FetchRange& range, const consensus::EntrySink& sink) {
  const auto read = wal_->read(range, sink);
  if (!read) fetch_failure_ = read.error();
  return read.has_value();
}

bool Log::has_room(std::size_t bytes, std::size_t leave) const {
  return wal_->has_room(pending_entries_ + 1, pending_bytes_ + bytes, leave);
}

bool Log::expects_room(std::size_t bytes, std::size_t leave) const {
  return wal_->expects_room(pending_entries_ + 1, pending_bytes_ + bytes, leave);
}

std::optional<base::Error> Log::refusal(std::size_t bytes) const {
  JOBBIE_CHECK(core_ != nullptr);
  if (wal_->failure()) return wal_->failure();
  if (!leader()) return base::Error{std::string(kNotLeader), "this node does not lead"};
  if (transferring())
    return base::Error{std::string(kTransferring), "leadership is being handed over"};
  if (pending_bytes_ + bytes > wal_->max_payload(pending_entries_ + 1))
    return base::Error{std::string(kLogBusy), "more than one record of the log can take"};
  if (!has_room(bytes)) return base::Error{std::string(kDiskFull), "the log has no space left"};
  return std::nullopt;
}

base::Result<std::uint64_t> Log::propose(std::string_view data) {
  JOBBIE_CHECK(!data.empty());
  if (auto refused = refusal(data.size())) return std::unexpected(*std::move(refused));
  if (auto proposed = core_->propose({&data, 1}); !proposed)
    return std::unexpected(proposed.error());
  ++pending_entries_;
  pending_bytes_ += data.size();
  return ++status_.last_index;
}

base::Result<void> Log::pump(const Handlers& handlers) {
  JOBBIE_CHECK(core_ != nullptr);
  if (wal_->failure()) return std::unexpected(*wal_->failure());
  while (true) {
    const auto ran = run_one_ready(handlers);
    if (!ran) return std::unexpected(ran.error());
    if (*ran) continue;
    status_ = core_->status();
    // A sole voter need not wait to be elected, but first hands out what it knows as committed:
    // the core looks through all of that, in memory, before it stands for election.
    if (!status_.sole_voter || status_.role != consensus::Role::follower) break;
    if (auto stood = core_->campaign(); !stood) return stood;
    if (!core_->has_ready()) break;
  }
  pending_entries_ = 0;
  pending_bytes_ = 0;
  core_->evict(applied_, kWindowBytes);
  if (seal_due_) return seal();
  return {};
}

base::Result<bool> Log::run_one_ready(const Handlers& handlers) {
  const auto ready = core_->ready();
  if (fetch_failure_) return std::unexpected(*fetch_failure_);
  if (!ready) return false;
  // A leader's entries travel while its own disk is busy. A promise waits for what it promises, and
  // whatever speaks of a new term waits for that.
  const bool wait = (ready->messages_wait_for_sync || ready->term_or_vote_changed) &&
                    !options_.test.send_before_sync;
  if (!wait) send(ready->messages, handlers);
  // Committed entries of a Ready were durable before it: they need not wait for its record.
  if (auto handed = hand_out(ready->committed, handlers); !handed)
    return std::unexpected(handed.error());
  const bool more_applied = !ready->committed.empty();
  if (auto written = persist(*ready); !written) return std::unexpected(written.error());
  if (wait) send(ready->messages, handlers);
  answer_reads(ready->reads, handlers);
  if (remake_core_) return remade();
  const auto light = core_->advance_append();
  if (fetch_failure_) return std::unexpected(*fetch_failure_);
  if (light.commit) hard_state_.commit = *light.commit;
  send(light.messages, handlers);
  if (auto handed = hand_out(light.committed, handlers); !handed)
    return std::unexpected(handed.error());
  if (remake_core_) return remade();
  if (more_applied || !light.committed.empty()) core_->advance_apply_to(applied_);
  return true;
}

void Log::send(std::span<const consensus::MessageView> messages, const Handlers& handlers) {
  if (!handlers.send) return;
  for (const auto& message : messages) handlers.send(message);
}

/// One Ready is one record: hard state and entries are durable together or not at all. A Ready that
/// changes nothing but the commit index is left to ride on the next one.
base::Result<void> Log::persist(const consensus::Ready& ready) {
  JOBBIE_CHECK(!ready.snapshot);  // adopt() takes them, never the core
  if (ready.hard_state) {
    const auto commit = hard_state_.commit;
    hard_state_ = *ready.hard_state;
    if (options_.test.forget_commit) hard_state_.commit = commit;
  }
  if (!ready.must_sync) return {};
  wrote_ = true;
  if (!options_.on_synced) return write(ready.entries);
  const auto began = std::chrono::steady_clock::now();
  auto written = write(ready.entries);
  options_.on_synced(std::chrono::duration_cast<std::chrono::microseconds>(
                         std::chrono::steady_clock::now() - began)
                         .count());
  return written;
}

/// What came from a leader in one message may be more than a record of ours can take. A first part
/// of the entries, with no more of the commit index than it has, is as good as a shorter message.
base::Result<void> Log::write(std::span<const consensus::EntryView> entries) {
  if (options_.test.split_records && !entries.empty()) {
    if (auto written = wal_->append(wal_->hard_state(), entries); !written) return written;
    entries = {};
  }
  auto hard_state = hard_state_;
  while (true) {
    std::size_t count = 0;
    std::size_t bytes = 0;
    while (count < entries.size()) {
      bytes += entries[count].data.size();
      if (count > 0 && bytes > wal_->max_payload(count + 1)) break;
      ++count;
    }
    if (count == entries.size()) return wal_->append(hard_state_, entries);
    hard_state.commit = std::min(hard_state_.commit, entries[count - 1].index);
    if (auto written = wal_->append(hard_state, entries.first(count)); !written) return written;
    entries = entries.subspan(count);
  }
}

base::Result<void> Log::hand_out(std::span<const consensus::EntryView> committed,
                                 const Handlers& handlers) {
  for (const auto& entry : committed) {
    JOBBIE_CHECK(entry.index == applied_ + 1);
    const bool plain = entry.type == consensus::EntryType::plain;
    if (!plain)
      if (auto changed = reconfigure(entry, handlers); !changed) return changed;
    applied_ = entry.index;
    if (handlers.apply)
      handlers.apply({.index = entry.index,
                      .term = entry.term,
                      .data = plain ? entry.data : std::string_view()});
    // The core that comes next hands out what follows.
    if (remake_core_) return {};
  }
  return {};
}

void Log::tick() {
  if (core_ == nullptr || wal_->failure()) return;
  wal_->retry();
  seal_due_ = !std::exchange(wrote_, false);
  // A sole voter that lost its office while entries are still unwritten must not stand for election
  // before they are durable: the core takes it for granted that they are.
  const auto status = core_->status();
  if (status.sole_voter && status.role != consensus::Role::leader &&
      status.persisted < status.last_index && !options_.test.tick_always)
    return;
  // Who was told of its removal has nobody to ask for votes. Its core, which does not know, still
  // ticks until it has forgotten whom it followed: until then it would give no vote to those who do
  // not know either, and need it.
  if (told_of_removal_ && status.role != consensus::Role::leader &&
      ticks_since_step_ >= consensus::kElectionTicks)
    return;
  ++ticks_since_step_;
  core_->tick();
  status_ = core_->status();
}

base::Result<void> Log::seal() {
  seal_due_ = false;
  if (hard_state_ == wal_->hard_state()) return {};
  return wal_->append(hard_state_, {});
}

base::Result<void> Log::cut(std::uint64_t index) {
  JOBBIE_CHECK(core_ != nullptr && index <= applied_);
  if (index < first_index()) return {};
  if (auto compacted = core_->compact(index); !compacted) return compacted;
  return wal_->cut(index);
}

base::Result<void> Log::close() {
  if (wal_->failure()) return std::unexpected(*wal_->failure());
  return seal();
}

}  // namespace jobbie::log
