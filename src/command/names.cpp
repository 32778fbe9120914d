// Stable names of refusals, heartbeats and events.
#include <array>

#include "command/event.hpp"
#include "command/reply.hpp"

namespace jobbie::command {

const char* to_string(Refused code) {
  static constexpr std::array kNames = {"invalid",
                                        "not_found",
                                        "lease_lost",
                                        "not_active",
                                        "not_owner",
                                        "wrong_state",
                                        "unique_conflict",
                                        "idempotency_mismatch",
                                        "unknown_dependency",
                                        "dependency_cycle",
                                        "name_taken",
                                        "limit_reached",
                                        "forbidden"};
  const auto i = static_cast<std::size_t>(code);
  return i < kNames.size() ? kNames[i] : "unknown";
}

const char* to_string(BeatStatus status) {
  static constexpr std::array kNames = {"ok", "cancel", "lost", "unknown"};
  const auto i = static_cast<std::size_t>(status);
  return i < kNames.size() ? kNames[i] : "unknown";
}

const char* to_string(EventType type) {
  static constexpr std::array<const char*, kEventTypes> kNames = {
      "enqueued",        "started",        "completed",        "failed",
      "retrying",        "dead",           "cancelled",        "cancel_requested",
      "promoted",        "retried",        "progress",         "lease_expired",
      "moved",           "deleted",        "priority_changed", "queue_paused",
      "queue_resumed",   "queue_draining", "queue_drained",    "queue_cleared",
      "queue_deleted",   "queue_changed",  "group_paused",     "group_resumed",
      "batch_completed", "schedule_fired", "schedule_changed", "worker_joined",
      "worker_left",     "logged"};
  const auto i = static_cast<std::size_t>(type);
  return i < kNames.size() ? kNames[i] : "unknown";
}

}  // namespace jobbie::command
