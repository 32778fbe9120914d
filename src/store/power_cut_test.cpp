// Power cuts: files that forget what was not synced. Whatever the store called durable is there
// afterwards, and the file is the state at the index it claims.
//
// A layer under the store remembers, for each file, the bytes at its last sync and the writes
// since. A cut keeps the former and any part of the latter, in pieces of a sector.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <sqlite3.h>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "store/files_below.hpp"
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

constexpr std::size_t kSector = 512;

struct Disk {
  struct Write {
    std::size_t offset = 0;
    std::string bytes;
    bool truncates = false;  ///< to `offset` bytes
  };
  struct File {
    std::string synced;
    std::vector<Write> unsynced;
  };
  std::mutex mutex;
  std::map<std::string, File> files;  ///< by name
  struct Open {
    std::string name;
    const sqlite3_io_methods* system = nullptr;
  };
  std::map<const sqlite3_file*, Open> open;
  /// The system's methods, which differ by kind of file, with ours in some places.
  std::map<const sqlite3_io_methods*, sqlite3_io_methods> methods;

  static void put(std::string& image, const Write& write) {
    if (write.truncates) return image.resize(std::min(image.size(), write.offset));
    if (image.size() < write.offset + write.bytes.size())
      image.resize(write.offset + write.bytes.size());
    image.replace(write.offset, write.bytes.size(), write.bytes);
  }
  /// What a cut might leave of every file.
  std::map<std::string, std::string> cut(std::mt19937_64& random) {
    const std::scoped_lock lock(mutex);
    std::map<std::string, std::string> out;
    for (const auto& [name, file] : files) {
      auto image = file.synced;
      const auto keep_percent = random() % 101;
      for (const auto& write : file.unsynced) {
        if (write.truncates && random() % 100 < keep_percent) put(image, write);
        for (std::size_t at = 0; at < write.bytes.size(); at += kSector)
          if (random() % 100 < keep_percent)
            put(image, {.offset = write.offset + at, .bytes = write.bytes.substr(at, kSector)});
      }
      out[name] = std::move(image);
    }
    return out;
  }
};

Disk& disk() {
  static Disk the_disk;
  return the_disk;
}

/// The file as it was opened, and what is kept of it; with the lock held.
struct Noted {
  const sqlite3_io_methods* system;
  Disk::File& kept;
};
Noted noted(const sqlite3_file* file) {
  const auto& open = disk().open.at(file);
  return {open.system, disk().files.at(open.name)};
}

int note_write(sqlite3_file* file, const void* bytes, int amount, sqlite3_int64 offset) {
  const std::scoped_lock lock(disk().mutex);
  const auto [system, kept] = noted(file);
  kept.unsynced.push_back(
      {.offset = static_cast<std::size_t>(offset),
       .bytes = std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(amount))});
  return system->xWrite(file, bytes, amount, offset);
}

int note_sync(sqlite3_file* file, int flags) {
  const std::scoped_lock lock(disk().mutex);
  const auto [system, kept] = noted(file);
  const int result = system->xSync(file, flags);
  if (result != SQLITE_OK) return result;
  for (const auto& write : kept.unsynced) Disk::put(kept.synced, write);
  kept.unsynced.clear();
  return result;
}

int note_truncate(sqlite3_file* file, sqlite3_int64 size) {
  const std::scoped_lock lock(disk().mutex);
  const auto [system, kept] = noted(file);
  kept.unsynced.push_back({.offset = static_cast<std::size_t>(size), .truncates = true});
  return system->xTruncate(file, size);
}

int note_close(sqlite3_file* file) {
  const std::scoped_lock lock(disk().mutex);
  const auto* system = noted(file).system;
  disk().open.erase(file);
  return system->xClose(file);
}

int note_open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto* system = static_cast<sqlite3_vfs*>(vfs->pAppData);
  const int result = system->xOpen(system, name, file, flags, out_flags);
  if (result != SQLITE_OK || name == nullptr) return result;
  const std::scoped_lock lock(disk().mutex);
  auto [methods, is_new] = disk().methods.try_emplace(file->pMethods, *file->pMethods);
  if (is_new) {
    methods->second.xWrite = note_write;
    methods->second.xSync = note_sync;
    methods->second.xTruncate = note_truncate;
    methods->second.xClose = note_close;
  }
  disk().open[file] = {.name = name, .system = file->pMethods};
  disk().files.try_emplace(name);
  file->pMethods = &methods->second;
  return result;
}

/// Notes all writes for as long as it lives.
class Noting {
 public:
  Noting() : files_(note_open) {}
  ~Noting() { disk().files.clear(); }
  Noting(const Noting&) = delete;
  Noting& operator=(const Noting&) = delete;

 private:
  testing::FilesBelow files_;
};

/// Round n gives every job the lease n, so that a mixture of rounds is seen.
command::Changes round_of(std::uint64_t n) {
  command::Changes changes;
  changes.emplace_back(command::Item(model::MetaRecord{.next_sequence = 1'000, .entries = n}));
  for (std::uint64_t i = 1; i <= 200; ++i) {
    model::JobRecord job{.id = job_id(i), .spec = testing::golden::plain_job(), .arrival = i};
    job.spec.payload = text(std::string(50 + (i * n) % 900, 'x'));
    job.lease = n;
    changes.emplace_back(command::Item(std::move(job)));
  }
  return changes;
}

struct Cut {
  std::uint64_t durable = 0;
  std::uint64_t written = 0;
  std::map<std::string, std::string> files;
};

/// Counts into `lost` when the cut took something that was written.
void expect_state(const std::string& path, const Cut& cut, int& lost) {
  auto store = open_store(path);
  ASSERT_TRUE(store);
  const auto index = store->applied_index();
  ASSERT_GE(index, cut.durable);
  lost += index < cut.written ? 1 : 0;
  const auto loaded = load_all(*store);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  Reference expected;
  if (index > 0) expected.apply(round_of(index));
  ASSERT_TRUE(*loaded == expected) << "index " << index;
}

TEST(PowerCut, WhatIsDurableSurvives) {
  constexpr std::uint64_t kSeed = 4711;
  std::mt19937_64 random(kSeed);
  const TempFolder folder;
  std::vector<Cut> cuts;
  {
    const Noting noting;
    auto opened =
        Store::open({.path = folder.file(), .checkpoint_every = std::chrono::milliseconds(3)});
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    for (std::uint64_t n = 1; n <= 120; ++n) {
      (*opened)->write(n, round_of(n));
      if (random() % 3 == 0) (*opened)->wait_until_written(n, kLong);
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 6));
      if (random() % 3 != 0) continue;
      const auto durable = (*opened)->durable_index();
      const auto written = (*opened)->written_index();
      cuts.push_back({.durable = durable, .written = written, .files = disk().cut(random)});
    }
    ASSERT_TRUE((*opened)->close().has_value());
  }
  ASSERT_GT(cuts.back().durable, 0U) << "nothing was ever durable";
  ASSERT_TRUE(cuts.back().files.contains(folder.file() + "-wal")) << "the test sees no log";
  int lost = 0;
  for (const auto& cut : cuts) {
    const auto path = folder.file("cut.db");
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
    for (const auto& [name, bytes] : cut.files) {
      if (name.ends_with("-journal")) continue;  // from before there was a write-ahead log
      const bool is_wal = name.ends_with("-wal");
      std::ofstream(path + (is_wal ? "-wal" : ""), std::ios::binary) << bytes;
    }
    expect_state(path, cut, lost);
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
  }
  EXPECT_GT(lost, 0) << "no cut ever took anything: the test proves nothing";
}

}  // namespace
}  // namespace jobbie::store
