// Finds queues that have been empty for so long that they are to be forgotten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/blob.hpp"
#include "base/time.hpp"
#include "engine/engine.hpp"

namespace jobbie::node {

/// Goes round all queues in small steps and remembers since when each has been empty, in 24 bytes
/// for each number that the engine has given. A leader begins anew with its term.
class IdleQueues {
 public:
  /// Between two steps, and how many queues one of them looks at.
  static constexpr std::int64_t kStepUs = 100'000;
  static constexpr std::size_t kStepQueues = 1000;

  /// `after` zero: no queue is forgotten.
  explicit IdleQueues(base::Duration after) : after_(after) {}

  void begin_again() { seen_.clear(); }

  /// Names for command::ForgetQueues; mostly none. Those that `keeps` are asked about again later.
  [[nodiscard]] std::vector<base::Blob> step(const engine::Engine& engine, base::Instant now,
                                             std::int64_t now_us,
                                             const std::function<bool(std::string_view)>& keeps);

 private:
  struct Seen {
    base::Instant since;  ///< zero: it was not empty
    base::Instant created_at;
    std::uint64_t enqueued = 0;
  };

  base::Duration after_;
  std::int64_t next_us_ = 0;
  std::size_t next_slot_ = 0;
  std::vector<Seen> seen_;  ///< by the engine's number
};

}  // namespace jobbie::node
