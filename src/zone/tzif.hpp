// Compiled time zone files (TZif, RFC 9636): bytes in, transitions and footer out. No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace jobbie::zone {

inline constexpr std::string_view kBadTzif = "bad_tzif";
/// The largest file in tzdata has under 4 KiB.
inline constexpr std::size_t kMaxTzifBytes = 64 * 1024;

/// From `at_s` (seconds since the epoch) on the zone is `offset_s` seconds east of UTC.
struct OffsetChange {
  std::int64_t at_s = 0;
  std::int32_t offset_s = 0;
  bool operator==(const OffsetChange&) const = default;
};

struct Tzif {
  std::int32_t base_offset_s = 0;     // in force before the first change
  std::vector<OffsetChange> changes;  // ascending by time
  std::string footer;                 // a POSIX TZ string for what comes after; may be empty
};

/// Reads version 2 and later, and of those the 64-bit part. Any bytes are safe to give. Files with
/// leap seconds are refused: their time is not the one our instants count.
[[nodiscard]] base::Result<Tzif> decode_tzif(std::string_view bytes);

}  // namespace jobbie::zone
