// Schema versions and migrations.
#include "store/schema.hpp"

#include <fmt/format.h>

#include "store/checked_file.hpp"
#include "store/files.hpp"
#include "store/migrations.hpp"

namespace jobbie::store {
namespace {

int newest_version() { return migrations().back().version; }

base::Result<void> migrate(Connection& connection, std::int64_t from) {
  for (const Migration& migration : migrations()) {
    if (migration.version <= from) continue;
    const auto sql = fmt::format(
        "BEGIN IMMEDIATE; {} PRAGMA user_version = {}; PRAGMA application_id = {}; COMMIT;",
        migration.sql, migration.version, kApplicationId);
    if (auto done = connection.exec(sql); !done) {
      auto error = std::move(done).error();
      error.message = fmt::format("Migration {} ({}) failed: {}", migration.version, migration.name,
                                  error.message);
      return std::unexpected(std::move(error));
    }
  }
  return {};
}

}  // namespace

base::Result<void> check_schema(Connection& connection, bool may_be_older) {
  const auto application = connection.query_integer("PRAGMA application_id");
  if (!application) return std::unexpected(application.error());
  const auto version = connection.query_integer("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  const auto tables = connection.query_integer("SELECT count(*) FROM sqlite_schema");
  if (!tables) return std::unexpected(tables.error());
  const bool empty = *application == 0 && *version == 0 && *tables == 0;
  if (*application != kApplicationId && !(empty && may_be_older))
    return std::unexpected(
        base::Error{.code = std::string(kForeignDatabase),
                    .message = "The file is a database, but not one of this program."});
  if (*version > newest_version())
    return std::unexpected(base::Error{
        .code = std::string(kNewerSchema),
        .message = fmt::format("The database has schema version {}, this program knows versions up "
                               "to {}. Start the release that wrote it, or a newer one.",
                               *version, newest_version())});
  if (!empty && !has_checksums(connection))
    return std::unexpected(
        base::Error{.code = std::string(kCorruptDatabase),
                    .message = "The database has lost its checksums: another program has rewritten "
                               "it, or its first page is damaged."});
  if (*version < newest_version() && !may_be_older)
    return std::unexpected(
        base::Error{.code = std::string(kDatabaseError),
                    .message = "The database has an older schema; start the server once."});
  return {};
}

base::Result<Connection> open_database(const std::string& path, std::size_t cache_bytes) {
  auto connection = Connection::open(path, Access::create, cache_bytes);
  if (!connection) return connection;
  if (auto ours = check_schema(*connection, true); !ours)
    return std::unexpected(std::move(ours).error());
  const auto version = connection->query_integer("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  if (*version == 0) {
    if (auto begun = begin_checksums(*connection); !begun)
      return std::unexpected(std::move(begun).error());
  }
  if (auto wal = connection->exec("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL"); !wal)
    return std::unexpected(std::move(wal).error());
  if (auto done = migrate(*connection, *version); !done)
    return std::unexpected(std::move(done).error());
  if (auto synced = sync_folder_of(path); !synced)
    return std::unexpected(std::move(synced).error());
  return connection;
}

}  // namespace jobbie::store
