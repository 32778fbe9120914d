// What waits for a thread, shared out fairly among those who asked for it.
//
// Whoever has the least under way comes first, and among those it goes in turn. A caller who has
// something under way leaves the last free thread to others, so that one caller alone never keeps
// all of them busy, and what another one asks for begins at once. The node's own questions (caller
// zero) come before all others and have threads that nobody else gets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace jobbie::node {

struct CallerQueueOptions {
  std::size_t threads = 1;           ///< that take from here
  std::size_t own_threads = 0;       ///< of those, for the node alone
  std::size_t left_to_others = 0;    ///< by a caller who has something under way
  std::size_t bound = 1;             ///< items that wait
  std::size_t bound_per_caller = 1;  ///< of one caller
};

/// Needs a lock around it.
template <typename Item>
class CallerQueue {
 public:
  struct Taken {
    std::uint64_t caller = 0;
    Item item;
  };

  explicit CallerQueue(const CallerQueueOptions& options) : options_(options) {
    JOBBIE_CHECK(options.threads > options.own_threads + options.left_to_others);
  }

  /// False: too many wait, and the item stays the caller's.
  [[nodiscard]] bool add(std::uint64_t who, Item& item) {
    if (waiting_ >= options_.bound) return false;
    Caller& caller = callers_[who];
    if (caller.waiting.size() >= options_.bound_per_caller) return false;
    if (caller.waiting.empty() && who != 0) turns_.push_back(who);
    caller.waiting.push_back(std::move(item));
    ++waiting_;
    return true;
  }

  [[nodiscard]] bool has_next() const { return next().has_value(); }

  /// The item whose turn it is; nothing: there is none, or it has to wait for a finish().
  std::optional<Taken> take() {
    const auto who = next();
    if (!who) return std::nullopt;
    Caller& caller = callers_.at(*who);
    Taken taken{.caller = *who, .item = std::move(caller.waiting.front())};
    caller.waiting.pop_front();
    --waiting_;
    ++caller.under_way;
    if (*who == 0) return taken;
    ++others_under_way_;
    turns_.erase(std::find(turns_.begin(), turns_.end(), *who));
    if (!caller.waiting.empty()) turns_.push_back(*who);
    return taken;
  }

  /// What was taken is done.
  void finish(std::uint64_t who) {
    Caller& caller = callers_.at(who);
    --caller.under_way;
    if (who != 0) --others_under_way_;
    forget_if_idle(who, caller);
  }

  /// Takes out what waits and fits, whoever's turn it is.
  template <typename Fits>
  [[nodiscard]] std::vector<Item> remove_if(Fits fits) {
    std::vector<Item> out;
    std::vector<std::uint64_t> all;
    for (const auto& [who, caller] : callers_) all.push_back(who);
    for (const auto who : all) {
      Caller& caller = callers_.at(who);
      const bool waited = !caller.waiting.empty();
      for (auto item = caller.waiting.begin(); item != caller.waiting.end();) {
        const auto here = item++;
        if (!fits(who, *here)) continue;
        out.push_back(std::move(*here));
        caller.waiting.erase(here);
        --waiting_;
      }
      if (waited && caller.waiting.empty()) turns_.remove(who);
      forget_if_idle(who, caller);
    }
    return out;
  }

  [[nodiscard]] std::size_t waiting() const { return waiting_; }

 private:
  struct Caller {
    std::list<Item> waiting;
    std::size_t under_way = 0;
  };

  /// Passes over callers who have something under way alone, and so over few.
  [[nodiscard]] std::optional<std::uint64_t> next() const {
    const auto own = callers_.find(0);
    if (own != callers_.end() && !own->second.waiting.empty()) return 0;
    const std::size_t free = options_.threads - options_.own_threads - others_under_way_;
    if (free == 0) return std::nullopt;
    std::optional<std::uint64_t> best;
    std::size_t fewest = 0;
    for (const auto who : turns_) {
      const std::size_t under_way = callers_.at(who).under_way;
      if (under_way == 0) return who;
      if (free <= options_.left_to_others || (best && under_way >= fewest)) continue;
      best = who;
      fewest = under_way;
    }
    return best;
  }

  void forget_if_idle(std::uint64_t who, const Caller& caller) {
    if (caller.waiting.empty() && caller.under_way == 0) callers_.erase(who);
  }

  CallerQueueOptions options_;
  std::unordered_map<std::uint64_t, Caller> callers_;  ///< who have something here or under way
  std::list<std::uint64_t>
      turns_;  ///< callers but the node for whom something waits, the next first
  std::size_t waiting_ = 0;
  std::size_t others_under_way_ = 0;
};

}  // namespace jobbie::node
