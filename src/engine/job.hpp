// A job as the engine holds it: small where most jobs are plain, with parts for what few of them
// need.
//
// Links between jobs are slots of the slab (0 is none). Three optional parts hang off a job: what
// makes it unique, where it may run, and everything else. A plain pending job has none of them.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "base/wide.hpp"
#include "model/job.hpp"

namespace jobbie::engine {

using base::BatchId;
using base::Blob;
using base::Duration;
using base::Instant;
using base::JobId;
using base::ScheduleId;
using model::State;

/// A place in a slab or a table; 0 is none.
using Slot = std::uint32_t;
inline constexpr std::uint32_t kAbsent = std::numeric_limits<std::uint32_t>::max();

/// The unique key a job was enqueued with, and the lock while it holds it.
struct Unique {
  model::UniqueSpec spec;
  bool held = false;
  Instant expires;              ///< the lock's end by time; zero: none
  std::uint32_t next_same = 0;  ///< next job whose lock has the same 48 bits of hash
};

/// Who may run the job and when: requirements, group, dependencies, and the keys that limit it.
struct Placement {
  model::Requirements requirements;
  Blob group;
  std::vector<JobId> depends_on;
  std::vector<JobId> waiting_on;
  model::OnFailure on_failure = model::OnFailure::cancel;
  std::uint32_t group_slot = 0;
  std::uint32_t group_prev = 0;  ///< neighbours in the group's list of live jobs
  std::uint32_t group_next = 0;
  std::uint64_t group_arrival = 0;
  std::uint32_t bytes = 0;            ///< in the account of memory, as last weighed
  std::uint32_t concurrency_key = 0;  ///< the keyed limiters it falls under, while live
  std::uint32_t throttle_key = 0;
};

/// What most jobs leave at its default.
struct Details {
  model::RetryPolicy retry;
  Instant scheduled_at;
  Duration expire_after;
  Instant expire_at;
  Duration lease;
  Duration max_runtime;
  Duration timeout;
  Blob tags;
  Blob traceparent;
  Blob progress;
  Blob checkpoint;
  Blob result;
  Blob end_reason;
  std::vector<model::JobError> errors;
  std::uint32_t error_count = 0;
  std::uint32_t bytes = 0;  ///< in the account of memory, as last weighed
  Instant failed_at;
  BatchId batch;
  ScheduleId schedule;
  Instant nominal_at;
};

struct Job {
  JobId id;
  Blob payload;
  Blob worker;
  Blob hostname;
  Instant run_at;
  Instant started_at;
  Instant ended_at;
  Instant lease_expires_at;
  Instant ready_at;  ///< since when it is pending; a measurement, not part of the state
  Duration lease_duration;
  std::uint64_t lease = 0;
  std::uint64_t arrival = 0;
  std::uint64_t digest = 0;  ///< its share of the state hash when that was last computed
  std::unique_ptr<Unique> unique;
  std::unique_ptr<Placement> placement;
  std::unique_ptr<Details> details;
  std::uint32_t queue = 0;
  std::int32_t priority = model::kNormal;
  std::uint32_t attempt = 0;
  std::uint32_t max_retries = 0;
  std::uint32_t text_bytes = 0;  ///< of payload, worker and hostname, in the account of memory
  std::uint32_t queue_prev = 0;  ///< neighbours in the queue's list of live jobs
  std::uint32_t queue_next = 0;
  std::uint32_t seat = 0;        ///< its lane while pending, its worker's slot while active
  std::uint32_t ready_prev = 0;  ///< neighbours in the lane's list
  std::uint32_t ready_next = 0;
  std::uint32_t late_position = kAbsent;   ///< place in the lane's heap of latecomers
  std::uint32_t timer_position = kAbsent;  ///< place in the heap of deadlines
  State state = State::pending;
  model::LeaseEnd lease_end = model::LeaseEnd::none;
  bool heartbeaten : 1 = false;
  bool cancel_requested : 1 = false;
  bool batch_counted : 1 = false;
  bool changed : 1 = false;       ///< differs from what was drained
  bool stored : 1 = false;        ///< has been drained before, so its removal must be told
  bool hashed : 1 = false;        ///< `digest` is part of the state hash's sum
  bool to_be_hashed : 1 = false;  ///< listed to be hashed when the state hash is next asked for

  [[nodiscard]] std::uint64_t sequence() const { return id.sequence(); }
  [[nodiscard]] std::uint32_t attempts_allowed() const { return max_retries > 1 ? max_retries : 1; }
  Details& detail() {
    if (!details) details = std::make_unique<Details>();
    return *details;
  }
  Placement& place() {
    if (!placement) placement = std::make_unique<Placement>();
    return *placement;
  }
  [[nodiscard]] std::uint32_t lane() const { return state == State::pending ? seat : 0; }
  [[nodiscard]] std::uint32_t group_slot() const { return placement ? placement->group_slot : 0; }
};

/// Where a pending job stands: lower runs first. Claims compare thousands of these, so both parts
/// are compared as one number, which takes two instructions and no branch.
struct ReadyKey {
  std::int32_t priority = 0;
  std::uint64_t sequence = 0;
  bool operator==(const ReadyKey&) const = default;
  friend bool operator<(const ReadyKey& a, const ReadyKey& b) { return a.number() < b.number(); }

 private:
  [[nodiscard]] base::Int128 number() const {
    return static_cast<base::Int128>((static_cast<base::Uint128>(priority) << 64) | sequence);
  }
};

/// Behind every job, and before every job.
inline constexpr ReadyKey kNothingReady{std::numeric_limits<std::int32_t>::max(),
                                        std::numeric_limits<std::uint64_t>::max()};
inline constexpr ReadyKey kMayBeFirst{std::numeric_limits<std::int32_t>::min(), 0};

inline ReadyKey ready_key(const Job& job) { return {job.priority, job.sequence()}; }

/// A deadline of a job; ties go to the older job. Compared as one number, like ReadyKey.
struct TimerKey {
  Instant at;
  std::uint64_t sequence = 0;
  bool operator==(const TimerKey&) const = default;
  friend bool operator<(const TimerKey& a, const TimerKey& b) { return a.number() < b.number(); }

 private:
  [[nodiscard]] base::Int128 number() const {
    return static_cast<base::Int128>((static_cast<base::Uint128>(at.ms) << 64) | sequence);
  }
};

}  // namespace jobbie::engine
