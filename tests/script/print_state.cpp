// Jobs, queues and the rest of the state as lines.
#include <fmt/format.h>

#include "base/duration.hpp"
#include "script/print.hpp"

namespace jobbie::script {
namespace {

/// Collects ` key=value` parts of one line.
class Parts {
 public:
  explicit Parts(std::string head) : out_(std::move(head)) {}

  void word(bool when, std::string_view word) {
    if (when) out_ += fmt::format(" {}", word);
  }
  template <typename T>
  void value(bool when, std::string_view key, const T& value) {
    if (when) out_ += fmt::format(" {}={}", key, value);
  }
  void blob(std::string_view key, const base::Blob& blob) {
    value(!blob.empty(), key, blob.view());
  }
  [[nodiscard]] std::string line() const { return out_ + "\n"; }

 private:
  std::string out_;
};

template <typename List, typename Show>
std::string joined(const List& list, Show show) {
  std::string out;
  for (const auto& item : list) out += (out.empty() ? "" : ", ") + show(item);
  return out;
}

std::string show_limit(const model::ConcurrencyLimit& limit) {
  return limit.per ? fmt::format("{}/{}", limit.max, limit.per.view()) : std::to_string(limit.max);
}

std::string show_throttle(const model::Throttle& throttle) {
  auto out = fmt::format("{}/{}", throttle.rate, base::format_duration(throttle.period));
  if (throttle.per) out += fmt::format("/{}", throttle.per.view());
  return out;
}

void add_counts(Parts& parts, const std::array<std::uint64_t, model::kStates>& counts) {
  for (std::size_t i = 0; i < counts.size(); ++i)
    parts.value(counts[i] != 0, model::to_string(static_cast<model::State>(i)), counts[i]);
}

void add_settings(Parts& parts, const model::QueueSettings& s) {
  if (s.concurrency) parts.value(true, "concurrency", show_limit(*s.concurrency));
  if (s.concurrency_per) parts.value(true, "concurrency_per", show_limit(*s.concurrency_per));
  if (s.throttle) parts.value(true, "throttle", show_throttle(*s.throttle));
  if (s.throttle_per) parts.value(true, "throttle_per", show_throttle(*s.throttle_per));
  const model::Retention usual;
  if (!(s.retention == usual))
    parts.value(true, "retention",
                fmt::format("{}/{}/{}", base::format_duration(s.retention.completed),
                            base::format_duration(s.retention.dead),
                            base::format_duration(s.retention.cancelled)));
  parts.value(s.lease.ms != 0, "lease", base::format_duration(s.lease));
  parts.word(s.fairness == model::Fairness::group, "fairness=group");
}

}  // namespace

std::string print(const model::JobRecord& job, const Names& names) {
  const bool active = job.state == model::State::active;
  Parts parts(fmt::format("{} {}", names.of(job.id), model::to_string(job.state)));
  parts.value(job.spec.queue.view() != kQueue, "queue", job.spec.queue.view());
  parts.value(job.spec.priority != model::kNormal, "priority", job.spec.priority);
  parts.value(job.attempt != 0, "attempt", job.attempt);
  parts.value(job.spec.max_retries != 3, "max_retries", job.spec.max_retries);
  parts.blob("reason", job.end_reason);
  parts.value(job.run_at.ms != 0, "run_at", names.show(job.run_at));
  parts.value(active, "lease", job.lease);
  parts.value(active, "until", names.show(job.lease_expires_at));
  if (active) parts.blob("worker", job.worker);
  parts.word(active && job.heartbeaten, "heartbeaten");
  parts.word(job.cancel_requested, "cancel_requested");
  parts.value(job.ended_at.ms != 0, "ended", names.show(job.ended_at));
  parts.value(job.expire_at.ms != 0, "expire_at", names.show(job.expire_at));
  parts.value(job.holds_unique, "holds", job.spec.unique.key.view());
  parts.value(job.unique_until.ms != 0, "unique_until", names.show(job.unique_until));
  parts.blob("group", job.spec.group);
  parts.value(!job.batch.is_nil(), "batch", names.of(job.batch));
  parts.value(!job.schedule.is_nil(), "schedule", names.of(job.schedule));
  parts.value(job.nominal_at.ms != 0, "nominal", names.show(job.nominal_at));
  parts.value(!job.waiting_on.empty(), "waiting_on",
              fmt::format("[{}]", joined(job.waiting_on, [&](auto id) { return names.of(id); })));
  if (job.spec.payload.view() != "{}")
    parts.value(true, "payload", names.in_text(std::string(job.spec.payload.view())));
  parts.blob("progress", job.progress);
  parts.blob("checkpoint", job.checkpoint);
  parts.blob("result", job.result);
  parts.value(!job.errors.empty(), "errors", fmt::format("[{}]", joined(job.errors, [](auto& e) {
                                                           return fmt::format("{}:{}", e.attempt,
                                                                              e.error.view());
                                                         })));
  return parts.line();
}

std::string print_errors(const model::JobRecord& job, const Names& names) {
  std::string out = fmt::format("{} error_count={} kept={}\n", names.of(job.id), job.error_count,
                                job.errors.size());
  for (const auto& e : job.errors) {
    Parts parts(fmt::format("{}. {}", e.ordinal, e.error.view()));
    parts.value(true, "attempt", e.attempt);
    parts.value(true, "at", names.show(e.at));
    parts.value(e.started_at != e.at, "started", names.show(e.started_at));
    parts.value(e.retry_at.ms != 0, "retry", names.show(e.retry_at));
    parts.blob("worker", e.worker);
    parts.blob("backtrace", e.backtrace);
    out += parts.line();
  }
  return out;
}

std::string print(const model::QueueView& queue, const Names& names) {
  const auto& s = queue.record.settings;
  Parts parts(std::string(queue.record.name.view()));
  parts.word(s.draining, "draining");
  parts.word(s.paused, "paused");
  parts.word(queue.clearing, "clearing");
  add_counts(parts, queue.counts);
  parts.value(queue.unique_locks != 0, "locks", queue.unique_locks);
  parts.value(queue.oldest_pending.ms != 0, "oldest", names.show(queue.oldest_pending));
  add_settings(parts, s);
  if (const auto& last = queue.record.last_served_group)
    parts.value(true, "last_served", last->empty() ? "none" : last->view());
  return parts.line();
}

std::string print_totals(const model::QueueView& queue) {
  const auto& t = queue.record.totals;
  Parts parts(std::string(queue.record.name.view()));
  parts.value(t.enqueued != 0, "enqueued", t.enqueued);
  parts.value(t.started != 0, "started", t.started);
  parts.value(t.completed != 0, "completed", t.completed);
  parts.value(t.failed != 0, "failed", t.failed);
  parts.value(t.dead != 0, "dead", t.dead);
  parts.value(t.cancelled != 0, "cancelled", t.cancelled);
  parts.value(t.leases_expired != 0, "leases_expired", t.leases_expired);
  return parts.line();
}

std::string print(const model::GroupView& group) {
  Parts parts(std::string(group.name.view()));
  parts.word(group.paused, "paused");
  add_counts(parts, group.counts);
  return parts.line();
}

std::string print(const model::BatchRecord& batch, const Names& names) {
  Parts parts(names.of(batch.id));
  parts.value(true, "total", batch.total);
  parts.value(true, "pending", batch.pending);
  parts.value(batch.succeeded != 0, "succeeded", batch.succeeded);
  parts.value(batch.failed != 0, "failed", batch.failed);
  parts.value(!batch.callback_job.is_nil(), "callback", names.of(batch.callback_job));
  parts.value(batch.finished_at.ms != 0, "finished", names.show(batch.finished_at));
  return parts.line();
}

std::string print(const model::ScheduleRecord& schedule, const Names& names) {
  Parts parts(names.of(schedule.id));
  parts.word(schedule.spec.paused, "paused");
  parts.value(schedule.runs != 0, "runs", schedule.runs);
  parts.value(schedule.last_run.ms != 0, "last_run", names.show(schedule.last_run));
  parts.value(!schedule.last_job.is_nil(), "last_job", names.of(schedule.last_job));
  parts.value(true, "next_run", names.show(schedule.next_run));
  return parts.line();
}

std::string print(const model::WorkerRecord& worker, const Names& names) {
  const auto text = [](const base::Blob& blob) { return std::string(blob.view()); };
  const auto& s = worker.spec;
  Parts parts(text(s.id));
  parts.word(s.draining, "draining");
  parts.value(worker.active != 0, "active", worker.active);
  parts.value(true, "started", names.show(worker.started_at));
  parts.value(true, "seen", names.show(worker.last_seen));
  parts.blob("hostname", s.hostname);
  parts.blob("name", s.name);
  parts.value(!s.queues.empty(), "queues", joined(s.queues, text));
  parts.value(!s.roles.empty(), "roles", joined(s.roles, text));
  parts.value(!s.tags.empty(), "tags", joined(s.tags, text));
  parts.value(s.concurrency != 0, "concurrency", s.concurrency);
  parts.value(s.cores != 0, "cores", s.cores);
  parts.value(s.ram_mb != 0, "ram_mb", s.ram_mb);
  return parts.line();
}

std::string print(const engine::Why& why, const std::string& job, const Names& names) {
  if (!why.found) return job + " not found\n";
  std::string out = fmt::format("{} {}\n", job, model::to_string(why.state));
  for (const auto& reason : why.reasons) {
    Parts parts(fmt::format("- {}", engine::to_string(reason.code)));
    parts.value(reason.until.ms != 0, "until", names.show(reason.until));
    parts.value(!reason.jobs.empty(), "jobs",
                fmt::format("[{}]", joined(reason.jobs, [&](auto id) { return names.of(id); })));
    parts.value(reason.ahead != 0, "ahead", reason.ahead);
    parts.word(reason.ahead_is_at_least, "or more");
    out += parts.line();
  }
  return out;
}

}  // namespace jobbie::script
