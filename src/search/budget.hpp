// How much a search may still do, counted in steps of about one byte looked at.
//
// This folder has no clock: whoever runs a search decides when it is over, and is asked now and
// then while one payload is looked at, since one alone may hold millions of steps.
#pragma once

#include <cstdint>

namespace jobbie::search {

/// Of one thread. Once it is over it stays over: whoever was looking gives up with some answer that
/// nobody may use.
class Budget {
 public:
  /// Steps between two looks: well under a millisecond of work.
  static constexpr std::uint64_t kStepsBetweenLooks = std::uint64_t{64} << 10;

  virtual ~Budget() = default;

  /// Counts work that was done or is about to be. False: stop.
  bool spend(std::uint64_t steps) {
    spent_ += steps;
    return spent_ < next_look_ ? !over_ : look();
  }
  /// Asks at once. False: stop.
  bool look() {
    next_look_ = spent_ + kStepsBetweenLooks;
    over_ = over_ || is_used_up();
    return !over_;
  }
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] std::uint64_t spent() const { return spent_; }

 private:
  virtual bool is_used_up() = 0;

  std::uint64_t spent_ = 0;
  std::uint64_t next_look_ = kStepsBetweenLooks;
  bool over_ = false;
};

/// For those who only count.
class UnlimitedBudget final : public Budget {
  bool is_used_up() override { return false; }
};

}  // namespace jobbie::search
