// Who holds a unique key now: the table's answer, after the holder's passed deadlines.
#include "engine/core.hpp"

namespace jobbie::engine {

Slot Core::lock_holder(Slot queue, std::string_view key) {
  if (queue == 0) return 0;
  const Slot slot = locks.find(queue, key);
  return slot != 0 && settle(slot) && jobs[slot].unique->held ? slot : 0;
}

Slot Core::lock_holder_of(const model::JobSpec& spec) {
  if (spec.unique.key.empty()) return 0;
  return lock_holder(find_queue(spec.queue.view()), spec.unique.key.view());
}

}  // namespace jobbie::engine
