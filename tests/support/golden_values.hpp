// Values of the model with every field set, and what the golden entries, replies and items share.
//
// Golden files hold the bytes of these values (tests/golden). They are spelt field by field, not
// made from the codec's lists, so that two fields of one type which change places in a list are
// noticed. They are never changed: a format that changes gets new values and a file beside these.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/blob.hpp"
#include "base/id.hpp"
#include "model/job.hpp"
#include "model/records.hpp"

namespace jobbie::testing::golden {

/// Values with the names that the golden file gives them.
template <typename T>
using Named = std::vector<std::pair<std::string, T>>;

inline base::Blob text(std::string_view bytes) { return base::Blob(bytes); }

template <typename Id>
Id id(std::uint64_t sequence) {
  return {base::Ulid::make({1'760'000'000'123}, sequence, 0xc0ffee01)};
}
inline base::JobId job_id(std::uint64_t sequence) { return id<base::JobId>(sequence); }

inline model::JobSpec plain_job() {
  return {.queue = text("emails.send"), .payload = text(R"({"to":"user@example.com"})")};
}

inline model::JobSpec full_job() {
  return {
      .queue = text("emails.send"),
      .payload = text(R"({"n":9007199254740993})"),
      .priority = -8,
      .max_retries = 25,
      .retry = {.backoff = model::Backoff::linear,
                .base = base::seconds(4),
                .max = base::hours(1),
                .jitter = 500'000},
      .scheduled_at = {1'760'000'100'000},
      .expire_after = base::days(2),
      .lease = base::seconds(90),
      .max_runtime = base::minutes(30),
      .timeout = base::minutes(20),
      .unique = {.key = text("welcome-42"),
                 .until = model::UniqueUntil::period,
                 .period = base::hours(3)},
      .tags = text(R"({"tenant":"acme"})"),
      .group = text("import-7"),
      .requires_ = {.roles = {text("gpu"), text("big")},
                    .tags = {text("eu")},
                    .target_worker = text("worker-9")},
      .depends_on = {job_id(11), job_id(12)},
      .depends_on_index = {0, 300},
      .on_failure = model::OnFailure::run,
      .traceparent = text("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
  };
}

/// With what came later. Nobody may ask for both a time and a delay, but the format does not mind.
inline model::JobSpec delayed_job() {
  auto job = full_job();
  job.delay = base::minutes(10);
  return job;
}

inline model::ZoneRules full_zone() {
  return {.name = "Europe/Berlin",
          .base_offset_s = 3208,
          .transitions = {{.at = {-2'422'054'408'000}, .offset_s = 3600},
                          {.at = {1'743'296'400'000}, .offset_s = 7200}}};
}

inline model::ScheduleSpec full_schedule() {
  return {.name = text("nightly"),
          .cron = text("0 4 * * MON-FRI"),
          .zone = full_zone(),
          .catch_up = model::CatchUp::all,
          .paused = true,
          .job = plain_job()};
}

inline model::ScheduleRecord full_schedule_record() {
  return {.id = id<base::ScheduleId>(77),
          .spec = full_schedule(),
          .last_run = {1'759'900'000'000},
          .next_run = {1'760'100'000'000},
          .last_job = job_id(76),
          .runs = 401};
}

inline model::WorkerSpec full_worker() {
  return {.id = text("worker-9"),
          .hostname = text("host-a"),
          .name = text("Ninth"),
          .queues = {text("emails.*"), text("?")},
          .roles = {text("gpu")},
          .tags = {text("eu"), text("fast")},
          .concurrency = 16,
          .cores = 8,
          .ram_mb = 32'768,
          .draining = true};
}

inline model::BulkRecord full_bulk() {
  return {.id = id<base::BulkId>(78),
          .action = model::BulkAction::move,
          .queue = text("emails.legacy"),
          .priority = model::kHigh,
          .filter = text(R"({"state":["dead"]})"),
          .bound = 77,
          .cursor = 42,
          .estimated = 142'000,
          .affected = 30,
          .skipped = 20,
          .failed = 10,
          .errors = {{.job = job_id(42), .code = text("unique_conflict"), .message = text("held")}},
          .status = model::BulkStatus::failed,
          .finished_at = {1'760'000'000'400},
          .reason = text("its filter is odd")};
}
/// With its owner, which came later.
inline model::BulkRecord owned_bulk() {
  auto bulk = full_bulk();
  bulk.owner = id<base::KeyId>(78);
  return bulk;
}

inline model::KeySpec full_key() {
  return {.name = text("ops"),
          .scopes = 5,
          .queues = {text("mail.*"), text("sms")},
          .digest = text("0123456789abcdef0123456789abcdef"),
          .last_four = text("wxyz")};
}

inline model::WebhookSpec full_webhook() {
  return {.url = text("https://example.com/hook"),
          .events = 0x0123456789,
          .queue = text("mail.*"),
          .secret = text("s3cret"),
          .active = false};
}

inline model::DeliveryRecord full_delivery() {
  return {.id = id<base::DeliveryId>(80),
          .webhook = id<base::WebhookId>(79),
          .event = text("failed"),
          .job = job_id(42),
          .queue = text("emails.send"),
          .at = {1'760'000'000'001},
          .attempt = 3,
          .detail = text("it broke"),
          .state = model::DeliveryState::failed,
          .attempts = 8,
          .next_attempt_at = {1'760'000'000'002},
          .status = 503,
          .error = text("the receiver answered 503"),
          .ended_at = {1'760'000'000'003}};
}

}  // namespace jobbie::testing::golden
