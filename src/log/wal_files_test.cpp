// Files of the log that are removed or replaced while it is open.
#include <filesystem>
#include <fstream>
#include <stdlib.h>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "log/segment.hpp"
#include "log/sim_disk.hpp"
#include "log/wal.hpp"

namespace jobbie::log {
namespace {

using consensus::EntryType;
using consensus::EntryView;
using consensus::HardState;

constexpr std::size_t kSegment = 64 * 1024;

/// On the real disk: a removed directory is more than its files.
struct WalFiles : ::testing::Test {
  std::unique_ptr<Disk> disk = posix_disk();
  std::string root;
  std::unique_ptr<Wal> wal;
  std::uint64_t last = 1;

  void SetUp() override {
    root = (std::filesystem::temp_directory_path() / "jobbie-wal-XXXXXX").string();
    ASSERT_NE(::mkdtemp(root.data()), nullptr);
    open();
    fill(100);
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  std::string directory() const { return root + "/log"; }
  void open() {
    wal.reset();
    auto opened = Wal::open(*disk, {.directory = directory(),
                                    .node_id = 1,
                                    .segment_bytes = kSegment,
                                    .seed = 5,
                                    .preparing = Preparer::Mode::at_once});
    ASSERT_TRUE(opened) << opened.error().message;
    wal = std::move(*opened);
  }
  void fill(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string payload = std::to_string(++last) + std::string(3000, '.');
      const std::vector<EntryView> entries{{last, 2, EntryType::plain, payload}};
      ASSERT_TRUE(wal->append(HardState{2, 1, last - 1}, entries));
    }
  }
  void expect_all() {
    std::uint64_t index = 2;
    const auto done = wal->read({2, last + 1, UINT64_MAX}, [&](const EntryView& entry) {
      EXPECT_EQ(std::string(entry.data).substr(0, 4),
                (std::to_string(index) + "....").substr(0, 4));
      ++index;
    });
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(index, last + 1);
  }
  void expect_mended() {
    const auto kept = wal->keep_files();
    ASSERT_TRUE(kept) << kept.error().message;
    EXPECT_TRUE(*kept);
    const auto again = wal->keep_files();
    ASSERT_TRUE(again);
    EXPECT_FALSE(*again) << "once is enough";
    expect_all();
    fill(60);
    open();
    expect_all();
  }
  std::vector<std::string> segments() const {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(directory()))
      paths.push_back(entry.path().string());
    return paths;
  }
};

TEST_F(WalFiles, nothing_is_done_while_all_is_in_place) {
  const auto kept = wal->keep_files();
  ASSERT_TRUE(kept);
  EXPECT_FALSE(*kept);
}

TEST_F(WalFiles, removed_segments_are_written_anew) {
  ASSERT_GT(segments().size(), 4u);
  for (const auto& path : segments()) std::filesystem::remove(path);
  expect_mended();
}

TEST_F(WalFiles, a_replaced_segment_is_written_anew) {
  const auto path = segments().front();
  std::filesystem::remove(path);
  std::ofstream(path) << "something else";
  expect_mended();
}

TEST_F(WalFiles, a_removed_directory_is_made_and_locked_again) {
  std::filesystem::remove_all(root);
  expect_mended();
  const auto second = Wal::open(*disk, {.directory = directory(), .segment_bytes = kSegment});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, kDirectoryInUse);
}

TEST_F(WalFiles, spares_that_are_gone_are_not_missed) {
  ASSERT_TRUE(wal->cut(last - 5));
  for (const auto& path : segments())
    if (path.ends_with(".spare")) std::filesystem::remove(path);
  fill(100);
  EXPECT_FALSE(wal->failure());
}

TEST(WalRoom, a_log_that_is_held_back_has_none_and_a_new_segment_leaves_some) {
  SimDisk disk(1);
  auto opened = Wal::open(disk, {.directory = "w",
                                 .node_id = 1,
                                 .segment_bytes = kSegment,
                                 .leave_free_bytes = kSegment,
                                 .seed = 5,
                                 .preparing = Preparer::Mode::at_once});
  ASSERT_TRUE(opened);
  auto& wal = **opened;
  EXPECT_TRUE(wal.has_room(1, 100));
  wal.hold_back(true);
  EXPECT_FALSE(wal.has_room(1, 100));
  EXPECT_TRUE(wal.expects_room(1, 100, 0)) << "the disk has some";
  wal.hold_back(false);
  // Two segments are there. A third one would leave less than one more.
  disk.set_capacity(2 * kSegment + kSegment + kSegment / 2);
  std::uint64_t index = 1;
  const std::string payload(2000, 'x');
  while (wal.has_room(1, payload.size())) {
    const std::vector<EntryView> entries{{++index, 2, EntryType::plain, payload}};
    ASSERT_TRUE(wal.append(HardState{2, 1, index - 1}, entries));
    ASSERT_LT(index, 200u);
  }
  EXPECT_TRUE(wal.has_room(1, 100)) << "the tail of the last segment";
  EXPECT_FALSE(wal.has_room(1, 100, kSegment / 4)) << "but not for those who leave some";
  EXPECT_FALSE(wal.expects_room(1, 100, kSegment / 4));
  disk.set_capacity(5 * kSegment);
  wal.retry();
  EXPECT_TRUE(wal.has_room(1, payload.size(), kSegment / 4));
}

}  // namespace
}  // namespace jobbie::log
