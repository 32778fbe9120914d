// The log on a real disk, with its thread.
#include <algorithm>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "log/disk.hpp"
#include "log/log.hpp"

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
  EXPECT_EQ(disk->open(path, OpenMode::existing).error().code, kDiskFailed);
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
  const auto apply = [&](const Committed& entry) {
    EXPECT_EQ(entry.index, std::max(applied, kBootstrap.index) + 1);
    applied = entry.index;
    if (!entry.data.empty()) ++count;
  };
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

}  // namespace
}  // namespace jobbie::log
