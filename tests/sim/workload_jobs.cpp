// What the workload's producers and workers send: enqueues and claims.
#include <algorithm>

#include <fmt/format.h>

#include "model/limits.hpp"
#include "tests/sim/workload.hpp"

namespace jobbie::sim {

using base::hours;
using base::milliseconds;
using base::minutes;
using base::seconds;

Blob Workload::payload() { return Blob(fmt::format(R"({{"n":{}}})", ++made_)); }

/// From a blink to hours, so that some deadlines meet and others never come.
Duration Workload::duration() {
  switch (rng_.below(8)) {
    case 0:
      return milliseconds(rng_.between(1, 5));
    case 1:
      return milliseconds(100);
    case 2:
    case 3:
      return milliseconds(rng_.between(100, 2000));
    case 4:
      return seconds(rng_.between(1, 10));
    case 5:
      return seconds(60);
    case 6:
      return minutes(rng_.between(1, 20));
    default:
      return hours(rng_.between(1, 30));
  }
}

Duration Workload::lease_length() { return std::max(duration(), model::limits::kMinLease); }

JobSpec Workload::job_spec() {
  const JobHabits& habits = personality_.jobs;
  JobSpec spec;
  spec.queue = some_queue();
  spec.payload = payload();
  if (rng_.percent(habits.priority)) spec.priority = static_cast<std::int32_t>(rng_.between(-1, 4));
  spec.max_retries = static_cast<std::uint32_t>(rng_.between(0, 4));
  spec.retry.backoff = static_cast<model::Backoff>(rng_.below(4));
  if (rng_.percent(70)) spec.retry.base = duration();
  if (rng_.percent(30)) spec.retry.max = duration();
  if (rng_.percent(10)) spec.retry.base = Duration{};
  if (rng_.percent(3)) spec.retry.max = Duration{};
  if (rng_.percent(habits.jitter))
    spec.retry.jitter = static_cast<std::uint32_t>(rng_.between(0, model::limits::kJitterUnit));
  if (rng_.percent(habits.unique)) {
    spec.unique.key = rng_.pick(pool::keys);
    if (rng_.percent(habits.unique_period)) spec.unique.period = duration();
    const bool has_period = spec.unique.period.ms != 0;
    spec.unique.until = static_cast<model::UniqueUntil>(rng_.below(has_period ? 3 : 2));
  }
  if (rng_.percent(habits.tags)) spec.tags = rng_.pick(pool::tags);
  if (rng_.percent(habits.group)) spec.group = some_group();
  if (rng_.percent(5)) spec.traceparent = Blob("00-trace-01");
  add_times(spec);
  add_routing(spec);
  add_dependencies(spec);
  return spec;
}

void Workload::add_times(JobSpec& spec) {
  const JobHabits& habits = personality_.jobs;
  const Instant now = model_.now();
  if (rng_.percent(habits.scheduled)) spec.scheduled_at = rng_.percent(10) ? now : now + duration();
  if (rng_.percent(2)) spec.scheduled_at = {rng_.between(1, 1000)};
  if (spec.scheduled_at.ms == 0 && rng_.percent(habits.scheduled)) spec.delay = duration();
  if (rng_.percent(habits.expires)) spec.expire_after = duration();
  if (rng_.percent(habits.max_runtime)) spec.max_runtime = duration();
  if (rng_.percent(habits.timeout)) spec.timeout = duration();
  if (rng_.percent(habits.own_lease)) spec.lease = lease_length();
  if (rng_.percent(2)) {  // several deadlines at one instant
    spec.expire_after = lease_length();
    spec.lease = spec.max_runtime = spec.expire_after;
  }
}

void Workload::add_routing(JobSpec& spec) {
  if (!rng_.percent(personality_.jobs.requires_)) return;
  if (rng_.percent(50)) spec.requires_.roles = {rng_.pick(pool::roles)};
  if (rng_.percent(15)) spec.requires_.roles = pool::roles;
  if (rng_.percent(40)) spec.requires_.tags = {rng_.pick(pool::marks)};
  if (rng_.percent(25)) spec.requires_.target_worker = some_worker();
}

void Workload::add_dependencies(JobSpec& spec) {
  if (!rng_.percent(personality_.jobs.depends)) return;
  do {
    JobId id = rng_.percent(personality_.astray / 3) ? stray_job() : some_job();
    if (id.is_nil() && !past_jobs_.empty()) id = rng_.pick(past_jobs_);
    if (!id.is_nil()) spec.depends_on.push_back(id);
    if (!id.is_nil() && rng_.percent(5)) spec.depends_on.push_back(id);
  } while (rng_.percent(35) && spec.depends_on.size() < 5);
  if (rng_.percent(personality_.jobs.run_on_failure)) spec.on_failure = model::OnFailure::run;
}

command::Idempotency Workload::idempotency() {
  if (!rng_.percent(personality_.jobs.idempotent)) return {};
  return {rng_.pick(pool::idempotency_keys), rng_.percent(80) ? 1U : 2U,
          rng_.percent(40) ? base::KeyId{} : some_key()};
}

Command Workload::enqueue() { return command::Enqueue{job_spec(), idempotency()}; }

Command Workload::enqueue_many() {
  command::EnqueueMany many{.idempotency = idempotency()};
  const std::uint64_t count = rng_.percent(80) ? rng_.below(4) + 1 : rng_.below(9) + 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    JobSpec spec = job_spec();
    if (!rng_.percent(personality_.jobs.depends)) {
      spec.depends_on.clear();
    } else {
      // Mostly earlier jobs of the request; a later one or itself may close a loop.
      do {
        const bool any = rng_.percent(6) || i == 0;
        spec.depends_on_index.push_back(static_cast<std::uint32_t>(rng_.below(any ? count : i)));
      } while (rng_.percent(30));
      if (rng_.percent(95)) std::erase(spec.depends_on_index, static_cast<std::uint32_t>(i));
      if (rng_.percent(personality_.jobs.run_on_failure)) spec.on_failure = model::OnFailure::run;
    }
    many.jobs.push_back(std::move(spec));
  }
  if (rng_.percent(personality_.jobs.batch)) {
    many.batch.emplace();
    if (rng_.percent(80)) many.batch->callback_queue = some_queue();
    if (rng_.percent(50)) many.batch->callback_payload = Blob(R"({"a":[1],"batch":0,"b":"x"})");
  }
  return many;
}

Command Workload::claim() {
  command::Claim claim{.queues = some_patterns()};
  if (rng_.percent(75)) claim.worker = some_worker();
  if (rng_.percent(20)) claim.hostname = Blob("host");
  if (rng_.percent(30)) claim.count = static_cast<std::uint32_t>(rng_.between(2, 6));
  if (rng_.percent(1)) claim.count = model::limits::kClaimCount;
  if (rng_.percent(15)) claim.max_bytes = 1 + rng_.below(60);
  if (rng_.percent(20)) claim.lease = lease_length();
  if (rng_.percent(30)) claim.roles = {rng_.pick(pool::roles)};
  if (rng_.percent(20)) claim.roles = pool::roles;
  if (rng_.percent(40)) claim.tags = pool::marks;
  return claim;
}

}  // namespace jobbie::sim
