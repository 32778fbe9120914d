// Binding and reading of job rows.
#include "store/job_rows.hpp"

#include <array>
#include <limits>
#include <utility>

#include "command/codec.hpp"
#include "command/model_fields.hpp"
#include "model/limits.hpp"

namespace jobbie::store {
namespace {

using model::JobRecord;
using model::JobSpec;

// A new field needs a column, or a place in has_extra and with_extra_alone and take_extra.
static_assert(command::kListedFields<JobRecord> == 32);
static_assert(command::kListedFields<JobSpec> == 19);
static_assert(command::kListedFields<model::RetryPolicy> == 4);
static_assert(command::kListedFields<model::UniqueSpec> == 3);

constexpr std::array<const char*, kJobColumns> kJobColumnNames = {"seq",
                                                                  "id_random",
                                                                  "created_at",
                                                                  "queue",
                                                                  "state",
                                                                  "ended_at",
                                                                  "group_name",
                                                                  "priority",
                                                                  "attempt",
                                                                  "max_retries",
                                                                  "retry_backoff",
                                                                  "retry_base_delay_ms",
                                                                  "retry_max_delay_ms",
                                                                  "unique_key",
                                                                  "unique_until",
                                                                  "batch_id",
                                                                  "schedule_id",
                                                                  "worker_id",
                                                                  "hostname",
                                                                  "lease",
                                                                  "lease_end",
                                                                  "lease_ms",
                                                                  "lease_expires_at",
                                                                  "scheduled_at",
                                                                  "run_at",
                                                                  "expire_at",
                                                                  "started_at",
                                                                  "failed_at",
                                                                  "nominal_at",
                                                                  "flags",
                                                                  "arrival",
                                                                  "group_arrival",
                                                                  "error_count",
                                                                  "errors_kept",
                                                                  "revision",
                                                                  "end_reason",
                                                                  "tags",
                                                                  "progress",
                                                                  "payload",
                                                                  "result",
                                                                  "checkpoint",
                                                                  "extra"};

constexpr std::int64_t kHeartbeaten = 1;
constexpr std::int64_t kCancelRequested = 2;
constexpr std::int64_t kHoldsUnique = 4;
constexpr std::int64_t kBatchCounted = 8;
constexpr std::int64_t kAllFlags = 15;

constexpr int parameter(JobColumn column) { return static_cast<int>(column); }
constexpr int at(JobColumn column) { return static_cast<int>(column) - 1; }

bool is_indexed(JobColumn column) {
  return column == JobColumn::queue || column == JobColumn::state ||
         column == JobColumn::ended_at || column == JobColumn::group_name;
}

bool has_extra(const JobRecord& job) {
  const JobSpec& spec = job.spec;
  return spec.retry.jitter != 0 || spec.delay.ms != 0 || spec.expire_after.ms != 0 ||
         spec.lease.ms != 0 || spec.max_runtime.ms != 0 || spec.timeout.ms != 0 ||
         spec.unique.until != model::UniqueUntil::end || spec.unique.period.ms != 0 ||
         !spec.requires_.none() || !spec.depends_on.empty() || !spec.depends_on_index.empty() ||
         spec.on_failure != model::OnFailure::cancel || !spec.traceparent.empty() ||
         !job.waiting_on.empty();
}

JobRecord with_extra_alone(const JobRecord& job) {
  const JobSpec& spec = job.spec;
  JobRecord rest;
  rest.spec.retry.jitter = spec.retry.jitter;
  rest.spec.delay = spec.delay;
  rest.spec.expire_after = spec.expire_after;
  rest.spec.lease = spec.lease;
  rest.spec.max_runtime = spec.max_runtime;
  rest.spec.timeout = spec.timeout;
  rest.spec.unique.until = spec.unique.until;
  rest.spec.unique.period = spec.unique.period;
  rest.spec.requires_ = spec.requires_;
  rest.spec.depends_on = spec.depends_on;
  rest.spec.depends_on_index = spec.depends_on_index;
  rest.spec.on_failure = spec.on_failure;
  rest.spec.traceparent = spec.traceparent;
  rest.waiting_on = job.waiting_on;
  return rest;
}

bool take_extra(std::string_view bytes, JobRecord& job) {
  if (bytes.empty()) return true;
  auto item = command::decode_item(bytes);
  if (!item) return false;
  auto* rest = std::get_if<JobRecord>(&*item);
  if (rest == nullptr) return false;
  job.spec = std::move(rest->spec);
  job.waiting_on = std::move(rest->waiting_on);
  return true;
}

/// Reads columns and remembers whether any was out of its range.
class JobRowReader {
 public:
  explicit JobRowReader(const Statement& row) : row_(row) {}

  [[nodiscard]] std::int64_t integer(JobColumn c) const { return row_.integer(at(c)); }
  [[nodiscard]] std::uint64_t number(JobColumn c) const { return row_.number(at(c)); }
  [[nodiscard]] base::Instant instant(JobColumn c) const { return row_.instant(at(c)); }
  [[nodiscard]] base::Blob blob(JobColumn c) const { return base::Blob(row_.bytes(at(c))); }
  [[nodiscard]] std::string_view bytes(JobColumn c) const { return row_.bytes(at(c)); }

  std::uint32_t small(JobColumn c) {
    const auto wide = integer(c);
    if (wide < 0 || wide > std::numeric_limits<std::uint32_t>::max()) ok_ = false;
    return static_cast<std::uint32_t>(wide);
  }
  template <typename Enum>
  Enum choice(JobColumn c) {
    const auto value = integer(c);
    if (value < 0 || value > static_cast<std::int64_t>(command::last_value(Enum{}))) {
      ok_ = false;
      return Enum{};
    }
    return static_cast<Enum>(value);
  }
  template <typename Id>
  Id id(JobColumn c) {
    const auto text = bytes(c);
    if (text.empty()) return {};
    const auto parsed = Id::parse(text);
    if (!parsed) ok_ = false;
    return parsed.value_or(Id{});
  }
  void require(bool condition) { ok_ = ok_ && condition; }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  const Statement& row_;
  bool ok_ = true;
};

void read_spec(JobRowReader& row, JobSpec& spec) {
  using enum JobColumn;
  spec.queue = row.blob(queue);
  spec.payload = row.blob(payload);
  const auto wide = row.integer(priority);
  spec.priority = static_cast<std::int32_t>(wide);
  row.require(spec.priority == wide);
  spec.max_retries = row.small(max_retries);
  spec.retry.backoff = row.choice<model::Backoff>(retry_backoff);
  spec.retry.base = {row.integer(retry_base_delay_ms)};
  spec.retry.max = {row.integer(retry_max_delay_ms)};
  spec.scheduled_at = row.instant(scheduled_at);
  spec.unique.key = row.blob(unique_key);
  spec.tags = row.blob(tags);
  spec.group = row.blob(group_name);
}

void read_life(JobRowReader& row, JobRecord& job) {
  using enum JobColumn;
  job.state = row.choice<model::State>(state);
  job.attempt = row.small(attempt);
  job.run_at = row.instant(run_at);
  job.started_at = row.instant(started_at);
  job.ended_at = row.instant(ended_at);
  job.failed_at = row.instant(failed_at);
  job.expire_at = row.instant(expire_at);
  job.lease = row.number(lease);
  job.lease_end = row.choice<model::LeaseEnd>(lease_end);
  job.lease_duration = {row.integer(lease_ms)};
  job.lease_expires_at = row.instant(lease_expires_at);
  job.worker = row.blob(worker_id);
  job.hostname = row.blob(hostname);
  job.unique_until = row.instant(unique_until);
  job.batch = row.id<base::BatchId>(batch_id);
  job.schedule = row.id<base::ScheduleId>(schedule_id);
  job.nominal_at = row.instant(nominal_at);
  job.progress = row.blob(progress);
  job.checkpoint = row.blob(checkpoint);
  job.result = row.blob(result);
  job.end_reason = row.blob(end_reason);
  job.error_count = row.small(error_count);
  job.arrival = row.number(arrival);
  job.group_arrival = row.number(group_arrival);
}

void bind_spec(Statement& s, const JobSpec& spec) {
  using enum JobColumn;
  s.bind_text(parameter(queue), spec.queue.view());
  s.bind_text(parameter(group_name), spec.group.view());
  s.bind(parameter(priority), std::int64_t{spec.priority});
  s.bind(parameter(max_retries), std::int64_t{spec.max_retries});
  s.bind(parameter(retry_backoff), static_cast<std::int64_t>(spec.retry.backoff));
  s.bind(parameter(retry_base_delay_ms), spec.retry.base.ms);
  s.bind(parameter(retry_max_delay_ms), spec.retry.max.ms);
  s.bind_text(parameter(unique_key), spec.unique.key.view());
  s.bind(parameter(scheduled_at), spec.scheduled_at);
  s.bind_text(parameter(tags), spec.tags.view());
  s.bind_text(parameter(payload), spec.payload.view());
}

void bind_life(Statement& s, const JobRecord& job) {
  using enum JobColumn;
  s.bind(parameter(state), static_cast<std::int64_t>(job.state));
  s.bind(parameter(ended_at), job.ended_at);
  s.bind(parameter(attempt), std::int64_t{job.attempt});
  s.bind(parameter(unique_until), job.unique_until);
  s.bind_copy(parameter(batch_id), job.batch.is_nil() ? std::string() : job.batch.text());
  s.bind_copy(parameter(schedule_id), job.schedule.is_nil() ? std::string() : job.schedule.text());
  s.bind_text(parameter(worker_id), job.worker.view());
  s.bind_text(parameter(hostname), job.hostname.view());
  s.bind(parameter(lease), job.lease);
  s.bind(parameter(lease_end), static_cast<std::int64_t>(job.lease_end));
  s.bind(parameter(lease_ms), job.lease_duration.ms);
  s.bind(parameter(lease_expires_at), job.lease_expires_at);
  s.bind(parameter(run_at), job.run_at);
  s.bind(parameter(expire_at), job.expire_at);
  s.bind(parameter(started_at), job.started_at);
  s.bind(parameter(failed_at), job.failed_at);
  s.bind(parameter(nominal_at), job.nominal_at);
  s.bind(parameter(flags), job_flags({.heartbeaten = job.heartbeaten,
                                      .cancel_requested = job.cancel_requested,
                                      .holds_unique = job.holds_unique,
                                      .batch_counted = job.batch_counted}));
  s.bind(parameter(arrival), job.arrival);
  s.bind(parameter(group_arrival), job.group_arrival);
  s.bind(parameter(error_count), std::int64_t{job.error_count});
  s.bind(parameter(errors_kept), static_cast<std::int64_t>(job.errors.size()));
  s.bind_text(parameter(end_reason), job.end_reason.view());
  s.bind_text(parameter(progress), job.progress.view());
  s.bind_text(parameter(result), job.result.view());
  s.bind_text(parameter(checkpoint), job.checkpoint.view());
}

}  // namespace

const char* job_column_name(JobColumn column) {
  return kJobColumnNames.at(static_cast<std::size_t>(at(column)));
}

std::string job_columns() {
  std::string out;
  for (const char* name : kJobColumnNames) {
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out;
}

std::string insert_job_sql() {
  std::string values;
  for (int i = 1; i <= kJobColumns; ++i) values += (i == 1 ? "?" : ", ?") + std::to_string(i);
  return "INSERT INTO job_rows (" + job_columns() + ") VALUES (" + values + ")";
}

std::string update_job_sql(bool indexed) {
  std::string sets;
  for (int i = 2; i <= kJobColumns; ++i) {
    if (!indexed && is_indexed(static_cast<JobColumn>(i))) continue;
    if (!sets.empty()) sets += ", ";
    sets += job_column_name(static_cast<JobColumn>(i));
    sets += " = ?" + std::to_string(i);
  }
  return "UPDATE job_rows SET " + sets + " WHERE seq = ?1";
}

std::int64_t job_flags(const JobFlags& flags) {
  return (flags.heartbeaten ? kHeartbeaten : 0) | (flags.cancel_requested ? kCancelRequested : 0) |
         (flags.holds_unique ? kHoldsUnique : 0) | (flags.batch_counted ? kBatchCounted : 0);
}

std::uint64_t random_part(const base::JobId& id) {
  return id.ulid.low & std::uint64_t{0xffff'ffff};
}

void bind_job(Statement& statement, const JobRecord& job, std::uint64_t revision,
              std::string& extra) {
  const auto& ulid = job.id.ulid;
  statement.bind(parameter(JobColumn::seq), ulid.sequence());
  statement.bind(parameter(JobColumn::id_random), random_part(job.id));
  statement.bind(parameter(JobColumn::created_at), ulid.time().ms);
  statement.bind(parameter(JobColumn::revision), revision);
  bind_spec(statement, job.spec);
  bind_life(statement, job);
  if (!has_extra(job)) return statement.bind_null(parameter(JobColumn::extra));
  extra.clear();
  command::encode(command::Item(with_extra_alone(job)), extra);
  statement.bind_blob(parameter(JobColumn::extra), extra);
}

base::JobId job_id_of(std::uint64_t seq, std::uint64_t id_random, base::Instant created_at) {
  return {base::Ulid::make(created_at, seq, static_cast<std::uint32_t>(id_random))};
}

base::Result<JobRow> read_job(const Statement& row) {
  using enum JobColumn;
  JobRowReader reader(row);
  base::Result<JobRow> out;
  JobRecord& job = out->job;
  reader.require(take_extra(reader.bytes(extra), job));
  read_spec(reader, job.spec);
  read_life(reader, job);
  job.id = job_id_of(reader.number(seq), reader.small(id_random), reader.instant(created_at));
  reader.require(job.id.sequence() == reader.number(seq) &&
                 job.id.ulid.time() == reader.instant(created_at));
  const auto bits = reader.integer(flags);
  reader.require((bits & ~kAllFlags) == 0);
  job.heartbeaten = (bits & kHeartbeaten) != 0;
  job.cancel_requested = (bits & kCancelRequested) != 0;
  job.holds_unique = (bits & kHoldsUnique) != 0;
  job.batch_counted = (bits & kBatchCounted) != 0;
  out->revision = reader.number(revision);
  out->errors_kept = reader.small(errors_kept);
  reader.require(out->errors_kept <= model::limits::kErrorsKept);
  if (!reader.ok()) return std::unexpected(corrupt_row("a job"));
  return out;
}

base::Result<void> read_errors(Statement& select, const Connection& connection, std::uint32_t kept,
                               JobRecord& job) {
  if (kept == 0) return {};
  const ResetOnExit guard(select);
  select.bind(1, job.id.sequence());
  for (;;) {
    switch (select.step()) {
      case Step::failed:
        return std::unexpected(connection.error());
      case Step::done:
        if (job.errors.size() != kept)
          return std::unexpected(corrupt_row("a job's errors in a number"));
        return {};
      case Step::row:
        break;
    }
    if (job.errors.size() == kept)
      return std::unexpected(corrupt_row("a job's errors in a number"));
    job.errors.push_back({.ordinal = static_cast<std::uint32_t>(select.integer(0)),
                          .attempt = static_cast<std::uint32_t>(select.integer(1)),
                          .at = select.instant(2),
                          .error = base::Blob(select.bytes(3)),
                          .backtrace = base::Blob(select.bytes(4)),
                          .worker = base::Blob(select.bytes(5)),
                          .started_at = select.instant(6),
                          .retry_at = select.instant(7)});
  }
}

}  // namespace jobbie::store
