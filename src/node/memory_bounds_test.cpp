// Bounds of control groups and machines, from files made up here.
#include "node/memory_bounds.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace jobbie::node {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class MemoryBoundsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "memory-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    write("/proc/meminfo", "MemTotal:        1048576 kB\nMemFree:          1024 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  std::string root_;
};

TEST_F(MemoryBoundsTest, AMachineWithoutGroups) {
  const auto bounds = find_memory_bounds(root_);
  EXPECT_EQ(bounds.machine, 1024 * kMiB);
  EXPECT_EQ(bounds.cgroup, 0U);
  EXPECT_EQ(bounds.resident(), 1024 * kMiB);
}

TEST_F(MemoryBoundsTest, TheSmallestGroupOnTheWayCounts) {
  write("/proc/self/cgroup", "0::/system.slice/jobbie.service\n");
  write("/sys/fs/cgroup/system.slice/jobbie.service/memory.max", "max\n");
  write("/sys/fs/cgroup/system.slice/jobbie.service/memory.high", "max\n");
  EXPECT_EQ(find_memory_bounds(root_).cgroup, 0U);
  write("/sys/fs/cgroup/system.slice/jobbie.service/memory.max", "536870912\n");
  EXPECT_EQ(find_memory_bounds(root_).cgroup, 512 * kMiB);
  write("/sys/fs/cgroup/system.slice/jobbie.service/memory.high", "402653184\n");
  EXPECT_EQ(find_memory_bounds(root_).cgroup, 384 * kMiB);
  write("/sys/fs/cgroup/system.slice/memory.max", "268435456\n");
  EXPECT_EQ(find_memory_bounds(root_).cgroup, 256 * kMiB);
  EXPECT_EQ(find_memory_bounds(root_).smallest(), 256 * kMiB);
}

TEST_F(MemoryBoundsTest, InAContainerTheTopIsTheGroup) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/memory.max", "134217728\n");
  EXPECT_EQ(find_memory_bounds(root_).cgroup, 128 * kMiB);
  write("/proc/self/cgroup", "0::/../../not/seen/from/here\n");
  EXPECT_EQ(find_memory_bounds(root_).cgroup, 128 * kMiB);
}

TEST_F(MemoryBoundsTest, VersionOne) {
  write("/proc/self/cgroup", "11:cpu,cpuacct:/a\n5:memory:/docker/abc\n1:name=systemd:/x\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(find_memory_bounds(root_).cgroup, 0U);
  write("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "67108864\n");
  EXPECT_EQ(find_memory_bounds(root_).cgroup, 64 * kMiB);
}

TEST_F(MemoryBoundsTest, OddFilesAreNoBound) {
  write("/proc/meminfo", "MemTotal: lots\n");
  write("/proc/self/cgroup", "0::\n:::\nnonsense\n0:memory\n");
  write("/sys/fs/cgroup/memory.max", "");
  const auto bounds = find_memory_bounds(root_);
  EXPECT_EQ(bounds.machine, 0U);
  EXPECT_EQ(bounds.cgroup, 0U);
  EXPECT_EQ(find_memory_bounds(root_ + "/nowhere").resident(), 0U);
}

TEST(ProcessMemory, FollowsWhatIsTaken) {
  const ProcessMemoryReader reader;
  const auto before = reader.read();
  EXPECT_GT(before.resident, 0U);
  EXPECT_GE(before.address_space, before.resident);
  const std::vector<char> taken(64 * kMiB, 'x');
  const auto after = reader.read();
  EXPECT_GT(after.resident, before.resident + 48 * kMiB);
  EXPECT_GT(after.data, before.data + 48 * kMiB);
  EXPECT_EQ(taken.back(), 'x');
}

}  // namespace
}  // namespace jobbie::node
