// GET /api/v1/jobs/{id} and /api/v1/batches/{id}.
#include "base/duration.hpp"
#include "base/json_writer.hpp"
#include "face/native/endpoints.hpp"
#include "face/native/job_history.hpp"
#include "face/native/values.hpp"
#include "face/native/words.hpp"
#include "face/parameters.hpp"
#include "model/limits.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;

void write_times(Writer& json, const model::JobRecord& job) {
  json.member("created_at").instant(job.id.ulid.time());
  write_instant(json, "scheduled_at", job.spec.scheduled_at);
  write_instant(json, "next_attempt_at",
                job.state == model::State::retrying ? job.run_at : base::Instant{});
  write_instant(json, "started_at", job.started_at);
  write_instant(json, "completed_at",
                job.state == model::State::completed ? job.ended_at : base::Instant{});
  write_instant(json, "failed_at", job.failed_at);
  write_instant(json, "ended_at", job.ended_at);
  write_instant(json, "expire_at", job.expire_at);
  write_instant(json, "lease_expires_at", job.lease_expires_at);
}

void write_errors(Writer& json, const model::JobRecord& job) {
  write_text(json, "last_error", job.errors.empty() ? base::Blob() : job.errors.back().error);
  json.member("errors").begin_array();
  for (const auto& error : job.errors) {
    json.begin_object();
    json.member("attempt").number(error.attempt);
    json.member("error").string(error.error.view());
    write_text(json, "backtrace", error.backtrace);
    json.member("at").instant(error.at);
    write_text(json, "worker_id", error.worker);
    json.end_object();
  }
  json.end_array();
  json.member("error_count").number(job.error_count);
}

void write_worker(Writer& json, const model::JobRecord& job) {
  json.member("worker");
  if (!job.worker && !job.hostname) {
    json.null();
    return;
  }
  json.begin_object();
  write_text(json, "id", job.worker);
  write_text(json, "hostname", job.hostname);
  json.end_object();
}

void write_job(Writer& json, const model::JobRecord& job) {
  json.begin_object();
  json.member("id").id(job.id);
  json.member("queue").string(job.spec.queue.view());
  json.member("payload").raw(job.spec.payload ? job.spec.payload.view() : "null");
  json.member("state").plain(model::to_string(job.state));
  json.member("priority");
  write_priority(json, job.spec.priority);
  json.member("attempt").number(job.attempt);
  write_policy(json, job.spec);
  write_times(json, job);
  const auto lease = job.lease_duration.ms != 0 ? job.lease_duration : job.spec.lease;
  write_duration(json, "lease_duration", lease);
  json.member("cancel_requested").boolean(job.cancel_requested);
  write_text(json, "end_reason", job.end_reason);
  write_id(json, "batch_id", job.batch);
  write_id(json, "schedule_id", job.schedule);
  write_ids(json, "waiting_on", job.waiting_on);
  json.member("tags").raw(job.spec.tags ? job.spec.tags.view() : "{}");
  write_json(json, "progress", job.progress);
  write_json(json, "checkpoint", job.checkpoint);
  write_json(json, "result", job.result);
  write_errors(json, job);
  write_worker(json, job);
  write_history(json, job);
  json.end_object();
}

void write_batch(Writer& json, const model::BatchRecord& batch) {
  json.begin_object();
  json.member("id").id(batch.id);
  json.member("status").plain(batch.pending == 0 ? "finished" : "pending");
  json.member("total").number(batch.total);
  json.member("pending").number(batch.pending);
  json.member("succeeded").number(batch.succeeded);
  json.member("failed").number(batch.failed);
  write_text(json, "callback_queue", batch.callback_queue);
  write_json(json, "callback_payload", batch.callback_payload);
  write_id(json, "callback_job_id", batch.callback_job);
  json.member("created_at").instant(batch.id.ulid.time());
  write_instant(json, "finished_at", batch.finished_at);
  json.end_object();
}

/// A question about one record; `Id` is what was asked for.
template <typename Record, typename Id>
class Lookup final : public Exchange {
 public:
  Lookup(call::Inbox& inbox, Id id) : Exchange(inbox), id_(id) {}

 private:
  void render(Answer& out) const override {
    constexpr bool kJob = std::is_same_v<Record, model::JobRecord>;
    const auto* found = std::get_if<std::optional<Record>>(&answer);
    if (found == nullptr) return write(Problem{}, out);
    if (!*found || !is_shown(**found))
      return write(not_found(kJob ? "job" : "batch", id_.text()), out);
    Writer json(out.body);
    if constexpr (kJob)
      write_job(json, **found);
    else
      write_batch(json, **found);
  }

  [[nodiscard]] bool is_shown(const Record& record) const {
    if constexpr (std::is_same_v<Record, model::JobRecord>)
      return may_show(record.spec.queue);
    else
      return record.callback_queue.empty() || may_show(record.callback_queue);
  }

  Id id_;
};

}  // namespace

void write_policy(Writer& json, const model::JobSpec& spec) {
  json.member("max_retries").number(spec.max_retries);
  json.member("retry_backoff").plain(word(kBackoffNames, spec.retry.backoff));
  json.member("retry_base_delay").plain(base::format_duration(spec.retry.base));
  json.member("retry_max_delay").plain(base::format_duration(spec.retry.max));
  json.member("retry_jitter").millionths(spec.retry.jitter);
  write_text(json, "unique_key", spec.unique.key);
  json.member("unique_period");
  if (spec.unique.period.ms != 0)
    json.seconds(spec.unique.period);
  else
    json.null();
  json.member("unique_until");
  if (spec.unique.key)
    json.plain(word(kUniqueUntilNames, spec.unique.until));
  else
    json.null();
  write_duration(json, "expire_after", spec.expire_after);
  write_duration(json, "max_runtime", spec.max_runtime);
  write_duration(json, "timeout", spec.timeout);
  write_text(json, "group", spec.group);
  write_texts(json, "roles", spec.requires_.roles);
  write_texts(json, "required_tags", spec.requires_.tags);
  write_text(json, "target_worker", spec.requires_.target_worker);
  write_ids(json, "depends_on", spec.depends_on);
  json.member("on_failure").plain(word(kOnFailureNames, spec.on_failure));
  write_text(json, "traceparent", spec.traceparent);
}
void write_job_record(Writer& json, const model::JobRecord& job) { write_job(json, job); }
void write_batch_record(Writer& json, const model::BatchRecord& batch) { write_batch(json, batch); }

Outcome job(const Input& input) {
  const auto id = base::JobId::parse(input.id);
  if (!id) return std::unexpected(not_found("job", input.id));
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  auto exchange = std::make_unique<Lookup<model::JobRecord, base::JobId>>(input.inbox, *id);
  exchange->query = call::JobQuery{*id};
  return exchange;
}

Outcome batch(const Input& input) {
  const auto id = base::BatchId::parse(input.id);
  if (!id) return std::unexpected(not_found("batch", input.id));
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  auto exchange = std::make_unique<Lookup<model::BatchRecord, base::BatchId>>(input.inbox, *id);
  exchange->query = call::BatchQuery{*id};
  return exchange;
}

}  // namespace jobbie::face::native
