// `jobbie db check`: the file against itself, with a sentence for every contradiction.
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "store/job_rows.hpp"
#include "store/reader.hpp"
#include "store/schema.hpp"
#include "store/store.hpp"

namespace jobbie::store {
namespace {

/// More contradictions of one kind are counted, not listed.
constexpr std::size_t kFindingsPerRule = 10;
constexpr std::size_t kCheckCache = std::size_t{32} << 20;

/// A question whose every row is a contradiction; the first column tells which.
struct Rule {
  const char* what;
  const char* sql;
};

/// Rows that a sweep has condemned are no longer there.
#define JOBBIE_KEPT_JOBS                                                                         \
  "job_rows j WHERE NOT EXISTS (SELECT 1 FROM sweep_rows w WHERE w.queue = j.queue AND w.state " \
  "= j.state AND j.ended_at < w.before AND j.revision < w.revision)"

constexpr Rule kRules[] = {
    {"a job whose queue does not exist",
     "SELECT j.seq FROM " JOBBIE_KEPT_JOBS " AND j.queue NOT IN (SELECT name FROM queue_rows)"},
    {"a job whose number was never given",
     "SELECT j.seq FROM job_rows j, meta_row m WHERE m.has_state = 1 "
     "AND (j.seq < 1 OR j.seq >= m.next_sequence)"},
    {"a live job with an end, or an ended one without",
     "SELECT seq FROM job_rows WHERE (state < 5) != (ended_at IS NULL)"},
    {"a revision later than the last",
     "SELECT j.seq FROM job_rows j, meta_row m WHERE j.revision > m.writes"},
    {"an error whose job does not exist",
     "SELECT e.job FROM job_error_rows e WHERE e.job NOT IN (SELECT seq FROM job_rows)"},
    {"a job with another number of errors than it says",
     "SELECT j.seq FROM job_rows j WHERE j.errors_kept > 0 AND j.errors_kept != "
     "(SELECT count(*) FROM job_error_rows e WHERE e.job = j.seq)"},
    {"a job that says it has no errors and has some",
     "SELECT e.job FROM job_error_rows e JOIN job_rows j ON j.seq = e.job "
     "WHERE j.errors_kept = 0 GROUP BY e.job"},
    {"a line of a log whose job does not exist",
     "SELECT DISTINCT l.job FROM job_log_rows l WHERE l.job NOT IN (SELECT seq FROM job_rows)"},
    {"a unique key that two live jobs hold",
     "SELECT queue || ' ' || unique_key FROM job_rows WHERE state < 5 AND (flags & 4) != 0 "
     "GROUP BY queue, unique_key HAVING count(*) > 1"},
    {"a unique key that an ended job holds, or a held key without a name",
     "SELECT seq FROM job_rows WHERE (flags & 4) != 0 AND (state >= 5 OR unique_key IS NULL)"},
    {"a tally that a recount does not confirm",
     "WITH counted AS (SELECT j.queue, j.state, j.ended_at / 60000 AS minute, count(*) AS count "
     "FROM " JOBBIE_KEPT_JOBS " AND j.state >= 5 GROUP BY 1, 2, 3) "
     "SELECT t.queue || ' ' || t.state || ' ' || t.minute || ': says ' || t.count || ', counted ' "
     "|| coalesce(c.count, 0) FROM tally_rows t LEFT JOIN counted c ON c.queue = t.queue "
     "AND c.state = t.state AND c.minute = t.minute WHERE t.count IS NOT c.count "
     "UNION ALL SELECT c.queue || ' ' || c.state || ' ' || c.minute || ': no tally, counted ' || "
     "c.count FROM counted c LEFT JOIN tally_rows t ON c.queue = t.queue AND c.state = t.state "
     "AND c.minute = t.minute WHERE t.count IS NULL"},
    {"a tally or a window of a queue that does not exist",
     "SELECT queue FROM tally_rows WHERE queue NOT IN (SELECT name FROM queue_rows) UNION "
     "SELECT queue FROM window_rows WHERE queue NOT IN (SELECT name FROM queue_rows)"},
    {"a batch that does not add up",
     "SELECT id FROM batch_rows WHERE total != pending + succeeded + failed "
     "OR (finished_at IS NULL) != (pending > 0)"},
};
#undef JOBBIE_KEPT_JOBS

class Examination {
 public:
  explicit Examination(Connection& connection) : connection_(connection) {}

  /// Adds a finding for each row of `sql`, up to the bound.
  void rows(std::string_view what, std::string_view sql) {
    auto select = connection_.prepare(sql);
    if (!select) return failed(what, select.error());
    std::size_t found = 0;
    for (Step step = select->step(); step != Step::done; step = select->step()) {
      if (step == Step::failed) return failed(what, connection_.error());
      if (++found <= kFindingsPerRule)
        findings_.push_back(fmt::format("{}: {}", what, select->bytes(0)));
    }
    if (found > kFindingsPerRule) findings_.push_back(fmt::format("{}: {} in all", what, found));
  }

  /// SQLite's own: every page reached, every index complete.
  void structure() {
    auto select = connection_.prepare("PRAGMA integrity_check(20)");
    if (!select) return failed("structure", select.error());
    for (Step step = select->step(); step != Step::done; step = select->step()) {
      if (step == Step::failed) return failed("structure", connection_.error());
      if (select->bytes(0) != "ok")
        findings_.push_back(fmt::format("structure: {}", select->bytes(0)));
    }
  }

  /// Every record can be read.
  void records() {
    auto loaded = load_items(connection_, [](command::Item) { return base::Result<void>{}; });
    if (!loaded) failed("a record that cannot be read", loaded.error());
    auto ended = connection_.prepare("SELECT " + job_columns() + " FROM job_rows WHERE state >= 5");
    if (!ended) return failed("ended jobs", ended.error());
    for (Step step = ended->step(); step != Step::done; step = ended->step()) {
      if (step == Step::failed) return failed("ended jobs", connection_.error());
      if (auto row = read_job(*ended); !row)
        return failed(fmt::format("job {}", ended->integer(0)), row.error());
    }
  }

  std::vector<std::string> take() { return std::move(findings_); }

 private:
  void failed(std::string_view what, const base::Error& error) {
    findings_.push_back(fmt::format("{}: {}", what, error.message));
  }

  Connection& connection_;
  std::vector<std::string> findings_;
};

}  // namespace

base::Result<std::vector<std::string>> check_database(const std::string& path) {
  auto connection = Connection::open(path, Access::read_only, kCheckCache);
  if (!connection) return std::unexpected(std::move(connection).error());
  if (auto ours = check_schema(*connection, false); !ours)
    return std::unexpected(std::move(ours).error());
  // One state of the file, also while a server writes to it.
  if (auto begun = connection->exec("BEGIN"); !begun)
    return std::unexpected(std::move(begun).error());
  Examination examination(*connection);
  examination.structure();
  examination.records();
  for (const auto& [what, sql] : kRules) examination.rows(what, sql);
  return examination.take();
}

}  // namespace jobbie::store
