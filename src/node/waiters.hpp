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

#include "base/glob.hpp"
#include "call/call.hpp"

namespace jobbie::node {

/// A place in the order of waiting. Kept when a waiter that was tried in vain comes back.
using Ticket = std::uint64_t;

struct Waiter {
  std::unique_ptr<call::Call> call;  ///< its last command is the claim
  Ticket ticket = 0;                 ///< zero: not given yet
  std::int64_t deadline_us = 0;      ///< on the steady clock
  bool claim_withheld = false;       ///< it drains, or the client has gone: answered with nothing
};

/// The first waiters of one queue, as far as they have been looked for.
struct WaitersFound {
  static constexpr std::size_t kMost = 64;  ///< found at a time

  std::set<Ticket> first;  ///< those of them that are still to be tried
  std::string next_glob;   ///< where to go on
  bool begun = false;
  bool complete = false;
  bool more = false;  ///< there are others behind them

  [[nodiscard]] bool exhausted() const { return complete && first.empty() && !more; }
};

/// Owned by the node's thread. A waiter is listed under every queue and glob that its claim names.
class Waiters {
 public:
  void add(Waiter waiter);
  [[nodiscard]] std::optional<Waiter> remove(Ticket ticket);

  [[nodiscard]] std::size_t size() const { return waiting_.size(); }
  /// Whether one of them waits for `queue` by its name.
  [[nodiscard]] bool any_named(std::string_view queue) const { return by_queue_.contains(queue); }

  /// Looks for the first waiters of `queue` with tickets above `after`, going on where `found` is.
  /// Compares the queue's name with up to `budget` globs, and takes them off it; whether all of
  /// them are done.
  bool find_first(std::string_view queue, Ticket after, WaitersFound& found,
                  std::size_t& budget) const;

  /// When the first of them gives up; nothing when nobody waits.
  [[nodiscard]] std::optional<std::int64_t> next_deadline_us() const;
  /// Takes out one whose time is over, if there is any.
  [[nodiscard]] std::optional<Waiter> take_expired(std::int64_t now_us);
  /// Takes out all that are meant, or all there are.
  [[nodiscard]] std::vector<Waiter> take_if(const std::function<bool(const Waiter&)>& meant);
  /// Those whose clients have gone, among the next `most`: comes round to all of them in turn.
  [[nodiscard]] std::vector<Waiter> take_hung_up(std::size_t most);
  [[nodiscard]] std::vector<Waiter> take_all();

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Tickets = std::set<Ticket>;
  struct WithGlob {
    explicit WithGlob(std::string_view pattern) : glob(pattern) {}
    base::Glob glob;
    Tickets tickets;
  };

  Tickets& list_of(std::string_view name);
  void unlist(const Waiter& waiter);

  std::map<Ticket, Waiter> waiting_;
  std::unordered_map<std::string, Tickets, Hash, std::equal_to<>> by_queue_;
  std::map<std::string, WithGlob, std::less<>> by_glob_;
  std::set<std::pair<std::int64_t, Ticket>> deadlines_;
  Ticket next_ticket_ = 1;
  Ticket looked_at_ = 0;  ///< whether its client has gone: the last one
};

}  // namespace jobbie::node
