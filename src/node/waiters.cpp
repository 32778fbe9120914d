// Waiting fetches in ordered sets: a ticket is both the age and the key.
#include "node/waiters.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.hpp"
#include "base/glob.hpp"

namespace jobbie::node {
namespace {

const command::Claim& claim_of(const Waiter& waiter) {
  return std::get<command::Claim>(waiter.call->commands.back());
}

/// Of both, the first.
void merge_first(std::set<Ticket>& first, const std::set<Ticket>& tickets, Ticket after) {
  for (auto it = tickets.upper_bound(after); it != tickets.end(); ++it) {
    if (first.size() == WaitersFound::kMost) {
      if (*it >= *first.rbegin()) return;
      if (first.insert(*it).second) first.erase(std::prev(first.end()));
    } else {
      first.insert(*it);
    }
  }
}

}  // namespace

Waiters::Tickets& Waiters::list_of(std::string_view name) {
  if (base::is_glob(name)) {
    const auto it = by_glob_.find(name);
    return it != by_glob_.end()
               ? it->second.tickets
               : by_glob_.try_emplace(std::string(name), name).first->second.tickets;
  }
  const auto it = by_queue_.find(name);
  return it != by_queue_.end() ? it->second : by_queue_[std::string(name)];
}

void Waiters::add(Waiter waiter) {
  if (waiter.ticket == 0) waiter.ticket = next_ticket_++;
  for (const auto& name : claim_of(waiter).queues) list_of(name.view()).insert(waiter.ticket);
  deadlines_.emplace(waiter.deadline_us, waiter.ticket);
  const Ticket ticket = waiter.ticket;
  const bool fresh = waiting_.emplace(ticket, std::move(waiter)).second;
  JOBBIE_CHECK(fresh);
}

void Waiters::unlist(const Waiter& waiter) {
  for (const auto& name : claim_of(waiter).queues) {
    Tickets& tickets = list_of(name.view());
    tickets.erase(waiter.ticket);
    if (!tickets.empty()) continue;
    // Names come from outside: an empty list is not kept.
    if (base::is_glob(name.view()))
      by_glob_.erase(by_glob_.find(name.view()));
    else
      by_queue_.erase(by_queue_.find(name.view()));
  }
  deadlines_.erase({waiter.deadline_us, waiter.ticket});
}

std::optional<Waiter> Waiters::remove(Ticket ticket) {
  const auto it = waiting_.find(ticket);
  if (it == waiting_.end()) return std::nullopt;
  unlist(it->second);
  Waiter waiter = std::move(it->second);
  waiting_.erase(it);
  return waiter;
}

bool Waiters::find_first(std::string_view queue, Ticket after, WaitersFound& found,
                         std::size_t& budget) const {
  if (found.complete) return true;
  auto glob = by_glob_.begin();
  if (found.begun) {
    glob = by_glob_.lower_bound(found.next_glob);
  } else {
    found.begun = true;
    if (const auto it = by_queue_.find(queue); it != by_queue_.end())
      merge_first(found.first, it->second, after);
  }
  for (; glob != by_glob_.end(); ++glob, --budget) {
    if (budget == 0) {
      found.next_glob = glob->first;
      return false;
    }
    if (glob->second.glob.matches(queue)) merge_first(found.first, glob->second.tickets, after);
  }
  found.complete = true;
  found.more = found.first.size() == WaitersFound::kMost;
  return true;
}

std::optional<std::int64_t> Waiters::next_deadline_us() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

std::optional<Waiter> Waiters::take_expired(std::int64_t now_us) {
  if (deadlines_.empty() || deadlines_.begin()->first > now_us) return std::nullopt;
  return remove(deadlines_.begin()->second);
}

std::vector<Waiter> Waiters::take_if(const std::function<bool(const Waiter&)>& meant) {
  std::vector<Ticket> gone;
  for (const auto& [ticket, waiter] : waiting_)
    if (meant(waiter)) gone.push_back(ticket);
  std::vector<Waiter> out;
  for (const Ticket ticket : gone) out.push_back(*remove(ticket));
  return out;
}

std::vector<Waiter> Waiters::take_hung_up(std::size_t most) {
  std::vector<Waiter> out;
  for (most = std::min(most, waiting_.size()); most > 0; --most) {
    auto next = waiting_.upper_bound(looked_at_);
    if (next == waiting_.end()) next = waiting_.begin();
    looked_at_ = next->first;
    if (next->second.call->has_hung_up()) out.push_back(*remove(looked_at_));
  }
  return out;
}

std::vector<Waiter> Waiters::take_all() {
  std::vector<Waiter> out;
  while (!waiting_.empty()) out.push_back(*remove(waiting_.begin()->first));
  return out;
}

}  // namespace jobbie::node
