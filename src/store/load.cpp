// Loading: the hot state out of the file, item by item.
#include <charconv>
#include <utility>

#include "command/codec.hpp"
#include "command/model_fields.hpp"
#include "store/reader.hpp"

namespace jobbie::store {
namespace {

using ItemSink = std::function<base::Result<void>(command::Item)>;
using RowReader = base::Result<command::Item> (*)(const Statement&);

base::Result<void> load_rows(Connection& connection, std::string_view sql, RowReader read,
                             const ItemSink& sink) {
  auto select = connection.prepare(sql);
  if (!select) return std::unexpected(std::move(select).error());
  for (;;) {
    const Step step = select->step();
    if (step == Step::done) return {};
    if (step == Step::failed) return std::unexpected(connection.error());
    auto item = read(*select);
    if (!item) return std::unexpected(std::move(item).error());
    if (auto taken = sink(*std::move(item)); !taken) return taken;
  }
}

/// Of rows that hold their whole record.
template <typename Record>
base::Result<command::Item> read_record(const Statement& row) {
  auto item = command::decode_item(row.bytes(0));
  if (!item) return std::unexpected(std::move(item).error());
  if (!std::holds_alternative<Record>(*item)) return std::unexpected(corrupt_row("a record"));
  return item;
}

base::Result<command::Item> read_tally(const Statement& row) {
  const auto state = row.integer(1);
  if (state < 0 || state >= static_cast<std::int64_t>(model::kStates))
    return std::unexpected(corrupt_row("a tally"));
  return model::TallyRecord{.queue = base::Blob(row.bytes(0)),
                            .state = static_cast<model::State>(state),
                            .minute = row.integer(2),
                            .count = row.number(3)};
}

/// Reads a number and then the character that must follow it.
template <typename Int>
bool take_number(std::string_view& text, char next, Int& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end == text.data() + text.size() || *end != next) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return true;
}

bool take_claims(std::string_view text, model::WindowRecord& window) {
  if (!text.starts_with('[')) return false;
  text.remove_prefix(1);
  while (text.starts_with('[')) {
    text.remove_prefix(1);
    auto& [at, claims] = window.claims.emplace_back();
    if (!take_number(text, ',', at.ms) || !take_number(text, ']', claims)) return false;
    if (text.starts_with(',')) text.remove_prefix(1);
  }
  return text == "]" && !window.claims.empty();
}

base::Result<command::Item> read_window(const Statement& row) {
  model::WindowRecord window{.queue = base::Blob(row.bytes(0)),
                             .keyed = row.integer(1) != 0,
                             .key = base::Blob(row.bytes(2))};
  if (!take_claims(row.bytes(3), window)) return std::unexpected(corrupt_row("a window"));
  return window;
}

base::Result<command::Item> read_group(const Statement& row) {
  return model::GroupRecord{.name = base::Blob(row.bytes(0)), .paused = true};
}

base::Result<command::Item> read_batch_item(const Statement& row) {
  auto batch = read_batch(row);
  if (!batch) return std::unexpected(std::move(batch).error());
  return *std::move(batch);
}

base::Result<command::Item> read_idempotency(const Statement& row) {
  const auto scope =
      row.bytes(4).empty() ? std::optional(base::KeyId{}) : base::KeyId::parse(row.bytes(4));
  if (!scope) return std::unexpected(corrupt_row("an idempotency key"));
  return model::IdempotencyRecord{.key = base::Blob(row.bytes(0)),
                                  .fingerprint = row.number(1),
                                  .expires_at = row.instant(2),
                                  .reply = base::Blob(row.bytes(3)),
                                  .scope = *scope};
}

base::Result<command::Item> read_task(const Statement& row) {
  const auto kind = row.integer(1);
  const auto job =
      row.bytes(6).empty() ? std::optional(base::JobId{}) : base::JobId::parse(row.bytes(6));
  if (kind < 0 || kind > static_cast<std::int64_t>(command::last_value(model::TaskKind{})) || !job)
    return std::unexpected(corrupt_row("a task"));
  return model::TaskRecord{.number = row.number(0),
                           .kind = static_cast<model::TaskKind>(kind),
                           .subject = base::Blob(row.bytes(2)),
                           .bound = row.number(3),
                           .cursor = row.number(4),
                           .flag = row.integer(5) != 0,
                           .job = *job};
}

base::Result<void> load_jobs(Connection& connection, const ItemSink& sink) {
  const auto live = connection.query_integer(
      "SELECT count(*) FROM job_rows INDEXED BY job_rows_by_state WHERE state < 5");
  if (!live) return std::unexpected(live.error());
  const auto span =
      connection.query_integer("SELECT (SELECT max(seq) FROM job_rows) - min(seq) FROM job_rows");
  if (!span) return std::unexpected(span.error());
  const bool dense = *live > *span / kRowsWalkedForOneFound;
  auto select = connection.prepare("SELECT " + job_columns() + " FROM job_rows " +
                                   (dense ? "NOT INDEXED" : "INDEXED BY job_rows_by_state") +
                                   " WHERE state < 5");
  if (!select) return std::unexpected(std::move(select).error());
  auto errors = connection.prepare(kSelectErrors);
  if (!errors) return std::unexpected(std::move(errors).error());
  for (;;) {
    const Step step = select->step();
    if (step == Step::done) return {};
    if (step == Step::failed) return std::unexpected(connection.error());
    auto row = read_job(*select);
    if (!row) return std::unexpected(std::move(row).error());
    if (auto read = read_errors(*errors, connection, row->errors_kept, row->job); !read)
      return read;
    if (auto taken = sink(std::move(row->job)); !taken) return taken;
  }
}

}  // namespace

base::Result<void> load_items(Connection& connection, const ItemSink& sink) {
  auto state = read_file_state(connection);
  if (!state) return std::unexpected(std::move(state).error());
  if (state->meta) {
    if (auto taken = sink(*state->meta); !taken) return taken;
  }
  const std::string batches =
      "SELECT " + std::string(kBatchColumns) + " FROM batch_rows WHERE finished_at IS NULL";
  const std::pair<std::string_view, RowReader> kinds[] = {
      {"SELECT record FROM queue_rows", read_record<model::QueueRecord>},
      {"SELECT queue, state, minute, count FROM tally_rows", read_tally},
      {"SELECT queue, keyed, key, claims FROM window_rows", read_window},
      {"SELECT name FROM group_rows", read_group},
      {batches, read_batch_item},
      {"SELECT record FROM schedule_rows", read_record<model::ScheduleRecord>},
      {"SELECT record FROM worker_rows", read_record<model::WorkerRecord>},
      {"SELECT key, fingerprint, expires_at, reply, scope FROM idempotency_rows", read_idempotency},
      {"SELECT number, kind, subject, bound, cursor, flag, job_id FROM task_rows ORDER BY number",
       read_task},
      {"SELECT record FROM bulk_rows", read_record<model::BulkRecord>},
      {"SELECT record FROM key_rows", read_record<model::KeyRecord>},
      {"SELECT record FROM webhook_rows", read_record<model::WebhookRecord>},
      {"SELECT record FROM delivery_rows WHERE state = 0", read_record<model::DeliveryRecord>}};
  for (const auto& [sql, read] : kinds)
    if (auto loaded = load_rows(connection, sql, read, sink); !loaded) return loaded;
  return load_jobs(connection, sink);
}

}  // namespace jobbie::store
