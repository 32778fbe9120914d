// Turning the log's time back, in a database that gets a log of its own afterwards.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"

namespace jobbie::store {

struct TurnedBack {
  base::Instant from;
  base::Instant
      to;  ///< within a minute after what was asked for: ended jobs are counted by minutes
};

/// For a database whose time has run ahead by a wrong clock. `now` is the right time, so what lies
/// after it was stamped or planned by the wrong one: all of that moves back by as much as the time
/// does, and whatever runs has as much left as before. What lies before `now` stays. Runs of
/// schedules are planned anew. Ids keep the time that is in them.
///
/// Nothing: the time is not ahead, and nothing was changed. Nobody else may use the file.
[[nodiscard]] base::Result<std::optional<TurnedBack>> turn_back(const std::string& path,
                                                                base::Instant now);

}  // namespace jobbie::store
