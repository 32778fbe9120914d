// Pages that are read ahead: what may be taken, what must be read by itself, and damage in both.
#include "store/read_window.hpp"

#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "search/filter.hpp"
#include "store/checked_file.hpp"
#include "store/store.hpp"
#include "store/store_test_support.hpp"

namespace jobbie::store {
namespace {

using testing::open_store;
using testing::TempFolder;
using testing::golden::job_id;
using testing::golden::text;

/// Pages of random bytes with their sums, the first of them number `first`.
std::vector<char> pages_from(std::uint64_t first) {
  std::mt19937_64 random(first);
  std::vector<char> pages(ReadWindow::kBytes);
  for (auto& byte : pages) byte = static_cast<char>(random());
  for (std::size_t i = 0; i < ReadWindow::kPages; ++i) {
    char* page = pages.data() + i * kPageBytes;
    const auto sum = page_sum(page, first + i);
    std::memcpy(page + kPageBytes - kPageSumBytes, &sum, kPageSumBytes);
  }
  return pages;
}

TEST(PageSums, SideBySideTheyAreTheSame) {
  constexpr std::uint64_t kFirst = 33;
  auto pages = pages_from(kFirst);
  EXPECT_EQ(sound_pages(pages.data(), kFirst), 0xffffU);
  EXPECT_EQ(sound_pages(pages.data(), kFirst + 1), 0U);
  for (std::size_t i = 0; i < ReadWindow::kPages; ++i) {
    auto damaged = pages;
    damaged[i * kPageBytes + 37 * i] ^= 4;
    EXPECT_EQ(sound_pages(damaged.data(), kFirst), 0xffffU & ~(1U << i));
    EXPECT_FALSE(is_sound(damaged.data() + i * kPageBytes, kFirst + i));
  }
  std::memset(pages.data() + 3 * kPageBytes, 0, kPageBytes);  // a hole
  EXPECT_EQ(sound_pages(pages.data(), kFirst), 0xffffU);
}

TEST(ReadWindow, PagesNearOneAnotherAreReadTogether) {
  ReadWindow window;
  std::vector<char> out(kPageBytes);
  EXPECT_FALSE(window.take(40, out.data()));
  // A way down a tree is no scan.
  for (const std::uint64_t far : {5000U, 90U, 7000U, 300U, 9000U}) EXPECT_FALSE(window.missed(far));
  bool worth = false;
  std::uint64_t page = 60;
  for (; !worth && page > 40; --page) worth = window.missed(page);
  EXPECT_TRUE(worth);
  const std::uint64_t first = ReadWindow::first_of(page);
  EXPECT_EQ(first % ReadWindow::kPages, 1U);
  EXPECT_LE(first, page);
  auto pages = pages_from(first);
  pages[2 * kPageBytes] ^= 1;
  std::memcpy(window.room(), pages.data(), pages.size());
  EXPECT_FALSE(window.take(first, out.data()));  // not before filled()
  window.filled(first);
  for (std::size_t i = 0; i < ReadWindow::kPages; ++i) {
    EXPECT_EQ(window.take(first + i, out.data()), i != 2);
    if (i != 2) EXPECT_EQ(std::memcmp(out.data(), pages.data() + i * kPageBytes, kPageBytes), 0);
  }
  EXPECT_FALSE(window.take(first + ReadWindow::kPages, out.data()));
  EXPECT_FALSE(window.take(first - 1, out.data()));
  EXPECT_FALSE(window.missed(first + 2)) << "its block is here already";
  window.forget();
  EXPECT_FALSE(window.take(first, out.data()));
}

command::Changes many_jobs(std::uint64_t count) {
  command::Changes changes;
  for (std::uint64_t seq = 1; seq <= count; ++seq) {
    model::JobRecord job{.id = job_id(seq), .arrival = seq};
    job.spec.queue = text("q");
    job.spec.payload = text("{\"n\":" + std::to_string(seq) + ",\"fill\":\"" +
                            std::string(seq % 300, 'x') + "\"}");
    changes.emplace_back(command::Item(std::move(job)));
  }
  return changes;
}

search::Request wanted(std::uint64_t n, search::Order order) {
  search::Request request;
  request.filter.payload_contains = "{\"n\":" + std::to_string(n) + ",";
  request.order = order;
  return request;
}

TEST(ReadAhead, ATransactionSeesWhatTheMainFileGotBeforeIt) {
  constexpr std::size_t kCache = std::size_t{64} << 10;
  const TempFolder folder;
  auto writer = Connection::open(folder.file(), Access::create, kCache);
  ASSERT_TRUE(writer.has_value());
  ASSERT_TRUE(begin_checksums(*writer).has_value());
  ASSERT_TRUE(
      writer
          ->exec("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL;"
                 "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, fill TEXT);"
                 "WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < "
                 "2000) INSERT INTO t SELECT i, 0, printf('%0300d', i) FROM c;"
                 "PRAGMA wal_checkpoint(TRUNCATE)")
          .has_value());
  auto reader = Connection::open(folder.file(), Access::read_only, kCache);
  ASSERT_TRUE(reader.has_value());
  read_ahead(*reader);
  for (std::int64_t round = 1; round < 6; ++round) {
    // The walk down ends at the first rows: their pages are what was read last.
    EXPECT_TRUE(reader->exec("SELECT fill FROM t ORDER BY id DESC").has_value());
    ASSERT_TRUE(writer
                    ->exec("UPDATE t SET n = n + 1 WHERE id <= 20;"
                           "PRAGMA wal_checkpoint(TRUNCATE)")
                    .has_value());
    const auto sum = reader->query_integer("SELECT sum(n) FROM t WHERE id <= 20");
    ASSERT_TRUE(sum.has_value()) << sum.error().message;
    EXPECT_EQ(*sum, 20 * round);
  }
}

TEST(ReadAhead, DamageIsAnErrorAndNoOddRow) {
  constexpr std::uint64_t kJobs = 4'000;
  const TempFolder folder;
  {
    auto store = open_store(folder.file());
    ASSERT_TRUE(store);
    store->write(1, many_jobs(kJobs));
    ASSERT_TRUE(store->close().has_value());
  }
  const auto sound = open_store(folder.file());
  ASSERT_TRUE(sound);
  const auto found = sound->search(wanted(kJobs / 2, search::Order::desc));
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->total, 1U);
  ASSERT_TRUE(sound->close().has_value());
  {
    // A bit in each of a few pages in the middle: some of them hold jobs.
    std::fstream file(folder.file(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(0, std::ios::end);
    const auto pages = static_cast<std::uint64_t>(file.tellg()) / kPageBytes;
    for (std::uint64_t page = pages / 2; page < pages / 2 + 12; ++page) {
      const auto at = static_cast<std::streamoff>(page * kPageBytes + 2'000);
      file.seekg(at);
      const char byte = static_cast<char>(file.get() ^ 8);
      file.seekp(at);
      file.put(byte);
    }
  }
  const auto damaged = open_store(folder.file());
  ASSERT_TRUE(damaged);
  for (const auto order : {search::Order::asc, search::Order::desc}) {
    const auto page = damaged->search(wanted(kJobs + 1, order));
    ASSERT_FALSE(page.has_value());
    EXPECT_EQ(page.error().code, "corrupt_database");
  }
}

}  // namespace
}  // namespace jobbie::store
