// The virtual table of plain jobs, and the statement that reads it.
#include "store/job_feed.hpp"

#include <array>
#include <memory>
#include <sqlite3.h>
#include <string>
#include <string_view>

#include "store/job_rows.hpp"

namespace jobbie::store {
namespace {

// A new field needs a column below.
[[maybe_unused]] void count_fields(const model::PlainJob& job) {
  [[maybe_unused]] const auto& [id, queue, payload, worker, hostname, run_at, started_at, ended_at,
                                lease_expires_at, lease_duration, lease, arrival, priority,
                                max_retries, attempt, state, lease_end, heartbeaten,
                                cancel_requested, batch_counted] = job;
}

void give(sqlite3_context* out, std::int64_t value) { sqlite3_result_int64(out, value); }
void give(sqlite3_context* out, std::uint64_t value) {
  give(out, static_cast<std::int64_t>(value));
}
/// Zero is NULL, as in Statement::bind.
void give(sqlite3_context* out, base::Instant value) {
  if (value.ms != 0) give(out, value.ms);
}
/// Empty is NULL, as in Statement::bind_text.
void give(sqlite3_context* out, const base::Blob& text) {
  const auto bytes = text.view();
  if (!bytes.empty())
    sqlite3_result_text64(out, bytes.data(), bytes.size(), SQLITE_STATIC, SQLITE_UTF8);
}

struct FedColumn {
  JobColumn column;
  void (*put)(sqlite3_context* out, const JobFeed::Fed& fed);
};

constexpr std::array kFedColumns = {
    FedColumn{JobColumn::seq, [](auto* out, auto& fed) { give(out, fed.job->id.sequence()); }},
    FedColumn{JobColumn::id_random,
              [](auto* out, auto& fed) { give(out, random_part(fed.job->id)); }},
    FedColumn{JobColumn::created_at,
              [](auto* out, auto& fed) { give(out, fed.job->id.ulid.time().ms); }},
    FedColumn{JobColumn::queue, [](auto* out, auto& fed) { give(out, fed.job->queue); }},
    FedColumn{JobColumn::state,
              [](auto* out, auto& fed) { give(out, static_cast<std::int64_t>(fed.job->state)); }},
    FedColumn{JobColumn::ended_at, [](auto* out, auto& fed) { give(out, fed.job->ended_at); }},
    FedColumn{JobColumn::priority,
              [](auto* out, auto& fed) { give(out, std::int64_t{fed.job->priority}); }},
    FedColumn{JobColumn::attempt,
              [](auto* out, auto& fed) { give(out, std::int64_t{fed.job->attempt}); }},
    FedColumn{JobColumn::max_retries,
              [](auto* out, auto& fed) { give(out, std::int64_t{fed.job->max_retries}); }},
    FedColumn{JobColumn::worker_id, [](auto* out, auto& fed) { give(out, fed.job->worker); }},
    FedColumn{JobColumn::hostname, [](auto* out, auto& fed) { give(out, fed.job->hostname); }},
    FedColumn{JobColumn::lease, [](auto* out, auto& fed) { give(out, fed.job->lease); }},
    FedColumn{
        JobColumn::lease_end,
        [](auto* out, auto& fed) { give(out, static_cast<std::int64_t>(fed.job->lease_end)); }},
    FedColumn{JobColumn::lease_ms,
              [](auto* out, auto& fed) { give(out, fed.job->lease_duration.ms); }},
    FedColumn{JobColumn::lease_expires_at,
              [](auto* out, auto& fed) { give(out, fed.job->lease_expires_at); }},
    FedColumn{JobColumn::run_at, [](auto* out, auto& fed) { give(out, fed.job->run_at); }},
    FedColumn{JobColumn::started_at, [](auto* out, auto& fed) { give(out, fed.job->started_at); }},
    FedColumn{JobColumn::flags,
              [](auto* out, auto& fed) {
                give(out, job_flags({.heartbeaten = fed.job->heartbeaten,
                                     .cancel_requested = fed.job->cancel_requested,
                                     .batch_counted = fed.job->batch_counted}));
              }},
    FedColumn{JobColumn::arrival, [](auto* out, auto& fed) { give(out, fed.job->arrival); }},
    FedColumn{JobColumn::revision, [](auto* out, auto& fed) { give(out, fed.revision); }},
    FedColumn{JobColumn::payload, [](auto* out, auto& fed) { give(out, fed.job->payload); }},
};

bool is_fed(JobColumn column) {
  for (const auto& fed : kFedColumns)
    if (fed.column == column) return true;
  return false;
}

struct FedTable {
  sqlite3_vtab base;
  const JobFeed::Jobs* jobs;
};
struct FedCursor {
  sqlite3_vtab_cursor base;
  std::size_t at;
};
FedTable* table_of(sqlite3_vtab* table) { return reinterpret_cast<FedTable*>(table); }
FedCursor* cursor_of(sqlite3_vtab_cursor* cursor) { return reinterpret_cast<FedCursor*>(cursor); }
const JobFeed::Jobs& jobs_of(sqlite3_vtab_cursor* cursor) { return *table_of(cursor->pVtab)->jobs; }

// Nothing may be thrown through SQLite: without memory the process ends here.
int fed_connect(sqlite3* handle, void* jobs, int, const char* const*, sqlite3_vtab** out,
                char**) noexcept {
  std::string columns;
  for (const auto& fed : kFedColumns) {
    if (!columns.empty()) columns += ", ";
    columns += job_column_name(fed.column);
  }
  const int result = sqlite3_declare_vtab(handle, ("CREATE TABLE x (" + columns + ")").c_str());
  if (result != SQLITE_OK) return result;
  *out = &std::make_unique<FedTable>(FedTable{{}, static_cast<const JobFeed::Jobs*>(jobs)})
              .release()
              ->base;
  return SQLITE_OK;
}
int fed_disconnect(sqlite3_vtab* table) {
  const std::unique_ptr<FedTable> ended(table_of(table));
  return SQLITE_OK;
}
int fed_plan(sqlite3_vtab*, sqlite3_index_info*) { return SQLITE_OK; }
int fed_open(sqlite3_vtab*, sqlite3_vtab_cursor** out) noexcept {
  *out = &std::make_unique<FedCursor>().release()->base;
  return SQLITE_OK;
}
int fed_close(sqlite3_vtab_cursor* cursor) {
  const std::unique_ptr<FedCursor> ended(cursor_of(cursor));
  return SQLITE_OK;
}
int fed_begin(sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value**) {
  cursor_of(cursor)->at = 0;
  return SQLITE_OK;
}
int fed_next(sqlite3_vtab_cursor* cursor) {
  ++cursor_of(cursor)->at;
  return SQLITE_OK;
}
int fed_is_over(sqlite3_vtab_cursor* cursor) {
  return cursor_of(cursor)->at >= jobs_of(cursor).size() ? 1 : 0;
}
int fed_column(sqlite3_vtab_cursor* cursor, sqlite3_context* out, int column) {
  kFedColumns[static_cast<std::size_t>(column)].put(out, jobs_of(cursor)[cursor_of(cursor)->at]);
  return SQLITE_OK;
}
int fed_row(sqlite3_vtab_cursor* cursor, sqlite3_int64* out) {
  *out = static_cast<sqlite3_int64>(cursor_of(cursor)->at);
  return SQLITE_OK;
}

// Without a way to create one, there is just the one that bears the module's name.
constexpr sqlite3_module kFedModule = {
    .iVersion = 1,
    .xConnect = fed_connect,
    .xBestIndex = fed_plan,
    .xDisconnect = fed_disconnect,
    .xOpen = fed_open,
    .xClose = fed_close,
    .xFilter = fed_begin,
    .xNext = fed_next,
    .xEof = fed_is_over,
    .xColumn = fed_column,
    .xRowid = fed_row,
};
constexpr const char* kFedName = "fed_jobs";

/// The columns that plain jobs do not differ in are parameters.
std::string insert_fed_sql() {
  std::string from;
  for (int i = 1; i <= kJobColumns; ++i) {
    const auto column = static_cast<JobColumn>(i);
    if (!from.empty()) from += ", ";
    from += is_fed(column) ? std::string(job_column_name(column)) : "?" + std::to_string(i);
  }
  return "INSERT OR REPLACE INTO job_rows (" + job_columns() + ") SELECT " + from + " FROM " +
         kFedName;
}

}  // namespace

base::Result<JobFeed> JobFeed::make(Connection& connection) {
  JobFeed feed;
  auto jobs = std::make_unique<Jobs>();
  feed.jobs_ = jobs.get();
  const auto forget = [](void* ended) {
    const std::unique_ptr<Jobs> gone(static_cast<Jobs*>(ended));
  };
  if (sqlite3_create_module_v2(connection.handle(), kFedName, &kFedModule, jobs.release(),
                               forget) != SQLITE_OK)
    return std::unexpected(connection.error());
  auto insert = connection.prepare(insert_fed_sql());
  if (!insert) return std::unexpected(std::move(insert).error());
  feed.insert_ = *std::move(insert);
  std::string none;
  bind_job(feed.insert_, {}, 0, none);
  return feed;
}

bool JobFeed::write() {
  if (jobs_->empty()) return true;
  const bool written = insert_.run();
  jobs_->clear();
  return written;
}

}  // namespace jobbie::store
