// Commands about workers, and those that have been silent for too long.
#include "engine/core.hpp"

namespace jobbie::engine {

const Worker* Core::see_worker(const Blob& id, const command::Claim* claim) {
  const auto [worker, joined] = workers.see(id, claim, meta.now, caller);
  if (joined) emit(EventType::worker_joined, nullptr, {}, id);
  return worker;
}

void Core::remove_worker(const Blob& id) {
  workers.remove(id, changes);
  emit(EventType::worker_left, nullptr, {}, id);
}

void Core::drop_silent_workers() {
  for (const Blob& id : workers.find_silent(meta.now)) remove_worker(id);
}

Reply Core::run(const command::RegisterWorker& c) {
  if (workers.find(c.worker.id.view()) == nullptr && workers.is_full())
    return refuse(Refused::limit_reached, "worker_id", "there are too many workers");
  // Whoever may do everything takes it from its key.
  if (workers.enrol(c.worker, meta.now, caller))
    emit(EventType::worker_joined, nullptr, {}, c.worker.id);
  return command::Done{};
}

Reply Core::run(const command::RemoveWorker& c) {
  if (workers.find(c.worker.view()) == nullptr)
    return refuse(Refused::not_found, "worker_id", "there is no such worker");
  remove_worker(Blob(c.worker));
  return command::Done{};
}

}  // namespace jobbie::engine
