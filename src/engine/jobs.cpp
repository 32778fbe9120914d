// Finding jobs, making them, and moving them from state to state.
#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "base/wide.hpp"
#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

bool needs_placement(const model::JobSpec& spec) {
  return !spec.group.empty() || !spec.requires_.none() || !spec.depends_on.empty() ||
         !spec.depends_on_index.empty() || spec.on_failure != model::OnFailure::cancel;
}

bool needs_details(const model::JobSpec& spec) {
  static const Duration kNone{};
  return spec.retry != model::RetryPolicy{} || spec.scheduled_at != Instant{} ||
         spec.delay != kNone || spec.expire_after != kNone || spec.lease != kNone ||
         spec.max_runtime != kNone || spec.timeout != kNone || !spec.tags.empty() ||
         !spec.traceparent.empty();
}

/// `now`: what a delay is counted from.
void fill_parts(Job& job, const model::JobSpec& spec, Instant now) {
  if (!spec.unique.key.empty()) {
    job.unique = std::make_unique<Unique>();
    job.unique->spec = spec.unique;
  }
  if (needs_placement(spec)) {
    Placement& place = job.place();
    place.requirements = spec.requires_;
    place.group = spec.group;
    place.depends_on = spec.depends_on;
    place.on_failure = spec.on_failure;
  }
  if (!needs_details(spec)) return;
  Details& detail = job.detail();
  detail.retry = spec.retry;
  detail.scheduled_at = spec.delay != Duration{} ? now + spec.delay : spec.scheduled_at;
  detail.expire_after = spec.expire_after;
  detail.lease = spec.lease;
  detail.max_runtime = spec.max_runtime;
  detail.timeout = spec.timeout;
  detail.tags = spec.tags;
  detail.traceparent = spec.traceparent;
}

}  // namespace

std::uint32_t Core::draw(std::uint64_t salt) const {
  return static_cast<std::uint32_t>(base::mix64(random ^ (salt * 0x9e3779b97f4a7c15ULL)));
}

base::Ulid Core::next_ulid(std::uint64_t sequence) const {
  return base::Ulid::make(meta.now, sequence, draw(sequence));
}

Slot Core::locate(JobId id) {
  if (const Slot slot = index.find(id.sequence()); slot != 0) return jobs[slot].id == id ? slot : 0;
  if (id.sequence() == 0 || id.sequence() >= meta.next_sequence) return 0;
  const auto record = ended_port.find(id);
  if (!record || record->id != id || !model::has_ended(record->state) || changes.is_gone(*record))
    return 0;
  if (find_queue(record->spec.queue.view()) == 0) return 0;
  const Slot slot = adopt(*record);
  jobs[slot].stored = true;
  changes.job_ended(slot, jobs[slot]);
  return slot;
}

Slot Core::locate_settled(JobId id) {
  const Slot slot = locate(id);
  return slot != 0 && settle(slot) ? slot : 0;
}

bool Core::is_doomed(const Job& job) const {
  const Queue& queue = queue_of(job);
  if (queue.tasks == 0) return false;
  return job.arrival <= queue.destroy_bound ||
         (job.state != State::active && job.arrival <= queue.clear_bound);
}

bool Core::settle(Slot slot) {
  Job& job = jobs[slot];
  if (model::has_ended(job.state)) return true;
  if (is_doomed(job)) {
    delete_job(slot);
    return false;
  }
  const auto sequence = job.sequence();
  for (auto due = next_due(job); due.at <= meta.now; due = next_due(jobs[slot])) {
    fire(slot, due.what);
    if (!exists(slot, sequence)) return false;
  }
  return true;
}

Slot Core::create_job(const model::JobSpec& spec) {
  const Slot slot = jobs.allocate();
  Job& job = jobs[slot];
  const auto sequence = meta.next_sequence++;
  job.id = JobId{next_ulid(sequence)};
  job.payload = spec.payload;
  job.priority = spec.priority;
  job.max_retries = spec.max_retries;
  fill_parts(job, spec, meta.now);
  if (spec.expire_after != Duration{}) job.details->expire_at = meta.now + spec.expire_after;
  index.insert(sequence, slot);
  weigh_new(job);
  ++live;

  job.queue = make_queue(spec.queue);
  job.state = State::waiting;
  Queue& queue = queue_of(job);
  ++queue.counts[static_cast<std::size_t>(State::waiting)];
  ++queue.totals.enqueued;
  queue_changed(queue);
  job.arrival = meta.next_arrival++;
  link_to_queue(slot);
  join_group(slot);
  assign_keys(slot);
  if (job.unique) locks.take(slot, queue, meta.now);
  return slot;
}

void Core::open_job(Slot slot) {
  Job& job = jobs[slot];
  emit(EventType::enqueued, job);
  if (!job.placement || job.placement->waiting_on.empty()) {
    const bool later = job.details && job.details->scheduled_at > meta.now;
    if (later) job.run_at = job.details->scheduled_at;
    set_state(slot, later ? State::scheduled : State::pending);
  }
  rearm(slot);
  touch(slot);
}

void Core::set_state(Slot slot, State to) {
  Job& job = jobs[slot];
  Queue& queue = queue_of(job);
  const State from = job.state;
  --queue.counts[static_cast<std::size_t>(from)];
  ++queue.counts[static_cast<std::size_t>(to)];
  if (const Slot group = job.group_slot(); group != 0) {
    auto& counts = groups[group]->counts;
    if (!model::has_ended(from)) --counts[static_cast<std::size_t>(from)];
    if (!model::has_ended(to)) ++counts[static_cast<std::size_t>(to)];
  }
  if (from == State::pending) leave_lane(slot);
  if (from == State::active) {
    count_active(slot, false);
    workers.end_holding(job);
    job.lease_expires_at = {};
    if (queue.settings.draining && queue.counts[static_cast<std::size_t>(State::active)] == 0)
      emit(EventType::queue_drained, nullptr, queue.name);
  }
  job.state = to;
  if (to == State::pending) job.ready_at = meta.now;
  if (from == State::active && !model::has_ended(to)) {
    arrive_again(slot);
    // A relane that is under way will not meet it again.
    if (queue.tasks != 0) {
      drop_keys(slot);
      assign_keys(slot);
    }
  }
  if (to == State::pending) enter_lane(slot);
  if (to == State::active) count_active(slot, true);
  queue_changed(queue);
}

void Core::touch(Slot slot) {
  Job& job = jobs[slot];
  if (job.placement || job.details) weigh_parts(job);
  changes.job_changed(slot, job);
  if (hashing && !job.to_be_hashed) {
    forget_digest(slot);
    job.to_be_hashed = true;
    unhashed_jobs.push_back({slot, job.sequence()});
  }
}

void Core::add_error(Job& job, std::string_view error, const Blob& backtrace) {
  Details& detail = job.detail();
  if (detail.errors.size() == model::limits::kErrorsKept)
    detail.errors.erase(detail.errors.begin());
  detail.errors.push_back({.ordinal = ++detail.error_count,
                           .attempt = job.attempt,
                           .at = meta.now,
                           .error = Blob(error),
                           .backtrace = backtrace,
                           .worker = job.worker,
                           .started_at = job.started_at});
  detail.failed_at = meta.now;
  ++queue_of(job).totals.failed;
}

Duration Core::backoff(const Job& job) const {
  static const model::RetryPolicy kDefault;
  const model::RetryPolicy& policy = job.details ? job.details->retry : kDefault;
  using Wide = base::Int128;
  Wide delay = 0;
  switch (policy.backoff) {
    case model::Backoff::none:
      return {};
    case model::Backoff::fixed:
      delay = policy.base.ms;
      break;
    case model::Backoff::linear:
      delay = Wide{policy.base.ms} * job.attempt;
      break;
    case model::Backoff::exponential:
      // 2^62 times the smallest base is already past every cap.
      delay = Wide{policy.base.ms} << std::min<std::uint32_t>(job.attempt - 1, 62);
      break;
  }
  delay = std::min<Wide>(delay, policy.max.ms);
  const Wide share = delay * policy.jitter / model::limits::kJitterUnit;
  delay += (share * draw(job.lease)) >> 32;
  return {static_cast<std::int64_t>(delay)};
}

void Core::fail_attempt(Slot slot, bool no_retry, std::optional<Duration> delay) {
  Job& job = jobs[slot];
  if (job.cancel_requested) return end_job(slot, State::cancelled, "cancelled");
  if (no_retry) return end_job(slot, State::dead, "no_retry");
  if (job.attempt >= job.attempts_allowed())
    return end_job(slot, State::dead, "attempts_exhausted");
  const Duration wait = delay ? *delay : backoff(job);
  if (options.plants(Plant::retry_to_the_back)) ++job.priority;
  if (wait == Duration{}) {
    set_state(slot, State::pending);
  } else {
    job.run_at = meta.now + wait;
    job.detail().errors.back().retry_at = job.run_at;
    set_state(slot, State::retrying);
  }
  emit(EventType::retrying, job);
  rearm(slot);
  touch(slot);
}

Duration Core::elapsed_at(EventType type, const Job* job) const {
  switch (type) {
    case EventType::started:
      // The time in an id may be later than the log's, if that was turned back since.
      return std::max(job->started_at - job->ready_at, Duration{});
    case EventType::completed:
    case EventType::failed:
    case EventType::lease_expired:
      return meta.now - job->started_at;
    default:
      return {};
  }
}

void Core::emit(EventType type, const Job* job, const Blob& queue, Blob detail) {
  outcome->events.push_back(
      {.type = type,
       .job = job == nullptr ? JobId{} : job->id,
       .queue = queue,
       .at = meta.now,
       .attempt = job == nullptr ? 0 : job->attempt,
       .detail = std::move(detail),
       .elapsed = elapsed_at(type, job),
       .traceparent = job != nullptr && job->details ? job->details->traceparent : Blob{}});
  if ((webhook_events >> static_cast<unsigned>(type) & 1) != 0)
    tell_webhooks(outcome->events.back());
}

}  // namespace jobbie::engine
