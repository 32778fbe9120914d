// A thin layer over SQLite: connections and prepared statements as values, errors as base::Error.
//
// Each object is used by one thread at a time. A statement must not outlive its connection. Nothing
// here throws, and everything read is copied before the statement moves on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace jobbie::store {

// Codes of the errors that callers tell apart.
inline constexpr std::string_view kDiskFull = "disk_full";
inline constexpr std::string_view kDiskError = "disk_error";
inline constexpr std::string_view kSyncFailed = "sync_failed";
inline constexpr std::string_view kCorruptDatabase = "corrupt_database";
/// Its files were removed or replaced while they are open.
inline constexpr std::string_view kDatabaseGone = "database_gone";
/// There was none to work with: passes, and says nothing of the disk.
inline constexpr std::string_view kOutOfMemory = "out_of_memory";
inline constexpr std::string_view kDatabaseBusy = "database_busy";
inline constexpr std::string_view kDatabaseError = "database_error";

enum class Step : std::uint8_t { row, done, failed };

/// Parameters count from 1, columns from 0, as SQLite has it. A bind that fails makes the next step
/// fail.
class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}

  void bind(int parameter, std::int64_t value);
  void bind(int parameter, std::uint64_t value) {
    bind(parameter, static_cast<std::int64_t>(value));
  }
  void bind_null(int parameter);
  /// Zero is NULL: "not set".
  void bind(int parameter, base::Instant value) {
    value.ms == 0 ? bind_null(parameter) : bind(parameter, value.ms);
  }
  /// Empty is NULL. The bytes must stay until the statement is reset.
  void bind_text(int parameter, std::string_view value);
  /// Never NULL. The bytes must stay until the statement is reset.
  void bind_key(int parameter, std::string_view value);
  void bind_blob(int parameter, std::string_view value);
  /// As bind_text, keeping a copy.
  void bind_copy(int parameter, std::string_view value);

  Step step();
  /// For statements without rows: steps once and resets. False: failed, the connection knows why.
  bool run();
  void reset();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::uint64_t number(int column) const {
    return static_cast<std::uint64_t>(integer(column));
  }
  [[nodiscard]] base::Instant instant(int column) const { return {integer(column)}; }
  [[nodiscard]] bool is_null(int column) const;
  /// Valid until the next step or reset; empty for NULL.
  [[nodiscard]] std::string_view bytes(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const;
  };
  /// What is bound stays bound over a reset, so what is the same as before is not bound again.
  static constexpr std::size_t kRemembered = 48;
  enum class Bound : std::uint8_t { null, integer, other };
  [[nodiscard]] bool is_bound(int parameter, Bound kind, std::int64_t value) const;
  void note_bound(int parameter, Bound kind, std::int64_t value, int result);

  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  std::array<Bound, kRemembered> bound_{};  ///< by parameter; nothing bound is NULL
  std::array<std::int64_t, kRemembered> integers_{};
  bool bind_failed_ = false;
};

/// Resets a statement when a function is left, so that no read transaction lingers.
class ResetOnExit {
 public:
  explicit ResetOnExit(Statement& statement) : statement_(statement) {}
  ~ResetOnExit() { statement_.reset(); }
  ResetOnExit(const ResetOnExit&) = delete;
  ResetOnExit& operator=(const ResetOnExit&) = delete;

 private:
  Statement& statement_;
};

enum class Access : std::uint8_t { read_only, read_write, create };

class Connection {
 public:
  Connection() = default;
  static base::Result<Connection> open(const std::string& path, Access access,
                                       std::size_t cache_bytes);

  /// Runs statements without results.
  base::Result<void> exec(const std::string& sql);
  base::Result<Statement> prepare(std::string_view sql);
  /// The first column of the first row; zero when there is none.
  base::Result<std::int64_t> query_integer(std::string_view sql);

  /// Everything in the write-ahead log goes into the main file, which is synced.
  base::Result<void> checkpoint_all();

  /// By the statement that was run last.
  [[nodiscard]] int changed_rows() const;
  /// What went wrong last.
  [[nodiscard]] base::Error error() const;
  [[nodiscard]] sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

/// An error for a result of SQLite that no connection remembers.
base::Error error_of_code(int extended);
/// An error for a row that cannot have been written by us.
base::Error corrupt_row(std::string_view what);

}  // namespace jobbie::store
