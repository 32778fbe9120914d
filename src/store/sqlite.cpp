// Connections and statements over the C interface.
#include "store/sqlite.hpp"

#include <cerrno>
#include <climits>
#include <sqlite3.h>

#include <fmt/format.h>

#include "store/checked_file.hpp"

namespace jobbie::store {
namespace {

constexpr int kBusyTimeout_ms = 5'000;
/// A write-ahead log that a long read has let grow is cut back to this when it starts over; it is
/// more than it needs otherwise.
constexpr int kWalKept_bytes = 256 << 20;

std::string_view code_of(int extended) {
  switch (extended) {
    case SQLITE_IOERR_FSYNC:
    case SQLITE_IOERR_DIR_FSYNC:
      return kSyncFailed;
    case SQLITE_IOERR_DATA:
    case SQLITE_IOERR_CORRUPTFS:
    case SQLITE_IOERR_SHORT_READ:
      return kCorruptDatabase;
    case SQLITE_IOERR_NOMEM:
      return kOutOfMemory;
    case SQLITE_IOERR_SHMSIZE:  // the index of the write-ahead log could not be made larger
      return kDiskFull;
    default:
      break;
  }
  switch (extended & 0xff) {
    case SQLITE_NOMEM:
      return kOutOfMemory;
    case SQLITE_FULL:
      return kDiskFull;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return kCorruptDatabase;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
      return kDiskError;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return kDatabaseBusy;
    default:
      return kDatabaseError;
  }
}

/// What a person should make of it, before SQLite's own words.
std::string_view plain_words(std::string_view code) {
  if (code == kDiskFull) return "There is no space left on the disk. ";
  if (code == kCorruptDatabase) return "The database is damaged. ";
  return {};
}

base::Error worded(std::string_view code, const char* message, int extended) {
  return {.code = std::string(code),
          .message = fmt::format("{}The database answers: {} (SQLite code {}).", plain_words(code),
                                 message, extended)};
}

base::Error error_of(sqlite3* handle) {
  const int extended = sqlite3_extended_errcode(handle);
  auto code = code_of(extended);
  if (code != kSyncFailed && sqlite3_system_errno(handle) == ENOSPC) code = kDiskFull;
  return worded(code, sqlite3_errmsg(handle), extended);
}

/// What holds for every connection. Cells are checked when a page is read, so that a damaged page
/// is an error and not an odd row; schema tricks of a forged file do not run.
std::string pragmas(std::size_t cache_bytes) {
  return fmt::format(
      "PRAGMA cache_size = -{}; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0;"
      "PRAGMA temp_store = MEMORY; PRAGMA secure_delete = OFF; PRAGMA cell_size_check = ON;"
      "PRAGMA trusted_schema = OFF; PRAGMA mmap_size = 0; PRAGMA foreign_keys = OFF;"
      "PRAGMA journal_size_limit = {};",
      cache_bytes / 1024, kWalKept_bytes);
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }

bool Statement::is_bound(int parameter, Bound kind, std::int64_t value) const {
  const auto at = static_cast<std::size_t>(parameter);
  return at < kRemembered && bound_[at] == kind && (kind == Bound::null || integers_[at] == value);
}

void Statement::note_bound(int parameter, Bound kind, std::int64_t value, int result) {
  if (result != SQLITE_OK) bind_failed_ = true;
  const auto at = static_cast<std::size_t>(parameter);
  if (at >= kRemembered) return;
  bound_[at] = result == SQLITE_OK ? kind : Bound::other;
  integers_[at] = value;
}

void Statement::bind(int parameter, std::int64_t value) {
  if (is_bound(parameter, Bound::integer, value)) return;
  note_bound(parameter, Bound::integer, value, sqlite3_bind_int64(handle_.get(), parameter, value));
}

void Statement::bind_null(int parameter) {
  if (is_bound(parameter, Bound::null, 0)) return;
  note_bound(parameter, Bound::null, 0, sqlite3_bind_null(handle_.get(), parameter));
}

void Statement::bind_text(int parameter, std::string_view value) {
  if (value.empty()) return bind_null(parameter);
  bind_key(parameter, value);
}

void Statement::bind_key(int parameter, std::string_view value) {
  // A null pointer would bind NULL.
  const char* bytes = value.empty() ? "" : value.data();
  note_bound(parameter, Bound::other, 0,
             sqlite3_bind_text64(handle_.get(), parameter, bytes, value.size(), SQLITE_STATIC,
                                 SQLITE_UTF8));
}

void Statement::bind_blob(int parameter, std::string_view value) {
  const char* bytes = value.empty() ? "" : value.data();
  note_bound(parameter, Bound::other, 0,
             sqlite3_bind_blob64(handle_.get(), parameter, bytes, value.size(), SQLITE_STATIC));
}

void Statement::bind_copy(int parameter, std::string_view value) {
  if (value.empty()) return bind_null(parameter);
  note_bound(parameter, Bound::other, 0,
             sqlite3_bind_text64(handle_.get(), parameter, value.data(), value.size(),
                                 SQLITE_TRANSIENT, SQLITE_UTF8));
}

Step Statement::step() {
  if (bind_failed_) return Step::failed;
  switch (sqlite3_step(handle_.get())) {
    case SQLITE_ROW:
      return Step::row;
    case SQLITE_DONE:
      return Step::done;
    default:
      return Step::failed;
  }
}

bool Statement::run() {
  const bool done = step() == Step::done;
  reset();
  return done;
}

void Statement::reset() {
  sqlite3_reset(handle_.get());
  bind_failed_ = false;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
}

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(handle_.get(), column);
  if (data == nullptr) return {};
  const int size = sqlite3_column_bytes(handle_.get(), column);
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

void Connection::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

base::Result<Connection> Connection::open(const std::string& path, Access access,
                                          std::size_t cache_bytes) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= access == Access::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (access == Access::create) flags |= SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &handle, flags, checked_files());
  Connection connection;
  connection.handle_.reset(handle);
  if (opened != SQLITE_OK) {
    if (handle == nullptr)
      return std::unexpected(
          base::Error{.code = std::string(kDatabaseError), .message = "Out of memory."});
    auto error = connection.error();
    error.message = fmt::format("Cannot open the database {}: {}", path, error.message);
    return std::unexpected(std::move(error));
  }
  sqlite3_busy_timeout(handle, kBusyTimeout_ms);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  // Closing must not write back what the checkpointer was not asked to.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  if (auto set = connection.exec(pragmas(cache_bytes)); !set)
    return std::unexpected(std::move(set).error());
  return connection;
}

base::Result<void> Connection::exec(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return std::unexpected(error());
  return {};
}

base::Result<Statement> Connection::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK)
    return std::unexpected(error());
  return Statement(statement);
}

base::Result<std::int64_t> Connection::query_integer(std::string_view sql) {
  auto statement = prepare(sql);
  if (!statement) return std::unexpected(std::move(statement).error());
  switch (statement->step()) {
    case Step::row:
      return statement->integer(0);
    case Step::done:
      return 0;
    case Step::failed:
      break;
  }
  return std::unexpected(error());
}

base::Result<void> Connection::checkpoint_all() {
  if (sqlite3_wal_checkpoint_v2(handle_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr,
                                nullptr) != SQLITE_OK)
    return std::unexpected(error());
  return {};
}

int Connection::changed_rows() const { return sqlite3_changes(handle_.get()); }

base::Error Connection::error() const { return error_of(handle_.get()); }

base::Error error_of_code(int extended) {
  return worded(code_of(extended), sqlite3_errstr(extended), extended);
}

base::Error corrupt_row(std::string_view what) {
  return {.code = std::string(kCorruptDatabase),
          .message = fmt::format("The database holds {} that this program did not write.", what)};
}

}  // namespace jobbie::store
