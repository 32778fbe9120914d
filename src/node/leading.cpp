// Leading and following: when duties begin and end, where calls go meanwhile, and what becomes of
// entries that another leader has overtaken.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "node/bulk_runner.hpp"
#include "node/driver.hpp"

namespace jobbie::node {
namespace {

/// How long a call waits for a leader before it is refused, and how long an entry that was proposed
/// may stay undecided before its callers are told so.
constexpr std::int64_t kHoldUs = 5'000'000;
constexpr std::int64_t kUndecidedUs = 10'000'000;
constexpr std::int64_t kAliveUs = 100'000;
constexpr std::int64_t kHandOverTryUs = 500'000;
constexpr std::int64_t kHandOverUs = 4'000'000;
/// All disks may be full: then nobody shall go round in circles.
constexpr std::int64_t kFullHandOverTryUs = 30'000'000;

/// A wall clock this far from log time is worth a line in the journal; again after an hour, and a
/// last one when it is less than half as far.
constexpr base::Duration kClockIsOff = base::minutes(1);
constexpr std::int64_t kClockReportUs = 3'600'000'000;
/// What others have said of the time counts for as long.
constexpr std::int64_t kReckonedForUs = 5'000'000;
/// A start this long after the last entry may be one with a wrong clock.
constexpr base::Duration kLongPause = base::hours(1);

}  // namespace

bool Driver::is_remote(const call::Call& call) const {
  return &call.inbox() == remote_inbox_.get();
}

void Driver::note_role() {
  const bool leads = log_->leader() && applied_term_ == log_->term() && !log_->removed();
  if (leads && served_term_ != log_->term()) begin_term();
  if (!log_->leader() && served_term_ != 0) end_term();
  serving_ = leads && !log_->transferring();
  if (served_term_ != 0) hear_of_leader();
}

/// Everything that was committed before is applied: from here on this node decides.
void Driver::begin_term() {
  served_term_ = log_->term();
  begin_time();
  lost_ = time_without_leader();
  lacks_room_for_snapshot_ = false;
  bulks_->lead(true);
  zones_.begin_again();
  idle_queues_.begin_again();
  if (options_.journal != nullptr && transport_ != nullptr)
    options_.journal->write(
        base::Level::info, "leading",
        {{"term", log_->term()}, {"index", applied_index_}, {"leaderless_ms", lost_->ms}});
}

/// A leader goes on from the time it was told by another one. Without, it knows how much has passed
/// since its own last sign of life; and if the machine was started again, it asks its clock, as
/// long as those of the others do not say otherwise.
void Driver::begin_time() {
  if (!std::exchange(knows_time_, true)) {
    log_clock_.emplace(clock_, engine_->now(), last_sign_);
    if (!passed_since(clock_, last_sign_)) log_clock_->follow(agreed_time());
    report_jump();
  }
  log_clock_->follow(std::max(log_clock_->now(), engine_->now()));
}

/// The middle of what this node and the others take it to be; of two the earlier. A clock that is
/// far ahead would end what should go on, and one that is behind does no harm.
base::Instant Driver::agreed_time() {
  std::vector<base::Instant> known = {log_clock_->now()};
  for (const auto& [node, heard] : reckoned_)
    if (now_us_ - heard.at_us < kReckonedForUs && log_->configuration().is_voter(node))
      known.push_back(heard.log + base::Duration{(now_us_ - heard.at_us) / 1000});
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>((known.size() - 1) / 2);
  std::nth_element(known.begin(), middle, known.end());
  return *middle;
}

void Driver::end_term() {
  served_term_ = 0;
  lost_.reset();
  wakes_.clear();
  bulks_->lead(false);
  for (auto& waiter : waiters_.take_all()) wait_elsewhere(std::move(waiter), 0);
  if (options_.journal != nullptr)
    options_.journal->write(base::Level::warning, "not_leading_any_more", {{"term", log_->term()}});
}

/// A claim that finds nothing here may find something with the next leader. But what stood before
/// it is done, if anything did: to say that nothing was, or to do it again, would be wrong.
void Driver::wait_elsewhere(Waiter waiter, std::size_t bytes) {
  if (!waiter.call->replies.empty()) return give_empty(std::move(waiter));
  hold({.call = std::move(waiter.call),
        .bytes = bytes,
        .since_us = now_us_,
        .wait_until_us = waiter.deadline_us});
}

/// A leader is heard of many times a second. After a longer silence, in which this node itself may
/// have been stopped, nobody knows whether somebody led: what was said long ago is read only now.
void Driver::hear_of_leader() {
  const auto silence_us = options_.election_timeout.ms * 1000 / 2;
  if (heard_us_ != 0) led_us_ += std::min(now_us_ - heard_us_, silence_us);
  heard_us_ = now_us_;
}

/// How much of the time since the latest entry nobody has led, as far as this node knows; where it
/// has just been started, since it, or another process in this directory, was last led.
base::Duration Driver::time_without_leader() {
  if (engine_->now() == base::Instant{}) return {};
  // Leases are longer by this, and so it is no more than what log time makes of it.
  const auto passed = std::max(log_clock_->now() - engine_->now(), base::Duration{});
  if (heard_us_ != 0) return {std::max<std::int64_t>(passed.ms - led_us_ / 1000, 0)};
  if (const auto known = passed_since(clock_, last_sign_)) return std::min(passed, *known);
  auto last_ms = engine_->now().ms;
  if (last_sign_) last_ms = std::max(last_ms, last_sign_->wall_us / 1000);
  return std::clamp(base::Duration{clock_.wall_us() / 1000 - last_ms}, base::Duration{}, passed);
}

void Driver::note_alive() {
  if (now_us_ < next_alive_us_ || log_->leader_id() == 0) return;
  next_alive_us_ = now_us_ + kAliveUs;
  life_sign_.write(
      {.boot = boot_, .steady_us = clock_.steady_us(), .wall_us = clock_.wall_us(), .log = now()});
}

/// Log time begins at the wall clock after a start of the machine. That is right after a long time
/// off, and a disaster with a wrong clock: only people can tell one from the other.
void Driver::report_jump() {
  const auto jump = log_clock_->now() - engine_->now();
  if (options_.journal == nullptr || engine_->now() == base::Instant{} || jump < kLongPause) return;
  options_.journal->write(
      base::Level::warning, "clock_far_ahead_of_log",
      {{"ahead_ms", jump.ms},
       {"last_entry_ms", engine_->now().ms},
       {"message",
        std::string_view("The log's time goes on at this machine's clock. If nobody worked in this "
                         "directory for that long, all is well. If not, the clock is wrong: stop, "
                         "set it right, and see \"Clocks\" in docs/operations.md.")}});
}

/// Whoever looks after the machine is told that its clock and the log's time differ: one of them is
/// wrong, and nothing here can know which.
void Driver::note_clock() {
  const auto off = log_clock_->offset();
  const auto far = std::abs(off.ms);
  if (next_clock_report_us_ == 0 ? far < kClockIsOff.ms : far * 2 < kClockIsOff.ms) {
    if (std::exchange(next_clock_report_us_, 0) != 0 && options_.journal != nullptr)
      options_.journal->write(base::Level::info, "clock_agrees", {{"ahead_ms", off.ms}});
    return;
  }
  if (now_us_ < next_clock_report_us_) return;
  next_clock_report_us_ = now_us_ + kClockReportUs;
  if (options_.journal == nullptr) return;
  const bool made_up = off.ms > -LogClock::kSlowedUpToUs / 1000;
  options_.journal->write(
      base::Level::warning, "clock_is_off",
      {{"ahead_ms", off.ms},
       {"message",
        std::string_view(
            made_up
                ? "This machine's clock and the log's time differ. Leases, delays and schedules "
                  "go by the log's, which makes up for the difference slowly. See \"Clocks\" in "
                  "docs/operations.md."
                : "The log's time is days ahead of this machine's clock, and does not wait for "
                  "it. See \"Clocks\" in docs/operations.md.")}});
}

/// Where a call with commands goes: into the next entry, to the leader, or aside.
void Driver::route(Held held) {
  if (serving_) return take_commands(std::move(held));
  const auto leader = log_->leader_id();
  if (is_remote(*held.call)) return give_back(std::move(held.call), call::Trouble::no_leader);
  const bool claims = std::holds_alternative<command::Claim>(held.call->commands.back());
  if (draining_ && claims) return give_back(std::move(held.call), call::Trouble::stopping);
  if (transport_ != nullptr && leader != 0 && leader != log_->node_id() &&
      forwarder_->send(held, leader, now_us_))
    return;
  hold(std::move(held));
}

void Driver::hold(Held held) {
  const bool remote = is_remote(*held.call);
  if (remote || transport_ == nullptr || log_->removed() ||
      held_.size() >= options_.bounds.intake_calls || held_bytes_ > options_.bounds.intake_bytes)
    return give_back(std::move(held.call), call::Trouble::no_leader);
  held_bytes_ += held.bytes;
  held_.push_back(std::move(held));
}

void Driver::route_held() {
  if (held_.empty()) return;
  const auto leader = log_->leader_id();
  const bool routable = serving_ || (leader != 0 && leader != log_->node_id() &&
                                     membership_ != nullptr && membership_->linked(leader));
  auto waiting = std::exchange(held_, {});
  held_bytes_ = 0;
  for (auto& held : waiting) {
    if (held.call->has_hung_up())
      give_back(std::move(held.call), call::Trouble::no_leader);
    else if (routable)
      route(std::move(held));
    else if (held.since_us + kHoldUs < now_us_)
      give_back(std::move(held.call), call::Trouble::no_leader);
    else
      hold(std::move(held));
  }
}

/// The entry will never be: what is in it is as if it had just come.
void Driver::undo(Proposal proposal) {
  for (Part& part : proposal.parts) {
    untry(part, false);
    auto& call = *part.waiter.call;
    for (std::size_t i = 0; i < part.count; ++i)
      call.commands.push_back(std::move(proposal.entry.commands[part.first + i]));
    if (part.audit != 0)
      call.audit = std::move(std::get<command::RecordAction>(proposal.entry.commands[part.audit]));
    if (part.waiter.claim_withheld) {
      give_back(std::move(part.waiter.call), call::Trouble::stopping);
      continue;
    }
    wait_elsewhere(std::move(part.waiter), proposal.bytes / proposal.parts.size());
  }
}

/// An entry of another term stands where ours would: those of ours that come at or behind it, and
/// are older, never will.
void Driver::drop_overtaken(std::uint64_t index, std::uint64_t term) {
  while (!under_way_.empty() && under_way_.back().index >= index && under_way_.back().term < term) {
    auto overtaken = std::move(under_way_.back());
    under_way_.pop_back();
    undo(std::move(overtaken));
  }
}

/// A node that is to stop gives its office away first, so that nobody has to wait for an election;
/// so does one without room on its disk, or without room for a snapshot that another node needs:
/// some other disk may have it; and one whose own files are damaged or gone.
void Driver::leave_office() {
  const bool full = was_full_ || lacks_room_for_snapshot_ || is_unsafe();
  if ((!draining_ && !full) || transport_ == nullptr || !log_->leader()) return;
  if (draining_ && draining_since_us_ == 0) {
    draining_since_us_ = now_us_;
    next_hand_over_try_us_ = now_us_;  // whatever was tried before
  }
  if (now_us_ < next_hand_over_try_us_) return;
  next_hand_over_try_us_ = now_us_ + (draining_ ? kHandOverTryUs : kFullHandOverTryUs);
  if (log_->transferring()) return;
  const auto heirs = membership_->heirs();
  if (!heirs.empty()) static_cast<void>(log_->transfer(heirs.front()));
}

/// Whoever runs a node that was removed is told so, once.
void Driver::note_removal() {
  if (!log_->removed() || std::exchange(told_removal_, true) || options_.journal == nullptr) return;
  options_.journal->write(
      base::Level::warning, "removed_from_cluster",
      {{"node", log_->node_id()},
       {"message", std::string_view("This node is no member any more. Stop it; to let it join "
                                    "again, start it with an empty data directory.")}});
}

bool Driver::may_stop() const {
  if (transport_ == nullptr) return true;
  const bool settled = under_way_.empty() && held_.empty() && forwarder_->size() == 0;
  if (!log_->leader()) return settled || log_->leader_id() == 0;
  if (draining_since_us_ != 0 && clock_.steady_us() - draining_since_us_ > kHandOverUs) return true;
  return membership_->heirs().empty();
}

/// Entries that are neither applied nor overtaken: nobody leads, or nobody follows.
void Driver::expire_undecided() {
  while (!under_way_.empty() && !log_->leader() &&
         under_way_.front().proposed_us + kUndecidedUs < now_us_) {
    auto proposal = std::move(under_way_.front());
    under_way_.pop_front();
    for (Part& part : proposal.parts) {
      untry(part, false);
      give_back(std::move(part.waiter.call), call::Trouble::lost_track);
    }
  }
  if (forwarder_ == nullptr) return;
  for (auto& held : forwarder_->take_overdue(now_us_))
    give_back(std::move(held.call), call::Trouble::lost_track);
  come_back_empty(forwarder_->take_superseded(log_->leader_id(), now_us_));
}

}  // namespace jobbie::node
