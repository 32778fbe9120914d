// Jobs as rows: every field of a JobRecord into columns and back.
//
// Fields that few jobs use have no column; they share one, `extra`, which holds a record with just
// those fields in the codec's encoding. Errors are rows of their own.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "model/job.hpp"
#include "store/sqlite.hpp"

namespace jobbie::store {

/// The columns of job_rows in order; as a parameter the number itself, as a column one less.
enum class JobColumn : std::uint8_t {
  seq = 1,
  id_random,
  created_at,
  queue,
  state,
  ended_at,
  group_name,
  priority,
  attempt,
  max_retries,
  retry_backoff,
  retry_base_delay_ms,
  retry_max_delay_ms,
  unique_key,
  unique_until,
  batch_id,
  schedule_id,
  worker_id,
  hostname,
  lease,
  lease_end,
  lease_ms,
  lease_expires_at,
  scheduled_at,
  run_at,
  expire_at,
  started_at,
  failed_at,
  nominal_at,
  flags,
  arrival,
  group_arrival,
  error_count,
  errors_kept,
  revision,
  end_reason,
  tags,
  progress,
  payload,
  result,
  checkpoint,
  extra,
};
inline constexpr int kJobColumns = static_cast<int>(JobColumn::extra);

/// A row that an index has found costs as much as so many along the table.
inline constexpr int kRowsWalkedForOneFound = 8;

[[nodiscard]] const char* job_column_name(JobColumn column);
/// `seq, id_random, …`
std::string job_columns();
std::string insert_job_sql();
/// With `indexed`, also the columns that stand in an index. An update that leaves them out does not
/// touch the indexes at all.
std::string update_job_sql(bool indexed);

/// What the column `flags` holds as bits.
struct JobFlags {
  bool heartbeaten = false;
  bool cancel_requested = false;
  bool holds_unique = false;
  bool batch_counted = false;
};
[[nodiscard]] std::int64_t job_flags(const JobFlags& flags);
/// What the column `id_random` holds of an id.
[[nodiscard]] std::uint64_t random_part(const base::JobId& id);

/// Binds all columns. `extra` is the room for that column's bytes; it and the record must stay
/// until the statement is reset.
void bind_job(Statement& statement, const model::JobRecord& job, std::uint64_t revision,
              std::string& extra);

struct JobRow {
  model::JobRecord job;  ///< without errors
  std::uint64_t revision = 0;
  std::uint32_t errors_kept = 0;
};
/// Of a statement that selects job_columns() first.
base::Result<JobRow> read_job(const Statement& row);

/// The id that a row of seq, id_random, created_at (in these columns) stands for.
base::JobId job_id_of(std::uint64_t seq, std::uint64_t id_random, base::Instant created_at);

// Errors.
inline constexpr std::string_view kSelectErrors =
    "SELECT ordinal, attempt, created_at, error, backtrace, worker_id, started_at, retry_at "
    "FROM job_error_rows WHERE job = ?1 ORDER BY ordinal";
/// Runs kSelectErrors and fills job.errors; `kept` is what the job's row says.
base::Result<void> read_errors(Statement& select, const Connection& connection, std::uint32_t kept,
                               model::JobRecord& job);

}  // namespace jobbie::store
