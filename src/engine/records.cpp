// Between the engine's own form of things and the records that leave it.
#include <algorithm>
#include <utility>

#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

void spec_from_details(const Details& detail, model::JobSpec& spec) {
  spec.retry = detail.retry;
  spec.scheduled_at = detail.scheduled_at;
  spec.expire_after = detail.expire_after;
  spec.lease = detail.lease;
  spec.max_runtime = detail.max_runtime;
  spec.timeout = detail.timeout;
  spec.tags = detail.tags;
  spec.traceparent = detail.traceparent;
}

void record_from_details(const Details& detail, model::JobRecord& record) {
  spec_from_details(detail, record.spec);
  record.expire_at = detail.expire_at;
  record.progress = detail.progress;
  record.checkpoint = detail.checkpoint;
  record.result = detail.result;
  record.end_reason = detail.end_reason;
  record.errors = detail.errors;
  record.error_count = detail.error_count;
  record.failed_at = detail.failed_at;
  record.batch = detail.batch;
  record.schedule = detail.schedule;
  record.nominal_at = detail.nominal_at;
}

Details details_from(const model::JobRecord& record) {
  return {.retry = record.spec.retry,
          .scheduled_at = record.spec.scheduled_at,
          .expire_after = record.spec.expire_after,
          .expire_at = record.expire_at,
          .lease = record.spec.lease,
          .max_runtime = record.spec.max_runtime,
          .timeout = record.spec.timeout,
          .tags = record.spec.tags,
          .traceparent = record.spec.traceparent,
          .progress = record.progress,
          .checkpoint = record.checkpoint,
          .result = record.result,
          .end_reason = record.end_reason,
          .errors = record.errors,
          .error_count = record.error_count,
          .failed_at = record.failed_at,
          .batch = record.batch,
          .schedule = record.schedule,
          .nominal_at = record.nominal_at};
}

bool is_default(const Details& d) {
  static const Duration kNone{};
  return d.retry == model::RetryPolicy{} && d.scheduled_at == Instant{} &&
         d.expire_after == kNone && d.expire_at == Instant{} && d.lease == kNone &&
         d.max_runtime == kNone && d.timeout == kNone && d.tags.empty() && d.traceparent.empty() &&
         d.progress.empty() && d.checkpoint.empty() && d.result.empty() && d.end_reason.empty() &&
         d.errors.empty() && d.error_count == 0 && d.failed_at == Instant{} && d.batch.is_nil() &&
         d.schedule.is_nil() && d.nominal_at == Instant{};
}

void place_from(const model::JobRecord& record, Job& job) {
  const model::JobSpec& spec = record.spec;
  if (spec.group.empty() && spec.requires_.none() && spec.depends_on.empty() &&
      spec.on_failure == model::OnFailure::cancel)
    return;
  Placement& place = job.place();
  place.requirements = spec.requires_;
  place.group = spec.group;
  place.depends_on = spec.depends_on;
  place.on_failure = spec.on_failure;
  place.group_arrival = record.group_arrival;
}

}  // namespace

model::JobRecord Core::record_of(const Job& job) const {
  model::JobRecord record;
  fill_record(job, record);
  return record;
}

void Core::fill_plain(const Job& job, model::PlainJob& plain) const {
  fill_without_texts(job, plain);
  plain.payload = job.payload;
  plain.worker = job.worker;
  plain.hostname = job.hostname;
}

void Core::give_plain(Job& job, model::PlainJob& plain) const {
  fill_without_texts(job, plain);
  plain.payload = std::move(job.payload);
  plain.worker = std::move(job.worker);
  plain.hostname = std::move(job.hostname);
}

void Core::fill_without_texts(const Job& job, model::PlainJob& plain) const {
  plain.id = job.id;
  plain.state = job.state;
  plain.queue = queue_of(job).name;
  plain.priority = job.priority;
  plain.max_retries = job.max_retries;
  plain.attempt = job.attempt;
  plain.run_at = job.run_at;
  plain.started_at = job.started_at;
  plain.ended_at = job.ended_at;
  plain.lease = job.lease;
  plain.lease_end = job.lease_end;
  plain.lease_duration = job.lease_duration;
  plain.lease_expires_at = job.lease_expires_at;
  plain.heartbeaten = job.heartbeaten;
  plain.cancel_requested = job.cancel_requested;
  plain.batch_counted = job.batch_counted;
  plain.arrival = job.arrival;
}

void Core::fill_record(const Job& job, model::JobRecord& record) const {
  model::PlainJob plain;
  fill_plain(job, plain);
  model::fill(std::move(plain), record);
  if (job.unique) {
    record.spec.unique = job.unique->spec;
    record.holds_unique = job.unique->held;
    record.unique_until = job.unique->expires;
  }
  if (job.placement) {
    const Placement& place = *job.placement;
    record.spec.requires_ = place.requirements;
    record.spec.group = place.group;
    record.spec.depends_on = place.depends_on;
    record.spec.on_failure = place.on_failure;
    record.waiting_on = place.waiting_on;
    record.group_arrival = place.group_arrival;
  }
  if (job.details) record_from_details(*job.details, record);
}

Slot Core::adopt(const model::JobRecord& record) {
  const Slot slot = jobs.allocate();
  Job& job = jobs[slot];
  job.id = record.id;
  job.state = record.state;
  job.queue = find_queue(record.spec.queue.view());
  job.payload = record.spec.payload;
  job.priority = record.spec.priority;
  job.max_retries = record.spec.max_retries;
  job.attempt = record.attempt;
  job.run_at = record.run_at;
  job.started_at = record.started_at;
  job.ended_at = record.ended_at;
  job.lease = record.lease;
  job.lease_end = record.lease_end;
  job.lease_duration = record.lease_duration;
  job.lease_expires_at = record.lease_expires_at;
  job.worker = record.worker;
  job.hostname = record.hostname;
  job.heartbeaten = record.heartbeaten;
  job.cancel_requested = record.cancel_requested;
  job.batch_counted = record.batch_counted;
  job.arrival = record.arrival;
  // About, since nobody wrote it down.
  job.ready_at = std::max({record.id.ulid.time(), record.spec.scheduled_at, record.failed_at});
  if (!record.spec.unique.key.empty()) {
    job.unique = std::make_unique<Unique>();
    job.unique->spec = record.spec.unique;
  }
  place_from(record, job);
  if (Details details = details_from(record); !is_default(details))
    job.details = std::make_unique<Details>(std::move(details));
  index.insert(record.id.sequence(), slot);
  weigh_new(job);
  return slot;
}

model::QueueRecord Core::queue_record(const Queue& queue) {
  return {.name = queue.name,
          .created_at = queue.created_at,
          .settings = queue.settings,
          .totals = queue.totals,
          .last_served_group = queue.last_served_group,
          .owner = queue.owner};
}

model::WindowRecord Core::window_record(const Queue& queue, bool keyed, const Blob& key,
                                        const Window* window) const {
  model::WindowRecord record{.queue = queue.name, .keyed = keyed, .key = key, .claims = {}};
  const auto& throttle = keyed ? queue.settings.throttle_per : queue.settings.throttle;
  if (window == nullptr || !throttle) return record;
  for (const auto& claims : window->claims())
    if (claims.first > meta.now - throttle->period) record.claims.push_back(claims);
  return record;
}

}  // namespace jobbie::engine
