// How much of the disk the database will need for what is not written yet.
#pragma once

#include <cstdint>

namespace jobbie::store {

/// What the files take now, and what they hold.
struct FileSpace {
  std::uint64_t file_bytes = 0;  ///< of the main file
  std::uint64_t pages = 0;  ///< of the database; those that are in the write-ahead log alone too
  std::uint64_t wal_bytes = 0;  ///< of the write-ahead log's file, which is used again and again
  std::uint64_t wal_pages = 0;  ///< in it, after the latest commit
};

/// Rows that wait to be written, or to be accepted.
struct Unwritten {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  ///< of their content
};

/// An upper bound of what both files grow by until `changed` rows, whose changes may be anywhere in
/// the file, and `added` ones, which are new, are written and copied into the main file. It assumes
/// that the write-ahead log can start over when it is full, which a long read delays.
[[nodiscard]] std::uint64_t space_needed(const FileSpace& files, const Unwritten& changed,
                                         const Unwritten& added);

}  // namespace jobbie::store
