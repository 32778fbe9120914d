// The virtual clock and what is to happen when. Idle time is skipped.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace jobbie::cluster_sim {

constexpr std::int64_t milliseconds(std::int64_t n) { return n * 1000; }
constexpr std::int64_t seconds(std::int64_t n) { return n * 1'000'000; }

/// Times are microseconds since the simulation began. What is due at the same moment happens in the
/// order in which it was asked for.
class Scheduler {
 public:
  using Action = std::function<void()>;

  [[nodiscard]] std::int64_t now() const { return now_; }
  void after(std::int64_t delay, Action action) {
    queue_.push({now_ + (delay > 0 ? delay : 0), next_++, std::move(action)});
  }
  /// Does the next thing; false if there is none before `until`.
  bool step(std::int64_t until) {
    if (queue_.empty() || queue_.top().at > until) {
      now_ = until;
      return false;
    }
    now_ = queue_.top().at;
    // The queue gives out constants; the element goes at once, so that its action can be taken.
    Action action = std::move(const_cast<Item&>(queue_.top()).action);
    queue_.pop();
    ++steps_;
    action();
    return true;
  }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  struct Item {
    std::int64_t at = 0;
    std::uint64_t number = 0;
    Action action;
    bool operator<(const Item& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };
  std::priority_queue<Item> queue_;
  std::int64_t now_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace jobbie::cluster_sim
