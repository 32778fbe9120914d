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
/// When a worker was last heard of is known to within this.
constexpr base::Duration kWorkerNews = base::seconds(5);

bool has_gone(const call::Call& call) {
  return call.hung_up && call.hung_up->load(std::memory_order_relaxed);
}

bool is_claiming(const call::Call& call) {
  return !call.commands.empty() && std::holds_alternative<command::Claim>(call.commands.back());
}

bool runs_at_once(const model::JobSpec& job) {
  return job.scheduled_at.ms == 0 && job.depends_on.empty() && job.depends_on_index.empty();
}

std::uint64_t rows_of(const command::Command& command) {
  if (const auto* many = std::get_if<command::EnqueueMany>(&command)) return many->jobs.size();
  if (const auto* claim = std::get_if<command::Claim>(&command)) return claim->count;
  if (const auto* beat = std::get_if<command::Heartbeat>(&command)) return beat->beats.size();
  if (const auto* logs = std::get_if<command::AppendLogs>(&command)) return logs->lines.size();
  return 1;
}

/// Whether a command names a job, a schedule or a worker by its id, so that only the engine knows
/// the queue.
bool names_by_id(const command::Command& command) {
  const auto depends = [](const model::JobSpec& job) { return !job.depends_on.empty(); };
  if (const auto* one = std::get_if<command::Enqueue>(&command)) return depends(one->job);
  if (const auto* many = std::get_if<command::EnqueueMany>(&command))
    return std::any_of(many->jobs.begin(), many->jobs.end(), depends);
  return !std::holds_alternative<command::Claim>(command);
}

}  // namespace

void Driver::assemble(std::vector<Intake::Item>& items) {
  for (auto& item : items) backlog_.push_back(std::move(item));
  items.clear();
  if (may_write()) append_duties();
  route_held();
  std::size_t bytes = 0;
  while (!backlog_.empty() && bytes < options_.bounds.round_bytes) {
    auto item = std::move(backlog_.front());
    backlog_.pop_front();
    bytes += item.bytes;
    if (!is_claiming(*item.call))
      round_.push_back(std::move(item));
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

/// Whether a fetch may wait without an entry that says so: it would change nothing. With anything
/// under way that it might find, it is tried.
bool Driver::finds_nothing(const Intake::Item& item) {
  const call::Call& call = *item.call;
  if (!serving_ || draining_ || !under_way_.empty() || entry_is_open_) return false;
  if (call.commands.size() > 1 || call.wait.ms == 0 || call.audit) return false;
  return waiters_.size() < options_.bounds.waiting_fetches && !disk_is_full(item.bytes) &&
         is_still_granted(call) &&
         engine_->is_idle_claim(call.commands.back(), log_clock_->now() - kWorkerNews);
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
  if (disk_is_full(held.bytes)) return give_back(std::move(call), call::Trouble::disk_full);
  if (!complete_retry(*call)) return give_back(std::move(call), call::Trouble::unreadable);
  Waiter waiter{.call = std::move(call)};
  auto& commands = waiter.call->commands;
  if (draining_ && std::holds_alternative<command::Claim>(commands.back())) {
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
  if (is_ticking() || engine_->next_deadline() > now) return;
  auto& proposal = open_entry();
  proposal.ticks = true;
  proposal.entry.commands.emplace_back(command::Tick{});
  unhanded_rows_ += 1;
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
  const auto* grant = waiter.call->grant.get();
  if (grant != nullptr && !grant->all_queues &&
      std::any_of(commands.begin(), commands.end(), names_by_id))
    proposal.entry.commands.emplace_back(command::Restrict{
        .queues = grant->queues, .commands = static_cast<std::uint32_t>(commands.size())});
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
  if (proposal.bytes >= options_.bounds.entry_bytes) close_entry();
}

void Driver::close_entry() {
  if (!entry_is_open_) return;
  attach_waiters();
  entry_is_open_ = false;
  enqueued_.clear();
}

/// Takes the first waiter of `queue` after `after` into the open entry.
bool Driver::attach_one(std::string_view queue, Ticket& after, Wake* wake, std::uint32_t& wanted) {
  while (const auto ticket = waiters_.first_for(queue, after)) {
    after = *ticket;
    auto waiter = waiters_.remove(*ticket);
    if (has_gone(*waiter->call)) {
      give_empty(*std::move(waiter));
      continue;
    }
    wanted += std::get<command::Claim>(waiter->call->commands.back()).count;
    if (wake != nullptr) ++wake->under_way;
    append(*std::move(waiter), 0, wake != nullptr ? queue : std::string_view());
    return true;
  }
  return false;
}

/// One waiter for each job that the entry brings, as far as there are any.
void Driver::attach_waiters() {
  if (draining_) return;
  // The names are views into the entry's own commands, which do not move while it is open: their
  // bytes are shared.
  const auto enqueued = std::exchange(enqueued_, {});
  for (const auto& [queue, jobs] : enqueued) {
    Ticket after = 0;
    std::uint32_t wanted = 0;
    while (wanted < jobs && attach_one(queue, after, nullptr, wanted)) {
    }
  }
}

void Driver::attach_woken() {
  if (draining_ || !may_write()) return;
  for (auto& [queue, wake] : wakes_) {
    if (wake.under_way > 0) continue;
    const auto pending = engine_->demand(queue).pending;
    std::uint32_t wanted = 0;
    for (std::size_t n = 0; n < wake.burst && wanted < pending; ++n)
      if (!attach_one(queue, wake.after, &wake, wanted)) break;
  }
}

/// One that was woken has been answered, or was not tried after all.
void Driver::untry(const Part& part, bool in_vain) {
  if (part.woken_for.empty()) return;
  const auto found = wakes_.find(part.woken_for);
  if (found == wakes_.end()) return;
  if (found->second.under_way > 0) --found->second.under_way;
  found->second.in_vain = found->second.in_vain || in_vain;
}

/// When all that were woken are back: whoever found nothing ends the trying, unless another worker
/// may find more.
void Driver::settle_wakes() {
  for (auto it = wakes_.begin(); it != wakes_.end();) {
    Wake& wake = it->second;
    if (wake.under_way > 0) {
      ++it;
      continue;
    }
    const auto demand = engine_->demand(it->first);
    const bool over = demand.pending == 0 || (wake.in_vain && !demand.picky) ||
                      !waiters_.first_for(it->first, wake.after);
    wake.in_vain = false;
    wake.burst = std::min(wake.burst * 2, kMostAtOnce);
    it = over ? wakes_.erase(it) : std::next(it);
  }
}

}  // namespace jobbie::node
