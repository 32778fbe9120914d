// Rows for those who look at what jobs said and why they failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.hpp"
#include "model/log_line.hpp"
#include "store/sqlite.hpp"
#include "store/store.hpp"

namespace jobbie::store {

/// Lines of a job's log behind `after`, at most `limit`.
base::Result<model::LogPage> read_log(Connection& connection, base::JobId id, std::uint64_t after,
                                      std::size_t limit);
/// The newest dead and the newest retrying jobs, at most `limit` of each; whether there are more.
base::Result<bool> read_failures(Connection& connection, std::string_view queue, std::size_t limit,
                                 const std::function<void(Failure)>& sink);

}  // namespace jobbie::store
