// Batches, schedules, workers and the rest of what a node keeps beside jobs and queues, as values.
#pragma once

#include <cstdint>
#include <vector>

#include "base/blob.hpp"
#include "base/id.hpp"
#include "base/time.hpp"
#include "model/job.hpp"
#include "model/limits.hpp"
#include "model/zone_rules.hpp"

namespace jobbie::model {

struct BatchRecord {
  BatchId id;
  std::uint64_t total = 0;
  std::uint64_t pending = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  Blob callback_queue;    ///< empty: no callback
  Blob callback_payload;  ///< JSON object
  JobId callback_job;     ///< nil until it fired
  Instant finished_at;    ///< zero while pending
  bool operator==(const BatchRecord&) const = default;
};

enum class CatchUp : std::uint8_t { skip = 0, one = 1, all = 2 };

struct ScheduleSpec {
  Blob name;  ///< unique
  Blob cron;
  ZoneRules zone;  ///< name and the rules that the leader read
  CatchUp catch_up = CatchUp::one;
  bool paused = false;
  JobSpec job;  ///< what each run enqueues; no scheduled_at, delay or depends_on
  bool operator==(const ScheduleSpec&) const = default;
};

struct ScheduleRecord {
  ScheduleId id;
  ScheduleSpec spec;
  Instant last_run;  ///< nominal instant of the latest run; zero: none
  Instant next_run;  ///< zero: none (paused, or nothing before the year 9999)
  JobId last_job;
  std::uint64_t runs = 0;
  bool operator==(const ScheduleRecord&) const = default;
};

struct WorkerSpec {
  Blob id;
  Blob hostname;
  Blob name;
  std::vector<Blob> queues;
  std::vector<Blob> roles;
  std::vector<Blob> tags;
  std::uint32_t concurrency = 0;  ///< zero: not stated
  std::uint32_t cores = 0;
  std::uint32_t ram_mb = 0;
  bool draining = false;
  bool operator==(const WorkerSpec&) const = default;
};

struct WorkerRecord {
  WorkerSpec spec;
  Instant started_at;
  Instant last_seen;
  std::uint32_t active = 0;  ///< jobs it holds now
  base::KeyId owner;         ///< the restricted key whose worker it is; nil: none
  bool operator==(const WorkerRecord&) const = default;
};

/// The answer that an idempotency key stands for, in the reply codec's bytes.
struct IdempotencyRecord {
  Blob key;
  std::uint64_t fingerprint = 0;  ///< of the request's body
  Instant expires_at;
  Blob reply;
  base::KeyId scope;  ///< the caller's key: each has keys of its own; nil: no key was asked for
  bool operator==(const IdempotencyRecord&) const = default;
};

/// Long work that goes in slices. Tasks run in order of their numbers.
enum class TaskKind : std::uint8_t {
  clear_queue = 0,
  delete_queue = 1,
  relane_queue = 2,  ///< sort pending jobs anew after a limit's key has changed
  cancel_group = 3,
  retry_group = 4,
  release_dependents = 5,  ///< tell those that waited for an ended job
};

struct TaskRecord {
  std::uint64_t number = 0;
  TaskKind kind = TaskKind::clear_queue;
  Blob subject;              ///< queue or group
  std::uint64_t bound = 0;   ///< arrivals (retry_group: sequences) up to here are meant
  std::uint64_t cursor = 0;  ///< the last arrival (retry_group: sequence) visited
  bool flag = false;         ///< cancel_group: also active jobs; release_dependents: it completed
  JobId job;                 ///< release_dependents: the job that ended
  bool operator==(const TaskRecord&) const = default;
};

/// What a bulk operation does to each of its jobs; those in another state than the action is for
/// are skipped.
enum class BulkAction : std::uint8_t {
  retry = 0,
  remove = 1,  ///< `delete` on the wire
  cancel = 2,
  move = 3,
  requeue = 4,
  change_priority = 5,
};
enum class BulkStatus : std::uint8_t {
  processing = 0,
  completed = 1,
  cancelled = 2,
  failed = 3,  ///< its filter could not be read or answered any more
};

/// A job that could not be acted upon although its state allows it.
struct BulkError {
  JobId job;
  Blob code;
  Blob message;
  bool operator==(const BulkError&) const = default;
};

/// A bulk operation that goes on behind its answer. It visits the jobs that match its filter in the
/// order of their sequences, each once.
struct BulkRecord {
  base::BulkId id;
  BulkAction action = BulkAction::retry;
  Blob queue;                       ///< of move
  std::int32_t priority = kNormal;  ///< of change_priority
  Blob filter;                      ///< JSON, as it was given
  std::uint64_t bound = 0;          ///< jobs up to this sequence are meant
  std::uint64_t cursor = 0;         ///< those up to here have been visited
  std::uint64_t estimated = 0;      ///< how many matched at the start
  std::uint64_t affected = 0;
  std::uint64_t skipped = 0;
  std::uint64_t failed = 0;
  std::vector<BulkError> errors;  ///< the first limits::kBulkErrors
  BulkStatus status = BulkStatus::processing;
  Instant finished_at;
  Blob reason;        ///< of `failed`
  base::KeyId owner;  ///< the restricted key that began it; nil: none
  bool operator==(const BulkRecord&) const = default;
};

/// The engine's own counters.
struct MetaRecord {
  Instant now;                      ///< log time; never goes back
  std::uint64_t next_sequence = 1;  ///< of jobs, batches and schedules
  std::uint64_t next_lease = 1;
  std::uint64_t next_arrival = 1;
  std::uint64_t next_task = 1;
  std::uint64_t entries = 0;  ///< applied so far
  // What command::SetLimits set last.
  std::uint32_t max_queues = limits::kQueues;
  std::uint32_t max_queues_per_key = limits::kQueuesPerKey;
  std::uint32_t max_idempotency_keys_per_key = limits::kIdempotencyKeysPerKey;
  bool operator==(const MetaRecord&) const = default;
};

}  // namespace jobbie::model
