// What goes on between rounds: waiting fetches that give up, hand-overs to the store, cutting the
// log behind it, and how long the thread may sleep.
#include <algorithm>
#include <chrono>
#include <utility>

#include "node/driver.hpp"
#include "store/sqlite.hpp"

namespace jobbie::node {
namespace {

constexpr std::int64_t kUpkeepUs = 500'000;   ///< cutting the log, clients that have gone
constexpr std::int64_t kStorePollUs = 5'000;  ///< while the store is busy and something waits
constexpr std::chrono::milliseconds kStorePatience{2};
/// A hand-over need not wait for its time, nor, when it has become this large, for the store: it
/// takes the longer, the more there is.
constexpr std::uint64_t kRowsAtOnce = 5'000;
constexpr std::uint64_t kMostRowsAtOnce = 20'000;
/// Of waiting fetches, in one go.
constexpr std::size_t kLookedAtOnce = 20'000;
constexpr std::size_t kExpiredAtOnce = 2'000;

}  // namespace

void Driver::give_back(std::unique_ptr<call::Call> call, call::Trouble trouble) {
  if (trouble == call::Trouble::disk_full) refused_for_room_ = true;
  // Another node that handed the call on will find the leader by itself.
  const bool gone = trouble == call::Trouble::no_leader && log_->removed() && !is_remote(*call);
  call->trouble = gone ? call::Trouble::removed : trouble;
  if (call->perhaps_done) call->trouble = call::Trouble::lost_track;
  outbox_.add(std::move(call));
}

void Driver::give_empty(Waiter waiter) {
  waiter.call->replies.emplace_back(command::Claimed{});
  outbox_.add(std::move(waiter.call));
}

void Driver::expire_waiters(bool draining) {
  if (draining)
    for (auto& waiter : waiters_.take_all()) give_empty(std::move(waiter));
  for (std::size_t left = kExpiredAtOnce; left > 0; --left) {
    auto waiter = waiters_.take_expired(now_us_);
    if (!waiter) break;
    give_empty(*std::move(waiter));
  }
}

bool Driver::store_is_behind() const {
  const auto lag = store_->lag();
  return unhanded_rows_ + lag.rows > options_.bounds.unstored_rows ||
         lag.bytes > options_.bounds.unstored_bytes;
}

/// Not for want of memory, which is there again when answers have been sent and jobs are done.
bool Driver::store_is_blocked() const {
  const auto trouble = store_->trouble();
  return trouble && trouble->code != store::kOutOfMemory;
}

bool Driver::wait_for_store() {
  // A store that is blocked does not catch up: writes are refused instead, and reads go on.
  if (!store_is_behind() || store_is_blocked()) return false;
  if (store_->wants_more()) hand_over();
  store_->wait_until_written(handed_index_, kStorePatience);
  return store_is_behind();
}

bool Driver::may_write() { return serving_ && !is_unsafe() && !disk_is_full({}); }

base::Result<void> Driver::upkeep() {
  const auto now = clock_.steady_us();
  const bool is_time = now >= next_hand_over_us_ || unhanded_rows_ >= kRowsAtOnce ||
                       unhanded_bytes_ >= options_.bounds.unstored_bytes / 4;
  if (unhanded_rows_ > 0 &&
      ((is_time && store_->wants_more()) || unhanded_rows_ >= kMostRowsAtOnce))
    hand_over();
  if (now >= next_tick_us_) {
    next_tick_us_ = now + options_.election_timeout.ms * 1000 /
                              static_cast<std::int64_t>(consensus::kElectionTicks);
    log_->tick();
    leave_office();
    expire_undecided();
    note_alive();
    if (forwarder_) forwarder_->call_off(draining_);
    upkeep_cluster();
    note_health();
    outbox_.send();
  }
  if (now < next_upkeep_us_) return {};
  next_upkeep_us_ = now + kUpkeepUs;
  for (auto& waiter : waiters_.take_hung_up(kLookedAtOnce)) give_empty(std::move(waiter));
  answer_watchers();
  outbox_.send();
  keep_files();
  note_room();
  report_memory();
  note_removal();
  note_clock();
  report_trouble();
  note_health();
  return cut_log();
}

/// What is not known to be in a sound database that the next start finds stays in the log.
base::Result<void> Driver::cut_log() {
  const auto index = cut_point();
  if (index <= cut_index_ || is_unsafe() || !store_->files_in_place()) return {};
  cut_index_ = index;
  return log_->cut(index);
}

/// A line in the journal when the store gets into trouble, and when it is out of it.
void Driver::report_trouble() {
  const auto trouble = store_->trouble();
  const std::string code = trouble ? trouble->code : "";
  if (code == told_trouble_ || options_.journal == nullptr) return;
  told_trouble_ = code;
  if (trouble)
    options_.journal->write(base::Level::error, "database_trouble",
                            {{"code", std::string_view(code)},
                             {"message", std::string_view(trouble->message)},
                             {"data_dir", std::string_view(options_.data_dir)}});
  else
    options_.journal->write(base::Level::info, "database_recovered");
}

void Driver::hand_over() {
  next_hand_over_us_ = clock_.steady_us() + options_.bounds.checkpoint.ms * 1000;
  if (applied_index_ == handed_index_) return;
  store_->write(applied_index_, engine_->drain_changes());
  handed_index_ = applied_index_;
  unhanded_rows_ = 0;
  unhanded_bytes_ = 0;
}

std::int64_t Driver::patience_us() {
  // What is due waits while nothing can be written: a full disk must not keep a core busy.
  const bool may_act = may_write();
  const bool may_wake = may_act && std::any_of(wakes_.begin(), wakes_.end(), [](const auto& wake) {
                          return wake.second.under_way == 0;
                        });
  if (!backlog_.empty() || !preparing_.empty() || may_wake) return 0;
  if (!questions_.empty() || !listing_.empty() || !hash_waiters_.empty()) return 0;
  const auto now = clock_.steady_us();
  std::int64_t until = std::min(next_tick_us_, next_upkeep_us_);
  if (const auto deadline = waiters_.next_deadline_us()) until = std::min(until, *deadline);
  if (unhanded_rows_ > 0)
    until = std::min(until, store_->wants_more() ? next_hand_over_us_ : now + kStorePollUs);
  if (const auto due = engine_->next_deadline(); may_act && due != base::kNever && !is_ticking()) {
    const auto left_ms = std::clamp<std::int64_t>((due - log_clock_->now()).ms, 0, 1000);
    until = std::min(until, now + left_ms * 1000);
  }
  return std::max<std::int64_t>(until - now, 0);
}

/// Every call comes back, whatever happens.
void Driver::give_everything_back() {
  for (auto& waiter : waiters_.take_all()) give_empty(std::move(waiter));
  for (auto& item : std::exchange(preparing_, {})) {
    if (item.call->replies.empty())
      give_back(std::move(item.call), call::Trouble::stopping);
    else
      give_empty({.call = std::move(item.call)});
  }
  for (auto& item : std::exchange(backlog_, {}))
    give_back(std::move(item.call), call::Trouble::stopping);
  for (auto& held : std::exchange(held_, {}))
    give_back(std::move(held.call), call::Trouble::stopping);
  for (auto& call : std::exchange(questions_, {}))
    give_back(std::move(call), call::Trouble::stopping);
  for (auto& call : std::exchange(hash_waiters_, {}))
    give_back(std::move(call), call::Trouble::stopping);
  for (auto& listing : std::exchange(listing_, {}))
    give_back(std::move(listing.call), call::Trouble::stopping);
  for (auto& deferred : std::exchange(deferred_, {}))
    give_back(std::move(deferred.call), call::Trouble::stopping);
  for (auto& proposal : std::exchange(under_way_, {}))
    for (Part& part : proposal.parts)
      give_back(std::move(part.waiter.call), call::Trouble::lost_track);
  for (auto& asked : std::exchange(asked_in_vain_, {}))
    give_back(std::move(asked.call), call::Trouble::stopping);
  for (auto& [number, asked] : std::exchange(managing_, {}))
    give_back(std::move(asked.call), call::Trouble::lost_track);
  for (auto& call : std::exchange(wanted_snapshots_, {}))
    give_back(std::move(call), call::Trouble::stopping);
  if (membership_) {
    membership_->give_up("stopping", "The leader was stopped; look at the cluster's status.");
    for (auto& held : forwarder_->take_all())
      give_back(std::move(held.call), call::Trouble::lost_track);
  }
  answer_watchers();
  outbox_.send();
}

base::Result<void> Driver::close() {
  give_everything_back();
  if (!broken_) hand_over();
  snapshots_.reset();
  next_save_us_ = 0;
  keep_files();
  if (reopens_) return put_back();
  auto stored = store_->close();
  auto closed = log_->close();
  return stored ? closed : stored;
}

}  // namespace jobbie::node
