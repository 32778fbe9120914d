// The write-ahead log in large writes: nothing of a transaction waits once it is called done.
#include "store/gathered_wal.hpp"

#include <filesystem>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "store/checked_file.hpp"
#include "store/files_below.hpp"
#include "store/sqlite.hpp"
#include "store/store_test_support.hpp"

namespace jobbie::store {
namespace {

using testing::TempFolder;

/// What the layer below the one under test does and sees.
struct Below {
  int writes = 0;      ///< to a log
  int fails_from = 0;  ///< the write of this number and all later ones; zero: none
  const sqlite3_io_methods* system = nullptr;
  sqlite3_io_methods counted = {};
};
Below below;

int counted_write(sqlite3_file* file, const void* bytes, int amount, sqlite3_int64 offset) {
  ++below.writes;
  if (below.fails_from > 0 && below.writes >= below.fails_from) return SQLITE_FULL;
  return below.system->xWrite(file, bytes, amount, offset);
}

int counted_open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
  auto* system = static_cast<sqlite3_vfs*>(vfs->pAppData);
  const int result = system->xOpen(system, name, file, flags, out);
  if (result != SQLITE_OK || (flags & SQLITE_OPEN_WAL) == 0) return result;
  below.system = file->pMethods;
  below.counted = *file->pMethods;
  below.counted.xWrite = counted_write;
  file->pMethods = &below.counted;
  return result;
}

class GatheredWalTest : public ::testing::Test {
 protected:
  GatheredWalTest() { below = {}; }

  void open(std::size_t cache_bytes) {
    auto made = Connection::open(folder.file(), Access::create, cache_bytes);
    ASSERT_TRUE(made.has_value());
    writer = *std::move(made);
    ASSERT_TRUE(begin_checksums(writer).has_value());
    ASSERT_TRUE(
        run("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL;"
            "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER CHECK (n > 0), fill TEXT)"));
    made = Connection::open(folder.file(), Access::read_only, std::size_t{64} << 10);
    ASSERT_TRUE(made.has_value());
    reader = *std::move(made);
  }
  bool run(const std::string& sql) { return writer.exec(sql).has_value(); }
  static std::string insert(int first, int last) {
    return "WITH RECURSIVE c (i) AS (SELECT " + std::to_string(first) +
           " UNION ALL SELECT i + 1 FROM c WHERE i < " + std::to_string(last) +
           ") INSERT INTO t SELECT i, 1, printf('%0400d', i) FROM c;";
  }
  static std::int64_t number(Connection& connection, const std::string& sql) {
    const auto found = connection.query_integer(sql);
    if (!found) ADD_FAILURE() << sql << ": " << found.error().message;
    return found.value_or(-1);
  }
  /// The sum of `n` as a program sees it that finds the files as they are now.
  std::int64_t sum_after_a_crash() {
    const TempFolder other;
    for (const char* ending : {"", "-wal"})
      std::filesystem::copy_file(folder.file() + ending, other.file() + ending);
    auto found = Connection::open(other.file(), Access::read_write, std::size_t{1} << 20);
    EXPECT_TRUE(found.has_value());
    EXPECT_EQ(number(*found,
                     "SELECT count(*) FROM pragma_integrity_check "
                     "WHERE integrity_check != 'ok'"),
              0);
    return number(*found, "SELECT total(n) FROM t");
  }

  const testing::FilesBelow files{counted_open};
  const TempFolder folder;
  Connection writer;
  Connection reader;
};

TEST_F(GatheredWalTest, WritesManyPagesAtOnceAndNoneTooLate) {
  open(std::size_t{16} << 20);
  constexpr int kRows = 4'000;
  below.writes = 0;
  ASSERT_TRUE(run("BEGIN;" + insert(1, kRows) + "COMMIT"));
  EXPECT_LT(below.writes, 30);  // of 450 pages
  EXPECT_EQ(number(reader, "SELECT sum(n) FROM t"), kRows);
  EXPECT_EQ(sum_after_a_crash(), kRows);
  // A transaction of one page is two writes for SQLite.
  for (int i = 1; i <= 20; ++i) {
    below.writes = 0;
    ASSERT_TRUE(run("UPDATE t SET n = n + 1 WHERE id = 1"));
    EXPECT_LE(below.writes, 2);
    EXPECT_EQ(number(reader, "SELECT sum(n) FROM t"), kRows + i);
    EXPECT_EQ(sum_after_a_crash(), kRows + i);
  }
}

// With hardly any cache SQLite writes pages before the transaction ends, reads them back, writes
// them again in place and then goes through the sums of all that follow.
TEST_F(GatheredWalTest, KeepsUpWithPagesThatAreWrittenAgain) {
  open(std::size_t{16} << 10);
  constexpr unsigned kSeed = 20'261;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  std::int64_t sum = 2'000;
  ASSERT_TRUE(run("BEGIN;" + insert(1, 2'000) + "COMMIT"));
  for (int round = 0; round < 60; ++round) {
    ASSERT_TRUE(run("BEGIN"));
    std::int64_t added = 0;
    for (auto updates = 1 + random() % 40; updates > 0; --updates) {
      const auto first = random() % 1'900;
      const auto rows = 1 + random() % 100;
      ASSERT_TRUE(run("UPDATE t SET n = n + 1 WHERE id BETWEEN " + std::to_string(first + 1) +
                      " AND " + std::to_string(first + rows)));
      added += static_cast<std::int64_t>(rows);
      if (random() % 8 == 0) {
        EXPECT_EQ(number(writer, "SELECT sum(n) FROM t"), sum + added);
      }
    }
    const bool keeps = random() % 4 != 0;
    ASSERT_TRUE(run(keeps ? "COMMIT" : "ROLLBACK"));
    if (keeps) sum += added;
    if (random() % 8 == 0) ASSERT_TRUE(run("PRAGMA wal_checkpoint(RESTART)"));
    ASSERT_EQ(number(reader, "SELECT sum(n) FROM t"), sum) << "round " << round;
    ASSERT_EQ(sum_after_a_crash(), sum) << "round " << round;
  }
}

TEST_F(GatheredWalTest, AFailureIsToldBeforeTheTransactionIsDone) {
  open(std::size_t{16} << 20);
  ASSERT_TRUE(run(insert(1, 1'000)));
  int failures = 0;
  for (int fails_from = 1; fails_from < 40; ++fails_from) {
    below.writes = 0;
    below.fails_from = fails_from;
    const bool written = run("BEGIN; UPDATE t SET n = n + 1; COMMIT");
    below.fails_from = 0;
    if (!written) {
      ++failures;
      if (sqlite3_get_autocommit(writer.handle()) == 0) ASSERT_TRUE(run("ROLLBACK"));
    }
    const std::int64_t wanted = 1'000 * (1 + fails_from - failures);
    ASSERT_EQ(number(reader, "SELECT sum(n) FROM t"), wanted);
    ASSERT_EQ(sum_after_a_crash(), wanted);
    ASSERT_EQ(number(writer, "SELECT sum(n) FROM t"), wanted);
  }
  EXPECT_GT(failures, 2);
  EXPECT_LT(failures, 39);
}

// A page that is read back has to be written first. If that fails, what SQLite took for written is
// not there, and the transaction must not be committed without it.
TEST_F(GatheredWalTest, AFailureWhileReadingEndsTheTransaction) {
  open(std::size_t{16} << 10);
  ASSERT_TRUE(run(insert(1, 2'000)));
  int refused = 0;
  for (int first = 3'000; first < 3'010; ++first) {
    ASSERT_TRUE(run("BEGIN"));
    // More pages than the cache holds, one after the other: they are in the log, as far as SQLite
    // knows.
    ASSERT_TRUE(run(insert(first, first + 150)));
    below.writes = 0;
    below.fails_from = 1;
    // For the check's sake SQLite could undo this statement alone.
    const bool read = run("UPDATE t SET n = n + 1 WHERE id >= 3000");
    below.fails_from = 0;
    if (!read) {
      ++refused;
      EXPECT_NE(sqlite3_get_autocommit(writer.handle()), 0) << "it may still be committed";
    }
    if (sqlite3_get_autocommit(writer.handle()) == 0) ASSERT_TRUE(run("ROLLBACK"));
    ASSERT_EQ(number(reader, "SELECT sum(n) FROM t"), 2'000);
    ASSERT_EQ(number(writer, "SELECT sum(n) FROM t"), 2'000);
    ASSERT_EQ(sum_after_a_crash(), 2'000);
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace jobbie::store
