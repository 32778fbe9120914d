// A copy of the database while it is written to: Store::copy_to says what it promises.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "store/store.hpp"

namespace jobbie::store {

base::Result<Copied> copy_database(const std::string& from, const std::string& to,
                                   const std::atomic<bool>& cancelled,
                                   const std::function<void(const CopyProgress&)>& progress);

}  // namespace jobbie::store
