// The log on a real disk, with its thread.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "log/disk.hpp"
#include "log/log.hpp"
#include "log/wal.hpp"

namespace jobbie::log {
namespace {

struct RealDisk : ::testing::Test {
  std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                 ("jobbie_log_test_" + std::to_string(::getpid()) + "_" +
                                  ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::unique_ptr<Disk> disk = posix_disk();

  RealDisk() { std::filesystem::remove_all(folder); }
  ~RealDisk() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  Options options() const {
    return {.directory = (folder / "log").string(), .segment_bytes = 64u << 10, .seed = 3};
  }
};

TEST_F(RealDisk, a_file_does_what_the_port_says) {
  ASSERT_TRUE(disk->make_directory(folder.string()));
  const auto path = (folder / "a").string();
  EXPECT_EQ(disk->open(path, OpenMode::existing).error().code, kNoSuchFile);
  auto file = std::move(*disk->open(path, OpenMode::create));
  ASSERT_TRUE(file->reserve(4096));
  ASSERT_TRUE(file->write_at(10, "hello"));
  ASSERT_TRUE(file->sync());
  std::string into(5, '\0');
  EXPECT_EQ(file->read_at(10, into), 5u);
  EXPECT_EQ(into, "hello");
  EXPECT_EQ(file->read_at(1u << 20, into), 0u);
  ASSERT_TRUE(disk->rename(path, (folder / "b").string()));
  ASSERT_TRUE(disk->sync_directory(folder.string()));
  EXPECT_EQ(disk->list(folder.string()), std::vector<std::string>{"b"});
  ASSERT_TRUE(disk->remove((folder / "b").string()));
  EXPECT_FALSE(disk->remove((folder / "b").string()));
}

/// Appends of every length, at every offset in a block, beside a copy in memory.
TEST_F(RealDisk, appends_are_what_was_appended) {
  ASSERT_TRUE(disk->make_directory(folder.string()));
  constexpr std::size_t kBytes = 200'000;  // not a whole number of blocks: the last are buffered
  auto file = std::move(*disk->open((folder / "a").string(), OpenMode::create));
  std::string content(kBytes, '\x55');
  ASSERT_TRUE(file->write_at(0, content));
  ASSERT_TRUE(file->sync());
  std::string into(kBytes, '\0');
  std::uint64_t random = 1;
  std::size_t end = 100;
  while (true) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const std::size_t bytes = 1 + (random >> 33) % ((random >> 20) % 8 == 0 ? 20'000 : 900);
    if (end + bytes > kBytes) break;
    const std::string piece(bytes, static_cast<char>(random >> 56));
    ASSERT_TRUE(file->append_durably(end, piece));
    content.replace(end, bytes, piece);
    end += bytes;
    if ((random >> 40) % 16 == 0) {  // a write of another kind in between is not undone
      ASSERT_TRUE(file->write_at(end - 1, "x"));
      content[end - 1] = 'x';
    }
    ASSERT_EQ(file->read_at(0, into), kBytes);
    ASSERT_EQ(std::string_view(into).substr(0, end), std::string_view(content).substr(0, end));
    // What comes after the block is as it was.
    const std::size_t next = std::min(kBytes, (end + 4095) / 4096 * 4096);
    ASSERT_EQ(std::string_view(into).substr(next), std::string_view(content).substr(next));
  }
}

TEST_F(RealDisk, a_directory_is_locked_once) {
  ASSERT_TRUE(disk->make_directory(folder.string()));
  auto lock = disk->lock(folder.string());
  ASSERT_TRUE(lock);
  EXPECT_EQ(disk->lock(folder.string()).error().code, kDirectoryInUse);
  lock->reset();
  EXPECT_TRUE(disk->lock(folder.string()));
}

TEST_F(RealDisk, the_log_rolls_cuts_and_recovers) {
  std::uint64_t applied = 0;
  std::uint64_t count = 0;
  const Handlers apply{.apply = [&](const Committed& entry) {
    EXPECT_EQ(entry.index, std::max(applied, kBootstrap.index) + 1);
    applied = entry.index;
    if (!entry.data.empty()) ++count;
  }};
  for (int life = 0; life < 3; ++life) {
    auto log = Log::open(*disk, options());
    ASSERT_TRUE(log) << log.error().message;
    ASSERT_TRUE((*log)->start(applied));
    ASSERT_TRUE((*log)->pump(apply));
    const std::string data(3000, 'x');
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE((*log)->has_room(data.size()));
      ASSERT_TRUE((*log)->propose(data));
      ASSERT_TRUE((*log)->pump(apply));
      if (i % 30 == 29) ASSERT_TRUE((*log)->cut(applied));
    }
    if (life == 1) ASSERT_TRUE((*log)->close());
  }
  EXPECT_EQ(count, 300u);
  EXPECT_LE(disk->list(options().directory)->size(), 8u);
}

/// Descriptors of this process that lead into the folder.
std::size_t open_files(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone);
    if (!gone && target.string().starts_with(folder.string())) ++count;
  }
  return count;
}

TEST_F(RealDisk, few_files_are_open_however_long_the_log) {
  ASSERT_TRUE(disk->make_directory((folder / "log").string()));
  const WalOptions wal_options{.directory = (folder / "log").string(),
                               .segment_bytes = 64u << 10,
                               .seed = 3,
                               .preparing = Preparer::Mode::at_once};
  // The directory, the latest segments twice, the next one, and two that are read.
  constexpr std::size_t kMost = 1 + 2 * kOpenSegments + 1 + 2;
  constexpr std::uint64_t kEntries = 400;
  auto wal = Wal::open(*disk, wal_options);
  ASSERT_TRUE(wal) << wal.error().message;
  const std::string data(3000, 'x');
  for (std::uint64_t i = 0; i < kEntries; ++i) {
    const consensus::EntryView entry{i + 2, 1, consensus::EntryType::plain, data};
    ASSERT_TRUE((*wal)->append({1, 1, i + 1}, std::span(&entry, 1)));
  }
  EXPECT_GT((*wal)->segment_count(), 15u);
  EXPECT_LE(open_files(folder), kMost);
  for (int life = 0; life < 2; ++life) {
    // Two readers in turn, each where it was, as followers read that are behind by different
    // lengths.
    std::uint64_t read = 0;
    for (std::uint64_t low = 2; low + 200 < kEntries; low += 10)
      for (const std::uint64_t from : {low, low + 190}) {
        ASSERT_TRUE(
            (*wal)->read({from, from + 10, UINT64_MAX}, [&](const consensus::EntryView& entry) {
              EXPECT_EQ(entry.data, data);
              ++read;
            }));
        EXPECT_LE(open_files(folder), kMost);
      }
    EXPECT_EQ(read, 400u);
    wal->reset();
    wal = Wal::open(*disk, wal_options);
    ASSERT_TRUE(wal) << wal.error().message;
    EXPECT_LE(open_files(folder), kMost);
  }
}

}  // namespace
}  // namespace jobbie::log
