// By sync_file_range, which writes and waits without flushing the disk's own cache.
#include "base/write_out.hpp"

#include <cerrno>
#include <fcntl.h>

namespace jobbie::base {

namespace {

/// What the disk said may be any error; these alone mean that nothing was tried.
bool is_not_offered(int reason) {
  return reason == ENOSYS || reason == EINVAL || reason == ESPIPE || reason == EPERM ||
         reason == EOPNOTSUPP;
}

}  // namespace

bool write_out(int fd, std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return true;  // which would mean: all that follows
  constexpr unsigned kWriteAndWait =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  if (::sync_file_range(fd, static_cast<off64_t>(offset), static_cast<off64_t>(bytes),
                        kWriteAndWait) == 0)
    return true;
  return is_not_offered(errno);
}

bool begin_write_out(int fd, std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return true;
  return ::sync_file_range(fd, static_cast<off64_t>(offset), static_cast<off64_t>(bytes),
                           SYNC_FILE_RANGE_WRITE) == 0 ||
         is_not_offered(errno);
}

}  // namespace jobbie::base
