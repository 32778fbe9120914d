// The rules of a job that somebody asks for.
#include "base/json.hpp"
#include "command/validate_rules.hpp"

namespace jobbie::command::rules {
namespace {

Fault check_retry(const model::JobSpec& job) {
  if (auto fault = at_most(job.max_retries, limits::kMaxAttempts, "max_retries")) return fault;
  const auto& retry = job.retry;
  if (auto fault = known(retry.backoff, model::Backoff::exponential, "retry_backoff")) return fault;
  if (auto fault = duration(retry.base, "retry_base_delay")) return fault;
  if (auto fault = duration(retry.max, "retry_max_delay")) return fault;
  return at_most(retry.jitter, limits::kJitterUnit, "retry_jitter");
}

Fault check_times(const model::JobSpec& job) {
  if (auto fault = instant(job.scheduled_at, "scheduled_at")) return fault;
  if (auto fault = duration(job.delay, "delay")) return fault;
  if (job.delay.ms != 0 && job.scheduled_at.ms != 0) return {Problem::two_times, "delay"};
  if (auto fault = duration(job.expire_after, "expire_after")) return fault;
  if (auto fault = lease(job.lease, "lease_duration")) return fault;
  if (auto fault = duration(job.max_runtime, "max_runtime")) return fault;
  return duration(job.timeout, "timeout");
}

Fault check_unique(const model::UniqueSpec& unique) {
  if (auto fault = known(unique.until, model::UniqueUntil::period, "unique_until")) return fault;
  if (auto fault = duration(unique.period, "unique_period")) return fault;
  if (unique.key.empty()) {
    if (unique.until != model::UniqueUntil::end) return {Problem::needs_key, "unique_until"};
    if (unique.period.ms != 0) return {Problem::needs_key, "unique_period"};
    return {};
  }
  if (auto fault = at_most_bytes(unique.key, limits::kUniqueKey, "unique_key")) return fault;
  if (unique.until == model::UniqueUntil::period && unique.period.ms == 0)
    return {Problem::needs_period, "unique_period"};
  return {};
}

Fault check_requirements(const model::Requirements& requires_) {
  if (auto fault = name_list(requires_.roles, limits::kRequirements, "roles")) return fault;
  if (auto fault = name_list(requires_.tags, limits::kRequirements, "required_tags")) return fault;
  return optional_name(requires_.target_worker, "target_worker");
}

Fault check_dependencies(const model::JobSpec& job, std::size_t siblings) {
  if (auto fault = known(job.on_failure, model::OnFailure::run, "on_failure")) return fault;
  if (job.depends_on.empty() && job.depends_on_index.empty()) return {};
  constexpr const char* kField = "depends_on";
  if (job.depends_on.size() + job.depends_on_index.size() > limits::kDependencies)
    return {Problem::too_many, kField, limits::kDependencies};
  for (const auto& id : job.depends_on) {
    if (auto fault = not_nil(id, kField)) return fault;
  }
  if (!job.depends_on_index.empty() && siblings == 0) return {Problem::not_in_request, kField};
  for (const auto index : job.depends_on_index) {
    if (index >= siblings)
      return {Problem::index_range, kField, static_cast<std::int64_t>(siblings)};
  }
  return {};
}

Fault check_labels(const model::JobSpec& job) {
  if (!job.tags.empty()) {
    if (auto fault = at_most_bytes(job.tags, limits::kTags, "tags")) return fault;
    if (!base::json::is_object(job.tags.view())) return {Problem::not_an_object, "tags"};
  }
  if (auto fault = optional_name(job.group, "group")) return fault;
  return optional_name(job.traceparent, "traceparent");
}

}  // namespace

Fault check_job(const model::JobSpec& job, std::size_t siblings) {
  if (auto fault = queue_name(job.queue)) return fault;
  if (job.payload.empty()) return {Problem::empty, "payload"};
  if (auto fault = at_most_bytes(job.payload, limits::kPayload, "payload")) return fault;
  if (auto fault = check_retry(job)) return fault;
  if (auto fault = check_times(job)) return fault;
  if (auto fault = check_unique(job.unique)) return fault;
  if (auto fault = check_labels(job)) return fault;
  if (!job.requires_.none()) {
    if (auto fault = check_requirements(job.requires_)) return fault;
  }
  return check_dependencies(job, siblings);
}

}  // namespace jobbie::command::rules
