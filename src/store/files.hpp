// What the store does to files beside SQLite: syncing, renaming, removing.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace jobbie::store {

/// A file whose name is not on the disk yet would be lost with everything synced into it.
base::Result<void> sync_folder_of(const std::string& path);
base::Result<void> sync_file(const std::string& path);
/// The new name replaces a file of that name at once.
base::Result<void> rename_file(const std::string& from, const std::string& to);
/// A file that is not there is fine.
base::Result<void> remove_file(const std::string& path);
/// Zero when there is none.
std::uint64_t file_bytes(const std::string& path);
/// What we may still write in the folder of `path`; all there could be where the system won't say.
std::uint64_t room_beside(const std::string& path);

}  // namespace jobbie::store
