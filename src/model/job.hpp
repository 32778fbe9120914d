// Jobs as values: what a producer asks for (JobSpec) and everything there is to know (JobRecord).
//
// Texts and JSON are Blobs, so that a record can be copied between threads for the price of a few
// reference counts. An empty Blob means "not given"; JSON fields hold the caller's bytes unchanged.
#pragma once

#include <cstdint>
#include <vector>

#include "base/blob.hpp"
#include "base/id.hpp"
#include "base/time.hpp"

namespace jobbie::model {

using base::BatchId;
using base::Blob;
using base::Duration;
using base::Instant;
using base::JobId;
using base::ScheduleId;

enum class State : std::uint8_t {
  scheduled = 0,  ///< waits for its time
  waiting = 1,    ///< waits for jobs it depends on
  pending = 2,
  active = 3,
  retrying = 4,  ///< waits out its backoff
  completed = 5,
  dead = 6,
  cancelled = 7,
};
inline constexpr std::size_t kStates = 8;

constexpr bool has_ended(State s) { return s >= State::completed; }
/// Lower-case name, as on the wire.
const char* to_string(State s);

enum class Backoff : std::uint8_t { none = 0, fixed = 1, linear = 2, exponential = 3 };
enum class UniqueUntil : std::uint8_t { start = 0, end = 1, period = 2 };
enum class OnFailure : std::uint8_t { cancel = 0, run = 1 };

inline constexpr std::int32_t kCritical = 0;
inline constexpr std::int32_t kHigh = 1;
inline constexpr std::int32_t kNormal = 2;

struct RetryPolicy {
  Backoff backoff = Backoff::exponential;
  Duration base = base::seconds(5);
  Duration max = base::minutes(10);
  std::uint32_t jitter = 0;  ///< share of the delay added at random, in limits::kJitterUnit
  bool operator==(const RetryPolicy&) const = default;
};

struct UniqueSpec {
  Blob key;  ///< empty: not unique
  UniqueUntil until = UniqueUntil::end;
  Duration period;  ///< zero: none
  bool operator==(const UniqueSpec&) const = default;
};

/// What a job asks of the worker that may claim it.
struct Requirements {
  std::vector<Blob> roles;
  std::vector<Blob> tags;
  Blob target_worker;
  bool operator==(const Requirements&) const = default;
  [[nodiscard]] bool none() const { return roles.empty() && tags.empty() && target_worker.empty(); }
};

struct JobSpec {
  Blob queue;
  Blob payload;  ///< JSON
  std::int32_t priority = kNormal;
  std::uint32_t max_retries = 3;  ///< the most attempts it gets; 0 and 1 both mean one
  RetryPolicy retry;
  Instant scheduled_at;   ///< zero: now
  Duration expire_after;  ///< zero: never
  Duration lease;         ///< zero: the queue's
  Duration max_runtime;   ///< zero: none; past it the job is dead
  Duration timeout;       ///< zero: none; past 1.25 times it the attempt fails with `timeout`
  UniqueSpec unique;
  Blob tags;  ///< JSON object
  Blob group;
  Requirements requires_;
  std::vector<JobId> depends_on;
  std::vector<std::uint32_t> depends_on_index;  ///< jobs of the same request, by position
  OnFailure on_failure = OnFailure::cancel;
  Blob traceparent;
  /// Zero: none. Only in commands: the log's time decides when it ends, and the job that is made
  /// has `scheduled_at` in its place.
  Duration delay;
  bool operator==(const JobSpec&) const = default;
};

/// One failed attempt. Ordinals count from 1 over the job's whole history, retries included.
struct JobError {
  std::uint32_t ordinal = 0;
  std::uint32_t attempt = 0;
  Instant at;
  Blob error;
  Blob backtrace;
  Blob worker;
  Instant started_at;  ///< of the attempt; zero: not known
  Instant retry_at;    ///< when the next attempt was to come; zero: none, or at once
  bool operator==(const JobError&) const = default;
};

/// How the job's latest lease ended, so that a repeated call can be told from a late one.
enum class LeaseEnd : std::uint8_t { none = 0, acked = 1, failed = 2, lost = 3 };

struct JobRecord {
  JobId id;  ///< id.ulid.time() is created_at; id.sequence() its place in the order
  State state = State::pending;
  JobSpec spec;  ///< as asked for; queue, priority, max_retries and payload follow later changes
  std::uint32_t attempt = 0;
  Instant run_at;      ///< when scheduled or retrying: the moment it becomes pending; else zero
  Instant started_at;  ///< of the latest attempt
  Instant ended_at;    ///< completed_at, or the moment it became dead or cancelled
  Instant failed_at;   ///< of the latest failed attempt
  Instant expire_at;   ///< zero: never
  std::uint64_t lease = 0;  ///< the latest lease's number; rising, never reused
  LeaseEnd lease_end = LeaseEnd::none;
  Duration lease_duration;
  Instant lease_expires_at;  ///< while active
  Blob worker;               ///< of the latest attempt
  Blob hostname;
  bool heartbeaten = false;  ///< the present attempt has sent a heartbeat
  bool cancel_requested = false;
  bool holds_unique = false;  ///< whether it holds its unique key now
  Instant unique_until;       ///< when that ends by itself; zero: not by time
  BatchId batch;
  bool batch_counted = false;  ///< it has been counted in its batch
  ScheduleId schedule;
  Instant nominal_at;             ///< the schedule's instant that made it
  std::vector<JobId> waiting_on;  ///< dependencies that have not ended
  Blob progress;                  ///< JSON
  Blob checkpoint;                ///< JSON
  Blob result;                    ///< JSON
  Blob end_reason;  ///< of dead and cancelled jobs: `expired`, `lease_expired`, `no_retry`, …
  std::vector<JobError> errors;  ///< the latest limits::kErrorsKept
  std::uint32_t error_count = 0;
  std::uint64_t arrival = 0;        ///< place in its queue's list of live jobs
  std::uint64_t group_arrival = 0;  ///< place in its group's list of live jobs
  bool operator==(const JobRecord&) const = default;
};

/// A job with nothing but what every job has, which most are: what its record would hold, in a
/// quarter of the room.
struct PlainJob {
  JobId id;
  Blob queue;
  Blob payload;
  Blob worker;
  Blob hostname;
  Instant run_at;
  Instant started_at;
  Instant ended_at;
  Instant lease_expires_at;
  Duration lease_duration;
  std::uint64_t lease = 0;
  std::uint64_t arrival = 0;
  std::int32_t priority = kNormal;
  std::uint32_t max_retries = 3;
  std::uint32_t attempt = 0;
  State state = State::pending;
  LeaseEnd lease_end = LeaseEnd::none;
  bool heartbeaten = false;
  bool cancel_requested = false;
  bool batch_counted = false;
};

/// Sets in a record what a plain job has, and leaves the rest as it is.
void fill(const PlainJob& job, JobRecord& record);
/// The same, with the job's texts.
void fill(PlainJob&& job, JobRecord& record);

}  // namespace jobbie::model
