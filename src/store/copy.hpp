// A copy of the database while it is written to: Store::copy_to says what it promises.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "store/sqlite.hpp"
#include "store/store.hpp"

namespace jobbie::store {

/// The same by a connection that is open, also where the file has lost its name.
base::Result<Copied> copy_database(Connection& from, const std::string& to);
/// `disk_full` where `to` has no room for a copy of so many pages, with both figures.
base::Result<void> room_for_copy(std::uint64_t pages, const std::string& to);

base::Result<Copied> copy_database(const std::string& from, const std::string& to,
                                   const std::atomic<bool>& cancelled,
                                   const std::function<void(const CopyProgress&)>& progress);

}  // namespace jobbie::store
