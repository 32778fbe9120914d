// Bytes ahead of a sync.
#include "base/write_out.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

namespace jobbie::base {
namespace {

TEST(WriteOut, LeavesAFileAsItIs) {
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const int fd = ::fileno(file);
  const std::string bytes(3 * kWriteOutBytes, 'x');
  ASSERT_EQ(::pwrite(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  EXPECT_TRUE(begin_write_out(fd, 0, kWriteOutBytes));
  EXPECT_TRUE(write_out(fd, 0, kWriteOutBytes));
  EXPECT_TRUE(write_out(fd, 0, 0));
  EXPECT_TRUE(write_out(fd, 2 * kWriteOutBytes, 100 * kWriteOutBytes));  // beyond its end
  std::string read(bytes.size() + 1, '\0');
  EXPECT_EQ(::pread(fd, read.data(), read.size(), 0), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(read, bytes + '\0');
  static_cast<void>(std::fclose(file));
}

TEST(WriteOut, FailsOnlyWhereAWriteWould) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  EXPECT_TRUE(write_out(ends[1], 0, 1));  // which has nothing to write
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_FALSE(write_out(-1, 0, 1));
  EXPECT_EQ(errno, EBADF);
  EXPECT_FALSE(begin_write_out(-1, 0, 1));
}

}  // namespace
}  // namespace jobbie::base
