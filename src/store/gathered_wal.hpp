// SQLite's write-ahead log in large writes.
//
// SQLite hands over every page of a transaction in two parts, a short head and the page. Here they
// are put together until the transaction's last page has come, which its head tells, or until there
// are many; then they are written at once. So whoever sees a transaction in the index of the log
// finds it in the file, and a write that fails, fails before the transaction is called done.
//
// It counts on two things: only one connection of all writes transactions (what another has left of
// one that was rolled back could come over them later), and no connection syncs its commits, for
// which SQLite would divide what it writes otherwise (`synchronous` is NORMAL or OFF).
#pragma once

#include <cstddef>
#include <sqlite3.h>

namespace jobbie::store {

/// What an open file takes before the room for the system's own.
[[nodiscard]] std::size_t gathered_wal_bytes();

/// As xOpen of `system`, for its logs alone.
[[nodiscard]] int open_gathered_wal(sqlite3_vfs& system, const char* name, sqlite3_file* file,
                                    int flags, int* out_flags);

}  // namespace jobbie::store
