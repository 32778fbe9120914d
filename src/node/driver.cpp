// A turn: assemble, commit, apply, answer.
#include "node/driver.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "command/codec.hpp"
#include "node/backups.hpp"
#include "node/bulk_runner.hpp"
#include "node/questions.hpp"
#include "node/readers.hpp"

namespace jobbie::node {
namespace {

/// Comparisons of names with globs in a turn, for claims and for waiting fetches each: about a
/// millisecond.
constexpr std::size_t kNamesPerTurn = 20'000;
/// And for one page of a list, before the next has its turn.
constexpr std::size_t kNamesOfOneList = 4096;
/// Jobs that the state's hash looks at in a turn.
constexpr std::size_t kHashedPerTurn = 1000;
/// For questions, in a turn.
constexpr std::int64_t kAnsweringUs = 2'000;
/// Waiting fetches that are tried in a turn.
constexpr std::size_t kWaitersPerTurn = 1000;
/// Jobs that tasks visit in an entry; about a microsecond each.
constexpr std::uint32_t kWorkAlone = 1000;
constexpr std::uint32_t kWorkBesideCalls = 300;
constexpr std::uint32_t kLittleWork = 50;

/// What a caller is told when the log refuses an entry and yet goes on.
call::Trouble trouble_of(const base::Error& error) {
  if (error.code == log::kDiskFull) return call::Trouble::disk_full;
  if (error.code == log::kNotLeader || error.code == log::kTransferring)
    return call::Trouble::no_leader;
  return call::Trouble::none;
}

/// What the database is asked for at once: it shows all that was handed over.
bool is_lookup(const call::Query& query) {
  return std::holds_alternative<call::JobQuery>(query) ||
         std::holds_alternative<call::BatchQuery>(query) ||
         std::holds_alternative<call::WhyQuery>(query);
}

}  // namespace

base::Result<void> Driver::turn(std::vector<Intake::Item>& items, std::vector<Letter>& mail,
                                bool draining) {
  now_us_ = clock_.steady_us();
  draining_ = draining;
  if (draining_) searchers_->drain();
  store_is_stuck_ = store_is_behind() && store_is_blocked();
  hold_back();
  look_at_memory();
  names_left_ = kNamesPerTurn;
  globs_left_ = kNamesPerTurn;
  waiters_left_ = kWaitersPerTurn;
  take_mail(mail);
  note_role();
  expire_waiters(draining);
  assemble(items);
  if (auto done = commit(); !done) return done;
  note_role();
  answer_questions();
  if (remote_inbox_) remote_inbox_->applied(applied_index_);
  outbox_.send();
  ring_outbox();
  shared_.feed.flush(now_us_);
  shared_.log_time_ms.store(now().ms, std::memory_order_relaxed);
  return upkeep();
}

/// Stamps, encodes and proposes what was assembled, and runs the log until it is applied.
base::Result<void> Driver::commit() {
  for (auto& proposal : std::exchange(proposals_, {})) {
    proposal.entry.now = log_clock_->now();
    proposal.entry.random = random_();
    proposal.entry.work = work_for(proposal);
    encoded_.clear();
    command::encode(proposal.entry, encoded_);
    const auto index = propose();
    if (index) {
      proposal.index = *index;
      proposal.term = log_->term();
      proposal.proposed_us = now_us_;
      under_way_.push_back(std::move(proposal));
      continue;
    }
    const auto trouble = trouble_of(index.error());
    if (trouble == call::Trouble::none) return std::unexpected(index.error());
    if (trouble == call::Trouble::no_leader) {
      undo(std::move(proposal));
      continue;
    }
    for (Part& part : proposal.parts) {
      untry(part, false);
      give_back(std::move(part.waiter.call), trouble);
    }
  }
  return pump();
}

/// How much of what goes in slices an entry may do: less where somebody waits for it, and little
/// while the store has enough to do with what others want.
std::uint32_t Driver::work_for(const Proposal& proposal) const {
  if (unhanded_rows_ + store_->lag().rows > options_.bounds.unstored_rows / 2) return kLittleWork;
  return proposal.parts.empty() ? kWorkAlone : kWorkBesideCalls;
}

base::Result<std::uint64_t> Driver::propose() {
  auto index = log_->propose(encoded_);
  if (index || index.error().code != log::kLogBusy) return index;
  if (auto pumped = pump(); !pumped) return std::unexpected(pumped.error());
  return log_->propose(encoded_);
}

base::Result<void> Driver::pump() {
  if (auto pumped = log_->pump(handlers_); !pumped) return pumped;
  for (const auto node : std::exchange(unreachable_, {})) log_->report_unreachable(node);
  if (broken_) return std::unexpected(*broken_);
  return {};
}

void Driver::apply(const log::Committed& committed) {
  JOBBIE_CHECK(committed.index > applied_index_);
  applied_index_ = committed.index;
  applied_term_ = committed.term;
  drop_overtaken(committed.index, committed.term);
  if (committed.data.empty() || broken_) return;
  led_us_ = 0;
  if (!under_way_.empty() && under_way_.front().index == committed.index) {
    Proposal proposal = std::move(under_way_.front());
    under_way_.pop_front();
    auto outcome = engine_->apply(proposal.entry);
    if (broken_) return;
    if (engine_->keys_revision() != keys_revision_) publish_keys();
    for (Part& part : proposal.parts) finish(std::move(part), proposal.entry, outcome.replies);
    unhanded_rows_ = std::max<std::uint64_t>(unhanded_rows_, engine_->undrained());
    note_ready(outcome.ready);
    tell(std::move(outcome.events));
    return;
  }
  auto entry = command::decode_entry(committed.data);
  if (!entry) {
    broken_ = base::Error{.code = "unreadable_entry",
                          .message = "entry " + std::to_string(committed.index) +
                                     " of the log cannot be read (" + entry.error().message +
                                     "). Was it written by a newer version? Start that one."};
    return;
  }
  unhanded_rows_ += entry->commands.size();
  unhanded_bytes_ += committed.data.size();
  auto outcome = engine_->apply(*entry);
  unhanded_rows_ = std::max<std::uint64_t>(unhanded_rows_, engine_->undrained());
  if (engine_->keys_revision() != keys_revision_) publish_keys();
  note_ready(outcome.ready);
  tell(std::move(outcome.events));
}

void Driver::finish(Part part, command::Entry& entry, std::vector<command::Reply>& replies) {
  call::Call& call = *part.waiter.call;
  for (std::size_t i = 0; i < part.count; ++i)
    call.replies.push_back(std::move(replies[part.first + i]));
  if (part.waiter.claim_withheld) call.replies.emplace_back(command::Claimed{});
  const auto* claimed = std::get_if<command::Claimed>(&call.replies.back());
  const bool in_vain = claimed != nullptr && claimed->jobs.empty();
  untry(part, in_vain);
  if (in_vain && !part.waiter.claim_withheld) {
    const bool waits = part.waiter.deadline_us > now_us_ && !draining_ && log_->leader() &&
                       waiters_.size() < options_.bounds.waiting_fetches && is_still_granted(call);
    if (waits) {
      call.replies.pop_back();
      call.commands.push_back(std::move(entry.commands[part.first + part.count - 1]));
      waiters_.add(std::move(part.waiter));
      return;
    }
  }
  if (is_remote(call) && std::holds_alternative<command::BulkReply>(call.replies.back()))
    bulks_->look_again();
  outbox_.add(std::move(part.waiter.call));
}

bool Driver::is_still_granted(const call::Call& call) const {
  return !call.grant || ring_->holds(*call.grant);
}

/// Before the change of a key is acknowledged, all threads see it, and who waits for a job with a
/// key that is gone waits no longer.
void Driver::publish_keys() {
  keys_revision_ = engine_->keys_revision();
  ring_ = std::make_shared<const call::KeyRing>(engine_->keys());
  shared_.keys.publish(ring_);
  for (auto& waiter :
       waiters_.take_if([&](const Waiter& waiting) { return !is_still_granted(*waiting.call); }))
    give_empty(std::move(waiter));
}

void Driver::note_ready(const std::vector<base::Blob>& ready) {
  if (waiters_.size() == 0) return;
  for (const auto& queue : ready) {
    if (engine_->demand(queue.view()).pending == 0) continue;
    const auto it = wakes_.find(queue.view());
    if (it != wakes_.end()) {
      it->second.after = 0;
      it->second.found = {};
      continue;
    }
    WaitersFound found;
    if (waiters_.find_first(queue.view(), 0, found, globs_left_) && found.first.empty()) continue;
    wakes_.emplace(queue.view(), Wake{.found = std::move(found)});
  }
}

void Driver::answer_questions() {
  answer_deferred();
  go_on_listing();
  // However many there are: those who write wait no longer than that.
  const auto until_us = clock_.steady_us() + kAnsweringUs;
  while (!questions_.empty() && clock_.steady_us() <= until_us) {
    auto call = std::move(questions_.front());
    questions_.pop_front();
    take_question(std::move(call));
  }
  answer_about_state();
}

/// The hash of the state comes with it, for which every job is looked at once.
void Driver::answer_about_state() {
  std::size_t budget = kHashedPerTurn;
  if (hash_waiters_.empty() || !engine_->prepare_hash(budget)) return;
  for (auto& call : std::exchange(hash_waiters_, {})) {
    call->answer = status(true);
    outbox_.add(std::move(call));
  }
}

/// Lists may be long: each is looked through a share at a time.
void Driver::go_on_listing() {
  for (std::size_t left = kNamesPerTurn; left > 0 && !listing_.empty();) {
    auto [call, scan] = std::move(listing_.front());
    listing_.pop_front();
    std::size_t share = std::min(left, kNamesOfOneList);
    left -= share;
    if (call->has_hung_up()) {
      give_back(std::move(call), call::Trouble::overloaded);
    } else if (engine_->look_through(scan, share)) {
      answer_scan(*engine_, stats_, now(), std::move(scan), *call);
      outbox_.add(std::move(call));
    } else {
      listing_.push_back({std::move(call), std::move(scan)});
    }
  }
}

void Driver::answer_question(std::unique_ptr<call::Call> call) {
  if (call->has_hung_up()) return give_back(std::move(call), call::Trouble::overloaded);
  if (auto scan = scan_for(*call)) {
    listing_.push_back({std::move(call), *std::move(scan)});
    if (listing_.size() == 1) go_on_listing();
    return;
  }
  const call::Query& query = call->query;
  if (std::holds_alternative<call::BulkQuery>(query)) return bulks_->take(std::move(call));
  if (std::holds_alternative<call::ClusterChange>(query)) return manage(std::move(call));
  if (std::holds_alternative<call::BulksQuery>(query) && !answer_bulks(*call, false))
    return watchers_.push_back(std::move(call));
  if (std::holds_alternative<call::StatusQuery>(query))
    return hash_waiters_.push_back(std::move(call));
  if (answer_figures(*call) || answer_outbox(*call) ||
      answer_from_engine(*engine_, stats_, now(), *call) ||
      !std::holds_alternative<std::monostate>(call->answer))
    return outbox_.add(std::move(call));
  if (is_lookup(query)) return readers_->ask(std::move(call), engine_->undrained_sweeps());
  // Whoever was answered before finds what was done, so the database gets it first.
  hand_over();
  if (std::holds_alternative<call::BackupQuery>(query))
    return backups_->make(std::move(call), handed_index_);
  searchers_->ask(std::move(call), handed_index_);
}

/// False: the operation is where the caller saw it last, and the caller would rather wait.
bool Driver::answer_bulks(call::Call& call, bool at_once) {
  const auto& query = std::get<call::BulksQuery>(call.query);
  call::BulksAnswer answer{.bulks = engine_->bulks()};
  const bool restricted = call.grant && !call.grant->all_queues;
  std::erase_if(answer.bulks, [&](const auto& bulk) {
    return (!query.bulk.is_nil() && bulk.id != query.bulk) ||
           (restricted && bulk.owner != call.grant->key);
  });
  if (!at_once && query.seen && answer.bulks.size() == 1 &&
      answer.bulks[0].status == model::BulkStatus::processing &&
      answer.bulks[0].cursor == *query.seen && watchers_.size() < options_.bounds.reads)
    return false;
  std::reverse(answer.bulks.begin(), answer.bulks.end());
  call.answer = std::move(answer);
  return true;
}

/// Now and then: what watchers wait for need not be told at once.
void Driver::answer_watchers() {
  for (auto& call : std::exchange(watchers_, {})) {
    if (!is_still_granted(*call)) {
      give_back(std::move(call), call::Trouble::revoked);
      continue;
    }
    static_cast<void>(answer_bulks(*call, true));
    outbox_.add(std::move(call));
  }
}

base::Instant Driver::now() { return std::max(log_clock_->now(), engine_->now()); }

const char* Driver::role() const {
  if (log_->removed()) return "removed";
  if (log_->leader()) return "leader";
  if (!log_->configuration().is_voter(log_->node_id())) return "learner";
  return log_->leader_id() == 0 ? "candidate" : "follower";
}

std::vector<call::NodeRow> Driver::nodes() const {
  if (membership_) return membership_->rows();
  call::NodeRow row{.id = log_->node_id(),
                    .name = options_.name,
                    .address = {},
                    .http = {},
                    .voter = true,
                    .leader = log_->leader(),
                    .self = true,
                    .connected = true,
                    .matched_index = log_->last_index()};
  std::vector<call::NodeRow> rows;
  rows.push_back(std::move(row));
  return rows;
}

call::NodeStatus Driver::status(bool with_hash) {
  return {.node_id = log_->node_id(),
          .cluster_id = log_->configuration().cluster_id,
          .name = options_.name,
          .role = role(),
          .leader_id = log_->leader_id(),
          .commit_index = log_->commit_index(),
          .first_index = log_->first_index(),
          .nodes = with_hash ? nodes() : std::vector<call::NodeRow>{},
          .term = log_->term(),
          .applied_index = applied_index_,
          .stored_index = store_->written_index(),
          .durable_index = store_->durable_index(),
          .state_hash = with_hash ? engine_->state_hash() : 0,
          .live_jobs = engine_->live_jobs(),
          .waiting_fetches = waiters_.size(),
          .store_lag_rows = store_->lag().rows + unhanded_rows_,
          .leader = log_->leader(),
          .disk_full = was_full_,
          .memory_full = memory_.is_refusing(),
          .memory_limit = memory_.limit(),
          .memory_used = memory_.used(),
          .now = now(),
          .clock_offset = log_clock_->offset(),
          .started_at = started_at_};
}

}  // namespace jobbie::node
