// Names of states.
#include "model/job.hpp"

#include <array>

namespace jobbie::model {

const char* to_string(State s) {
  static constexpr std::array<const char*, kStates> kNames = {
      "scheduled", "waiting", "pending", "active", "retrying", "completed", "dead", "cancelled"};
  const auto i = static_cast<std::size_t>(s);
  return i < kNames.size() ? kNames[i] : "unknown";
}

}  // namespace jobbie::model
