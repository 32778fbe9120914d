// File descriptors: how many there may be, and who gets them.
//
// Everything that the server opens is bounded here, in one place, so that connections never take
// what the log and the database need: the next segment of the log must be openable at any time.
#pragma once

#include <cstddef>

#include "base/journal.hpp"
#include "base/result.hpp"
#include "settings.hpp"

namespace jobbie::app {

struct Descriptors {
  std::size_t limit = 0;        ///< of the process
  std::size_t reserved = 0;     ///< for everything but clients
  std::size_t connections = 0;  ///< of clients, the rest
  std::size_t per_address = 0;  ///< of those, from one address
  std::size_t strangers = 0;    ///< connections to the cluster port that have proven nothing yet
};

/// What follows from a limit of the process.
[[nodiscard]] Descriptors plan_descriptors(std::size_t limit, const Settings& settings);

/// Raises the limit as far as the system lets us, and says what follows. Fails where the server
/// could not work with it.
[[nodiscard]] base::Result<Descriptors> prepare_descriptors(const Settings& settings,
                                                            base::Journal& journal);

}  // namespace jobbie::app
