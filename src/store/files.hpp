// What the store does to files beside SQLite: syncing, renaming, removing.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace jobbie::store {

/// A file whose name is not on the disk yet would be lost with everything synced into it.
base::Result<void> sync_folder_of(const std::string& path);
base::Result<void> sync_file(const std::string& path);
/// What is written to a file is brought to the disk ahead of its sync: base::write_out. What goes
/// wrong is left for the sync to tell, which has a description of its own.
///
/// The system forgets a process's locks on a file when it closes any description of it, so this has
/// to outlive all connections to a database.
class WriteOut {
 public:
  explicit WriteOut(const std::string& path);
  ~WriteOut();
  WriteOut(const WriteOut&) = delete;
  WriteOut& operator=(const WriteOut&) = delete;

  /// Of these bytes, all that is in memory alone, at once.
  void range(std::uint64_t offset, std::uint64_t bytes) const;
  /// The whole file, a little at a time.
  void all() const;

 private:
  int fd_;
};
/// The new name replaces a file of that name at once.
base::Result<void> rename_file(const std::string& from, const std::string& to);
/// A file that is not there is fine.
base::Result<void> remove_file(const std::string& path);
/// Zero when there is none.
std::uint64_t file_bytes(const std::string& path);
/// What we may still write in the folder of `path`; all there could be where the system won't say.
std::uint64_t room_beside(const std::string& path);

}  // namespace jobbie::store
