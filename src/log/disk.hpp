// The disk behind a port: the few calls that the log makes, so that tests can lose power, tear
// sectors and fail at any of them.
//
// A file belongs to one thread at a time; a Disk may be used from several. What has been written is
// durable once sync() of the file has returned; a file's existence under its name once
// sync_directory() has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace jobbie::log {

/// The error code of a disk, or a quota, that has no space left. It may pass.
inline constexpr std::string_view kDiskFull = "disk_full";
/// The error code of every other failure of a disk.
inline constexpr std::string_view kDiskFailed = "disk_failed";
/// There is no file of that name, or no directory for it.
inline constexpr std::string_view kNoSuchFile = "no_such_file";
/// Somebody else has the directory open.
inline constexpr std::string_view kDirectoryInUse = "directory_in_use";

class File {
 public:
  virtual ~File() = default;
  [[nodiscard]] virtual base::Result<void> write_at(std::uint64_t offset,
                                                    std::string_view bytes) = 0;
  /// Fills `into`; gives less than its size only at the end of the file.
  [[nodiscard]] virtual base::Result<std::size_t> read_at(std::uint64_t offset,
                                                          std::span<char> into) = 0;
  /// These bytes will be read soon: they may be brought into memory meanwhile.
  virtual void will_read(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) {}
  /// Brings these written bytes to the disk, where it can, so that the sync after it is short.
  /// Fails as a sync does.
  [[nodiscard]] virtual base::Result<void> write_out(std::uint64_t /*offset*/,
                                                     std::uint64_t /*bytes*/) {
    return {};
  }
  /// Makes all that was written durable, with the size where it has changed.
  [[nodiscard]] virtual base::Result<void> sync() = 0;
  /// Writes inside the file's size and makes that durable, in one go where the disk can. For those
  /// who append: what stands behind it in the same 4096 bytes may become zeros.
  [[nodiscard]] virtual base::Result<void> append_durably(std::uint64_t offset,
                                                          std::string_view bytes) {
    if (auto written = write_at(offset, bytes); !written) return written;
    return sync();
  }
  [[nodiscard]] virtual base::Result<std::uint64_t> size() = 0;
  /// Takes space for `bytes` from the start of the file; where that cannot be done, does nothing.
  [[nodiscard]] virtual base::Result<void> reserve(std::uint64_t bytes) = 0;
  /// Whether `path` still is the name of this file: nobody has removed or replaced it.
  [[nodiscard]] virtual bool stands_at(const std::string& path) const = 0;
};

/// Held as long as it lives.
class DirectoryLock {
 public:
  virtual ~DirectoryLock() = default;
  /// Whether `path` still is the name of the directory that is locked.
  [[nodiscard]] virtual bool stands_at(const std::string& path) const = 0;
};

enum class OpenMode : std::uint8_t {
  existing,
  create,  ///< empty, also if there was one of that name
};

class Disk {
 public:
  virtual ~Disk() = default;
  [[nodiscard]] virtual base::Result<std::unique_ptr<File>> open(const std::string& path,
                                                                 OpenMode mode) = 0;
  /// Replaces what is at `to`.
  [[nodiscard]] virtual base::Result<void> rename(const std::string& from,
                                                  const std::string& to) = 0;
  [[nodiscard]] virtual base::Result<void> remove(const std::string& path) = 0;
  /// The names in a directory, sorted.
  [[nodiscard]] virtual base::Result<std::vector<std::string>> list(
      const std::string& directory) = 0;
  [[nodiscard]] virtual base::Result<void> sync_directory(const std::string& directory) = 0;
  /// With its parents; nothing if it is there.
  [[nodiscard]] virtual base::Result<void> make_directory(const std::string& directory) = 0;
  /// Fails with kDirectoryInUse while another process, or another part of this one, holds it.
  [[nodiscard]] virtual base::Result<std::unique_ptr<DirectoryLock>> lock(
      const std::string& directory) = 0;
  /// What may still be written there; all there could be where nobody knows.
  [[nodiscard]] virtual std::uint64_t free_bytes(const std::string& directory) = 0;
};

/// The real one.
[[nodiscard]] std::unique_ptr<Disk> posix_disk();

}  // namespace jobbie::log
