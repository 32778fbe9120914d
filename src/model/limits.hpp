// Every bound of the core, in one place.
//
// A request past one of these is refused with the field's name; nothing is ever cut or dropped.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.hpp"

namespace jobbie::model::limits {

inline constexpr std::size_t kQueueName = 128;  ///< bytes; characters A–Z a–z 0–9 . _ - : /
inline constexpr std::size_t kName = 256;       ///< worker, host, group, schedule, role, tag
inline constexpr std::size_t kUniqueKey = 1024;
inline constexpr std::size_t kIdempotencyKey = 256;
inline constexpr std::size_t kPayload = 16u
                                        << 20;  ///< the server's own limit is lower and settable
inline constexpr std::size_t kTags = 16u << 10;
inline constexpr std::size_t kProgress = 16u << 10;
inline constexpr std::size_t kErrorText = 64u << 10;
inline constexpr std::size_t kErrorsKept = 25;  ///< most recent errors remembered with a job
inline constexpr std::size_t kLogLinesPerRequest = 1000;
inline constexpr std::size_t kLogMessage = 8u << 10;
inline constexpr std::uint64_t kLogLinesKept = 10'000;  ///< of a job; the oldest go first
inline constexpr std::size_t kRequirements = 32;        ///< roles, and tags, one job may require
inline constexpr std::size_t kCapabilities = 256;       ///< roles, and tags, one worker may state
inline constexpr std::size_t kDependencies = 1000;
inline constexpr std::size_t kJobsPerRequest = 10'000;
inline constexpr std::size_t kBeatsPerRequest = 10'000;
inline constexpr std::size_t kQueuesPerClaim = 1000;
inline constexpr std::uint32_t kClaimCount = 1000;
// Bounds of the requests that a server takes, which the log does not know: what older servers took
// is still applied.
inline constexpr std::size_t kGlobsPerFetch = 20;  ///< names without wildcards are cheap
inline constexpr std::size_t kDependenciesPerRequest = 100'000;  ///< of all its jobs together
/// What is told of jobs in one answer, payloads and the like: past this no further job is added.
inline constexpr std::size_t kAnswerBytes = std::size_t{8} << 20;
inline constexpr std::uint32_t kMaxAttempts = 1'000'000;
inline constexpr std::uint32_t kJitterUnit = 1'000'000;  ///< retry_jitter 1.0
inline constexpr std::uint32_t kRate = 1'000'000;        ///< claims a period
inline constexpr std::size_t kQueues = 100'000;        ///< unless command::SetLimits says otherwise
inline constexpr std::size_t kQueuesPerKey = 10'000;   ///< likewise; that a restricted key has made
inline constexpr std::size_t kMostQueues = 1'000'000;  ///< that SetLimits may allow
inline constexpr std::size_t kQueuesForgotten = 1000;  ///< by one command
inline constexpr std::size_t kGroups = 1'000'000;
inline constexpr std::size_t kWorkers = 100'000;
inline constexpr std::size_t kSchedules = 100'000;
inline constexpr std::size_t kIdempotencyKeys = 10'000'000;
/// Of one restricted key, unless SetLimits says otherwise.
inline constexpr std::size_t kIdempotencyKeysPerKey = 1'000'000;
inline constexpr std::size_t kRequirementSets = 10'000;  ///< different requirements in one queue
inline constexpr std::size_t kBulkJobs = 1000;           ///< of one step of a bulk operation
inline constexpr std::size_t kBulkErrors = 10;           ///< told of one bulk operation
inline constexpr std::size_t kBulkFilter = 64u << 10;
inline constexpr std::size_t kBulksRunning = 16;
inline constexpr std::size_t kBulksKept = 100;  ///< finished ones

inline constexpr std::size_t kKeys = 1000;
inline constexpr std::size_t kKeyQueues = 100;  ///< globs of one key
inline constexpr std::size_t kDigest = 32;
inline constexpr std::size_t kAuditText = 1024;  ///< of each text in an audited action
inline constexpr std::size_t kWebhooks = 100;
inline constexpr std::size_t kOutbox = 10'000;  ///< deliveries that wait, of all webhooks
inline constexpr std::uint32_t kDeliveryAttempts = 8;
inline constexpr std::size_t kDeliveryDetail = 1024;
inline constexpr std::size_t kDeliveryError = 512;
inline constexpr std::size_t kUrl = 2048;
inline constexpr std::size_t kWebhookSecret = 256;

inline constexpr base::Duration kDefaultLease = base::seconds(60);
inline constexpr base::Duration kMinLease = base::milliseconds(100);
inline constexpr base::Duration kIdempotencyPeriod = base::hours(24);
inline constexpr base::Duration kWorkerSilence = base::minutes(5);  ///< then it counts as gone
inline constexpr base::Duration kCronGrace =
    base::minutes(1);  ///< `catch_up: skip` runs up to this late

}  // namespace jobbie::model::limits
