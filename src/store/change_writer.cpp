// The statements of the writer and what is bound to them.
#include "store/change_writer.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/json.hpp"
#include "command/codec.hpp"
#include "model/limits.hpp"
#include "store/job_rows.hpp"

namespace jobbie::store {
namespace {

enum Sql : std::size_t {
  kInsertJob,
  kUpdateJob,
  kUpdateJobLight,
  kUpdateJobWithoutErrors,
  kFindJob,
  kDeleteJob,
  kDeleteErrors,
  kTrimErrors,
  kPutError,
  kPutMeta,
  kSetApplied,
  kPutQueue,
  kDeleteQueue,
  kDeleteTallies,
  kDeleteWindows,
  kPutTally,
  kDeleteTally,
  kPutWindow,
  kDeleteWindow,
  kPutGroup,
  kDeleteGroup,
  kPutBatch,
  kPutSchedule,
  kDeleteSchedule,
  kPutWorker,
  kDeleteWorker,
  kPutIdempotency,
  kDeleteIdempotency,
  kPutTask,
  kDeleteTask,
  kPutSweep,
  kLastLine,
  kPutLine,
  kTrimLines,
  kDeleteLines,
  kPutBulk,
  kDeleteBulk,
};

/// By number, except those of jobs, which are made from the list of columns.
constexpr std::array<std::string_view, kDeleteBulk + 1> kWriterSql = {
    "",  // kInsertJob
    "",  // kUpdateJob
    "",  // kUpdateJobLight
    "",  // kUpdateJobWithoutErrors
    "SELECT queue, state, ended_at, group_name, errors_kept FROM job_rows WHERE seq = ?1",
    "DELETE FROM job_rows WHERE seq = ?1",
    "DELETE FROM job_error_rows WHERE job = ?1",
    "DELETE FROM job_error_rows WHERE job = ?1 AND (ordinal < ?2 OR ordinal > ?3)",
    // An error that is there already, which is nearly every time, is not written again.
    "INSERT INTO job_error_rows VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT "
    "DO UPDATE SET attempt = ?3, error = ?4, backtrace = ?5, worker_id = ?6, created_at = ?7, "
    "started_at = ?8, retry_at = ?9 "
    "WHERE attempt IS NOT ?3 OR error IS NOT ?4 OR backtrace IS NOT ?5 OR worker_id IS NOT ?6 "
    "OR created_at IS NOT ?7 OR started_at IS NOT ?8 OR retry_at IS NOT ?9",
    "UPDATE meta_row SET has_state = 1, now = ?1, next_sequence = ?2, next_lease = ?3, "
    "next_arrival = ?4, next_task = ?5, entries = ?6, max_queues = ?7, max_queues_per_key = ?8, "
    "max_idempotency_keys_per_key = ?9",
    "UPDATE meta_row SET applied_index = ?1, writes = ?2",
    "INSERT OR REPLACE INTO queue_rows VALUES "
    "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    "DELETE FROM queue_rows WHERE name = ?1",
    "DELETE FROM tally_rows WHERE queue = ?1",
    "DELETE FROM window_rows WHERE queue = ?1",
    "INSERT OR REPLACE INTO tally_rows VALUES (?1, ?2, ?3, ?4)",
    "DELETE FROM tally_rows WHERE queue = ?1 AND state = ?2 AND minute = ?3",
    "INSERT OR REPLACE INTO window_rows VALUES (?1, ?2, ?3, ?4)",
    "DELETE FROM window_rows WHERE queue = ?1 AND keyed = ?2 AND key = ?3",
    "INSERT OR REPLACE INTO group_rows VALUES (?1, 1)",
    "DELETE FROM group_rows WHERE name = ?1",
    "INSERT OR REPLACE INTO batch_rows VALUES "
    "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    "INSERT OR REPLACE INTO schedule_rows VALUES "
    "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    "DELETE FROM schedule_rows WHERE seq = ?1",
    "INSERT OR REPLACE INTO worker_rows VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    "DELETE FROM worker_rows WHERE id = ?1",
    "INSERT OR REPLACE INTO idempotency_rows VALUES (?1, ?2, ?3, ?4, ?5)",
    "DELETE FROM idempotency_rows WHERE scope = ?1 AND key = ?2",
    "INSERT OR REPLACE INTO task_rows VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    "DELETE FROM task_rows WHERE number = ?1",
    "INSERT INTO sweep_rows (queue, state, before, revision) VALUES (?1, ?2, ?3, ?4)",
    "SELECT max(number) FROM job_log_rows WHERE job = ?1",
    "INSERT INTO job_log_rows VALUES (?1, ?2, ?3, ?4, ?5)",
    "DELETE FROM job_log_rows WHERE job = ?1 AND number <= ?2",
    "DELETE FROM job_log_rows WHERE job = ?1",
    "INSERT OR REPLACE INTO bulk_rows VALUES "
    "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    "DELETE FROM bulk_rows WHERE seq = ?1",
};

std::string writer_sql(std::size_t which) {
  switch (which) {
    case kInsertJob:
      return insert_job_sql();
    case kUpdateJob:
      return update_job_sql(true);
    case kUpdateJobLight:
      return update_job_sql(false);
    case kUpdateJobWithoutErrors:
      return update_job_sql(true) + " AND errors_kept = 0";
    default:
      return std::string(kWriterSql.at(which));
  }
}

/// Plain jobs that are written together at most.
constexpr std::size_t kMostFed = 1'000;

std::string json_array(const std::vector<base::Blob>& names) {
  std::string out = "[";
  for (const auto& name : names) {
    if (out.size() > 1) out += ',';
    out += base::json::quote(name.view());
  }
  return out + "]";
}

void bind_optional(Statement& s, int parameter, bool given, std::int64_t value) {
  given ? s.bind(parameter, value) : s.bind_null(parameter);
}

template <typename Id>
std::string id_text(const Id& id) {
  return id.is_nil() ? std::string() : id.text();
}

}  // namespace

base::Result<ChangeWriter> ChangeWriter::make(Connection& connection) {
  static_assert(kDeleteBulk + 1 == kStatements);
  ChangeWriter writer(connection);
  for (std::size_t i = 0; i < kStatements; ++i) {
    auto statement = connection.prepare(writer_sql(i));
    if (!statement) return std::unexpected(std::move(statement).error());
    writer.statements_[i] = *std::move(statement);
  }
  auto feed = JobFeed::make(connection);
  if (!feed) return std::unexpected(std::move(feed).error());
  writer.feed_ = *std::move(feed);
  auto access = AccessWriter::make(connection);
  if (!access) return std::unexpected(std::move(access).error());
  writer.access_ = *std::move(access);
  auto webhooks = WebhookWriter::make(connection);
  if (!webhooks) return std::unexpected(std::move(webhooks).error());
  writer.webhooks_ = *std::move(webhooks);
  if (!writer.after_rollback()) return std::unexpected(connection.error());
  return writer;
}

bool ChangeWriter::after_rollback() {
  feed_.forget();
  const auto max_seq = connection_->query_integer("SELECT max(seq) FROM job_rows");
  if (max_seq) max_seq_ = *max_seq;
  return max_seq.has_value();
}

bool ChangeWriter::apply(const command::Change& change, std::uint64_t revision) {
  return std::visit(
      [&](const auto& what) {
        using T = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<T, command::HeldItem>) {
          return put(*what, revision);
        } else if constexpr (std::is_same_v<T, model::PlainJob>) {
          return put_plain(what, revision);
        } else if constexpr (std::is_same_v<T, command::SweptJobs>) {
          return sweep(what, revision);
        } else if constexpr (std::is_same_v<T, command::LoggedLines>) {
          return append(what);
        } else if constexpr (std::is_same_v<T, command::Audited>) {
          return access_.append(what.record);
        } else {
          return remove(what);
        }
      },
      change);
}

bool ChangeWriter::put(const command::Item& item, std::uint64_t revision) {
  return std::visit(
      [&](const auto& record) {
        using T = std::decay_t<decltype(record)>;
        if constexpr (std::is_same_v<T, model::JobRecord>) {
          return put_job(record, revision);
        } else {
          return put(record);
        }
      },
      item);
}

bool ChangeWriter::flush() { return feed_.write(); }

bool ChangeWriter::set_applied(std::uint64_t index, std::uint64_t writes) {
  if (!flush()) return false;
  Statement& s = statements_[kSetApplied];
  s.bind(1, index);
  s.bind(2, writes);
  return s.run();
}

bool ChangeWriter::insert_job(const model::JobRecord& job, std::uint64_t revision) {
  Statement& s = statements_[kInsertJob];
  bind_job(s, job, revision, scratch_);
  if (!s.run()) return false;
  max_seq_ = std::max(max_seq_, static_cast<std::int64_t>(job.id.sequence()));
  return put_errors(job, 0);
}

// Most rows are plain jobs that are new or have ended, and go in together. They have never failed,
// so no errors of theirs can be there. The others mostly stand as they did in the indexes.
bool ChangeWriter::put_plain(const model::PlainJob& job, std::uint64_t revision) {
  const auto seq = static_cast<std::int64_t>(job.id.sequence());
  if (seq > max_seq_ || model::has_ended(job.state)) {
    max_seq_ = std::max(max_seq_, seq);
    feed_.add(job, revision);
    return feed_.size() < kMostFed || flush();
  }
  model::fill(job, plain_);
  return put_job(plain_, revision);
}

// New jobs are inserted unasked. One that has ended without an error most likely stands there in
// another state and without errors, so that is tried. For the others the old row is looked at
// first: it says whether an index must follow, and which errors are there.
bool ChangeWriter::put_job(const model::JobRecord& job, std::uint64_t revision) {
  if (!flush()) return false;
  if (static_cast<std::int64_t>(job.id.sequence()) > max_seq_) return insert_job(job, revision);
  if (model::has_ended(job.state) && job.errors.empty()) {
    Statement& update = statements_[kUpdateJobWithoutErrors];
    bind_job(update, job, revision, scratch_);
    if (!update.run()) return false;
    if (connection_->changed_rows() > 0) return true;
  }
  Statement& find = statements_[kFindJob];
  find.bind(1, job.id.sequence());
  const Step step = find.step();
  if (step != Step::row) {
    find.reset();
    return step == Step::done && insert_job(job, revision);
  }
  const bool same = find.bytes(0) == job.spec.queue.view() &&
                    find.integer(1) == static_cast<std::int64_t>(job.state) &&
                    find.integer(2) == job.ended_at.ms && find.bytes(3) == job.spec.group.view();
  const auto kept_before = find.integer(4);
  find.reset();
  Statement& update = statements_[same ? kUpdateJobLight : kUpdateJob];
  bind_job(update, job, revision, scratch_);
  return update.run() && put_errors(job, kept_before);
}

bool ChangeWriter::put_errors(const model::JobRecord& job, std::int64_t kept_before) {
  const auto seq = job.id.sequence();
  if (kept_before > 0) {
    Statement& trim = statements_[kTrimErrors];
    trim.bind(1, seq);
    trim.bind(2, job.errors.empty() ? 0 : std::int64_t{job.errors.front().ordinal});
    trim.bind(3, job.errors.empty() ? -1 : std::int64_t{job.errors.back().ordinal});
    if (!trim.run()) return false;
  }
  Statement& s = statements_[kPutError];
  for (const auto& error : job.errors) {
    s.bind(1, seq);
    s.bind(2, std::int64_t{error.ordinal});
    s.bind(3, std::int64_t{error.attempt});
    s.bind_text(4, error.error.view());
    s.bind_text(5, error.backtrace.view());
    s.bind_text(6, error.worker.view());
    s.bind(7, error.at.ms);
    s.bind(8, error.started_at);
    s.bind(9, error.retry_at);
    if (!s.run()) return false;
  }
  return true;
}

bool ChangeWriter::remove_job(std::uint64_t seq) {
  if (!flush()) return false;
  for (const Sql which : {kDeleteJob, kDeleteErrors, kDeleteLines}) {
    statements_[which].bind(1, seq);
    if (!statements_[which].run()) return false;
  }
  return true;
}

bool ChangeWriter::remove(const command::RemovedJob& removed) {
  return remove_job(removed.job.sequence());
}

bool ChangeWriter::sweep(const command::SweptJobs& swept, std::uint64_t revision) {
  Statement& s = statements_[kPutSweep];
  s.bind_text(1, swept.queue.view());
  s.bind(2, static_cast<std::int64_t>(swept.state));
  s.bind(3, swept.before.ms);
  s.bind(4, revision);
  return s.run();
}

/// Numbers go on from the last line. Since the file is always the state at one entry, no line comes
/// twice.
bool ChangeWriter::append(const command::LoggedLines& logged) {
  const auto seq = logged.job.sequence();
  Statement& last = statements_[kLastLine];
  last.bind(1, seq);
  const bool found = last.step() == Step::row;
  std::uint64_t number = found ? last.number(0) : 0;
  last.reset();
  if (!found) return false;
  Statement& put = statements_[kPutLine];
  for (const auto& line : logged.lines) {
    put.bind(1, seq);
    put.bind(2, ++number);
    put.bind(3, line.at.ms);
    put.bind(4, static_cast<std::int64_t>(line.level));
    put.bind_text(5, line.message.view());
    if (!put.run()) return false;
  }
  if (number <= model::limits::kLogLinesKept) return true;
  Statement& trim = statements_[kTrimLines];
  trim.bind(1, seq);
  trim.bind(2, number - model::limits::kLogLinesKept);
  return trim.run();
}

bool ChangeWriter::put(const model::MetaRecord& meta) {
  Statement& s = statements_[kPutMeta];
  s.bind(1, meta.now.ms);
  s.bind(2, meta.next_sequence);
  s.bind(3, meta.next_lease);
  s.bind(4, meta.next_arrival);
  s.bind(5, meta.next_task);
  s.bind(6, meta.entries);
  s.bind(7, std::int64_t{meta.max_queues});
  s.bind(8, std::int64_t{meta.max_queues_per_key});
  s.bind(9, std::int64_t{meta.max_idempotency_keys_per_key});
  return s.run();
}

bool ChangeWriter::put(const model::QueueRecord& queue) {
  scratch_.clear();
  command::encode(command::Item(queue), scratch_);
  const auto& settings = queue.settings;
  Statement& s = statements_[kPutQueue];
  s.bind_key(1, queue.name.view());
  s.bind(2, std::int64_t{settings.paused});
  s.bind(3, std::int64_t{settings.draining});
  bind_optional(s, 4, settings.concurrency.has_value(),
                settings.concurrency ? settings.concurrency->max : 0);
  bind_optional(s, 5, settings.throttle.has_value(),
                settings.throttle ? settings.throttle->rate : 0);
  bind_optional(s, 6, settings.throttle.has_value(),
                settings.throttle ? settings.throttle->period.ms : 0);
  s.bind(7, queue.created_at.ms);
  s.bind(8, queue.totals.enqueued);
  s.bind(9, queue.totals.completed);
  s.bind(10, queue.totals.failed);
  s.bind(11, queue.totals.dead);
  s.bind_blob(12, scratch_);
  s.bind_copy(13, id_text(queue.owner));
  return s.run();
}

bool ChangeWriter::remove(const command::RemovedQueue& removed) {
  for (const Sql which : {kDeleteQueue, kDeleteTallies, kDeleteWindows}) {
    statements_[which].bind_key(1, removed.queue.view());
    if (!statements_[which].run()) return false;
  }
  return true;
}

bool ChangeWriter::put(const model::TallyRecord& tally) {
  Statement& s = statements_[tally.count == 0 ? kDeleteTally : kPutTally];
  s.bind_key(1, tally.queue.view());
  s.bind(2, static_cast<std::int64_t>(tally.state));
  s.bind(3, tally.minute);
  if (tally.count != 0) s.bind(4, tally.count);
  return s.run();
}

bool ChangeWriter::put(const model::WindowRecord& window) {
  Statement& s = statements_[window.claims.empty() ? kDeleteWindow : kPutWindow];
  s.bind_key(1, window.queue.view());
  s.bind(2, std::int64_t{window.keyed});
  s.bind_key(3, window.key.view());
  if (!window.claims.empty()) {
    scratch_ = "[";
    for (const auto& [at, claims] : window.claims)
      fmt::format_to(std::back_inserter(scratch_), "{}[{},{}]", scratch_.size() > 1 ? "," : "",
                     at.ms, claims);
    scratch_ += ']';
    s.bind_key(4, scratch_);
  }
  return s.run();
}

bool ChangeWriter::put(const model::GroupRecord& group) {
  Statement& s = statements_[group.paused ? kPutGroup : kDeleteGroup];
  s.bind_key(1, group.name.view());
  return s.run();
}

bool ChangeWriter::put(const model::BatchRecord& batch) {
  Statement& s = statements_[kPutBatch];
  s.bind(1, batch.id.sequence());
  s.bind_copy(2, batch.id.text());
  s.bind(3, batch.total);
  s.bind(4, batch.pending);
  s.bind(5, batch.succeeded);
  s.bind(6, batch.failed);
  s.bind_text(7, batch.callback_queue.view());
  s.bind_text(8, batch.callback_payload.view());
  s.bind_copy(9, id_text(batch.callback_job));
  s.bind(10, batch.id.ulid.time().ms);
  s.bind(11, batch.finished_at);
  return s.run();
}

bool ChangeWriter::put(const model::ScheduleRecord& schedule) {
  scratch_.clear();
  command::encode(command::Item(schedule), scratch_);
  const auto& spec = schedule.spec;
  Statement& s = statements_[kPutSchedule];
  s.bind(1, schedule.id.sequence());
  s.bind_copy(2, schedule.id.text());
  s.bind_text(3, spec.name.view());
  s.bind_text(4, spec.job.queue.view());
  s.bind_text(5, spec.cron.view());
  s.bind_text(6, spec.zone.name);
  s.bind_text(7, spec.job.payload.view());
  s.bind_text(8, spec.job.unique.key.view());
  s.bind(9, std::int64_t{spec.job.max_retries});
  s.bind(10, std::int64_t{spec.paused});
  s.bind(11, schedule.last_run);
  s.bind(12, schedule.next_run);
  s.bind(13, schedule.id.ulid.time().ms);
  s.bind_blob(14, scratch_);
  return s.run();
}

bool ChangeWriter::remove(const command::RemovedSchedule& removed) {
  statements_[kDeleteSchedule].bind(1, removed.schedule.sequence());
  return statements_[kDeleteSchedule].run();
}

bool ChangeWriter::put(const model::WorkerRecord& worker) {
  scratch_.clear();
  command::encode(command::Item(worker), scratch_);
  Statement& s = statements_[kPutWorker];
  s.bind_key(1, worker.spec.id.view());
  s.bind_text(2, worker.spec.hostname.view());
  s.bind_copy(3, json_array(worker.spec.queues));
  s.bind(4, std::int64_t{worker.active});
  s.bind(5, worker.last_seen.ms);
  s.bind(6, worker.started_at.ms);
  s.bind_blob(7, scratch_);
  s.bind_copy(8, id_text(worker.owner));
  return s.run();
}

bool ChangeWriter::remove(const command::RemovedWorker& removed) {
  statements_[kDeleteWorker].bind_key(1, removed.worker.view());
  return statements_[kDeleteWorker].run();
}

bool ChangeWriter::put(const model::IdempotencyRecord& record) {
  Statement& s = statements_[kPutIdempotency];
  const auto scope = id_text(record.scope);
  s.bind_key(1, scope);
  s.bind_key(2, record.key.view());
  s.bind(3, record.fingerprint);
  s.bind(4, record.expires_at.ms);
  s.bind_blob(5, record.reply.view());
  return s.run();
}

bool ChangeWriter::remove(const command::RemovedIdempotency& removed) {
  const auto scope = id_text(removed.scope);
  statements_[kDeleteIdempotency].bind_key(1, scope);
  statements_[kDeleteIdempotency].bind_key(2, removed.key.view());
  return statements_[kDeleteIdempotency].run();
}

bool ChangeWriter::put(const model::TaskRecord& task) {
  Statement& s = statements_[kPutTask];
  s.bind(1, task.number);
  s.bind(2, static_cast<std::int64_t>(task.kind));
  s.bind_text(3, task.subject.view());
  s.bind(4, task.bound);
  s.bind(5, task.cursor);
  s.bind(6, std::int64_t{task.flag});
  s.bind_copy(7, id_text(task.job));
  return s.run();
}

bool ChangeWriter::put(const model::BulkRecord& bulk) {
  scratch_.clear();
  command::encode(command::Item(bulk), scratch_);
  Statement& s = statements_[kPutBulk];
  s.bind(1, bulk.id.sequence());
  s.bind_copy(2, bulk.id.text());
  s.bind(3, static_cast<std::int64_t>(bulk.action));
  s.bind(4, static_cast<std::int64_t>(bulk.status));
  s.bind_text(5, bulk.filter.view());
  s.bind(6, bulk.estimated);
  s.bind(7, bulk.affected);
  s.bind(8, bulk.skipped);
  s.bind(9, bulk.failed);
  s.bind(10, bulk.id.ulid.time().ms);
  s.bind(11, bulk.finished_at);
  s.bind_blob(12, scratch_);
  s.bind_copy(13, id_text(bulk.owner));
  return s.run();
}

bool ChangeWriter::remove(const command::RemovedBulk& removed) {
  statements_[kDeleteBulk].bind(1, removed.bulk.sequence());
  return statements_[kDeleteBulk].run();
}

bool ChangeWriter::remove(const command::RemovedTask& removed) {
  statements_[kDeleteTask].bind(1, removed.number);
  return statements_[kDeleteTask].run();
}

}  // namespace jobbie::store
