// The checkpointer's thread.
#include "store/checkpointer.hpp"

#include <sqlite3.h>
#include <utility>

#include "store/checked_file.hpp"

namespace jobbie::store {
namespace {

constexpr std::size_t kCheckpointerCache = std::size_t{1} << 20;

}  // namespace

base::Result<void> Checkpointer::start(const Begin& begin) {
  auto connection = Connection::open(begin.path, Access::read_write, kCheckpointerCache);
  if (!connection) return std::unexpected(std::move(connection).error());
  connection_ = *std::move(connection);
  write_behind(connection_, begin.file);
  wal_path_ = begin.path + "-wal";
  interval_ = begin.interval;
  in_place_ = begin.in_place;
  index_ = begin.index;
  durable_index_.store(begin.durable);
  thread_ = std::thread([this] { loop(); });
  return {};
}

void Checkpointer::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  ran_.notify_all();
  if (thread_.joinable()) thread_.join();
  connection_ = {};
}

void Checkpointer::committed(std::uint64_t index, int wal_pages) {
  bool due = false;
  {
    const std::scoped_lock lock(mutex_);
    index_ = index;
    // Fewer pages than at the last run: the file has started over.
    if (wal_pages < pages_at_last_) pages_at_last_ = 0;
    wal_pages_ = wal_pages;
    due = is_due();
  }
  if (due) wake_.notify_one();
}

bool Checkpointer::is_due() const {
  return requested_ || wal_pages_ - pages_at_last_ >= kCheckpointPages;
}

void Checkpointer::request() {
  {
    const std::scoped_lock lock(mutex_);
    requested_ = true;
  }
  wake_.notify_one();
}

void Checkpointer::run_and_wait(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto wanted = runs_begun_ + 1;
  requested_ = true;
  wake_.notify_one();
  ran_.wait_for(lock, timeout, [&] { return stop_ || runs_ended_ >= wanted; });
}

void Checkpointer::loop() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    wake_.wait_for(lock, interval_, [&] { return stop_ || is_due(); });
    if (stop_) return;
    const bool asked = std::exchange(requested_, false);
    if (!asked && index_ == durable_index_.load()) continue;
    pages_at_last_ = wal_pages_;
    const auto index = index_;
    ++runs_begun_;
    lock.unlock();
    run_once(index);
    lock.lock();
    runs_ended_ = runs_begun_;
    ran_.notify_all();
  }
}

void Checkpointer::run_once(std::uint64_t index) {
  using Source = TroubleBox::Source;
  // After a failed sync nobody knows what the disk holds: nothing more may be called durable.
  if (trouble_.lasts(Source::checkpointer)) return;
  // Its sync comes first in a run. Nobody locks this file, so it may be closed again.
  WriteOut wal(wal_path_);
  wal.all();
  if (wal.has_failed()) {
    auto error = wal.sync().error();
    error.code = kSyncFailed;  // a full disk too: what it has not taken, no later sync tells
    return trouble_.set(Source::checkpointer, std::move(error));
  }
  int in_wal = 0;
  int copied = 0;
  const int result = sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr,
                                               SQLITE_CHECKPOINT_PASSIVE, &in_wal, &copied);
  if (result == SQLITE_BUSY) return;  // somebody else checkpoints just now
  if (result != SQLITE_OK) {
    trouble_.set(Source::checkpointer, connection_.error());
    return;
  }
  // What is synced into a file that no name leads to is not there for the next start.
  if (!in_place_())
    return trouble_.set(Source::checkpointer,
                        {.code = std::string(kDatabaseGone),
                         .message = "The files of the database were removed or replaced."});
  trouble_.clear(Source::checkpointer);
  if (in_wal >= 0 && copied == in_wal) durable_index_.store(index);
}

}  // namespace jobbie::store
