// Columns by SQL, encoded records one by one, all in one transaction.
#include "store/turn_back.hpp"

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "command/codec.hpp"
#include "model/cron.hpp"
#include "store/schema.hpp"

namespace jobbie::store {
namespace {

constexpr std::size_t kCache = std::size_t{32} << 20;
constexpr std::int64_t kMinuteMs = 60'000;

struct Column {
  std::string_view table;
  std::string_view name;
};

/// Every instant that has a column, but those that are part of an id. A new one belongs here.
constexpr Column kInstants[] = {
    {"meta_row", "now"},
    {"job_rows", "ended_at"},
    {"job_rows", "unique_until"},
    {"job_rows", "lease_expires_at"},
    {"job_rows", "scheduled_at"},
    {"job_rows", "run_at"},
    {"job_rows", "expire_at"},
    {"job_rows", "started_at"},
    {"job_rows", "failed_at"},
    {"job_rows", "nominal_at"},
    {"job_error_rows", "created_at"},
    {"job_error_rows", "started_at"},
    {"job_error_rows", "retry_at"},
    {"job_log_rows", "at"},
    {"batch_rows", "finished_at"},
    {"queue_rows", "created_at"},
    {"worker_rows", "last_heartbeat"},
    {"worker_rows", "started_at"},
    {"idempotency_rows", "expires_at"},
    {"bulk_rows", "finished_at"},
    {"delivery_rows", "ended_at"},
    {"audit_rows", "at"},
};

constexpr std::string_view kCondemned =
    "(SELECT j.seq FROM job_rows j JOIN sweep_rows w ON w.queue = j.queue AND w.state = j.state "
    "AND j.ended_at < w.before AND j.revision < w.revision)";

class TurningBack {
 public:
  TurningBack(Connection& connection, base::Instant now, base::Duration by, base::Instant to)
      : connection_(connection), now_(now), by_(by), to_(to) {}

  base::Result<void> run() {
    for (const auto step :
         {&TurningBack::finish_sweeps, &TurningBack::move_columns, &TurningBack::count_again,
          &TurningBack::move_windows, &TurningBack::move_records})
      if (auto done = (this->*step)(); !done) return done;
    return {};
  }

 private:
  /// What is to be deleted is named by times: it goes first.
  base::Result<void> finish_sweeps() {
    for (const auto* rows : {"job_error_rows WHERE job", "job_log_rows WHERE job"})
      if (auto done = connection_.exec(fmt::format("DELETE FROM {} IN {}", rows, kCondemned));
          !done)
        return done;
    return connection_.exec(
        fmt::format("DELETE FROM job_rows WHERE seq IN {}; DELETE FROM sweep_rows", kCondemned));
  }

  base::Result<void> move_columns() {
    for (const auto& [table, name] : kInstants)
      if (auto done = connection_.exec(fmt::format("UPDATE {0} SET {1} = {1} - {2} WHERE {1} > {3}",
                                                   table, name, by_.ms, now_.ms));
          !done)
        return done;
    return {};
  }

  base::Result<void> count_again() {
    return connection_.exec(
        "DELETE FROM tally_rows; INSERT INTO tally_rows SELECT queue, state, ended_at / 60000, "
        "count(*) FROM job_rows WHERE state >= 5 GROUP BY 1, 2, 3");
  }

  base::Result<void> move_windows() {
    return connection_.exec(fmt::format(
        "UPDATE window_rows SET claims = (SELECT json_group_array(json_array("
        "json_extract(c.value, '$[0]') - iif(json_extract(c.value, '$[0]') > {1}, {0}, 0), "
        "json_extract(c.value, '$[1]'))) FROM json_each(claims) c)",
        by_.ms, now_.ms));
  }

  base::Result<void> move_records() {
    if (auto done = each<model::QueueRecord>("queue_rows", [this](auto& r) { move(r.created_at); });
        !done)
      return done;
    if (auto done = each<model::WorkerRecord>("worker_rows",
                                              [this](auto& r) {
                                                move(r.started_at);
                                                move(r.last_seen);
                                              });
        !done)
      return done;
    if (auto done = each<model::BulkRecord>("bulk_rows", [this](auto& r) { move(r.finished_at); });
        !done)
      return done;
    if (auto done = each<model::DeliveryRecord>("delivery_rows",
                                                [this](auto& r) {
                                                  move(r.at);
                                                  move(r.next_attempt_at);
                                                  move(r.ended_at);
                                                });
        !done)
      return done;
    return each<model::ScheduleRecord>("schedule_rows", [this](auto& r) { plan(r); });
  }

  void move(base::Instant& at) const {
    if (at > now_) at = at - by_;
  }

  /// A run lies where the expression says, not where the time was moved to.
  void plan(model::ScheduleRecord& schedule) const {
    move(schedule.last_run);
    schedule.next_run = {};
    const auto cron = model::CronExpr::parse(schedule.spec.cron.view());
    if (cron && !schedule.spec.paused)
      schedule.next_run = cron->next_after(to_, schedule.spec.zone).value_or(base::Instant{});
  }

  template <typename Record, typename Change>
  base::Result<void> each(std::string_view table, Change change) {
    std::vector<std::pair<std::int64_t, Record>> changed;
    auto select = connection_.prepare(fmt::format("SELECT rowid, record FROM {}", table));
    if (!select) return std::unexpected(std::move(select).error());
    for (;;) {
      const Step step = select->step();
      if (step == Step::failed) return std::unexpected(connection_.error());
      if (step == Step::done) break;
      auto item = command::decode_item(select->bytes(1));
      auto* record = item ? std::get_if<Record>(&*item) : nullptr;
      if (record == nullptr) return std::unexpected(corrupt_row(table));
      Record before = *record;
      change(*record);
      if (before != *record) changed.emplace_back(select->integer(0), std::move(*record));
    }
    select->reset();
    return put(table, changed);
  }

  template <typename Record>
  base::Result<void> put(std::string_view table,
                         const std::vector<std::pair<std::int64_t, Record>>& changed) {
    constexpr bool kPlanned = std::is_same_v<Record, model::ScheduleRecord>;
    auto update =
        connection_.prepare(fmt::format("UPDATE {} SET record = ?2{} WHERE rowid = ?1", table,
                                        kPlanned ? ", last_run = ?3, next_run = ?4" : ""));
    if (!update) return std::unexpected(std::move(update).error());
    std::string bytes;
    for (const auto& [row, record] : changed) {
      bytes.clear();
      command::encode(command::Item(record), bytes);
      update->bind(1, row);
      update->bind_blob(2, bytes);
      if constexpr (kPlanned) {
        update->bind(3, record.last_run);
        update->bind(4, record.next_run);
      }
      if (!update->run()) return std::unexpected(connection_.error());
    }
    return {};
  }

  Connection& connection_;
  base::Instant now_;
  base::Duration by_;
  base::Instant to_;
};

}  // namespace

base::Result<std::optional<TurnedBack>> turn_back(const std::string& path, base::Instant now) {
  auto connection = open_database(path, kCache);
  if (!connection) return std::unexpected(std::move(connection).error());
  const auto time = connection->query_integer("SELECT now FROM meta_row WHERE has_state = 1");
  if (!time) return std::unexpected(time.error());
  const base::Duration by{(*time - now.ms) / kMinuteMs * kMinuteMs};
  if (by.ms <= 0) return std::nullopt;
  const TurnedBack done{.from = {*time}, .to = base::Instant{*time} - by};
  if (auto begun = connection->exec("BEGIN IMMEDIATE"); !begun)
    return std::unexpected(std::move(begun).error());
  if (auto turned = TurningBack(*connection, now, by, done.to).run(); !turned)
    return std::unexpected(std::move(turned).error());
  if (auto committed = connection->exec("COMMIT"); !committed)
    return std::unexpected(std::move(committed).error());
  if (auto complete = connection->checkpoint_all(); !complete)
    return std::unexpected(std::move(complete).error());
  return done;
}

}  // namespace jobbie::store
