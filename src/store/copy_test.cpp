// Copies of a store that is being written to, and a copy in the place of another database.
#include "store/copy.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "store/install.hpp"
#include "store/sqlite.hpp"
#include "store/store.hpp"
#include "store/store_test_support.hpp"

namespace jobbie::store {
namespace {

using testing::kLong;
using testing::load_all;
using testing::open_store;
using testing::Reference;
using testing::TempFolder;
using testing::golden::job_id;
using testing::golden::text;

const std::atomic<bool> kGoOn{false};

model::JobRecord job_of(std::uint64_t seq, const std::string& payload) {
  model::JobRecord job{.id = job_id(seq),
                       .state = model::State::pending,
                       .spec = testing::golden::plain_job(),
                       .arrival = seq};
  job.spec.payload = text(payload);
  return job;
}

/// What entry `index` changes: a new job, an older one with another payload, and the counters.
command::Changes changes_of(std::uint64_t index) {
  const std::string padding(500, 'x');
  command::Changes changes;
  if (index == 1) {
    model::QueueRecord queue;
    queue.name = testing::golden::plain_job().queue;
    changes.emplace_back(command::Item(queue));
  }
  changes.emplace_back(command::Item(job_of(index, "\"new " + padding + "\"")));
  changes.emplace_back(command::Item(
      job_of(index / 2 + 1, "\"changed by " + std::to_string(index) + padding + "\"")));
  model::MetaRecord meta;
  meta.next_sequence = index + 1;
  meta.entries = index;
  changes.emplace_back(command::Item(meta));
  return changes;
}

Reference state_at(std::uint64_t index) {
  Reference state;
  for (std::uint64_t i = 1; i <= index; ++i) state.apply(changes_of(i));
  return state;
}

/// Hands over entries as fast as the file takes them, until its owner ends.
class BusyWriter {
 public:
  explicit BusyWriter(Store& store)
      : thread_([this, &store] {
          for (std::uint64_t index = store.applied_index() + 1; !stop_.load(); ++index) {
            store.write(index, changes_of(index));
            handed_.store(index);
            if (index % 100 == 0) store.wait_until_written(index - 100, kLong);
          }
        }) {}
  ~BusyWriter() { stop(); }
  BusyWriter(const BusyWriter&) = delete;
  BusyWriter& operator=(const BusyWriter&) = delete;
  void stop() {
    stop_.store(true);
    if (thread_.joinable()) thread_.join();
  }
  void wait_for(std::uint64_t index) const {
    while (handed_.load() < index) std::this_thread::yield();
  }
  [[nodiscard]] std::uint64_t handed() const { return handed_.load(); }

 private:
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> handed_ = 0;
  std::thread thread_;
};

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t files_in(const std::string& folder) {
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++files;
  return files;
}

/// A data directory whose database stands at `index`, as a killed process leaves it.
void leave_database(const std::string& folder, std::uint64_t index) {
  std::filesystem::create_directories(folder);
  const auto store = open_store(folder + "/jobbie.db");
  ASSERT_TRUE(store);
  for (std::uint64_t i = 1; i <= index; ++i) store->write(i, changes_of(i));
  ASSERT_TRUE(store->wait_until_written(index, kLong));
}

void expect_state(const std::string& path, std::uint64_t index) {
  const auto findings = check_database(path);
  ASSERT_TRUE(findings.has_value()) << findings.error().message;
  EXPECT_EQ(*findings, std::vector<std::string>{});
  EXPECT_EQ(applied_index_of(path).value(), index);
  const auto store = open_store(path);
  ASSERT_TRUE(store);
  EXPECT_EQ(store->applied_index(), index);
  const auto loaded = load_all(*store);
  ASSERT_TRUE(loaded.has_value());
  EXPECT_TRUE(*loaded == state_at(index).hot()) << "at index " << index;
  EXPECT_TRUE(store->close().has_value());
}

TEST(Copy, UnderAWriterItIsTheStateAtOneIndex) {
  const TempFolder folder;
  const auto store = open_store(folder.file());
  ASSERT_TRUE(store);
  BusyWriter writer(*store);
  std::uint64_t latest = 0;
  for (int i = 0; i < 5; ++i) {
    writer.wait_for(latest + 2'000);
    const auto path = folder.file("copy" + std::to_string(i));
    std::uint64_t told = 0;
    std::uint64_t during = 0;
    const auto copied = store->copy_to(path, kGoOn, [&](const CopyProgress& progress) {
      EXPECT_GE(progress.bytes, told);
      EXPECT_LE(progress.bytes, progress.total);
      told = progress.bytes;
      // The writer gets on in the middle of a copy.
      if (during == 0) writer.wait_for(writer.handed() + 300);
      during = writer.handed();
    });
    ASSERT_TRUE(copied.has_value()) << copied.error().message;
    EXPECT_GT(copied->applied_index, latest);
    EXPECT_LT(copied->applied_index, during);
    EXPECT_EQ(copied->bytes, std::filesystem::file_size(path));
    EXPECT_EQ(copied->bytes, told);
    EXPECT_GT(copied->wal_bytes, 0U);
    latest = copied->applied_index;
    for (const char* suffix : {"-wal", "-shm", "-journal"})
      EXPECT_FALSE(std::filesystem::exists(path + suffix)) << suffix;
    expect_state(path, latest);
  }
  writer.stop();
  EXPECT_TRUE(store->close().has_value());
}

TEST(Copy, IsOneFileWithoutAWriteAheadLog) {
  const TempFolder folder;
  const auto store = open_store(folder.file());
  store->write(1, changes_of(1));
  ASSERT_TRUE(store->wait_until_written(1, kLong));
  ASSERT_TRUE(store->copy_to(folder.file("copy"), kGoOn).has_value());
  const auto bytes = bytes_of(folder.file("copy"));
  ASSERT_GT(bytes.size(), 100U);
  EXPECT_EQ(bytes[18], 1);  // the header's format versions: 1 is a rollback journal, 2 a WAL
  EXPECT_EQ(bytes[19], 1);
  // A folder that cannot be written to is no obstacle to reading it.
  std::filesystem::create_directory(folder.file("sealed"));
  std::filesystem::rename(folder.file("copy"), folder.file("sealed/copy"));
  std::filesystem::permissions(folder.file("sealed"), std::filesystem::perms::owner_read |
                                                          std::filesystem::perms::owner_exec);
  EXPECT_EQ(applied_index_of(folder.file("sealed/copy")).value_or(0), 1U);
  std::filesystem::permissions(folder.file("sealed"), std::filesystem::perms::owner_all);
}

TEST(Copy, ReplacesWhatIsThere) {
  const TempFolder folder;
  const auto store = open_store(folder.file());
  store->write(1, changes_of(1));
  ASSERT_TRUE(store->wait_until_written(1, kLong));
  std::ofstream(folder.file("copy")) << "something else";
  std::ofstream(folder.file("copy-wal")) << "left behind";
  ASSERT_TRUE(store->copy_to(folder.file("copy"), kGoOn).has_value());
  EXPECT_FALSE(std::filesystem::exists(folder.file("copy-wal")));
  expect_state(folder.file("copy"), 1);
}

TEST(Copy, CancelledItLeavesNothing) {
  const TempFolder folder;
  const auto store = open_store(folder.file());
  for (std::uint64_t i = 1; i <= 10'000; ++i) store->write(i, changes_of(i));
  ASSERT_TRUE(store->wait_until_written(10'000, kLong));
  std::filesystem::create_directory(folder.file("to"));
  std::atomic<bool> cancelled = false;
  const auto copied = store->copy_to(folder.file("to/copy"), cancelled, [&](const CopyProgress& p) {
    EXPECT_LT(p.bytes, p.total);
    cancelled.store(true);
  });
  ASSERT_FALSE(copied.has_value());
  EXPECT_EQ(copied.error().code, kCancelled);
  EXPECT_EQ(files_in(folder.file("to")), 0U);
}

TEST(Copy, AFolderThatIsNotThereIsAnError) {
  const TempFolder folder;
  const auto store = open_store(folder.file());
  const auto copied = store->copy_to(folder.file("nowhere/copy"), kGoOn);
  ASSERT_FALSE(copied.has_value());
  EXPECT_EQ(copied.error().code, kDiskError);
}

TEST(Copy, ADamagedPageIsAnErrorAndNotACopy) {
  const TempFolder folder;
  leave_database(folder.file("data"), 3'000);
  const auto path = folder.file("data/jobbie.db");
  ASSERT_TRUE(open_store(path)->close().has_value());
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(path) / 2));
    file << "damage";
  }
  const auto copied = copy_database(path, folder.file("copy"), kGoOn, {});
  ASSERT_FALSE(copied.has_value());
  EXPECT_EQ(copied.error().code, kCorruptDatabase);
  EXPECT_FALSE(std::filesystem::exists(folder.file("copy")));
}

TEST(AppliedIndex, OfWhatIsNoDatabaseIsAnError) {
  const TempFolder folder;
  EXPECT_EQ(applied_index_of(folder.file("none")).error().code, kDiskError);
  std::ofstream(folder.file("empty")).flush();
  EXPECT_EQ(applied_index_of(folder.file("empty")).error().code, "foreign_database");
  std::ofstream(folder.file("text")) << std::string(10'000, 'x');
  EXPECT_EQ(applied_index_of(folder.file("text")).error().code, kCorruptDatabase);
}

/// A crash after any step leaves one of the two, whole, and trying again finishes.
TEST(Install, EndedAnywhereItLeavesTheOldOrTheNew) {
  const auto steps = install_steps("copy", "folder").size();
  ASSERT_GE(steps, 5U);
  for (std::size_t done = 0; done <= steps; ++done) {
    SCOPED_TRACE("after step " + std::to_string(done));
    const TempFolder folder;
    const auto data = folder.file("data");
    const auto copy = data + "/snapshot";
    leave_database(folder.file("other"), 30);
    leave_database(data, 20);
    ASSERT_GT(std::filesystem::file_size(data + "/jobbie.db-wal"), 0U);
    ASSERT_TRUE(copy_database(folder.file("other") + "/jobbie.db", copy, kGoOn, {}).has_value());
    const auto all = install_steps(copy, data);
    for (std::size_t i = 0; i < done; ++i) ASSERT_TRUE(all[i]().has_value());
    const bool renamed = !std::filesystem::exists(copy);
    expect_state(data + "/jobbie.db", renamed ? 30 : 20);
    if (!renamed) {
      const auto installed = install(copy, data);
      ASSERT_TRUE(installed.has_value()) << installed.error().message;
    }
    EXPECT_FALSE(std::filesystem::exists(copy));
    expect_state(data + "/jobbie.db", 30);
  }
}

TEST(Install, RefusesWhatIsNoCopyAndLeavesTheOldOne) {
  const TempFolder folder;
  leave_database(folder.file("data"), 20);
  std::ofstream(folder.file("copy")) << std::string(10'000, 'x');
  const auto installed = install(folder.file("copy"), folder.file("data"));
  ASSERT_FALSE(installed.has_value());
  EXPECT_EQ(installed.error().code, kCorruptDatabase);
  expect_state(folder.file("data/jobbie.db"), 20);
}

TEST(Install, ReplacesADamagedDatabaseAndMakesOneWhereThereIsNone) {
  const TempFolder folder;
  leave_database(folder.file("other"), 30);
  const auto original = folder.file("other/jobbie.db");
  for (const bool damaged : {true, false}) {
    const auto data = folder.file(damaged ? "damaged" : "none");
    std::filesystem::create_directory(data);
    if (damaged) {
      std::ofstream(data + "/jobbie.db") << std::string(10'000, 'x');
      std::ofstream(data + "/jobbie.db-wal") << std::string(10'000, 'y');
    }
    ASSERT_TRUE(copy_database(original, data + "/snapshot", kGoOn, {}).has_value());
    const auto installed = install(data + "/snapshot", data);
    ASSERT_TRUE(installed.has_value()) << installed.error().message;
    expect_state(data + "/jobbie.db", 30);
  }
}

}  // namespace
}  // namespace jobbie::store
