// The writer's thread.
#include "store/writer.hpp"

#include <new>
#include <optional>
#include <sqlite3.h>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>

namespace jobbie::store {
namespace {

/// How long the thread sleeps when nothing happens; then it looks after old batches.
constexpr std::chrono::milliseconds kIdleWait{10'000};
/// How long a full write-ahead log may hold the writer up before it goes on all the same: a reader
/// with an old view can keep the file from starting over.
constexpr std::chrono::milliseconds kCheckpointWait{30'000};

/// What SQLite allows when nobody asks for less.
constexpr std::uint64_t kMostPages = 4'294'967'294;

/// While no more than this is left to write there is no hurry: threads that have answers to give go
/// first, every so many rows.
constexpr std::uint64_t kHurryRows = 40'000;
constexpr std::uint64_t kRowsBetweenYields = 32;

/// The last hand-over that holds a job, for jobs that stand in several hand-overs of one
/// transaction: only that version is written.
using LastVersions = std::unordered_map<std::uint64_t, std::uint64_t>;

LastVersions last_versions(const std::vector<const HandOver*>& batch) {
  LastVersions last;
  if (batch.size() < 2) return last;
  for (const auto* hand_over : batch)
    for (const auto& change : hand_over->changes)
      if (const auto* job = command::job_in(change)) last[job->sequence()] = hand_over->number;
  return last;
}

}  // namespace

base::Result<void> Writer::start(Connection connection, Begin begin) {
  connection_ = std::move(connection);
  auto changes = ChangeWriter::make(connection_);
  if (!changes) return std::unexpected(std::move(changes).error());
  changes_.emplace(*std::move(changes));
  auto sweeper = Sweeper::make(connection_, *changes_, overlay_);
  if (!sweeper) return std::unexpected(std::move(sweeper).error());
  sweeper_.emplace(*std::move(sweeper));
  auto page_count = connection_.prepare("PRAGMA page_count");
  if (!page_count) return std::unexpected(std::move(page_count).error());
  page_count_ = *std::move(page_count);
  note_size();
  sqlite3_wal_hook(
      connection_.handle(),
      [](void* pages, sqlite3*, const char*, int in_wal) {
        *static_cast<int*>(pages) = in_wal;
        return SQLITE_OK;
      },
      &wal_pages_);
  written_index_.store(begin.applied_index);
  on_written_ = std::move(begin.on_written);
  busy_sweeping_ = true;  // there may be some from before
  thread_ = std::thread([this] { loop(); });
  return {};
}

void Writer::end(Ending ending) {
  ending_.store(ending);
  overlay_.wake();
  {
    const std::scoped_lock lock(mutex_);
    pause_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  sweeper_.reset();
  changes_.reset();
  page_count_ = {};
}

void Writer::stop() { end(Ending::abandon); }

bool Writer::finish() {
  end(Ending::finish);
  return overlay_.lag().batches == 0;
}

bool Writer::wait_until_written(std::uint64_t index, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return written_.wait_for(lock, timeout, [&] { return written_index_.load() >= index; });
}

void Writer::loop() {
  bool last_try = false;
  for (;;) {
    const auto ending = ending_.load();
    if (ending == Ending::abandon) return;
    const bool finishing = ending == Ending::finish;
    const auto batch = overlay_.wait(
        rows_at_once_, busy_sweeping_ || finishing ? std::chrono::milliseconds(0) : kIdleWait);
    if (finishing && batch.empty()) return;
    std::uint64_t rows = 0;
    for (const auto* hand_over : batch) rows += hand_over->rows;
    if (write(batch) && (finishing || sweep(rows))) continue;
    // Whoever closes gets one more try at once, not a wait without end.
    if (finishing && std::exchange(last_try, true)) return;
    if (!finishing) pause();
  }
}

bool Writer::write(const std::vector<const HandOver*>& batch) {
  if (batch.empty()) return true;
  if (trouble_.lasts(TroubleBox::Source::writer)) return false;
  bool written = false;
  std::optional<base::Error> failed;
  try {
    written = write_rows(batch);
    if (!written) failed = connection_.error();
  } catch (const std::bad_alloc&) {
    failed = base::Error{.code = std::string(kOutOfMemory),
                         .message = "There was no memory to write to the database."};
  }
  rows_under_way_.store(0);
  if (!written) {
    roll_back(*std::move(failed));
    return false;
  }
  trouble_.clear(TroubleBox::Source::writer);
  rows_at_once_ = std::min(rows_at_once_ * 2, kRowsPerTransaction);
  note_size();
  const auto index = batch.back()->index;
  const auto number = batch.back()->number;
  overlay_.drop(number);
  {
    const std::scoped_lock lock(mutex_);
    written_index_.store(index);
  }
  written_.notify_all();
  if (on_written_) on_written_();
  busy_sweeping_ = true;
  checkpointer_.committed(index, wal_pages_);
  if (wal_pages_ >= kMaxWalPages) checkpointer_.run_and_wait(kCheckpointWait);
  return true;
}

void Writer::note_size() {
  if (page_count_.step() == Step::row) file_pages_.store(page_count_.number(0));
  page_count_.reset();
  wal_pages_seen_.store(static_cast<std::uint64_t>(wal_pages_));
}

bool Writer::bound_file() {
  const auto wanted = max_pages_.load();
  if (wanted == bounded_pages_) return true;
  const auto pages = wanted == 0 ? kMostPages : wanted;
  if (!connection_.exec("PRAGMA max_page_count = " + std::to_string(pages))) return false;
  bounded_pages_ = wanted;
  return true;
}

bool Writer::write_rows(const std::vector<const HandOver*>& batch) {
  if (!bound_file() || !connection_.exec("BEGIN IMMEDIATE")) return false;
  const auto last = last_versions(batch);
  const bool hurries = overlay_.lag().rows > kHurryRows;
  std::uint64_t rows = 0;
  for (const auto* hand_over : batch) {
    for (const auto& change : hand_over->changes) {
      if (++rows % kRowsBetweenYields == 0) {
        rows_under_way_.store(rows);
        if (!hurries) {
          if (!changes_->flush()) return false;
          std::this_thread::yield();
        }
      }
      if (!last.empty()) {
        const auto* job = command::job_in(change);
        if (job != nullptr && last.at(job->sequence()) != hand_over->number) continue;
      }
      if (!changes_->apply(change, hand_over->number)) return false;
    }
  }
  return changes_->set_applied(batch.back()->index, batch.back()->number) &&
         connection_.exec("COMMIT").has_value();
}

bool Writer::sweep(std::uint64_t rows_written) {
  if (trouble_.lasts(TroubleBox::Source::writer)) return false;
  for (std::uint64_t slices = 1 + rows_written / kRowsPerSlice;
       busy_sweeping_ && slices > 0 && ending_.load() == Ending::no; --slices) {
    auto worked = sweeper_->slice();
    if (!worked) {
      roll_back(std::move(worked).error());
      return false;
    }
    busy_sweeping_ = *worked;
  }
  return true;
}

void Writer::roll_back(base::Error error) {
  // When SQLite has rolled back by itself there is nothing to roll back, which is fine too.
  if (sqlite3_get_autocommit(connection_.handle()) == 0)
    static_cast<void>(connection_.exec("ROLLBACK").has_value());
  if (!changes_->after_rollback() && !is_lasting(error.code)) error = connection_.error();
  lacks_memory_ = error.code == kOutOfMemory;
  if (lacks_memory_) need_less_memory();
  trouble_.set(TroubleBox::Source::writer, std::move(error));
}

/// The less is written at once, the fewer pages wait in memory for the end of the transaction.
void Writer::need_less_memory() {
  sqlite3_db_release_memory(connection_.handle());
  rows_at_once_ = std::max<std::size_t>(rows_at_once_ / 8, 1);
}

void Writer::pause() {
  std::unique_lock lock(mutex_);
  pause_.wait_for(lock, lacks_memory_ ? kRetryForMemory : kRetryEvery,
                  [&] { return ending_.load() != Ending::no; });
}

}  // namespace jobbie::store
