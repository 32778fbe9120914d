// Records and replies as text.
#include "tests/sim/describe.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace jobbie::sim {
namespace {

using base::Blob;
using base::Duration;
using base::Instant;
using base::JobId;

std::string_view text(const Blob& blob) { return blob.view(); }

std::string value(Instant v) { return std::to_string(v.ms); }
std::string value(Duration v) { return std::to_string(v.ms) + "ms"; }
std::string value(const Blob& v) { return fmt::format("'{}'", v.view()); }
std::string value(bool v) { return v ? "yes" : "no"; }
std::string value(std::uint64_t v) { return std::to_string(v); }
std::string value(std::uint32_t v) { return std::to_string(v); }
std::string value(std::int32_t v) { return std::to_string(v); }
std::string value(model::State v) { return model::to_string(v); }
std::string value(model::LeaseEnd v) { return std::to_string(static_cast<int>(v)); }
std::string value(model::Fairness v) { return v == model::Fairness::group ? "group" : "priority"; }
template <typename Kind>
std::string value(const base::Id<Kind>& v) {
  return v.is_nil() ? "nil" : fmt::format("#{}", v.sequence());
}
std::string value(const std::vector<JobId>& v) {
  std::string out = "[";
  for (const JobId id : v) out += value(id) + " ";
  return out + "]";
}
std::string value(const std::optional<Blob>& v) { return v ? value(*v) : "none"; }
std::string value(const std::optional<model::ConcurrencyLimit>& v) {
  return v ? fmt::format("{} per '{}'", v->max, text(v->per)) : "none";
}
std::string value(const std::optional<model::Throttle>& v) {
  return v ? fmt::format("{}/{}ms per '{}'", v->rate, v->period.ms, text(v->per)) : "none";
}
std::string value(const std::vector<model::JobError>& v) {
  std::string out = "[";
  for (const auto& e : v)
    out += fmt::format("{}:{}@{}-{}>{} '{}' '{}' by '{}'; ", e.ordinal, e.attempt, e.started_at.ms,
                       e.at.ms, e.retry_at.ms, text(e.error), text(e.backtrace), text(e.worker));
  return out + "]";
}

/// Collects `name expected/got` for what differs.
class Differences {
 public:
  template <typename T>
  void field(const char* name, const T& expected, const T& got) {
    if (expected == got) return;
    out_ += fmt::format("{}{} {}/{}", out_.empty() ? "" : ", ", name, value(expected), value(got));
  }
  void other(const char* name, bool differs) {
    if (differs) out_ += fmt::format("{}{} differs", out_.empty() ? "" : ", ", name);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

bool same_set(const std::vector<JobId>& a, const std::vector<JobId>& b) {
  return a.size() == b.size() &&
         std::ranges::all_of(a, [&](JobId id) { return std::ranges::find(b, id) != b.end(); });
}

}  // namespace

std::string show(JobId id) { return value(id); }

bool same(const model::JobRecord& a, const model::JobRecord& b) {
  return a.state == b.state && a.id == b.id && a.attempt == b.attempt && a.lease == b.lease &&
         a.run_at == b.run_at && a.started_at == b.started_at && a.ended_at == b.ended_at &&
         a.failed_at == b.failed_at && a.expire_at == b.expire_at && a.lease_end == b.lease_end &&
         a.lease_duration == b.lease_duration && a.lease_expires_at == b.lease_expires_at &&
         a.heartbeaten == b.heartbeaten && a.cancel_requested == b.cancel_requested &&
         a.holds_unique == b.holds_unique && a.unique_until == b.unique_until &&
         a.batch == b.batch && a.batch_counted == b.batch_counted && a.schedule == b.schedule &&
         a.nominal_at == b.nominal_at && a.error_count == b.error_count && a.worker == b.worker &&
         a.hostname == b.hostname && a.progress == b.progress && a.checkpoint == b.checkpoint &&
         a.result == b.result && a.end_reason == b.end_reason &&
         same_set(a.waiting_on, b.waiting_on) && a.errors == b.errors && a.spec == b.spec;
}

std::string differing_fields(const model::JobRecord& a, const model::JobRecord& b) {
  Differences d;
  d.field("id", a.id, b.id);
  d.field("state", a.state, b.state);
  d.field("queue", a.spec.queue, b.spec.queue);
  d.field("priority", a.spec.priority, b.spec.priority);
  d.field("max_retries", a.spec.max_retries, b.spec.max_retries);
  d.field("payload", a.spec.payload, b.spec.payload);
  d.field("depends_on", a.spec.depends_on, b.spec.depends_on);
  d.other("depends_on_index", a.spec.depends_on_index != b.spec.depends_on_index);
  d.other("requires", a.spec.requires_ != b.spec.requires_);
  d.other("spec", a.spec != b.spec);
  d.field("attempt", a.attempt, b.attempt);
  d.field("run_at", a.run_at, b.run_at);
  d.field("started_at", a.started_at, b.started_at);
  d.field("ended_at", a.ended_at, b.ended_at);
  d.field("failed_at", a.failed_at, b.failed_at);
  d.field("expire_at", a.expire_at, b.expire_at);
  d.field("lease", a.lease, b.lease);
  d.field("lease_end", a.lease_end, b.lease_end);
  d.field("lease_duration", a.lease_duration, b.lease_duration);
  d.field("lease_expires_at", a.lease_expires_at, b.lease_expires_at);
  d.field("worker", a.worker, b.worker);
  d.field("hostname", a.hostname, b.hostname);
  d.field("heartbeaten", a.heartbeaten, b.heartbeaten);
  d.field("cancel_requested", a.cancel_requested, b.cancel_requested);
  d.field("holds_unique", a.holds_unique, b.holds_unique);
  d.field("unique_until", a.unique_until, b.unique_until);
  d.field("batch", a.batch, b.batch);
  d.field("batch_counted", a.batch_counted, b.batch_counted);
  d.field("schedule", a.schedule, b.schedule);
  d.field("nominal_at", a.nominal_at, b.nominal_at);
  if (!same_set(a.waiting_on, b.waiting_on)) d.field("waiting_on", a.waiting_on, b.waiting_on);
  d.field("progress", a.progress, b.progress);
  d.field("checkpoint", a.checkpoint, b.checkpoint);
  d.field("result", a.result, b.result);
  d.field("end_reason", a.end_reason, b.end_reason);
  d.field("errors", a.errors, b.errors);
  d.field("error_count", a.error_count, b.error_count);
  return d.take();
}

std::string differing_fields(const model::QueueRecord& a, const model::QueueRecord& b) {
  Differences d;
  d.field("name", a.name, b.name);
  d.field("created_at", a.created_at, b.created_at);
  d.field("paused", a.settings.paused, b.settings.paused);
  d.field("draining", a.settings.draining, b.settings.draining);
  d.field("concurrency", a.settings.concurrency, b.settings.concurrency);
  d.field("concurrency_per", a.settings.concurrency_per, b.settings.concurrency_per);
  d.field("throttle", a.settings.throttle, b.settings.throttle);
  d.field("throttle_per", a.settings.throttle_per, b.settings.throttle_per);
  d.other("retention", a.settings.retention != b.settings.retention);
  d.field("lease", a.settings.lease, b.settings.lease);
  d.field("fairness", a.settings.fairness, b.settings.fairness);
  d.field("last_served_group", a.last_served_group, b.last_served_group);
  d.field("enqueued", a.totals.enqueued, b.totals.enqueued);
  d.field("started", a.totals.started, b.totals.started);
  d.field("completed", a.totals.completed, b.totals.completed);
  d.field("failed", a.totals.failed, b.totals.failed);
  d.field("dead", a.totals.dead, b.totals.dead);
  d.field("cancelled", a.totals.cancelled, b.totals.cancelled);
  d.field("leases_expired", a.totals.leases_expired, b.totals.leases_expired);
  return d.take();
}

std::string show(const model::JobRecord& job) {
  return fmt::format("job {} ({})", value(job.id), differing_fields(model::JobRecord{}, job));
}
std::string show(const model::QueueRecord& queue) {
  return fmt::format("queue ({})", differing_fields(model::QueueRecord{}, queue));
}
std::string show(const model::TallyRecord& t) {
  return fmt::format("{} {} minute {}: {}", text(t.queue), value(t.state), t.minute, t.count);
}
std::string show(const model::WindowRecord& w) {
  std::string out = fmt::format("{}{} '{}':", text(w.queue), w.keyed ? " keyed" : "", text(w.key));
  for (const auto& [at, count] : w.claims) out += fmt::format(" {}@{}", count, at.ms);
  return out;
}
std::string show(const model::GroupRecord& g) {
  return fmt::format("{}{}", text(g.name), g.paused ? " paused" : "");
}
std::string show(const model::BatchRecord& b) {
  return fmt::format(
      "batch {} total {} pending {} succeeded {} failed {} callback {} in '{}' "
      "finished {} payload '{}'",
      value(b.id), b.total, b.pending, b.succeeded, b.failed, value(b.callback_job),
      text(b.callback_queue), b.finished_at.ms, text(b.callback_payload));
}
std::string show(const model::ScheduleRecord& s) {
  return fmt::format(
      "schedule {} '{}' cron '{}' zone {} catch_up {} paused {} last_run {} next_run {} last_job "
      "{} "
      "runs {}",
      value(s.id), text(s.spec.name), text(s.spec.cron), s.spec.zone.name,
      static_cast<int>(s.spec.catch_up), s.spec.paused, s.last_run.ms, s.next_run.ms,
      value(s.last_job), s.runs);
}
std::string show(const model::WorkerRecord& w) {
  std::string out = fmt::format("worker '{}' started {} seen {} active {} roles", text(w.spec.id),
                                w.started_at.ms, w.last_seen.ms, w.active);
  for (const Blob& role : w.spec.roles) out += fmt::format(" '{}'", text(role));
  out += " tags";
  for (const Blob& tag : w.spec.tags) out += fmt::format(" '{}'", text(tag));
  return out + fmt::format(" owner #{}", w.owner.sequence());
}
std::string show(const model::IdempotencyRecord& r) {
  return fmt::format("key '{}' of #{} fingerprint {} until {}", text(r.key), r.scope.sequence(),
                     r.fingerprint, r.expires_at.ms);
}
std::string show(const model::BulkRecord& b) {
  return fmt::format(
      "bulk #{} action {} status {} cursor {} affected {} skipped {} failed {} owner #{}",
      b.id.sequence(), static_cast<int>(b.action), static_cast<int>(b.status), b.cursor, b.affected,
      b.skipped, b.failed, b.owner.sequence());
}

std::string show(const model::KeyRecord& k) {
  return fmt::format("key #{} '{}' scopes {}", k.id.sequence(), text(k.spec.name), k.spec.scopes);
}

std::string show(const model::WebhookRecord& w) {
  return fmt::format(
      "webhook #{} '{}' events {:x} queue '{}' secret '{}' active {} delivered {} "
      "failed {} dropped {}",
      w.id.sequence(), text(w.spec.url), w.spec.events, text(w.spec.queue), text(w.spec.secret),
      w.spec.active, w.delivered, w.failed, w.dropped);
}

std::string show(const model::DeliveryRecord& d) {
  return fmt::format(
      "delivery #{} of #{} '{}' job {} queue '{}' '{}' state {} attempts {} next {} "
      "status {} ended {}",
      d.id.sequence(), d.webhook.sequence(), text(d.event), show(d.job), text(d.queue),
      text(d.detail), static_cast<int>(d.state), d.attempts, d.next_attempt_at.ms, d.status,
      d.ended_at.ms);
}

std::string show(const model::TaskRecord& t) {
  return fmt::format("task {} kind {} of '{}' bound {} cursor {} flag {} job {}", t.number,
                     static_cast<int>(t.kind), text(t.subject), t.bound, t.cursor, t.flag,
                     value(t.job));
}
std::string show(const model::MetaRecord& m) {
  return fmt::format("now {} sequence {} lease {} arrival {} task {} entries {}", m.now.ms,
                     m.next_sequence, m.next_lease, m.next_arrival, m.next_task, m.entries);
}

}  // namespace jobbie::sim
