// How single values of the model are written. Private to the folder.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/json_writer.hpp"
#include "model/job.hpp"

namespace jobbie::face::native {

inline constexpr std::array<std::string_view, 3> kPriorityNames = {"critical", "high", "normal"};
inline constexpr std::array<std::string_view, 4> kBackoffNames = {"none", "fixed", "linear",
                                                                  "exponential"};
inline constexpr std::array<std::string_view, 3> kUniqueUntilNames = {"start", "end", "period"};
inline constexpr std::array<std::string_view, 2> kOnFailureNames = {"cancel", "run"};
inline constexpr std::array<std::string_view, 2> kFairnessNames = {"priority", "group"};
inline constexpr std::array<std::string_view, 3> kCatchUpNames = {"skip", "one", "all"};

/// The name of the tier, or the number of one that has none.
inline void write_priority(base::json::Writer& json, std::int32_t priority) {
  const auto i = static_cast<std::size_t>(priority);
  if (priority >= 0 && i < kPriorityNames.size())
    json.plain(kPriorityNames[i]);
  else
    json.number(priority);
}

}  // namespace jobbie::face::native
