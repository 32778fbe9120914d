// Opening a database: making it, bringing its schema up to date, refusing what is not ours.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"
#include "store/sqlite.hpp"

namespace jobbie::store {

inline constexpr std::string_view kNewerSchema = "newer_schema";
inline constexpr std::string_view kForeignDatabase = "foreign_database";

/// `JOBB`, in the file's header: `file jobbie.db` and we know whose it is.
inline constexpr std::int64_t kApplicationId = 0x4a4f4242;

/// A connection that may write. Makes the file, with its folder entry synced, if there is none.
base::Result<Connection> open_database(const std::string& path, std::size_t cache_bytes);

/// Refuses another program's file and a schema that is newer (or, unless `may_be_older`, older)
/// than this program's.
base::Result<void> check_schema(Connection& connection, bool may_be_older);

}  // namespace jobbie::store
