// The model's ack, fail and heartbeat (rule 5).
#include <algorithm>

#include "base/hash.hpp"
#include "model/limits.hpp"
#include "tests/sim/model.hpp"

namespace jobbie::sim {
namespace {

std::uint32_t remaining(const JobRecord& job) {
  const std::uint32_t allowed = allowed_attempts(job);
  if (model::has_ended(job.state) || job.attempt >= allowed) return 0;
  return allowed - job.attempt;
}

command::Settled where_it_stands(const JobRecord& job, bool repeated) {
  return {.state = job.state,
          .next_attempt_at = job.state == State::retrying ? job.run_at : Instant{},
          .attempts_remaining = remaining(job),
          .repeated = repeated};
}

/// Nothing: the caller may go on.
std::optional<Refused> lease_fault(const JobRecord& job, const command::LeaseRef& ref) {
  if (ref.lease != 0) {
    if (job.state != State::active || job.lease != ref.lease) return Refused::lease_lost;
  } else if (job.state != State::active) {
    return Refused::not_active;
  }
  if (!ref.worker.empty() && job.worker != ref.worker) return Refused::not_owner;
  return std::nullopt;
}

}  // namespace

Reply Model::on(const command::Ack& c) {
  JobRecord* job = touch(c.ref.job);
  if (job == nullptr) return Refusal{Refused::not_found, "job_id", ""};
  if (c.ref.lease != 0 && job->lease == c.ref.lease && job->lease_end == model::LeaseEnd::acked &&
      model::has_ended(job->state))
    return where_it_stands(*job, true);
  if (const auto fault = lease_fault(*job, c.ref)) return Refusal{*fault, "", ""};
  job->result = c.result;
  job->lease_end = model::LeaseEnd::acked;
  const State to = job->cancel_requested ? State::cancelled : State::completed;
  end(*job, to, job->cancel_requested ? "cancelled" : "");
  return command::Settled{.state = to};
}

/// 5.6. The lines themselves are the store's alone.
Reply Model::on(const command::AppendLogs& c) {
  JobRecord* job = touch(c.ref.job);
  if (job == nullptr) return Refusal{Refused::not_found, "job_id", ""};
  if (const auto fault = lease_fault(*job, c.ref)) return Refusal{*fault, "", ""};
  tell(command::EventType::logged, job, job->spec.queue);
  return command::Done{c.lines.size()};
}

Reply Model::on(const command::Fail& c) {
  JobRecord* job = touch(c.ref.job);
  if (job == nullptr) return Refusal{Refused::not_found, "job_id", ""};
  if (c.ref.lease != 0 && job->lease == c.ref.lease && job->lease_end == model::LeaseEnd::failed &&
      job->state != State::active)
    return where_it_stands(*job, true);
  if (const auto fault = lease_fault(*job, c.ref)) return Refusal{*fault, "", ""};
  return fail_attempt(*job, {.error = c.error.empty() ? "failed" : c.error.view(),
                             .backtrace = c.backtrace,
                             .no_retry = c.no_retry,
                             .retry_in = c.retry_in});
}

Reply Model::on(const command::Heartbeat& c) {
  const auto worker = workers_.find(std::string(c.worker.view()));
  if (worker != workers_.end()) {
    worker->second.last_seen = now_;
    if (!caller_.is_nil()) worker->second.owner = caller_;
  }
  command::Beaten reply;
  for (const command::Beat& b : c.beats) reply.jobs.push_back(beat(b));
  return reply;
}

command::BeatStatus Model::beat(const command::Beat& b) {
  JobRecord* job = touch(b.ref.job);
  if (job == nullptr || !may_touch(job->spec.queue)) return command::BeatStatus::unknown;
  if (lease_fault(*job, b.ref)) return command::BeatStatus::lost;
  job->lease_expires_at = now_ + job->lease_duration;
  job->heartbeaten = true;
  if (!b.progress.empty()) job->progress = b.progress;
  if (!b.checkpoint.empty()) job->checkpoint = b.checkpoint;
  if (!b.progress.empty()) tell(command::EventType::progress, job, job->spec.queue, b.progress);
  note(*job);
  return job->cancel_requested ? command::BeatStatus::cancel : command::BeatStatus::ok;
}

/// 5.3, and 6 for `timeout`. The record may be gone afterwards.
command::Settled Model::fail_attempt(JobRecord& job, const FailedAttempt& how) {
  add_error(job, how.error, how.backtrace);
  job.lease_end = how.lease_end;
  if (job.cancel_requested) return {.state = end(job, State::cancelled, "cancelled")};
  if (how.no_retry) return {.state = end(job, State::dead, "no_retry")};
  if (job.attempt >= allowed_attempts(job))
    return {.state = end(job, State::dead, "attempts_exhausted")};
  const Duration delay = how.retry_in ? *how.retry_in : backoff(job);
  if (delay.ms == 0) {
    back_to_idle(job, State::pending);
  } else {
    job.run_at = now_ + delay;
    job.errors.back().retry_at = job.run_at;
    back_to_idle(job, State::retrying);
  }
  return where_it_stands(job, false);
}

void Model::add_error(JobRecord& job, std::string_view error, const Blob& backtrace) {
  ++job.error_count;
  job.errors.push_back({.ordinal = job.error_count,
                        .attempt = job.attempt,
                        .at = now_,
                        .error = Blob(error),
                        .backtrace = backtrace,
                        .worker = job.worker,
                        .started_at = job.started_at});
  if (job.errors.size() > model::limits::kErrorsKept) job.errors.erase(job.errors.begin());
  job.failed_at = now_;
  ++queue_of(job).record.totals.failed;
  note(job);
}

/// From active to pending or retrying.
void Model::back_to_idle(JobRecord& job, State to) {
  job.lease_expires_at = {};
  set_state(job, to);
  arrive(job);  // 1.5
}

/// 5.4, for the attempt that has just failed.
Duration Model::backoff(const JobRecord& job) const {
  const auto& policy = job.spec.retry;
  const std::uint32_t n = job.attempt;
  __extension__ using Wide = __int128;
  Wide delay = policy.base.ms;
  switch (policy.backoff) {
    case model::Backoff::none:
      delay = 0;
      break;
    case model::Backoff::fixed:
      break;
    case model::Backoff::linear:
      delay *= n;
      break;
    case model::Backoff::exponential:
      for (std::uint32_t i = 1; i < n && delay <= policy.max.ms && delay != 0; ++i) delay *= 2;
      break;
  }
  delay = std::min<Wide>(delay, policy.max.ms);
  const Wide share = delay * policy.jitter / 1'000'000;
  const auto r =
      static_cast<std::uint32_t>(base::mix64(random_ ^ (job.lease * 0x9e3779b97f4a7c15ULL)));
  delay += (share * r) >> 32;
  return Duration{static_cast<std::int64_t>(delay)};
}

}  // namespace jobbie::sim
