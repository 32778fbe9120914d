// Names of what becomes of deliveries.
#include "model/webhook.hpp"

#include <array>

namespace jobbie::model {

const char* to_string(DeliveryState state) {
  static constexpr std::array kNames = {"pending", "delivered", "failed"};
  const auto i = static_cast<std::size_t>(state);
  return i < kNames.size() ? kNames[i] : "unknown";
}

}  // namespace jobbie::model
