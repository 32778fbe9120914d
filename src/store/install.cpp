// The swap of two databases, in an order that a crash anywhere survives.
//
// SQLite applies whatever write-ahead log it finds beside a file, so the old one's must be gone,
// and known to be gone by the disk, before the new file has the name. And before it may go, what is
// in it must be in the old file.
#include "store/install.hpp"

#include "store/files.hpp"
#include "store/sqlite.hpp"
#include "store/store.hpp"

namespace jobbie::store {
namespace {

constexpr std::size_t kSmallCache = std::size_t{1} << 20;

/// A damaged file cannot be completed, and nobody wants it back.
base::Result<void> complete(const std::string& database) {
  if (file_bytes(database) == 0 || file_bytes(database + "-wal") == 0) return {};
  auto connection = Connection::open(database, Access::read_write, kSmallCache);
  auto done = connection ? connection->checkpoint_all()
                         : base::Result<void>(std::unexpected(std::move(connection).error()));
  if (!done && done.error().code != kCorruptDatabase) return done;
  return {};
}

}  // namespace

std::vector<InstallStep> install_steps(const std::string& copy, const std::string& data_dir) {
  const auto database = data_dir + "/" + std::string(kDatabaseName);
  return {
      [copy]() -> base::Result<void> {
        auto index = applied_index_of(copy);
        if (!index) return std::unexpected(std::move(index).error());
        return sync_file(copy);
      },
      [database] { return complete(database); },
      [database] { return remove_file(database + "-wal"); },
      [database] { return remove_file(database + "-shm"); },
      [database] { return sync_folder_of(database); },
      [copy, database] { return rename_file(copy, database); },
      [database] { return sync_folder_of(database); },
  };
}

base::Result<void> install(const std::string& copy, const std::string& data_dir) {
  for (const auto& step : install_steps(copy, data_dir))
    if (auto done = step(); !done) return done;
  return {};
}

}  // namespace jobbie::store
