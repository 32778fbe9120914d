// The driver of the Raft core. The rules it keeps, and why, are in DESIGN.md.
#include "log/log.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"

namespace jobbie::log {
namespace {

/// Payloads that the core keeps in memory for followers that are a little behind.
constexpr std::size_t kWindowBytes = 4u << 20;

}  // namespace

Log::Log(std::unique_ptr<Wal> wal, const Options& options)
    : options_(options), wal_(std::move(wal)), hard_state_(wal_->hard_state()) {}
Log::~Log() = default;

base::Result<std::unique_ptr<Log>> Log::open(Disk& disk, const Options& options) {
  auto wal = Wal::open(disk, {.directory = options.directory,
                              .node_id = options.node_id,
                              .segment_bytes = options.segment_bytes,
                              .seed = options.seed,
                              .preparing = options.preparing,
                              .test = options.test});
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
  hard_state_.commit = std::clamp(std::max(hard_state_.commit, applied_), base, last);
  auto core = consensus::Core::make({
      .id = options_.node_id,
      .seed = options_.seed,
      .applied = applied_,
      .hard_state = hard_state_,
      .base = wal_->terms().base(),
      .last_index = last,
      .runs = wal_->terms().runs(),
      .conf_state = wal_->conf_state(),
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

bool Log::has_room(std::size_t bytes) const {
  return wal_->has_room(pending_entries_ + 1, pending_bytes_ + bytes);
}

base::Result<std::uint64_t> Log::propose(std::string_view data) {
  JOBBIE_CHECK(core_ != nullptr && !data.empty());
  if (wal_->failure()) return std::unexpected(*wal_->failure());
  if (!leader())
    return std::unexpected(base::Error{std::string(kNotLeader), "this node does not lead"});
  if (pending_bytes_ + data.size() > wal_->max_payload(pending_entries_ + 1))
    return std::unexpected(
        base::Error{std::string(kLogBusy), "more than one record of the log can take"});
  if (!has_room(data.size()))
    return std::unexpected(base::Error{std::string(kDiskFull), "the log has no space left"});
  if (auto proposed = core_->propose({&data, 1}); !proposed)
    return std::unexpected(proposed.error());
  ++pending_entries_;
  pending_bytes_ += data.size();
  return ++status_.last_index;
}

base::Result<void> Log::pump(const std::function<void(const Committed&)>& apply) {
  JOBBIE_CHECK(core_ != nullptr);
  if (wal_->failure()) return std::unexpected(*wal_->failure());
  while (true) {
    const auto ran = run_one_ready(apply);
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

base::Result<bool> Log::run_one_ready(const std::function<void(const Committed&)>& apply) {
  const auto ready = core_->ready();
  if (fetch_failure_) return std::unexpected(*fetch_failure_);
  if (!ready) return false;
  // Committed entries of a Ready were durable before it: they need not wait for its record.
  if (auto handed = hand_out(ready->committed, apply); !handed)
    return std::unexpected(handed.error());
  const bool more_applied = !ready->committed.empty();
  if (auto written = persist(*ready); !written) return std::unexpected(written.error());
  const auto light = core_->advance_append();
  if (fetch_failure_) return std::unexpected(*fetch_failure_);
  if (light.commit) hard_state_.commit = *light.commit;
  if (auto handed = hand_out(light.committed, apply); !handed)
    return std::unexpected(handed.error());
  if (more_applied || !light.committed.empty()) core_->advance_apply_to(applied_);
  return true;
}

/// One Ready is one record: hard state and entries are durable together or not at all. A Ready that
/// changes nothing but the commit index is left to ride on the next one.
base::Result<void> Log::persist(const consensus::Ready& ready) {
  JOBBIE_CHECK(!ready.snapshot);  // only peers send them
  if (ready.hard_state) hard_state_ = *ready.hard_state;
  if (!ready.must_sync) return {};
  wrote_ = true;
  if (!options_.on_synced) return wal_->append(hard_state_, ready.entries);
  const auto began = std::chrono::steady_clock::now();
  auto written = wal_->append(hard_state_, ready.entries);
  options_.on_synced(std::chrono::duration_cast<std::chrono::microseconds>(
                         std::chrono::steady_clock::now() - began)
                         .count());
  return written;
}

base::Result<void> Log::hand_out(std::span<const consensus::EntryView> committed,
                                 const std::function<void(const Committed&)>& apply) {
  for (const auto& entry : committed) {
    JOBBIE_CHECK(entry.index == applied_ + 1);
    // A configuration of one voter never changes.
    if (entry.type != consensus::EntryType::plain)
      return std::unexpected(base::Error{
          "corrupt_log", fmt::format("entry {} changes the configuration", entry.index)});
    apply({.index = entry.index, .term = entry.term, .data = entry.data});
    applied_ = entry.index;
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
      status.persisted < status.last_index)
    return;
  core_->tick();
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
