// Queues and groups as values: settings, state and exact counters.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/blob.hpp"
#include "base/id.hpp"
#include "base/time.hpp"
#include "model/job.hpp"

namespace jobbie::model {

enum class Fairness : std::uint8_t { priority = 0, group = 1 };

/// At most `max` active jobs. `per` empty: in the whole queue; `tags.NAME` or `group`: for each
/// value.
struct ConcurrencyLimit {
  std::uint32_t max = 0;
  Blob per;
  bool operator==(const ConcurrencyLimit&) const = default;
};

/// At most `rate` claims in any window (t - period, t].
struct Throttle {
  std::uint32_t rate = 0;
  Duration period;
  Blob per;
  bool operator==(const Throttle&) const = default;
};

/// How long ended jobs are kept; zero keeps none.
struct Retention {
  Duration completed = base::days(7);
  Duration dead = base::days(30);
  Duration cancelled = base::days(30);
  bool operator==(const Retention&) const = default;
  [[nodiscard]] Duration of(State s) const {
    return s == State::completed ? completed : s == State::dead ? dead : cancelled;
  }
};

struct QueueSettings {
  bool paused = false;
  bool draining = false;                            ///< implies paused
  std::optional<ConcurrencyLimit> concurrency;      ///< of the whole queue
  std::optional<ConcurrencyLimit> concurrency_per;  ///< of each key
  std::optional<Throttle> throttle;
  std::optional<Throttle> throttle_per;
  Retention retention;
  Duration lease;  ///< zero: limits::kDefaultLease
  Fairness fairness = Fairness::priority;
  bool operator==(const QueueSettings&) const = default;
};

/// Counted since the queue began; they never go down.
struct QueueTotals {
  std::uint64_t enqueued = 0;
  std::uint64_t started = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;  ///< attempts that failed, lost leases included
  std::uint64_t dead = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t leases_expired = 0;
  bool operator==(const QueueTotals&) const = default;
};

/// What is kept of a queue; the counts by state follow from its jobs and tallies.
struct QueueRecord {
  Blob name;
  Instant created_at;
  QueueSettings settings;
  QueueTotals totals;
  std::optional<Blob> last_served_group;  ///< an empty Blob is the jobs without a group
  base::KeyId owner;                      ///< the restricted key that made it; nil: none
  bool operator==(const QueueRecord&) const = default;
};

/// Ended jobs kept of one queue and state that ended in one minute.
struct TallyRecord {
  Blob queue;
  State state = State::completed;
  std::int64_t minute = 0;  ///< ended_at.ms / 60'000
  std::uint64_t count = 0;  ///< zero in a change: the row goes
  bool operator==(const TallyRecord&) const = default;
};

/// The claims that a throttle still counts: milliseconds and how many in each, ascending.
struct WindowRecord {
  Blob queue;
  bool keyed = false;
  Blob key;  ///< the key's value (raw JSON of the tag, or the group), when keyed
  std::vector<std::pair<Instant, std::uint32_t>> claims;  ///< empty in a change: the row goes
  bool operator==(const WindowRecord&) const = default;
};

struct GroupRecord {
  Blob name;
  bool paused = false;  ///< false in a change: the row goes
  bool operator==(const GroupRecord&) const = default;
};

/// A queue as shown: what is kept plus what is counted now.
struct QueueView {
  QueueRecord record;
  std::array<std::uint64_t, kStates> counts{};
  Instant oldest_pending;  ///< created_at of the oldest pending job; zero: none
  std::uint64_t unique_locks = 0;
  bool clearing = false;
  bool operator==(const QueueView&) const = default;
};

struct GroupView {
  Blob name;
  bool paused = false;
  std::array<std::uint64_t, kStates> counts{};  ///< live states only
  bool operator==(const GroupView&) const = default;
};

}  // namespace jobbie::model
