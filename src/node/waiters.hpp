// Fetches that wait for a job: found by queue, oldest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "call/call.hpp"

namespace jobbie::node {

/// A place in the order of waiting. Kept when a waiter that was tried in vain comes back.
using Ticket = std::uint64_t;

struct Waiter {
  std::unique_ptr<call::Call> call;  ///< its last command is the claim
  Ticket ticket = 0;                 ///< zero: not given yet
  std::int64_t deadline_us = 0;      ///< on the steady clock
  bool claim_withheld = false;       ///< the node is draining: its claim is answered with nothing
};

/// Owned by the node's thread. A waiter is listed under every queue and glob that its claim names.
class Waiters {
 public:
  void add(Waiter waiter);
  [[nodiscard]] std::optional<Waiter> remove(Ticket ticket);

  [[nodiscard]] std::size_t size() const { return waiting_.size(); }
  [[nodiscard]] bool any_for(std::string_view queue) const;

  /// The first waiter for `queue` with a ticket above `after`, or nothing.
  [[nodiscard]] std::optional<Ticket> first_for(std::string_view queue, Ticket after) const;

  /// When the first of them gives up; nothing when nobody waits.
  [[nodiscard]] std::optional<std::int64_t> next_deadline_us() const;
  /// Takes out one whose time is over, if there is any.
  [[nodiscard]] std::optional<Waiter> take_expired(std::int64_t now_us);
  /// Takes out all that are meant, all whose clients have gone, or all there are.
  [[nodiscard]] std::vector<Waiter> take_if(const std::function<bool(const Waiter&)>& meant);
  [[nodiscard]] std::vector<Waiter> take_hung_up();
  [[nodiscard]] std::vector<Waiter> take_all();

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Tickets = std::set<Ticket>;

  Tickets& list_of(std::string_view name);
  void unlist(const Waiter& waiter);

  std::map<Ticket, Waiter> waiting_;
  std::unordered_map<std::string, Tickets, Hash, std::equal_to<>> by_queue_;
  std::map<std::string, Tickets, std::less<>> by_glob_;
  std::set<std::pair<std::int64_t, Ticket>> deadlines_;
  Ticket next_ticket_ = 1;
};

}  // namespace jobbie::node
