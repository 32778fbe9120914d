// Files of the database that go away while it is open, and how much of the disk it will need.
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "store/files.hpp"
#include "store/install.hpp"
#include "store/sqlite.hpp"
#include "store/store.hpp"
#include "store/store_test_support.hpp"

namespace jobbie::store {
namespace {

namespace fs = std::filesystem;
using testing::kLong;
using testing::load_all;
using testing::open_store;
using testing::Reference;
using testing::TempFolder;
using testing::golden::job_id;
using testing::golden::text;

command::Changes changes_of(std::uint64_t index) {
  command::Changes changes;
  if (index == 1)
    changes.emplace_back(
        command::Item(model::QueueRecord{.name = testing::golden::plain_job().queue}));
  model::JobRecord job{.id = job_id(index),
                       .state = model::State::pending,
                       .spec = testing::golden::plain_job(),
                       .arrival = index};
  job.spec.payload = text("\"" + std::string(700, 'x') + "\"");
  changes.emplace_back(command::Item(job));
  model::MetaRecord meta;
  meta.next_sequence = index + 1;
  meta.entries = index;
  changes.emplace_back(command::Item(meta));
  return changes;
}

struct LostFiles : ::testing::Test {
  TempFolder folder;
  Reference expected;
  std::unique_ptr<Store> store = open_store(folder.file());
  std::uint64_t index = 0;

  void write(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      expected.apply(changes_of(++index));
      store->write(index, changes_of(index));
    }
  }
  void wait_for_durable() {
    while (store->durable_index() < index) {
      store->request_checkpoint();
      std::this_thread::yield();
    }
  }
  void expect_saved(std::uint64_t more = 50) {
    write(more);
    const auto saved = store->save(folder.file("saved.db"));
    ASSERT_TRUE(saved) << saved.error().message;
    ASSERT_TRUE(store->put_others_aside());
    store.reset();
    const auto installed =
        install(folder.file("saved.db"), fs::path(folder.file()).parent_path().string());
    ASSERT_TRUE(installed) << installed.error().message;
    store = open_store(folder.file());
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->applied_index(), index);
    EXPECT_EQ(load_all(*store), expected);
  }
};

TEST_F(LostFiles, nothing_is_durable_once_the_name_is_gone) {
  write(20);
  wait_for_durable();
  EXPECT_TRUE(store->files_in_place());
  fs::remove(folder.file());
  EXPECT_FALSE(store->files_in_place());
  const auto before = store->durable_index();
  write(20);
  ASSERT_TRUE(store->wait_until_written(index, kLong));
  store->request_checkpoint();
  while (!store->trouble()) std::this_thread::yield();
  EXPECT_EQ(store->trouble()->code, kDatabaseGone);
  EXPECT_EQ(store->durable_index(), before);
  expect_saved();
}

TEST_F(LostFiles, what_is_open_is_saved_without_its_write_ahead_log) {
  write(20);
  ASSERT_TRUE(store->wait_until_written(index, kLong));
  fs::remove(folder.file() + "-wal");
  EXPECT_FALSE(store->files_in_place());
  expect_saved();
}

TEST_F(LostFiles, a_file_in_its_place_is_kept_and_not_read) {
  write(20);
  wait_for_durable();
  const std::string words = "somebody else's";
  fs::remove(folder.file());
  std::ofstream(folder.file()) << words;
  const std::atomic<bool> go_on = false;
  EXPECT_FALSE(store->copy_to(folder.file("copy.db"), go_on));
  EXPECT_FALSE(fs::exists(folder.file("copy.db")));
  expect_saved();
  EXPECT_EQ(file_bytes(folder.file() + ".replaced"), words.size());
}

TEST_F(LostFiles, saving_can_be_tried_again) {
  write(20);
  ASSERT_TRUE(store->wait_until_written(index, kLong));
  fs::remove(folder.file());
  fs::create_directories(folder.file("saved.db/in the way"));
  EXPECT_FALSE(store->save(folder.file("saved.db")));
  const auto job = store->job(job_id(1));
  ASSERT_TRUE(job);
  EXPECT_TRUE(*job) << "lookups go on";
  fs::remove_all(folder.file("saved.db"));
  expect_saved(0);  // what comes after the first try is left to the log
}

TEST(SpaceNeeded, covers_what_the_files_grow_by) {
  const TempFolder folder;
  auto store = open_store(folder.file());
  std::uint64_t index = 0;
  for (int round = 0; round < 5; ++round) {
    const auto before = store->file_space();
    Unwritten added;
    for (int i = 0; i < 2'000; ++i) {
      added.rows += 2;
      added.bytes += 1'500;
      store->write(index + 1, changes_of(index + 1));
      ++index;
    }
    ASSERT_TRUE(store->wait_until_written(index, kLong));
    while (store->durable_index() < index) {
      store->request_checkpoint();
      std::this_thread::yield();
    }
    const auto after = store->file_space();
    const auto growth = after.file_bytes + after.wal_bytes - before.file_bytes - before.wal_bytes;
    EXPECT_LE(growth, space_needed(before, {}, added)) << "round " << round;
    EXPECT_LE(growth, space_needed(before, added, {})) << "round " << round;
  }
}

TEST(SpaceNeeded, is_bounded_by_the_file_and_by_the_longest_write_ahead_log) {
  const FileSpace small{.file_bytes = 100 * 4096, .pages = 100, .wal_bytes = 0, .wal_pages = 0};
  EXPECT_LT(space_needed(small, {.rows = 1'000, .bytes = 0}, {}), std::uint64_t{4} << 20);
  const FileSpace large{
      .file_bytes = 4'096'000'000, .pages = 1'000'000, .wal_bytes = 0, .wal_pages = 0};
  EXPECT_LT(space_needed(large, {.rows = 1'000'000, .bytes = 0}, {}), std::uint64_t{5} << 30);
  EXPECT_GT(space_needed(large, {.rows = 1'000, .bytes = 0}, {}), std::uint64_t{30} << 20);
  const FileSpace behind{.file_bytes = 0, .pages = 1'000, .wal_bytes = 5 << 20, .wal_pages = 1'000};
  EXPECT_GT(space_needed(behind, {}, {}), std::uint64_t{1'000} * 4096);
}

}  // namespace
}  // namespace jobbie::store
