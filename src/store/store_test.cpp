// The store from outside: what goes in comes out, at once and after the next start.
#include "store/store.hpp"

#include <atomic>
#include <cstdint>
#include <fcntl.h>
#include <sqlite3.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "store/checked_file.hpp"
#include "store/store_test_support.hpp"

namespace jobbie::store {
namespace {

using testing::kLong;
using testing::load_all;
using testing::open_store;
using testing::RandomCommand;
using testing::Reference;
using testing::TempFolder;
using testing::golden::job_id;
using testing::golden::text;

model::JobRecord plain_job(std::uint64_t seq, model::State state = model::State::pending) {
  return {.id = job_id(seq), .state = state, .spec = testing::golden::plain_job(), .arrival = seq};
}

command::Changes of(std::vector<command::Item> items) {
  command::Changes changes;
  for (auto& item : items) changes.emplace_back(std::move(item));
  return changes;
}

/// The first column of the first row, as the sqlite3 shell would show it.
std::string ask(const std::string& path, const std::string& sql, const char* files = nullptr) {
  sqlite3* db = nullptr;
  std::string out = "error";
  if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, files) ==
      SQLITE_OK) {
    out = "none";
    const auto keep = [](void* to, int, char** values, char**) {
      *static_cast<std::string*>(to) = values[0] == nullptr ? "null" : values[0];
      return 1;
    };
    char* message = nullptr;
    if (sqlite3_exec(db, sql.c_str(), keep, &out, &message) != SQLITE_ABORT && message != nullptr)
      out = message;
    sqlite3_free(message);
  }
  sqlite3_close(db);
  return out;
}

TEST(Store, ANewOneIsEmpty) {
  const TempFolder folder;
  const auto store = open_store(folder.file());
  ASSERT_TRUE(store);
  EXPECT_EQ(store->applied_index(), 0U);
  EXPECT_EQ(store->durable_index(), 0U);
  EXPECT_EQ(store->lag().batches, 0u);
  const auto loaded = load_all(*store);
  ASSERT_TRUE(loaded.has_value());
  EXPECT_TRUE(*loaded == Reference{});
  EXPECT_FALSE(store->job(job_id(1)).value());
  EXPECT_FALSE(store->trouble());
  EXPECT_TRUE(store->close().has_value());
}

TEST(Store, EveryFieldOfEveryRecordComesBack) {
  const TempFolder folder;
  Reference expected;
  command::Changes changes;
  for (auto& [name, item] : testing::golden::items()) changes.emplace_back(std::move(item));
  auto live = testing::golden::full_job_record();
  live.id = job_id(43);
  live.state = model::State::active;
  changes.emplace_back(command::Item(live));
  expected.apply(changes);
  auto store = open_store(folder.file());
  ASSERT_TRUE(store);
  store->write(7, changes);
  ASSERT_TRUE(store->wait_until_written(7, kLong));
  ASSERT_TRUE(store->close().has_value());
  EXPECT_EQ(store->durable_index(), 7U);

  store = open_store(folder.file());
  ASSERT_TRUE(store);
  EXPECT_EQ(store->applied_index(), 7U);
  const auto loaded = load_all(*store);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_TRUE(*loaded == expected.hot());
  for (const auto& [id, job] : expected.jobs)
    EXPECT_TRUE(store->job(id).value() == job) << id.text();
  EXPECT_TRUE(store->find_ended(job_id(42)).value() == expected.jobs.at(job_id(42)));
  EXPECT_FALSE(store->find_ended(job_id(43)).value());
  for (const auto& [id, batch] : expected.batches) EXPECT_TRUE(store->batch(id).value() == batch);
}

TEST(Store, AnyRecordComesBack) {
  const TempFolder folder;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    RandomCommand random(seed);
    command::Changes changes;
    for (std::uint64_t i = 1; i <= 150; ++i) {
      auto item = random.item();
      if (auto* job = std::get_if<model::JobRecord>(&item)) {
        job->id = {base::Ulid::make({static_cast<std::int64_t>(random.below(1ULL << 48))}, i,
                                    static_cast<std::uint32_t>(random.below(1ULL << 32)))};
        testing::tidy_errors(*job);
      }
      if (auto* batch = std::get_if<model::BatchRecord>(&item)) {
        batch->id = testing::golden::id<base::BatchId>(i);
        if (batch->finished_at.ms != 0) batch->finished_at = base::kNever;
      }
      if (auto* schedule = std::get_if<model::ScheduleRecord>(&item))
        schedule->id = testing::golden::id<base::ScheduleId>(i);
      if (auto* bulk = std::get_if<model::BulkRecord>(&item))
        bulk->id = testing::golden::id<base::BulkId>(i);
      if (auto* key = std::get_if<model::KeyRecord>(&item))
        key->id = testing::golden::id<base::KeyId>(i);
      if (auto* webhook = std::get_if<model::WebhookRecord>(&item))
        webhook->id = testing::golden::id<base::WebhookId>(i);
      if (auto* delivery = std::get_if<model::DeliveryRecord>(&item))
        delivery->id = testing::golden::id<base::DeliveryId>(i);
      changes.emplace_back(std::move(item));
    }
    Reference expected;
    expected.apply(changes);
    const auto path = folder.file(std::to_string(seed));
    auto store = open_store(path);
    ASSERT_TRUE(store);
    store->write(seed, changes);
    ASSERT_TRUE(store->close().has_value());
    store = open_store(path);
    ASSERT_TRUE(store);
    const auto loaded = load_all(*store);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    EXPECT_TRUE(loaded->jobs == expected.hot().jobs);
    EXPECT_TRUE(*loaded == expected.hot());
    for (const auto& [id, job] : expected.jobs)
      EXPECT_TRUE(store->job(id).value() == job) << id.text();
    for (const auto& [id, batch] : expected.batches) EXPECT_TRUE(store->batch(id).value() == batch);
  }
}

TEST(Store, TheViewsShowText) {
  const TempFolder folder;
  auto store = open_store(folder.file());
  ASSERT_TRUE(store);
  auto dead = testing::golden::full_job_record();
  auto holder = plain_job(50);
  holder.spec.unique.key = text("only-one");
  holder.holds_unique = true;
  store->write(1, of({dead, holder, testing::golden::full_queue(), plain_job(51)}));
  ASSERT_TRUE(store->close().has_value());
  const auto& path = folder.file();
  const auto id = dead.id.text();
  EXPECT_EQ(ask(path, "SELECT id FROM jobs WHERE state = 'dead'"), id);
  EXPECT_EQ(ask(path, "SELECT created_at FROM jobs WHERE id = '" + id + "'"),
            "2025-10-09T08:53:20.123Z");
  EXPECT_EQ(ask(path, "SELECT count(*) FROM jobs WHERE state = 'pending'"), "2");
  EXPECT_EQ(ask(path, "SELECT error FROM job_errors WHERE job_id = '" + id + "'"), "boom");
  EXPECT_EQ(ask(path, "SELECT job_id FROM unique_locks WHERE unique_key = 'only-one'"),
            holder.id.text());
  EXPECT_EQ(ask(path, "SELECT rate_limit FROM queues"), "100");
  EXPECT_EQ(ask(path, "SELECT dead FROM queue_stats"), "300");
  EXPECT_EQ(ask(path, "SELECT json_extract(payload, '$.n') FROM jobs WHERE state = 'dead'"),
            "9007199254740993");
}

TEST(Store, WhatIsHandedOverIsSeenAtOnce) {
  const TempFolder folder;
  auto store = open_store(folder.file());
  ASSERT_TRUE(store);
  for (std::uint64_t index = 1; index <= 200; ++index) {
    auto job = plain_job(1 + index % 3, index % 2 == 0 ? model::State::dead : model::State::active);
    job.attempt = static_cast<std::uint32_t>(index);
    if (index % 5 == 0) {
      job.spec.tags = text("{}");
      store->write(index, of({job}));
    } else {
      command::Changes changes;
      changes.emplace_back(testing::plain_of(job));
      store->write(index, std::move(changes));
    }
    ASSERT_TRUE(store->job(job.id).value() == job);
    ASSERT_EQ(store->find_ended(job.id).value().has_value(), index % 2 == 0);
  }
  EXPECT_TRUE(store->close().has_value());
}

TEST(Store, ErrorsOfAJobFollowItsRecord) {
  const TempFolder folder;
  auto store = open_store(folder.file());
  ASSERT_TRUE(store);
  auto job = plain_job(1);
  std::uint64_t index = 0;
  for (std::uint32_t ordinal = 1; ordinal <= 40; ++ordinal) {
    job.errors.push_back({.ordinal = ordinal, .attempt = ordinal, .error = text("e")});
    if (job.errors.size() > model::limits::kErrorsKept) job.errors.erase(job.errors.begin());
    job.error_count = ordinal;
    store->write(++index, of({job}));
    ASSERT_TRUE(store->wait_until_written(index, kLong));
    ASSERT_TRUE(store->job(job.id).value() == job) << ordinal;
  }
  job.errors.clear();
  store->write(++index, of({job}));
  ASSERT_TRUE(store->wait_until_written(index, kLong));
  EXPECT_TRUE(store->job(job.id).value() == job);
  EXPECT_TRUE(store->close().has_value());
}

TEST(Store, ASweepHidesAtOnceAndDeletesInSlices) {
  const TempFolder folder;
  auto store = open_store(folder.file());
  ASSERT_TRUE(store);
  command::Changes changes;
  constexpr std::uint64_t kJobs = 7'000;
  for (std::uint64_t i = 1; i <= kJobs; ++i) {
    auto job = plain_job(i, model::State::completed);
    job.ended_at = {static_cast<std::int64_t>(1'000 + i)};
    changes.emplace_back(command::Item(job));
  }
  store->write(1, changes);
  ASSERT_TRUE(store->wait_until_written(1, kLong));
  command::Changes sweep;
  sweep.emplace_back(command::SweptJobs{text("emails.send"), model::State::completed, {7'000}});
  // Written with the sweep, so it stays, however old its end is.
  auto moved = plain_job(3, model::State::completed);
  moved.ended_at = {1'500};
  sweep.emplace_back(command::Item(moved));
  store->write(2, sweep);
  EXPECT_FALSE(store->job(job_id(1)).value());
  EXPECT_FALSE(store->find_ended(job_id(5'999)).value());
  EXPECT_TRUE(store->find_ended(job_id(6'000)).value());
  EXPECT_TRUE(store->find_ended(job_id(3)).value() == moved);
  ASSERT_TRUE(store->wait_until_written(2, kLong));
  EXPECT_FALSE(store->job(job_id(1)).value());
  store.reset();  // as in a crash: the sweep is perhaps half done

  store = open_store(folder.file());
  ASSERT_TRUE(store);
  EXPECT_FALSE(store->job(job_id(1)).value());
  EXPECT_TRUE(store->find_ended(job_id(3)).value() == moved);
  EXPECT_EQ(ask(folder.file(), "SELECT count(*) FROM jobs"), "1002");
  for (int i = 0; i < 600 && ask(folder.file(), "SELECT count(*) FROM sweep_rows") != "0"; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(ask(folder.file(), "SELECT count(*) FROM job_rows"), "1002");
  EXPECT_TRUE(store->close().has_value());
}

TEST(Store, AWriterWithoutAPauseSweepsAsMuchAsItWrites) {
  const TempFolder folder;
  auto store = open_store(folder.file());
  ASSERT_TRUE(store);
  constexpr std::uint64_t kOld = 16'000;
  constexpr std::uint64_t kAtOnce = 10'000;  // a transaction
  const auto jobs = [](std::uint64_t first, std::uint64_t count, model::State state) {
    command::Changes changes;
    for (std::uint64_t i = first; i < first + count; ++i) {
      auto job = testing::plain_of(plain_job(i, state));
      if (model::has_ended(state)) job.ended_at = {1};
      changes.emplace_back(std::move(job));
    }
    return changes;
  };
  store->write(1, jobs(1, kOld, model::State::completed));
  ASSERT_TRUE(store->wait_until_written(1, kLong));
  auto changes = jobs(kOld + 1, kAtOnce, model::State::pending);
  changes.insert(changes.begin(),
                 command::SweptJobs{text("emails.send"), model::State::completed, base::kNever});
  store->write(2, std::move(changes));
  for (std::uint64_t index = 3; index <= 5; ++index)
    store->write(index, jobs(kOld + 1 + (index - 2) * kAtOnce, kAtOnce, model::State::pending));
  ASSERT_TRUE(store->wait_until_written(5, kLong));
  store.reset();  // as in a crash: no sweeping after the last of them
  EXPECT_EQ(ask(folder.file(), "SELECT count(*) FROM job_rows WHERE seq <= 16000"), "0");
}

TEST(Store, FinishedBatchesGoAfterThirtyDays) {
  const TempFolder folder;
  auto store = open_store(folder.file());
  ASSERT_TRUE(store);
  const auto id = testing::golden::id<base::BatchId>(1);
  const auto later = base::Instant{} + base::days(100);
  store->write(1, of({model::MetaRecord{.now = later - base::days(30)},
                      model::BatchRecord{.id = id, .finished_at = later - base::days(31)}}));
  EXPECT_TRUE(store->batch(id).value());
  ASSERT_TRUE(store->wait_until_written(1, kLong));
  EXPECT_TRUE(store->batch(id).value());
  store->write(2, of({model::MetaRecord{.now = later}}));
  EXPECT_FALSE(store->batch(id).value());
  ASSERT_TRUE(store->close().has_value());
}

TEST(Store, DurableFollowsWritten) {
  const TempFolder folder;
  auto store = open_store(folder.file());
  ASSERT_TRUE(store);
  store->write(5, of({plain_job(1)}));
  store->request_checkpoint();
  for (int i = 0; i < 600 && store->durable_index() < 5; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(store->durable_index(), 5U);
  EXPECT_TRUE(store->close().has_value());
}

/// Whether a process holds a lock on the bytes that SQLite's readers lock, as another one sees it.
bool is_locked(const std::string& path) {
  constexpr off_t kReaders = 0x4000'0002;
  constexpr off_t kReaderBytes = 510;
  const pid_t child = ::fork();
  if (child == 0) {
    const int fd = ::open(path.c_str(), O_RDWR);
    struct flock wanted {
      .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = kReaders, .l_len = kReaderBytes,
      .l_pid = 0
    };
    const bool asked = fd >= 0 && ::fcntl(fd, F_GETLK, &wanted) == 0;
    ::_exit(asked && wanted.l_type != F_UNLCK ? 1 : 0);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

TEST(Store, HoldsItsFileForAsLongAsItIsOpen) {
  const TempFolder folder;
  auto store = open_store(folder.file());
  ASSERT_TRUE(store);
  EXPECT_TRUE(is_locked(folder.file()));
  // Checkpoints and copies open the file by themselves; closing it must not unlock it.
  store->write(1, of({plain_job(1)}));
  ASSERT_TRUE(store->wait_until_written(1, kLong));
  store->request_checkpoint();
  for (int i = 0; i < 600 && store->durable_index() < 1; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::atomic<bool> cancelled = false;
  ASSERT_TRUE(store->copy_to(folder.file("copy.db"), cancelled, {}).has_value());
  EXPECT_TRUE(is_locked(folder.file()));
  ASSERT_TRUE(store->close().has_value());
  EXPECT_FALSE(is_locked(folder.file()));
}

TEST(Store, WantsMoreOnceLittleIsLeft) {
  const TempFolder folder;
  auto store = Store::open({.path = folder.file(), .max_pages = 1});
  ASSERT_TRUE(store.has_value());
  EXPECT_TRUE((*store)->wants_more());
  std::vector<command::Item> jobs;
  for (std::uint64_t i = 1; i <= 160'000; ++i) jobs.emplace_back(plain_job(i));
  (*store)->write(1, of(std::move(jobs)));
  for (int i = 0; i < 600 && !(*store)->trouble(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_TRUE((*store)->trouble());
  EXPECT_FALSE((*store)->wants_more());
  (*store)->set_max_pages(0);
  ASSERT_TRUE((*store)->wait_until_written(1, kLong));
  EXPECT_TRUE((*store)->wants_more());
  EXPECT_TRUE((*store)->close().has_value());
}

TEST(Store, RefusesWhatIsNotItsOwn) {
  const TempFolder folder;
  const auto& other = folder.file("other.db");
  ask(other, "CREATE TABLE t (x)");
  EXPECT_EQ(Store::open({.path = other}).error().code, "foreign_database");
  const auto& newer = folder.file("newer.db");
  ASSERT_TRUE(open_store(newer)->close().has_value());
  ask(newer, "PRAGMA user_version = 99", checked_files());
  const auto refused = Store::open({.path = newer});
  EXPECT_EQ(refused.error().code, "newer_schema");
  EXPECT_NE(refused.error().message.find("99"), std::string::npos);
  const auto& touched = folder.file("touched.db");
  ASSERT_TRUE(open_store(touched)->close().has_value());
  ask(touched, "PRAGMA user_version = 0");
  EXPECT_EQ(Store::open({.path = touched}).error().code, "corrupt_database");
  EXPECT_FALSE(Store::open({.path = folder.file("no/such/folder.db")}).has_value());
}

}  // namespace
}  // namespace jobbie::store
