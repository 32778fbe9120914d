// Checksums in the database file: a thin layer between SQLite and the system's files.
//
// Every page of the main file ends in eight bytes that SQLite leaves to us (its header says so),
// and there stands a hash of the page and its number. It is set when a page is written and compared
// when one is read, so a flipped bit, a page in the wrong place or one that was never written is an
// error
// (`corrupt_database`) and not an odd job. Other programs, the sqlite3 shell among them, read the
// file as any other; what they write has no checksums and is refused.
#pragma once

#include "base/result.hpp"
#include "store/files.hpp"
#include "store/page_sums.hpp"
#include "store/sqlite.hpp"

namespace jobbie::store {

/// The layer's name for sqlite3_open_v2. From any thread.
[[nodiscard]] const char* checked_files();

/// A new file gets checksums; must come before anything is written.
[[nodiscard]] base::Result<void> begin_checksums(Connection& connection);
/// Whether the file says that it has checksums.
[[nodiscard]] bool has_checksums(Connection& connection);

/// For a connection that writes much: what it writes to the main file goes to the disk a little at
/// a time, so that the sync at the end does not hold up those of the log. `out` is of the same
/// file.
void write_behind(Connection& connection, WriteOut& out);

/// For a connection that only reads, and often the whole of a table: pages near one another are
/// read together.
void read_ahead(Connection& connection);

}  // namespace jobbie::store
