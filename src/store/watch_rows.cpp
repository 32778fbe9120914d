// Logs and failures, read with statements of their own: they are asked for rarely.
#include "store/watch_rows.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "command/model_fields.hpp"
#include "store/job_rows.hpp"

namespace jobbie::store {
namespace {

constexpr auto kMostNumber = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

/// Condemned rows are gone, whether or not the sweeper has come by.
constexpr const char* kFailureColumns =
    "SELECT j.seq, j.id_random, j.created_at, j.queue, e.error, e.created_at, j.end_reason, "
    "j.ended_at FROM job_rows j LEFT JOIN job_error_rows e "
    "ON e.job = j.seq AND e.ordinal = j.error_count "
    "WHERE j.state = ?1 AND NOT EXISTS (SELECT 1 FROM sweep_rows w WHERE w.queue = j.queue "
    "AND w.state = j.state AND j.ended_at < w.before AND j.revision < w.revision) ";

Failure read_failure(const Statement& row, model::State state) {
  const auto error = row.bytes(4);
  return {.job = job_id_of(row.number(0), row.number(1), row.instant(2)),
          .queue = base::Blob(row.bytes(3)),
          .state = state,
          .error = base::Blob(error.empty() ? row.bytes(6) : error),
          .at = error.empty() ? row.instant(7) : row.instant(5)};
}

}  // namespace

base::Result<model::LogPage> read_log(Connection& connection, base::JobId id, std::uint64_t after,
                                      std::size_t limit) {
  auto ends = connection.prepare(
      "SELECT (SELECT min(number) FROM job_log_rows WHERE job = ?1), "
      "(SELECT max(number) FROM job_log_rows WHERE job = ?1)");
  if (!ends) return std::unexpected(std::move(ends).error());
  ends->bind(1, id.sequence());
  if (ends->step() != Step::row) return std::unexpected(connection.error());
  model::LogPage page{.oldest = ends->number(0), .latest = ends->number(1)};
  auto select = connection.prepare(
      "SELECT number, at, level, message FROM job_log_rows WHERE job = ?1 AND number > ?2 "
      "ORDER BY number LIMIT ?3");
  if (!select) return std::unexpected(std::move(select).error());
  select->bind(1, id.sequence());
  select->bind(2, std::min(after, kMostNumber));
  select->bind(3, static_cast<std::int64_t>(limit));
  for (;;) {
    const Step step = select->step();
    if (step == Step::failed) return std::unexpected(connection.error());
    if (step == Step::done) return page;
    const auto level = select->integer(2);
    if (level < 0 || level > static_cast<std::int64_t>(command::last_value(model::LogLevel{})))
      return std::unexpected(corrupt_row("a line of a log"));
    if (page.lines.empty()) page.first = select->number(0);
    page.lines.push_back({.at = select->instant(1),
                          .level = static_cast<model::LogLevel>(level),
                          .message = base::Blob(select->bytes(3))});
  }
}

base::Result<bool> read_failures(Connection& connection, std::string_view queue, std::size_t limit,
                                 const std::function<void(Failure)>& sink) {
  // Over all queues by the index that has them in order; see the migration that made it.
  const std::string sql =
      std::string(kFailureColumns) +
      (queue.empty() ? "AND j.state != 2 ORDER BY j.seq DESC LIMIT ?2"
                     : "AND j.queue = ?3 ORDER BY j.ended_at DESC, j.seq DESC LIMIT ?2");
  auto select = connection.prepare(sql);
  if (!select) return std::unexpected(std::move(select).error());
  bool more = false;
  for (const auto state : {model::State::dead, model::State::retrying}) {
    const ResetOnExit guard(*select);
    select->bind(1, static_cast<std::int64_t>(state));
    select->bind(2, static_cast<std::int64_t>(limit + 1));
    if (!queue.empty()) select->bind_text(3, queue);
    std::size_t seen = 0;
    for (Step step = select->step(); step != Step::done; step = select->step()) {
      if (step == Step::failed) return std::unexpected(connection.error());
      if (seen++ == limit) {
        more = true;
        break;
      }
      sink(read_failure(*select, state));
    }
  }
  return more;
}

}  // namespace jobbie::store
