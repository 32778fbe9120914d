// One step: a few queues, each looked at once.
#include "node/idle_queues.hpp"

#include <algorithm>
#include <utility>

#include "model/limits.hpp"

namespace jobbie::node {

static_assert(IdleQueues::kStepQueues <= model::limits::kQueuesForgotten);

std::vector<base::Blob> IdleQueues::step(const engine::Engine& engine, base::Instant now,
                                         std::int64_t now_us,
                                         const std::function<bool(std::string_view)>& keeps) {
  std::vector<base::Blob> idle;
  if (after_.ms == 0 || now_us < next_us_) return idle;
  next_us_ = now_us + kStepUs;
  seen_.resize(engine.queue_slots());
  if (next_slot_ >= seen_.size()) next_slot_ = 0;
  const auto end = std::min(next_slot_ + kStepQueues, seen_.size());
  for (; next_slot_ < end; ++next_slot_) {
    Seen& seen = seen_[next_slot_];
    auto queue = engine.empty_queue(next_slot_);
    if (!queue) {
      seen = {};
      continue;
    }
    const bool same = seen.since.ms != 0 && seen.created_at == queue->created_at &&
                      seen.enqueued == queue->enqueued;
    if (!same || seen.since + after_ > now) {
      if (!same) seen = {now, queue->created_at, queue->enqueued};
      continue;
    }
    seen.since = now;  // whatever comes of it, it is not asked for again soon
    if (!keeps(queue->name.view())) idle.push_back(std::move(queue->name));
  }
  return idle;
}

}  // namespace jobbie::node
