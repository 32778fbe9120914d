// Files over the system's calls, with errors that name them.
#include "store/files.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <limits>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/write_out.hpp"
#include "store/sqlite.hpp"

namespace jobbie::store {
namespace {

std::unexpected<base::Error> failed(std::string_view code, std::string_view verb,
                                    const std::string& path, int reason) {
  return std::unexpected(
      base::Error{.code = std::string(reason == ENOSPC ? kDiskFull : code),
                  .message = fmt::format("Cannot {} {}: {}", verb, path, std::strerror(reason))});
}

std::filesystem::path folder_of(const std::string& path) {
  auto folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

base::Result<void> sync(const std::string& path, int flags, std::string_view verb) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  const bool synced = fd >= 0 && ::fsync(fd) == 0;
  const int reason = errno;
  if (fd >= 0) ::close(fd);
  if (synced) return {};
  return failed(kSyncFailed, verb, path, reason);
}

}  // namespace

base::Result<void> sync_folder_of(const std::string& path) {
  return sync(folder_of(path).string(), O_DIRECTORY, "sync the folder");
}

base::Result<void> sync_file(const std::string& path) { return sync(path, 0, "sync"); }

WriteOut::WriteOut(std::string path)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {}

WriteOut::~WriteOut() {
  if (fd_ >= 0) ::close(fd_);
}

void WriteOut::range(std::uint64_t offset, std::uint64_t bytes) {
  if (fd_ < 0) return;
  if (!base::begin_write_out(fd_, offset, bytes) && reason_ == 0) reason_ = errno;
  if (!base::write_out(fd_, offset_, bytes_) && reason_ == 0) reason_ = errno;
  offset_ = offset;
  bytes_ = bytes;
}

void WriteOut::all() {
  const auto size = file_bytes(path_);
  for (std::uint64_t at = 0; at < size; at += base::kWriteOutBytes) range(at, base::kWriteOutBytes);
  range(0, 0);
}

base::Result<void> WriteOut::sync() {
  if (fd_ < 0) return sync_file(path_);
  if (reason_ == 0 && ::fsync(fd_) != 0) reason_ = errno;
  if (reason_ == 0) return {};
  return failed(kSyncFailed, "sync", path_, reason_);
}

NamedFile::NamedFile(std::string path)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_PATH | O_CLOEXEC)) {}

NamedFile::~NamedFile() {
  if (fd_ >= 0) ::close(fd_);
}

bool NamedFile::in_place() const {
  struct stat open {};
  struct stat named {};
  if (fd_ < 0 || ::fstat(fd_, &open) != 0) return true;
  if (::stat(path_.c_str(), &named) != 0) return errno != ENOENT && errno != ENOTDIR;
  return named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

base::Result<void> rename_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return {};
  return failed(kDiskError, "rename", from, errno);
}

base::Result<void> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return failed(kDiskError, "remove", path, errno);
}

bool file_exists(const std::string& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0;
}

std::uint64_t file_bytes(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return 0;
  return static_cast<std::uint64_t>(about.st_size);
}

std::uint64_t room_beside(const std::string& path) {
  struct statvfs about {};
  if (::statvfs(folder_of(path).c_str(), &about) != 0)
    return std::numeric_limits<std::uint64_t>::max();
  return std::uint64_t{about.f_bavail} * about.f_frsize;
}

}  // namespace jobbie::store
