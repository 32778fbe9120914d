// Unique keys; see locks.hpp.
#include "engine/locks.hpp"

#include "base/check.hpp"
#include "base/hash.hpp"

namespace jobbie::engine {

std::uint64_t Locks::hash_of(Slot queue, std::string_view key) const {
  const auto hash = base::hash_bytes(key, seed_ + queue) & base::kMaxSequence;
  return hash == 0 ? 1 : hash;
}

Slot Locks::find(Slot queue, std::string_view key) const {
  for (Slot slot = table_.find(hash_of(queue, key)); slot != 0;
       slot = jobs_[slot].unique->next_same)
    if (jobs_[slot].queue == queue && jobs_[slot].unique->spec.key.view() == key) return slot;
  return 0;
}

void Locks::take(Slot slot, Queue& queue, Instant now) {
  const auto period = jobs_[slot].unique->spec.period;
  restore(slot, queue, period == Duration{} ? Instant{} : now + period);
}

void Locks::restore(Slot slot, Queue& queue, Instant until) {
  Unique& unique = *jobs_[slot].unique;
  JOBBIE_CHECK(!unique.held);
  unique.held = true;
  unique.expires = until;
  link(slot, queue);
}

void Locks::link(Slot slot, Queue& queue) {
  Job& job = jobs_[slot];
  const auto hash = hash_of(job.queue, job.unique->spec.key.view());
  job.unique->next_same = table_.find(hash);
  table_.set(hash, slot);
  ++queue.unique_locks;
}

void Locks::release(Slot slot, Queue& queue) {
  Job& job = jobs_[slot];
  if (!job.unique || !job.unique->held) return;
  unlink(slot, queue);
  job.unique->held = false;
  job.unique->expires = {};
}

void Locks::unlink(Slot slot, Queue& queue) {
  Job& job = jobs_[slot];
  const auto hash = hash_of(job.queue, job.unique->spec.key.view());
  const Slot next = job.unique->next_same;
  const Slot head = table_.find(hash);
  if (head != slot) {
    Slot previous = head;
    while (jobs_[previous].unique->next_same != slot) previous = jobs_[previous].unique->next_same;
    jobs_[previous].unique->next_same = next;
  } else if (next == 0) {
    table_.erase(hash);
  } else {
    table_.set(hash, next);
  }
  job.unique->next_same = 0;
  --queue.unique_locks;
}

}  // namespace jobbie::engine
