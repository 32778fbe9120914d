// Unique keys: a lock is a mark on the job that holds it, found by the hash of queue and key.
//
// The table maps 48 bits of the hash to a job; jobs whose bits are equal hang on one chain. A lock
// cannot outlive its job, since there is nothing else that it could be.
#include "base/check.hpp"
#include "base/hash.hpp"
#include "engine/core.hpp"

namespace jobbie::engine {

std::uint64_t Core::lock_hash(Slot queue, std::string_view key) const {
  const auto hash = base::hash_bytes(key, options.hash_seed + queue) & base::kMaxSequence;
  return hash == 0 ? 1 : hash;
}

Slot Core::lock_holder(Slot queue, std::string_view key) {
  if (queue == 0) return 0;
  for (Slot slot = locks.find(lock_hash(queue, key)); slot != 0;) {
    const Job& job = jobs[slot];
    const Slot next = job.unique->next_same;
    if (job.queue == queue && job.unique->spec.key.view() == key)
      return settle(slot) && jobs[slot].unique->held ? slot : 0;
    slot = next;
  }
  return 0;
}

Slot Core::lock_holder_of(const model::JobSpec& spec) {
  if (spec.unique.key.empty()) return 0;
  return lock_holder(find_queue(spec.queue.view()), spec.unique.key.view());
}

bool Core::lock_taken(Slot queue, std::string_view key) const {
  for (Slot slot = locks.find(lock_hash(queue, key)); slot != 0;
       slot = jobs[slot].unique->next_same)
    if (jobs[slot].queue == queue && jobs[slot].unique->spec.key.view() == key) return true;
  return false;
}

void Core::take_lock(Slot slot) {
  Job& job = jobs[slot];
  Unique& unique = *job.unique;
  JOBBIE_CHECK(!unique.held);
  unique.held = true;
  unique.expires = unique.spec.period == Duration{} ? Instant{} : meta.now + unique.spec.period;
  link_lock(slot);
}

void Core::link_lock(Slot slot) {
  Job& job = jobs[slot];
  const auto hash = lock_hash(job.queue, job.unique->spec.key.view());
  job.unique->next_same = locks.find(hash);
  locks.set(hash, slot);
  ++queue_of(job).unique_locks;
}

void Core::release_lock(Slot slot) {
  Job& job = jobs[slot];
  if (!job.unique || !job.unique->held) return;
  unlink_lock(slot);
  job.unique->held = false;
  job.unique->expires = {};
}

void Core::unlink_lock(Slot slot) {
  Job& job = jobs[slot];
  const auto hash = lock_hash(job.queue, job.unique->spec.key.view());
  const Slot next = job.unique->next_same;
  const Slot head = locks.find(hash);
  if (head != slot) {
    Slot previous = head;
    while (jobs[previous].unique->next_same != slot) previous = jobs[previous].unique->next_same;
    jobs[previous].unique->next_same = next;
  } else if (next == 0) {
    locks.erase(hash);
  } else {
    locks.set(hash, next);
  }
  job.unique->next_same = 0;
  --queue_of(job).unique_locks;
}

}  // namespace jobbie::engine
