// Events: what the stream tells those who watch. They follow from an entry and are kept nowhere.
#pragma once

#include <cstdint>

#include "base/blob.hpp"
#include "base/id.hpp"
#include "base/time.hpp"

namespace jobbie::command {

enum class EventType : std::uint8_t {
  enqueued = 0,
  started,
  completed,
  failed,  ///< an attempt failed; `retrying` or `dead` follows
  retrying,
  dead,
  cancelled,
  cancel_requested,
  promoted,  ///< scheduled, waiting or retrying became pending
  retried,   ///< by hand: retry or requeue
  progress,
  lease_expired,
  moved,
  deleted,
  priority_changed,
  queue_paused,
  queue_resumed,
  queue_draining,
  queue_drained,
  queue_cleared,
  queue_deleted,
  queue_changed,
  group_paused,
  group_resumed,
  batch_completed,
  schedule_fired,
  schedule_changed,
  worker_joined,
  worker_left,
  logged,  ///< lines were added to the job's log
};
inline constexpr std::size_t kEventTypes = 30;
const char* to_string(EventType type);

struct Event {
  EventType type = EventType::enqueued;
  base::JobId job;   ///< nil where there is none
  base::Blob queue;  ///< empty where there is none
  base::Instant at;
  std::uint32_t attempt = 0;
  base::Blob detail;  ///< error, reason, worker, group, progress: what fits the type
  /// Of `started`: since the job could be claimed. Of `completed`, `failed` and `lease_expired`:
  /// since it was claimed. Else zero.
  base::Duration elapsed;
  base::Blob traceparent;  ///< of a job that was given one

  /// A measurement is not compared: since when a job could be claimed is not part of the state, and
  /// an engine that was loaded only knows about when.
  friend bool operator==(const Event& a, const Event& b) {
    return a.type == b.type && a.job == b.job && a.queue == b.queue && a.at == b.at &&
           a.attempt == b.attempt && a.detail == b.detail && a.traceparent == b.traceparent;
  }
};

}  // namespace jobbie::command
