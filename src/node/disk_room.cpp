// The reserve is a file with space and without content.
#include "node/disk_room.hpp"

#include <fcntl.h>
#include <limits>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/statvfs.h>

namespace jobbie::node {
namespace {

constexpr int kFileMode = 0600;

}  // namespace

DiskRoom::DiskRoom(const std::string& data_dir)
    : directory_(data_dir), path_(data_dir + "/reserve") {
  struct stat about {};
  if (::stat(path_.c_str(), &about) == 0 && about.st_size == static_cast<off_t>(kReserveBytes))
    held_ = kReserveBytes;
  look();
}

void DiskRoom::look() {
  struct statvfs about {};
  if (::statvfs(directory_.c_str(), &about) != 0)
    free_ = std::numeric_limits<std::uint64_t>::max() - kReserveBytes;
  else
    free_ = std::uint64_t{about.f_bavail} * about.f_frsize;
}

bool DiskRoom::release() {
  if (held_ == 0) return false;
  held_ = 0;
  const bool removed = ::unlink(path_.c_str()) == 0;
  look();
  return removed;
}

bool DiskRoom::restore(std::uint64_t needed) {
  if (held_ > 0 || free_ < needed + 2 * kReserveBytes) return false;
  const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode);
  if (fd < 0) return false;
  const bool taken = ::fallocate(fd, 0, 0, static_cast<off_t>(kReserveBytes)) == 0;
  ::close(fd);
  if (taken)
    held_ = kReserveBytes;
  else
    ::unlink(path_.c_str());
  look();
  return taken;
}

}  // namespace jobbie::node
