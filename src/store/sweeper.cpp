// Slices of sweeps.
#include "store/sweeper.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace jobbie::store {
namespace {

/// How often, in log time, old batches are looked for.
constexpr base::Duration kBatchCheckEvery = base::minutes(10);

}  // namespace

base::Result<Sweeper> Sweeper::make(Connection& connection, ChangeWriter& writer,
                                    Overlay& overlay) {
  Sweeper sweeper(connection, writer, overlay);
  const std::pair<Statement*, std::string_view> wanted[] = {
      {&sweeper.oldest_,
       "SELECT number, queue, state, before, revision FROM sweep_rows ORDER BY number LIMIT 1"},
      {&sweeper.select_,
       "SELECT seq, ended_at, revision FROM job_rows INDEXED BY job_rows_by_state "
       "WHERE queue = ?1 AND state = ?2 AND ended_at < ?3 AND (ended_at, seq) > (?4, ?5) "
       "ORDER BY ended_at, seq LIMIT ?6"},
      {&sweeper.forget_, "DELETE FROM sweep_rows WHERE number = ?1"},
      {&sweeper.batches_,
       "DELETE FROM batch_rows WHERE seq IN (SELECT seq FROM batch_rows INDEXED BY "
       "batch_rows_by_end WHERE finished_at < ?1 LIMIT ?2) RETURNING seq"},
      {&sweeper.audit_,
       "DELETE FROM audit_rows WHERE number IN (SELECT number FROM audit_rows "
       "WHERE at < ?1 OR number <= (SELECT max(number) FROM audit_rows) - ?2 "
       "ORDER BY number LIMIT ?3) RETURNING number"},
      {&sweeper.deliveries_,
       "DELETE FROM delivery_rows WHERE seq IN (SELECT seq FROM delivery_rows WHERE state > 0 "
       "AND (ended_at < ?1 OR seq <= (SELECT seq FROM delivery_rows ORDER BY seq DESC "
       "LIMIT 1 OFFSET ?2)) LIMIT ?3) RETURNING seq"},
      {&sweeper.now_, "SELECT now FROM meta_row"}};
  for (const auto& [statement, sql] : wanted) {
    auto prepared = connection.prepare(sql);
    if (!prepared) return std::unexpected(std::move(prepared).error());
    *statement = *std::move(prepared);
  }
  return sweeper;
}

std::unexpected<base::Error> Sweeper::failed() { return std::unexpected(connection_->error()); }

base::Result<bool> Sweeper::slice() {
  auto row = oldest();
  if (!row) return std::unexpected(std::move(row).error());
  if (!*row) return delete_batches();
  const Row& sweep = **row;
  if (sweep.number != current_) {
    current_ = sweep.number;
    after_ended_ = std::numeric_limits<std::int64_t>::min();
    after_seq_ = 0;
  }
  auto done = delete_rows(sweep);
  if (!done) return done;
  if (*done) {
    overlay_->swept(sweep.sweep);
    current_ = 0;  // its number may be given again
  }
  return true;
}

base::Result<std::optional<Sweeper::Row>> Sweeper::oldest() {
  const ResetOnExit guard(oldest_);
  const Step step = oldest_.step();
  if (step == Step::failed) return failed();
  if (step == Step::done) return std::nullopt;
  const auto state = oldest_.integer(2);
  if (state < 0 || state >= static_cast<std::int64_t>(model::kStates))
    return std::unexpected(corrupt_row("a sweep"));
  return Row{.number = oldest_.integer(0),
             .sweep = {.queue = base::Blob(oldest_.bytes(1)),
                       .state = static_cast<model::State>(state),
                       .before = oldest_.instant(3),
                       .revision = oldest_.number(4)}};
}

base::Result<bool> Sweeper::delete_rows(const Row& row) {
  if (auto begun = connection_->exec("BEGIN IMMEDIATE"); !begun)
    return std::unexpected(std::move(begun).error());
  std::vector<std::uint64_t> doomed;
  std::int64_t seen = 0;
  auto ended = after_ended_;
  auto seq = after_seq_;
  {
    const ResetOnExit guard(select_);
    select_.bind_text(1, row.sweep.queue.view());
    select_.bind(2, static_cast<std::int64_t>(row.sweep.state));
    select_.bind(3, row.sweep.before.ms);
    select_.bind(4, ended);
    select_.bind(5, seq);
    select_.bind(6, kRowsPerSlice);
    for (Step step = select_.step(); step != Step::done; step = select_.step()) {
      if (step == Step::failed) return failed();
      ++seen;
      seq = select_.integer(0);
      ended = select_.integer(1);
      if (select_.number(2) < row.sweep.revision) doomed.push_back(static_cast<std::uint64_t>(seq));
    }
  }
  for (const auto job : doomed)
    if (!writer_->remove_job(job)) return failed();
  const bool done = seen < kRowsPerSlice;
  if (done) {
    forget_.bind(1, row.number);
    if (!forget_.run()) return failed();
  }
  if (auto ended_well = connection_->exec("COMMIT"); !ended_well)
    return std::unexpected(std::move(ended_well).error());
  after_ended_ = ended;
  after_seq_ = seq;
  return done;
}

base::Result<bool> Sweeper::delete_batches() {
  // The file's own time, not the overlay's: what the file holds follows from its index alone.
  const Step asked = now_.step();
  const base::Instant now = asked == Step::row ? now_.instant(0) : base::Instant{};
  now_.reset();
  if (asked == Step::failed) return failed();
  if (now < batches_checked_ + kBatchCheckEvery) return false;
  batches_.bind(1, (now - kBatchesKept).ms);
  batches_.bind(2, kRowsPerSlice);
  auto gone = count_rows(batches_);
  if (!gone) return std::unexpected(std::move(gone).error());
  auto actions = delete_actions(now);
  if (!actions) return std::unexpected(std::move(actions).error());
  auto deliveries = delete_deliveries(now);
  if (!deliveries) return std::unexpected(std::move(deliveries).error());
  const auto most = std::max({*gone, *actions, *deliveries});
  if (most < kRowsPerSlice) batches_checked_ = now;
  return most > 0;
}

base::Result<std::int64_t> Sweeper::delete_deliveries(base::Instant now) {
  deliveries_.bind(1, (now - kDeliveriesKept).ms);
  deliveries_.bind(2, kDeliveryRows);
  deliveries_.bind(3, kRowsPerSlice);
  return count_rows(deliveries_);
}

base::Result<std::int64_t> Sweeper::delete_actions(base::Instant now) {
  audit_.bind(1, (now - kAuditKept).ms);
  audit_.bind(2, kAuditRows);
  audit_.bind(3, kRowsPerSlice);
  return count_rows(audit_);
}

base::Result<std::int64_t> Sweeper::count_rows(Statement& statement) {
  const ResetOnExit guard(statement);
  std::int64_t rows = 0;
  for (Step step = statement.step(); step != Step::done; step = statement.step()) {
    if (step == Step::failed) return failed();
    ++rows;
  }
  return rows;
}

}  // namespace jobbie::store
