// What the store does to files beside SQLite: syncing, renaming, removing.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace jobbie::store {

/// A file whose name is not on the disk yet would be lost with everything synced into it.
base::Result<void> sync_folder_of(const std::string& path);
base::Result<void> sync_file(const std::string& path);
/// What is written to a file goes to the disk ahead of its sync, a little at a time. Through a
/// description of its own: whoever has had the file open before still hears of what went wrong.
///
/// The system forgets a process's locks on a file when it closes any description of it, so this has
/// to outlive all connections to a database.
class WriteOut {
 public:
  explicit WriteOut(std::string path);
  ~WriteOut();
  WriteOut(const WriteOut&) = delete;
  WriteOut& operator=(const WriteOut&) = delete;

  /// Begins to write what of these bytes is in memory alone, and waits for those of the call
  /// before.
  void range(std::uint64_t offset, std::uint64_t bytes);
  /// The whole file, as far as it goes now.
  void all();
  /// Makes the whole file durable, unless anything has gone wrong so far.
  base::Result<void> sync();
  /// Whether anything that went out has not reached the disk.
  [[nodiscard]] bool has_failed() const { return reason_ != 0; }

 private:
  std::string path_;
  int fd_;
  int reason_ = 0;  ///< of the first failure
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;
};
/// A file that is to keep its name: it tells whether somebody has removed or replaced it. Its
/// description is one without access, whose end drops no locks.
class NamedFile {
 public:
  explicit NamedFile(std::string path);
  ~NamedFile();
  NamedFile(const NamedFile&) = delete;
  NamedFile& operator=(const NamedFile&) = delete;

  /// Where the system will not say, it is taken to be so.
  [[nodiscard]] bool in_place() const;

 private:
  std::string path_;
  int fd_;
};
/// The new name replaces a file of that name at once.
base::Result<void> rename_file(const std::string& from, const std::string& to);
/// A file that is not there is fine.
base::Result<void> remove_file(const std::string& path);
[[nodiscard]] bool file_exists(const std::string& path);
/// Zero when there is none.
std::uint64_t file_bytes(const std::string& path);
/// What we may still write in the folder of `path`; all there could be where the system won't say.
std::uint64_t room_beside(const std::string& path);

}  // namespace jobbie::store
