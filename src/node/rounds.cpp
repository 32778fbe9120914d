// Making entries: calls, waiting fetches that may now find something, and the tick that is due.
//
// An entry that enqueues into a queue with a waiting fetch carries that fetch too, so that from
// enqueue to start there is one write to the disk. A fetch that can only find nothing begins to
// wait without any.
#include <algorithm>
#include <utility>

#include "node/driver.hpp"

namespace jobbie::node {
namespace {

/// Waiters of one queue tried at once, at most.
constexpr std::size_t kMostAtOnce = 64;
/// Queues whose waiters are tried in one turn.
constexpr std::size_t kWakesPerTurn = 256;
/// Of the names that globs are compared with in a turn, one claim's share.
constexpr std::size_t kNamesOfOneClaim = 4096;
/// Claims that take turns: the engine remembers what it has compared for all of them.
constexpr std::size_t kPreparedTogether = 16;
/// When a worker was last heard of is known to within this.
constexpr base::Duration kWorkerNews = base::seconds(5);

bool is_claiming(const call::Call& call) {
  return !call.commands.empty() && std::holds_alternative<command::Claim>(call.commands.back());
}

bool runs_at_once(const model::JobSpec& job) {
  return job.scheduled_at.ms == 0 && job.delay.ms == 0 && job.depends_on.empty() &&
         job.depends_on_index.empty();
}

std::uint64_t rows_of(const command::Command& command) {
  if (const auto* many = std::get_if<command::EnqueueMany>(&command)) return many->jobs.size();
  if (const auto* claim = std::get_if<command::Claim>(&command)) return claim->count;
  if (const auto* beat = std::get_if<command::Heartbeat>(&command)) return beat->beats.size();
  if (const auto* logs = std::get_if<command::AppendLogs>(&command)) return logs->lines.size();
  return 1;
}

/// The caller's key, if it is for some queues only; nil: it may do everything.
base::KeyId restricted_key(const call::Call& call) {
  return call.grant && !call.grant->all_queues ? call.grant->key : base::KeyId{};
}

/// Whether a command names a job, a schedule or a worker by its id, so that only the engine knows
/// the queue.
bool names_by_id(const command::Command& command) {
  const auto depends = [](const model::JobSpec& job) { return !job.depends_on.empty(); };
  if (const auto* one = std::get_if<command::Enqueue>(&command)) return depends(one->job);
  if (const auto* many = std::get_if<command::EnqueueMany>(&command))
    return std::any_of(many->jobs.begin(), many->jobs.end(), depends);
  const auto* claim = std::get_if<command::Claim>(&command);
  return claim == nullptr || !claim->worker.empty();
}

/// What tells the engine whose the commands of a restricted key are. The key's queues, which may be
/// many, only where something is to be judged by them.
command::Restrict restriction(base::KeyId key, const call::Call& call) {
  const auto& commands = call.commands;
  command::Restrict restrict {
      .queues = {}, .commands = static_cast<std::uint32_t>(commands.size()), .key = key};
  if (std::any_of(commands.begin(), commands.end(), names_by_id))
    restrict.queues = call.grant->queues;
  return restrict;
}

}  // namespace

void Driver::assemble(std::vector<Intake::Item>& items) {
  for (auto& item : items) backlog_.push_back(std::move(item));
  items.clear();
  if (may_write()) append_duties();
  route_held();
  go_on_preparing();
  std::size_t bytes = 0;
  while (!backlog_.empty() && bytes < options_.bounds.round_bytes) {
    auto item = std::move(backlog_.front());
    backlog_.pop_front();
    bytes += item.bytes;
    if (!is_claiming(*item.call))
      round_.push_back(std::move(item));
    else if (item.call->has_hung_up() && item.call->commands.size() == 1)
      give_empty({.call = std::move(item.call)});
    else if (!is_prepared(*item.call, names_left_))
      preparing_.push_back(std::move(item));
    else if (finds_nothing(item))
      wait(std::move(item.call));
    else
      claiming_.push_back(std::move(item));
  }
  // Claims come last, and so find what the others bring.
  for (auto* const items_of : {&round_, &claiming_}) {
    for (auto& item : *items_of) take_call(std::move(item));
    items_of->clear();
  }
  attach_woken();
  close_entry();
}

/// Whether the claim's globs have been compared with all queues, now that up to `names` more have
/// been. Only who leads needs it: others get by when they apply what was written.
bool Driver::is_prepared(const call::Call& call, std::size_t& names) {
  return !serving_ || engine_->prepare(std::get<command::Claim>(call.commands.back()), names);
}

/// One claim with new globs costs as many comparisons as there are queues for each of them. They
/// are made a share at a time, the claims taking turns, while everybody else is served.
void Driver::go_on_preparing() {
  for (auto left = std::min(preparing_.size(), kPreparedTogether); left > 0 && names_left_ > 0;
       --left) {
    auto item = std::move(preparing_.front());
    preparing_.pop_front();
    const auto share = std::min(names_left_, kNamesOfOneClaim);
    auto names = share;
    const bool goes_on = !item.call->has_hung_up() && !draining_ && !is_prepared(*item.call, names);
    names_left_ -= share - names;
    if (goes_on)
      preparing_.insert(preparing_.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                 preparing_.size(), kPreparedTogether - 1)),
                        std::move(item));
    else if (!serving_ && !item.call->replies.empty())
      give_empty({.call = std::move(item.call)});  // what stood before the claim is done
    else
      claiming_.push_back(std::move(item));
  }
}

/// Whether a fetch may wait without an entry that says so: it would change nothing. With anything
/// under way that it might find, it is tried.
bool Driver::finds_nothing(const Intake::Item& item) {
  const call::Call& call = *item.call;
  if (!serving_ || draining_ || !under_way_.empty() || entry_is_open_) return false;
  if (call.commands.size() > 1 || call.wait.ms == 0 || call.audit) return false;
  return waiters_.size() < options_.bounds.waiting_fetches && !is_unsafe() &&
         !disk_is_full(load_of(call, item.bytes)) && is_still_granted(call) &&
         engine_->is_idle_claim(call.commands.back(), log_clock_->now() - kWorkerNews,
                                restricted_key(call));
}

void Driver::wait(std::unique_ptr<call::Call> call) {
  const auto deadline_us = now_us_ + call->wait.ms * 1000;
  waiters_.add({.call = std::move(call), .deadline_us = deadline_us});
}

void Driver::take_call(Intake::Item item) {
  auto& call = item.call;
  if (call->commands.empty()) {
    questions_.push_back(std::move(call));
    return;
  }
  const auto wait_until_us = now_us_ + call->wait.ms * 1000;
  route({.call = std::move(call),
         .bytes = item.bytes,
         .since_us = now_us_,
         .wait_until_us = wait_until_us});
}

/// On a node that leads: into the open entry.
void Driver::take_commands(Held held) {
  auto& call = held.call;
  if (is_unsafe()) return give_back(std::move(call), call::Trouble::damaged);
  const auto load = load_of(*call, held.bytes);
  if (disk_is_full(load)) return give_back(std::move(call), call::Trouble::disk_full);
  if (lacks_memory(*call, held.bytes))
    return give_back(std::move(call), call::Trouble::memory_full);
  take_space(load);
  if (!complete_retry(*call)) return give_back(std::move(call), call::Trouble::unreadable);
  Waiter waiter{.call = std::move(call)};
  auto& commands = waiter.call->commands;
  if ((draining_ || waiter.call->has_hung_up()) &&
      std::holds_alternative<command::Claim>(commands.back())) {
    // What stands before the claim is still done; the claim itself finds nothing.
    commands.pop_back();
    waiter.claim_withheld = true;
    if (commands.empty()) return give_empty(std::move(waiter));
  }
  note_enqueues(commands);
  waiter.deadline_us = held.wait_until_us;
  append(std::move(waiter), held.bytes);
}

/// Remembers which queues the open entry fills, where somebody waits.
void Driver::note_enqueues(const std::vector<command::Command>& commands) {
  if (waiters_.size() == 0) return;
  const auto note = [&](const model::JobSpec& job) {
    if (!runs_at_once(job)) return;
    if (enqueued_.empty() || enqueued_.back().first != job.queue.view())
      enqueued_.emplace_back(job.queue.view(), 0);
    ++enqueued_.back().second;
  };
  for (const auto& command : commands) {
    if (const auto* one = std::get_if<command::Enqueue>(&command)) note(one->job);
    if (const auto* many = std::get_if<command::EnqueueMany>(&command))
      for (const auto& job : many->jobs) note(job);
  }
}

Driver::Proposal& Driver::open_entry() {
  if (!entry_is_open_) {
    proposals_.emplace_back();
    entry_is_open_ = true;
  }
  return proposals_.back();
}

/// What a leader owes: at first the time for which nobody led, then every tick that is due.
void Driver::append_duties() {
  if (const auto lost = std::exchange(lost_, std::nullopt);
      lost && lost->ms > 0 && engine_->any_active()) {
    open_entry().entry.commands.emplace_back(command::Resume{.lost = *lost});
    unhanded_rows_ += 1;
  }
  const auto now = log_clock_->now();
  for (auto& update : zones_.step(*engine_, now)) {
    open_entry().entry.commands.emplace_back(std::move(update));
    unhanded_rows_ += 1;
  }
  append_upkeep(now);
  if (is_ticking() || engine_->next_deadline() > now) return;
  auto& proposal = open_entry();
  proposal.ticks = true;
  proposal.entry.commands.emplace_back(command::Tick{});
  unhanded_rows_ += 1;
}

/// The limits that this node was started with, where others are in force, and queues that have been
/// empty for long.
void Driver::append_upkeep(base::Instant now) {
  const auto sets_limits = [](const Proposal& proposal) { return proposal.sets_limits; };
  if (engine_->limits() != options_.limits &&
      std::none_of(under_way_.begin(), under_way_.end(), sets_limits)) {
    auto& proposal = open_entry();
    proposal.sets_limits = true;
    proposal.entry.commands.emplace_back(options_.limits);
    unhanded_rows_ += 1;
  }
  // A fetch by a pattern finds whatever comes, and must not keep thousands of names.
  const auto waited_for = [this](std::string_view queue) { return waiters_.any_named(queue); };
  auto forgotten = idle_queues_.step(*engine_, now, now_us_, waited_for);
  if (forgotten.empty()) return;
  unhanded_rows_ += forgotten.size();
  open_entry().entry.commands.emplace_back(command::ForgetQueues{std::move(forgotten)});
}

/// What is due stays due until the tick is applied. A leader that nobody follows must not fill its
/// log with ticks meanwhile.
bool Driver::is_ticking() const {
  return std::any_of(under_way_.begin(), under_way_.end(),
                     [](const Proposal& proposal) { return proposal.ticks; });
}

void Driver::append(Waiter waiter, std::size_t bytes, std::string_view woken_for) {
  Proposal& proposal = open_entry();
  auto& commands = waiter.call->commands;
  if (const auto key = restricted_key(*waiter.call); !key.is_nil())
    proposal.entry.commands.emplace_back(restriction(key, *waiter.call));
  Part part{.waiter = {},
            .first = proposal.entry.commands.size(),
            .count = commands.size(),
            .woken_for = std::string(woken_for)};
  for (auto& command : commands) {
    unhanded_rows_ += rows_of(command);
    proposal.entry.commands.push_back(std::move(command));
  }
  commands.clear();
  if (waiter.call->audit) {
    unhanded_rows_ += 1;
    part.audit = proposal.entry.commands.size();
    proposal.entry.commands.emplace_back(*std::exchange(waiter.call->audit, std::nullopt));
  }
  part.waiter = std::move(waiter);
  proposal.parts.push_back(std::move(part));
  proposal.bytes += bytes;
  unhanded_bytes_ += bytes;
  if (proposal.bytes >= options_.bounds.entry_bytes) close_entry();
}

void Driver::close_entry() {
  if (!entry_is_open_) return;
  attach_waiters();
  entry_is_open_ = false;
  enqueued_.clear();
}

/// The first waiter of `queue` after `after`, whose client is still there. Nothing: there is none,
/// or, while `found` is not complete, it is not known yet.
std::optional<Waiter> Driver::next_waiter(std::string_view queue, Ticket& after,
                                          WaitersFound& found) {
  while (waiters_left_ > 0 && waiters_.find_first(queue, after, found, globs_left_)) {
    if (found.first.empty()) {
      if (!found.more) return std::nullopt;
      found = {};
      continue;
    }
    after = *found.first.begin();
    found.first.erase(found.first.begin());
    auto waiter = waiters_.remove(after);
    if (!waiter) continue;
    if (!waiter->call->has_hung_up()) {
      --waiters_left_;
      return waiter;
    }
    give_empty(*std::move(waiter));
  }
  return std::nullopt;
}

/// Takes a waiter into the open entry; how many jobs it wants.
std::uint32_t Driver::attach(Waiter waiter, std::string_view queue, Wake* wake) {
  const auto wanted = std::get<command::Claim>(waiter.call->commands.back()).count;
  if (!is_prepared(*waiter.call, names_left_)) {
    // Queues have come since it began to wait, and it is not the only one: as if it had just come.
    waiter.call->wait.ms = std::max<std::int64_t>(waiter.deadline_us - now_us_, 0) / 1000;
    preparing_.push_back({.call = std::move(waiter.call), .bytes = 0});
    return wanted;
  }
  if (wake != nullptr) ++wake->under_way;
  append(std::move(waiter), 0, wake != nullptr ? queue : std::string_view());
  return wanted;
}

/// One waiter for each job that the entry brings, as far as there are any. Those that are not found
/// in time are woken when the entry is applied.
void Driver::attach_waiters() {
  if (draining_) return;
  // The names are views into the entry's own commands, which do not move while it is open: their
  // bytes are shared.
  const auto enqueued = std::exchange(enqueued_, {});
  for (const auto& [queue, jobs] : enqueued) {
    Ticket after = 0;
    WaitersFound found;
    for (std::uint32_t wanted = 0; wanted < jobs;) {
      auto waiter = next_waiter(queue, after, found);
      if (!waiter) break;
      wanted += attach(*std::move(waiter), queue, nullptr);
    }
  }
}

void Driver::attach_woken() {
  if (draining_) return wakes_.clear();
  if (!may_write()) return;
  auto it = wakes_.upper_bound(last_wake_);
  for (auto left = std::min(wakes_.size(), kWakesPerTurn); left > 0; --left) {
    if (it == wakes_.end()) it = wakes_.begin();
    if (globs_left_ == 0 || waiters_left_ == 0) return;
    last_wake_ = it->first;
    const bool over = it->second.under_way == 0 && !try_waiters(it->first, it->second);
    it = over ? wakes_.erase(it) : std::next(it);
  }
}

/// Whether there is anything left to wait for. When all that were woken are back, whoever found
/// nothing ends the trying, unless another worker may find more.
bool Driver::try_waiters(std::string_view queue, Wake& wake) {
  const auto demand = engine_->demand(queue);
  if (demand.pending == 0 || (wake.in_vain && !demand.picky)) return false;
  wake.in_vain = false;
  std::uint64_t wanted = 0;
  for (std::size_t n = 0; n < wake.burst && wanted < demand.pending; ++n) {
    auto waiter = next_waiter(queue, wake.after, wake.found);
    if (!waiter) break;
    wanted += attach(*std::move(waiter), queue, &wake);
  }
  wake.burst = std::min(wake.burst * 2, kMostAtOnce);
  return wake.under_way > 0 || !wake.found.exhausted();
}

/// One that was woken has been answered, or was not tried after all.
void Driver::untry(const Part& part, bool in_vain) {
  if (part.woken_for.empty()) return;
  const auto found = wakes_.find(part.woken_for);
  if (found == wakes_.end()) return;
  if (found->second.under_way > 0) --found->second.under_way;
  found->second.in_vain = found->second.in_vain || in_vain;
}

}  // namespace jobbie::node
