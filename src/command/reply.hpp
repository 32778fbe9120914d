// Replies: what a command came to. A refusal is a reply like any other.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/blob.hpp"
#include "base/id.hpp"
#include "base/time.hpp"
#include "model/access.hpp"
#include "model/job.hpp"
#include "model/records.hpp"
#include "model/webhook.hpp"

namespace jobbie::command {

/// Why a command was refused. Values are part of the format: append only.
enum class Refused : std::uint8_t {
  invalid = 0,               ///< a value out of bounds; `field` names it
  not_found = 1,             ///< no such job, queue, group, schedule or worker
  lease_lost = 2,            ///< the lease named is not the job's live lease
  not_active = 3,            ///< no lease named, and the job is not active
  not_owner = 4,             ///< another worker holds the job
  wrong_state = 5,           ///< the action does not apply to a job in this state
  unique_conflict = 6,       ///< another live job holds the unique key
  idempotency_mismatch = 7,  ///< the key was used with another body
  unknown_dependency = 8,
  dependency_cycle = 9,
  name_taken = 10,
  limit_reached = 11,  ///< a bound of the server; `field` names what is full
  forbidden = 12,      ///< the caller's key is not for what `field` names, or for its queue
};
/// The stable code, as on the wire.
const char* to_string(Refused code);

struct Refusal {
  Refused code = Refused::invalid;
  std::string field;
  std::string message;
  bool operator==(const Refusal&) const = default;
};

struct Enqueued {
  base::JobId job;
  model::State state = model::State::pending;
  bool existing = false;  ///< a unique duplicate: `job` is the first one, nothing has changed
  bool operator==(const Enqueued&) const = default;
};

struct EnqueuedMany {
  std::vector<Enqueued> jobs;  ///< in the request's order
  base::BatchId batch;         ///< nil: none
  bool operator==(const EnqueuedMany&) const = default;
};

struct ClaimedJob {
  base::JobId job;
  base::Blob queue;
  base::Blob payload;
  base::Blob tags;
  base::Blob checkpoint;
  base::Blob group;
  base::Blob traceparent;
  std::int32_t priority = model::kNormal;
  std::uint32_t attempt = 0;
  std::uint32_t max_retries = 0;
  std::uint64_t lease = 0;
  base::Duration lease_duration;
  base::Instant lease_expires_at;
  base::Duration max_runtime;
  base::BatchId batch;
  bool operator==(const ClaimedJob&) const = default;
};

struct Claimed {
  std::vector<ClaimedJob> jobs;  ///< empty: nothing to be had now
  bool operator==(const Claimed&) const = default;
};

/// Answer to ack and fail: where the job stands now.
struct Settled {
  model::State state = model::State::completed;
  base::Instant next_attempt_at;  ///< when retrying
  std::uint32_t attempts_remaining = 0;
  bool repeated = false;  ///< the call had been made before; nothing has changed
  bool operator==(const Settled&) const = default;
};

enum class BeatStatus : std::uint8_t { ok = 0, cancel = 1, lost = 2, unknown = 3 };
/// As on the wire.
const char* to_string(BeatStatus status);
struct Beaten {
  std::vector<BeatStatus> jobs;  ///< in the request's order
  bool operator==(const Beaten&) const = default;
};

/// Answer to actions on one job: its state after it (of a deleted one, the state it was in). A
/// cancelled job that is still active has been asked to stop (`cancelling` on the wire).
struct JobChanged {
  base::JobId job;
  model::State state = model::State::pending;
  bool operator==(const JobChanged&) const = default;
};

/// Answer to actions on queues, groups, zones and workers.
struct Done {
  std::uint64_t affected = 0;  ///< jobs meant by clear, destroy and cancel; those go in slices
  bool operator==(const Done&) const = default;
};

struct ScheduleReply {
  model::ScheduleRecord schedule;
  std::vector<base::Instant> next_runs;  ///< up to five
  base::JobId job;                       ///< run_now: what was enqueued
  bool operator==(const ScheduleReply&) const = default;
};

/// Answer to the beginning and the end of a bulk operation.
struct BulkReply {
  model::BulkRecord bulk;
  bool operator==(const BulkReply&) const = default;
};
/// Answer to a step of one.
struct BulkStepped {
  std::uint64_t affected = 0;
  std::uint64_t skipped = 0;  ///< in another state, or gone
  std::uint64_t failed = 0;
  std::vector<model::BulkError> errors;  ///< the first limits::kBulkErrors
  bool operator==(const BulkStepped&) const = default;
};

struct KeyReply {
  model::KeyRecord key;
  bool operator==(const KeyReply&) const = default;
};

struct WebhookReply {
  model::WebhookRecord webhook;
  bool operator==(const WebhookReply&) const = default;
};
struct DeliveryReply {
  model::DeliveryRecord delivery;
  bool operator==(const DeliveryReply&) const = default;
};

/// The order of the alternatives is part of the format: append only.
using Reply =
    std::variant<Refusal, Enqueued, EnqueuedMany, Claimed, Settled, Beaten, JobChanged, Done,
                 ScheduleReply, BulkReply, BulkStepped, KeyReply, WebhookReply, DeliveryReply>;

}  // namespace jobbie::command
