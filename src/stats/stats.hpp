// Figures of what the node does, made from its events: time series, rates, counters.
//
// They belong to one process and begin anew with it. Memory is bounded by the number of queues that
// have figures of their own; the others share one set. The node's thread feeds it with every event,
// so counting takes a few nanoseconds and no memory while nothing new appears.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/blob.hpp"
#include "base/time.hpp"
#include "command/event.hpp"
#include "stats/histogram.hpp"
#include "stats/series.hpp"

namespace jobbie::stats {

/// Queues with figures of their own. At worst 190 KB each, when something happens every second for
/// 72 hours.
inline constexpr std::size_t kMaxQueues = 256;
inline constexpr std::size_t kSecondsKept = 15 * 60;
inline constexpr std::size_t kMinutesKept = 72 * 60;
/// The name under which the queues beyond these are shown together; no queue can have it.
inline constexpr std::string_view kOtherQueues = "(other)";

/// Since the process started.
struct Counters {
  std::uint64_t enqueued = 0;
  std::uint64_t started = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;  ///< attempts
  std::uint64_t dead = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t leases_expired = 0;
  Timing wait;  ///< of kJobBounds
  Timing run;
};
struct QueueCounters {
  base::Blob queue;
  Counters counters;
};

/// What happened in a queue in the last minute.
struct Rates {
  static constexpr std::uint64_t kWindow_s = 60;
  std::uint64_t enqueued = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
};

enum class Resolution : std::uint8_t { second = 0, minute = 1 };

/// A part of a series. Steps without a point are steps in which nothing happened.
struct Curve {
  base::Duration step;
  base::Instant since;  ///< the beginning of the first step
  base::Instant until;  ///< the beginning of the last one
  bool shared = false;  ///< the queue has no figures of its own: these are of all such queues
  std::vector<Point> points;
};

/// Owned by one thread.
class Stats {
 public:
  Stats();

  void note(const command::Event& event);

  [[nodiscard]] Rates rates(std::string_view queue, base::Instant now) const;
  /// Of one queue, or (empty name) of all. The range is cut to what is kept.
  [[nodiscard]] Curve curve(std::string_view queue, Resolution resolution, base::Instant since,
                            base::Instant until, base::Instant now) const;
  /// By name, the shared set last.
  [[nodiscard]] std::vector<QueueCounters> counters() const;

 private:
  struct Queue {
    explicit Queue(base::Blob queue_name) : name(std::move(queue_name)) {}
    base::Blob name;
    Counters counters;
    Series seconds{base::seconds(1), kSecondsKept};
    Series minutes{base::minutes(1), kMinutesKept};

    void note(const command::Event& event);
    void count(const command::Event& event, std::uint32_t Point::*what);
  };
  /// The bytes of a queue's name lie where its events say; kept, so that the place is not reused.
  struct Remembered {
    base::Blob name;
    Queue* queue = nullptr;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  Queue& queue_of(const base::Blob& name, base::Instant at);
  Queue& find_or_make(const base::Blob& name, base::Instant at);
  bool forget_one_that_rests(base::Instant now);
  [[nodiscard]] const Queue* find(std::string_view name) const;

  static constexpr std::size_t kRemembered = 256;

  std::unordered_map<std::string, std::unique_ptr<Queue>, Hash, std::equal_to<>> queues_;
  Queue all_;
  Queue other_;
  bool other_used_ = false;
  base::Instant looked_for_rest_;
  std::array<Remembered, kRemembered> remembered_;
};

}  // namespace jobbie::stats
