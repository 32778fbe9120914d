// What the machine does just now, apart from any server: so that a table can say how quiet it was.
#pragma once

#include <expected>
#include <string>

namespace jobbie::bench::load {

struct Probe {
  double spin_ms = 0;           ///< a fixed piece of work on one core
  double syncs_per_second = 0;  ///< fdatasync after writing 4 KiB into space written before
  double pings_per_second = 0;  ///< there and back over loopback, one connection, two threads
};

/// Takes about a second and a half. `directory` must be on the disk that the servers use.
[[nodiscard]] std::expected<Probe, std::string> probe(const std::string& directory);

}  // namespace jobbie::bench::load
