// For tests: a layer of the test's own under all that the store does with files.
#pragma once

#include <sqlite3.h>

namespace jobbie::store::testing {

/// The system's files but for how they are opened, for as long as it lives. Files that are open
/// then have to be closed before. `open` finds the system's own layer in pAppData.
class FilesBelow {
 public:
  explicit FilesBelow(decltype(sqlite3_vfs::xOpen) open)
      : system_(sqlite3_vfs_find(nullptr)), vfs_(*system_) {
    vfs_.zName = "below";
    vfs_.pAppData = system_;
    vfs_.xOpen = open;
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~FilesBelow() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(system_, 1);
  }
  FilesBelow(const FilesBelow&) = delete;
  FilesBelow& operator=(const FilesBelow&) = delete;

 private:
  sqlite3_vfs* system_;
  sqlite3_vfs vfs_;
};

}  // namespace jobbie::store::testing
