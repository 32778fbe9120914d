// Pages of one read transaction into a new file, by SQLite's backup.
#include "store/copy.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <sqlite3.h>
#include <utility>

#include <fmt/format.h>

#include "store/checked_file.hpp"
#include "store/files.hpp"
#include "store/schema.hpp"

namespace jobbie::store {
namespace {

/// Between two looks at `cancelled`.
constexpr int kPagesPerStep = 1'024;
/// What a copy must leave free on the disk: the log of a running server needs some.
constexpr std::uint64_t kLeftFree_bytes = std::uint64_t{64} << 20;
constexpr std::size_t kCopyCache = std::size_t{2} << 20;

struct FinishBackup {
  void operator()(sqlite3_backup* backup) const { sqlite3_backup_finish(backup); }
};
using Backup = std::unique_ptr<sqlite3_backup, FinishBackup>;

base::Error refusal(std::string_view code, std::string message) {
  return {.code = std::string(code), .message = std::move(message)};
}

base::Result<void> remove_copy(const std::string& path) {
  for (const char* suffix : {"-wal", "-shm", "-journal", ""})
    if (auto removed = remove_file(path + suffix); !removed) return removed;
  return {};
}

class Copy {
 public:
  Copy(const std::string& from, const std::string& to) : from_(from), to_(to) {}
  /// By a connection that is open.
  Copy(Connection& from, const std::string& to) : to_(to), source_(&from) {}

  base::Result<Copied> make(const std::atomic<bool>& cancelled,
                            const std::function<void(const CopyProgress&)>& progress) {
    auto read = begin();
    if (read) read = pages(cancelled, progress);
    // From here on the writer's log may start over.
    if (source_ != nullptr) static_cast<void>(source_->exec("ROLLBACK").has_value());
    own_source_ = {};
    if (!read) return std::unexpected(std::move(read).error());
    if (auto single = target_.exec("PRAGMA journal_mode = DELETE"); !single)
      return std::unexpected(std::move(single).error());
    target_ = {};
    // By the description that would know of a failure meanwhile.
    if (auto synced = out_->sync(); !synced) return std::unexpected(std::move(synced).error());
    if (auto synced = sync_folder_of(to_); !synced)
      return std::unexpected(std::move(synced).error());
    copied_.bytes = file_bytes(to_);
    return copied_;
  }

 private:
  /// The read transaction, and the empty file that the pages go to.
  base::Result<void> begin() {
    auto target = Connection::open(to_, Access::create, kCopyCache);
    if (!target) return std::unexpected(std::move(target).error());
    target_ = *std::move(target);
    // Nobody else knows the file, and one that was not finished is thrown away: no journal, no
    // syncs but the last, no files for locks.
    if (auto set = target_.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY;"
                                "PRAGMA synchronous = OFF");
        !set)
      return set;
    if (auto sums = begin_checksums(target_); !sums) return sums;
    // Pages get checksums once the file has a header that says so, and the copy's own may be the
    // last that is written.
    if (auto header = target_.exec("PRAGMA user_version = 1"); !header) return header;
    write_behind(target_, out_.emplace(to_));
    if (source_ == nullptr) {
      auto source = Connection::open(from_, Access::read_only, kCopyCache);
      if (!source) return std::unexpected(std::move(source).error());
      own_source_ = *std::move(source);
      source_ = &own_source_;
    }
    if (auto begun = source_->exec("BEGIN"); !begun) return begun;
    auto index = source_->query_integer("SELECT applied_index FROM meta_row");
    if (!index) return std::unexpected(std::move(index).error());
    copied_.applied_index = static_cast<std::uint64_t>(*index);
    // What saves the database itself may take all that is left.
    if (from_.empty()) return {};
    const auto pages = source_->query_integer("PRAGMA page_count");
    if (!pages) return std::unexpected(pages.error());
    return room_for_copy(static_cast<std::uint64_t>(*pages), to_);
  }

  base::Result<void> pages(const std::atomic<bool>& cancelled,
                           const std::function<void(const CopyProgress&)>& progress) {
    const Backup backup(sqlite3_backup_init(target_.handle(), "main", source_->handle(), "main"));
    if (!backup) return std::unexpected(target_.error());
    for (int step = SQLITE_OK; step != SQLITE_DONE;) {
      if (cancelled.load())
        return std::unexpected(refusal(kCancelled, "The copy of the database was cancelled."));
      step = sqlite3_backup_step(backup.get(), kPagesPerStep);
      if (step != SQLITE_OK && step != SQLITE_DONE) return std::unexpected(error_of(step));
      const auto total =
          kPageBytes * static_cast<std::uint64_t>(sqlite3_backup_pagecount(backup.get()));
      const auto left =
          kPageBytes * static_cast<std::uint64_t>(sqlite3_backup_remaining(backup.get()));
      if (auto kept_up = look_at_wal(total); !kept_up) return kept_up;
      if (progress) progress({.bytes = total - left, .total = total});
    }
    return {};
  }

  base::Result<void> look_at_wal(std::uint64_t total) {
    if (from_.empty()) return {};  // nobody writes meanwhile
    copied_.wal_bytes = file_bytes(from_ + "-wal");
    if (copied_.wal_bytes <= std::max(total, kWalBesideCopy)) return {};
    return std::unexpected(refusal(
        kCopyOutpaced,
        fmt::format("The copy of the database takes too long: so much is written meanwhile that "
                    "its write-ahead log has {} MiB. Try again when there is less to do.",
                    copied_.wal_bytes >> 20)));
  }

  /// A backup keeps its errors to itself until it is finished.
  [[nodiscard]] base::Error error_of(int result) const {
    const auto& connection = sqlite3_errcode(source_->handle()) == result ? *source_ : target_;
    if (sqlite3_extended_errcode(connection.handle()) == result) return connection.error();
    return error_of_code(result);
  }

  std::string from_;  ///< empty: a connection that is open
  std::string to_;
  std::optional<WriteOut> out_;
  Connection* source_ = nullptr;
  Connection own_source_;
  Connection target_;
  Copied copied_;
};

}  // namespace

base::Result<Copied> copy_database(const std::string& from, const std::string& to,
                                   const std::atomic<bool>& cancelled,
                                   const std::function<void(const CopyProgress&)>& progress) {
  if (auto removed = remove_copy(to); !removed) return std::unexpected(std::move(removed).error());
  auto copied = Copy(from, to).make(cancelled, progress);
  if (!copied) static_cast<void>(remove_copy(to).has_value());
  return copied;
}

base::Result<Copied> copy_database(Connection& from, const std::string& to) {
  if (auto removed = remove_copy(to); !removed) return std::unexpected(std::move(removed).error());
  const std::atomic<bool> never = false;
  auto copied = Copy(from, to).make(never, {});
  if (!copied) static_cast<void>(remove_copy(to).has_value());
  return copied;
}

base::Result<void> room_for_copy(std::uint64_t pages, const std::string& to) {
  const auto needed = kPageBytes * pages + kLeftFree_bytes;
  const auto room = room_beside(to);
  if (room >= needed) return {};
  return std::unexpected(refusal(
      kDiskFull, fmt::format("There is no space for a copy of the database: {} MiB are free, {} "
                             "MiB are needed.",
                             room >> 20, needed >> 20)));
}

base::Result<std::uint64_t> applied_index_of(const std::string& path) {
  auto connection = Connection::open(path, Access::read_only, kCopyCache);
  if (!connection) return std::unexpected(std::move(connection).error());
  if (auto ours = check_schema(*connection, true); !ours)
    return std::unexpected(std::move(ours).error());
  const auto version = connection->query_integer("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  if (*version == 0) return std::unexpected(refusal(kForeignDatabase, "The database is empty."));
  const auto index = connection->query_integer("SELECT applied_index FROM meta_row");
  if (!index) return std::unexpected(index.error());
  return static_cast<std::uint64_t>(*index);
}

}  // namespace jobbie::store
