// Written bytes on their way to the disk ahead of a sync.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jobbie::base {

/// As much as goes out at once. Whoever syncs something small meanwhile stands in line behind this
/// and not behind all that a large sync would bring.
inline constexpr std::size_t kWriteOutBytes = std::size_t{256} << 10;

/// Has the system write what it keeps of these bytes of a file in memory, and waits for it. The
/// sync that has to follow is short then: only a sync makes anything durable. False with errno:
/// some of it could not be written, and the next sync through this descriptor does not tell it
/// again. Where the system cannot or may not do this nothing happens, and it is true.
[[nodiscard]] bool write_out(int fd, std::uint64_t offset, std::uint64_t bytes);

/// Only begins it. What cannot be begun, a sync may not tell either.
[[nodiscard]] bool begin_write_out(int fd, std::uint64_t offset, std::uint64_t bytes);

}  // namespace jobbie::base
