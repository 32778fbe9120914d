// Puts a copy of a database (Store::copy_to) in the place of another.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace jobbie::store {

/// The database's name in a data directory.
inline constexpr std::string_view kDatabaseName = "jobbie.db";

/// Makes the file at `copy`, on the same file system, the database of the data directory; the
/// directory's store must be closed. Where it ends early, be it by a crash, the directory holds
/// either the old database, whole, and the copy, or the new one: calling it again finishes.
[[nodiscard]] base::Result<void> install(const std::string& copy, const std::string& data_dir);

/// What install() does, one thing after the other, for tests that stop in between.
using InstallStep = std::function<base::Result<void>()>;
[[nodiscard]] std::vector<InstallStep> install_steps(const std::string& copy,
                                                     const std::string& data_dir);

}  // namespace jobbie::store
