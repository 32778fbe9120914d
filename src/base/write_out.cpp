// By sync_file_range, which writes and waits without flushing the disk's own cache.
#include "base/write_out.hpp"

#include <cerrno>
#include <fcntl.h>

namespace jobbie::base {

bool write_out(int fd, std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return true;  // which would mean: all that follows
  constexpr unsigned kWriteAndWait =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  if (::sync_file_range(fd, static_cast<off64_t>(offset), static_cast<off64_t>(bytes),
                        kWriteAndWait) == 0)
    return true;
  return errno != EIO && errno != ENOSPC && errno != EDQUOT && errno != EBADF;
}

void begin_write_out(int fd, std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return;
  static_cast<void>(::sync_file_range(fd, static_cast<off64_t>(offset),
                                      static_cast<off64_t>(bytes), SYNC_FILE_RANGE_WRITE));
}

}  // namespace jobbie::base
