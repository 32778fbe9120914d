// Lookups, and what the meta row and the list of sweeps say.
#include "store/reader.hpp"

#include "base/check.hpp"

namespace jobbie::store {

base::Result<Reader> Reader::open(const std::string& path, std::size_t cache_bytes) {
  auto connection = Connection::open(path, Access::read_only, cache_bytes);
  if (!connection) return std::unexpected(std::move(connection).error());
  Reader reader;
  reader.connection_ = *std::move(connection);
  const auto columns = job_columns();
  const std::pair<Statement*, std::string> wanted[] = {
      {&reader.job_, "SELECT " + columns + " FROM job_rows WHERE seq = ?1"},
      {&reader.errors_, std::string(kSelectErrors)},
      {&reader.batch_, "SELECT " + std::string(kBatchColumns) + " FROM batch_rows WHERE seq = ?1"},
      {&reader.dead_, "SELECT " + columns +
                          " FROM job_rows WHERE group_name = ?1 AND state = 6 AND seq > ?2 "
                          "AND seq <= ?3 ORDER BY seq LIMIT ?4"}};
  for (const auto& [statement, sql] : wanted) {
    auto prepared = reader.connection_.prepare(sql);
    if (!prepared) return std::unexpected(std::move(prepared).error());
    *statement = *std::move(prepared);
  }
  return reader;
}

base::Result<std::optional<JobRow>> Reader::job(base::JobId id) {
  const ResetOnExit guard(job_);
  job_.bind(1, id.sequence());
  const Step step = job_.step();
  if (step == Step::failed) return std::unexpected(connection_.error());
  if (step == Step::done) return std::nullopt;
  auto row = read_job(job_);
  if (!row) return std::unexpected(std::move(row).error());
  if (row->job.id != id) return std::nullopt;
  // The row stays open meanwhile: both are read from one state of the file.
  if (auto read = read_errors(errors_, connection_, row->errors_kept, row->job); !read)
    return std::unexpected(std::move(read).error());
  return std::optional(*std::move(row));
}

base::Result<std::optional<model::BatchRecord>> Reader::batch(base::BatchId id) {
  const ResetOnExit guard(batch_);
  batch_.bind(1, id.sequence());
  const Step step = batch_.step();
  if (step == Step::failed) return std::unexpected(connection_.error());
  if (step == Step::done) return std::nullopt;
  auto batch = read_batch(batch_);
  if (!batch) return std::unexpected(std::move(batch).error());
  if (batch->id != id) return std::nullopt;
  return std::optional(*std::move(batch));
}

base::Result<std::vector<std::pair<model::JobRecord, std::uint64_t>>> Reader::dead_in_group(
    std::string_view group, std::uint64_t after, std::uint64_t upto, std::size_t limit) {
  const ResetOnExit guard(dead_);
  dead_.bind_key(1, group);
  dead_.bind(2, std::min(after, base::kMaxSequence));
  dead_.bind(3, std::min(upto, base::kMaxSequence));
  dead_.bind(4, static_cast<std::int64_t>(limit));
  base::Result<std::vector<std::pair<model::JobRecord, std::uint64_t>>> out;
  for (;;) {
    const Step step = dead_.step();
    if (step == Step::done) return out;
    if (step == Step::failed) return std::unexpected(connection_.error());
    auto row = read_job(dead_);
    if (!row) return std::unexpected(std::move(row).error());
    if (auto read = read_errors(errors_, connection_, row->errors_kept, row->job); !read)
      return std::unexpected(std::move(read).error());
    out->emplace_back(std::move(row->job), row->revision);
  }
}

base::Result<void> ReaderPool::open(const std::string& path, std::size_t readers,
                                    std::size_t cache_bytes) {
  JOBBIE_CHECK(readers > 0);
  for (std::size_t i = 0; i < readers; ++i) {
    auto reader = Reader::open(path, cache_bytes);
    if (!reader) return std::unexpected(std::move(reader).error());
    free_.push_back(std::make_unique<Reader>(*std::move(reader)));
  }
  return {};
}

void ReaderPool::with(const std::function<void(Reader&)>& use) {
  std::unique_ptr<Reader> reader;
  {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return !free_.empty(); });
    reader = std::move(free_.back());
    free_.pop_back();
  }
  use(*reader);
  {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(reader));
  }
  returned_.notify_one();
}

void ReaderPool::close() {
  const std::scoped_lock lock(mutex_);
  free_.clear();
}

base::Result<model::BatchRecord> read_batch(const Statement& row) {
  const auto id = base::BatchId::parse(row.bytes(0));
  const auto callback = row.bytes(7);
  const auto callback_job =
      callback.empty() ? std::optional(base::JobId{}) : base::JobId::parse(callback);
  if (!id || !callback_job) return std::unexpected(corrupt_row("a batch"));
  return model::BatchRecord{.id = *id,
                            .total = row.number(1),
                            .pending = row.number(2),
                            .succeeded = row.number(3),
                            .failed = row.number(4),
                            .callback_queue = base::Blob(row.bytes(5)),
                            .callback_payload = base::Blob(row.bytes(6)),
                            .callback_job = *callback_job,
                            .finished_at = row.instant(8)};
}

base::Result<FileState> read_file_state(Connection& connection) {
  auto select = connection.prepare(
      "SELECT applied_index, writes, has_state, now, next_sequence, next_lease, next_arrival, "
      "next_task, entries, max_queues, max_queues_per_key, max_idempotency_keys_per_key "
      "FROM meta_row");
  if (!select) return std::unexpected(std::move(select).error());
  const Step step = select->step();
  if (step == Step::failed) return std::unexpected(connection.error());
  if (step == Step::done) return std::unexpected(corrupt_row("an empty meta row"));
  FileState state{.applied_index = select->number(0), .writes = select->number(1)};
  const auto small = [&](int column) { return static_cast<std::uint32_t>(select->number(column)); };
  if (select->integer(2) != 0)
    state.meta = model::MetaRecord{.now = select->instant(3),
                                   .next_sequence = select->number(4),
                                   .next_lease = select->number(5),
                                   .next_arrival = select->number(6),
                                   .next_task = select->number(7),
                                   .entries = select->number(8),
                                   .max_queues = small(9),
                                   .max_queues_per_key = small(10),
                                   .max_idempotency_keys_per_key = small(11)};
  return state;
}

base::Result<Sweeps> read_sweeps(Connection& connection) {
  auto select =
      connection.prepare("SELECT queue, state, before, revision FROM sweep_rows ORDER BY number");
  if (!select) return std::unexpected(std::move(select).error());
  Sweeps sweeps;
  for (;;) {
    const Step step = select->step();
    if (step == Step::done) return sweeps;
    if (step == Step::failed) return std::unexpected(connection.error());
    const auto state = select->integer(1);
    if (state < 0 || state >= static_cast<std::int64_t>(model::kStates))
      return std::unexpected(corrupt_row("a sweep"));
    sweeps.push_back({.queue = base::Blob(select->bytes(0)),
                      .state = static_cast<model::State>(state),
                      .before = select->instant(2),
                      .revision = select->number(3)});
  }
}

}  // namespace jobbie::store
