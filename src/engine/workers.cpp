// Workers: who asks for jobs, when it was last heard of, and how many jobs it holds.
#include <algorithm>

#include "engine/core.hpp"
#include "engine/footprint.hpp"

namespace jobbie::engine {

Worker* Core::find_worker(std::string_view id) {
  const auto found = workers.find(id);
  return found == workers.end() || !found->second.known ? nullptr : &found->second;
}

Worker* Core::see_worker(const Blob& id, const command::Claim* claim) {
  if (id.empty()) return nullptr;
  Worker* worker = find_worker(id.view());
  if (worker == nullptr) {
    if (claim == nullptr || known_workers >= model::limits::kWorkers) return nullptr;
    model::WorkerSpec spec;
    spec.id = id;
    worker = &add_worker({.spec = std::move(spec), .started_at = meta.now, .last_seen = meta.now});
    emit(EventType::worker_joined, nullptr, {}, id);
  }
  worker->record.last_seen = meta.now;
  if (!caller.is_nil()) worker->record.owner = caller;
  if (claim != nullptr) {
    const bool another =
        worker->record.spec.queues != claim->queues || worker->stated_roles != claim->roles ||
        worker->stated_tags != claim->tags ||
        (!claim->hostname.empty() && worker->record.spec.hostname != claim->hostname);
    if (another) restate(*worker, *claim);
  }
  worker_changed(*worker);
  return worker;
}

void Core::restate(Worker& worker, const command::Claim& claim) {
  worker.record.spec.queues = claim.queues;
  if (!claim.hostname.empty()) worker.record.spec.hostname = claim.hostname;
  worker.stated_roles = claim.roles;
  worker.stated_tags = claim.tags;
  account.weigh(worker.bytes, footprint(worker));
}

/// Whether to see the worker of this claim again would bring no news but the time.
bool Core::knows_worker(const command::Claim& c, Instant since, base::KeyId key) {
  if (c.worker.empty()) return true;
  const Worker* worker = find_worker(c.worker.view());
  return worker != nullptr && worker->record.last_seen >= since &&
         (key.is_nil() || worker->record.owner == key) && worker->record.spec.queues == c.queues &&
         (c.hostname.empty() || worker->record.spec.hostname == c.hostname) &&
         worker->stated_roles == c.roles && worker->stated_tags == c.tags;
}

Worker& Core::make_worker(std::string_view id) {
  const auto [entry, fresh] = workers.try_emplace(std::string(id));
  Worker& worker = entry->second;
  if (!fresh) return worker;
  account.weigh(worker.bytes, footprint(worker));
  if (free_workers.empty()) {
    worker.slot = static_cast<Slot>(worker_slots.size());
    worker_slots.push_back(&worker);
  } else {
    worker.slot = free_workers.back();
    free_workers.pop_back();
    worker_slots[worker.slot] = &worker;
  }
  return worker;
}

void Core::drop_worker(Worker& worker, std::string_view id) {
  account.weigh(worker.bytes, 0);
  worker_slots[worker.slot] = nullptr;
  free_workers.push_back(worker.slot);
  workers.erase(workers.find(id));
}

Worker& Core::add_worker(model::WorkerRecord record) {
  Worker& worker = make_worker(record.spec.id.view());
  record.active = worker.record.active;
  worker.record = std::move(record);
  worker.known = true;
  account.weigh(worker.bytes, footprint(worker));
  ++known_workers;
  expect_silence(worker);
  return worker;
}

void Core::expect_silence(const Worker& worker) {
  workers_checked_at =
      std::min(workers_checked_at, worker.record.last_seen + model::limits::kWorkerSilence);
}

void Core::worker_changed(Worker& worker) {
  if (worker.changed) return;
  worker.changed = true;
  changed_workers.emplace_back(worker.record.spec.id.view());
}

void Core::begin_holding(Job& job, Worker* worker) {
  if (job.worker.empty()) return;
  if (worker == nullptr) worker = &make_worker(job.worker.view());
  job.seat = worker->slot;
  ++worker->record.active;
  if (worker->known) worker_changed(*worker);
}

void Core::end_holding(Job& job) {
  if (job.seat == 0) return;
  Worker& worker = *worker_slots[std::exchange(job.seat, 0)];
  --worker.record.active;
  if (worker.known) {
    worker_changed(worker);
    if (worker.record.active == 0) expect_silence(worker);
  } else if (worker.record.active == 0) {
    drop_worker(worker, job.worker.view());
  }
}

void Core::remove_worker(Worker& worker) {
  const Blob id = worker.record.spec.id;
  changes.removed(command::RemovedWorker{id});
  emit(EventType::worker_left, nullptr, {}, id);
  --known_workers;
  const auto active = worker.record.active;
  if (active == 0) return drop_worker(worker, id.view());
  worker.record = {};
  worker.record.active = active;
  worker.stated_roles.clear();
  worker.stated_tags.clear();
  account.weigh(worker.bytes, footprint(worker));
  worker.known = worker.changed = false;
}

/// Looks at all workers, but only when one of them may have been silent long enough: the moment
/// kept for that is never too late, and looking too early changes nothing.
void Core::drop_silent_workers() {
  if (workers_checked_at > meta.now) return;
  workers_checked_at = base::kNever;
  std::vector<Blob> silent;
  for (const auto& [id, worker] : workers) {
    if (!worker.known || worker.record.active > 0) continue;
    if (worker.record.last_seen + model::limits::kWorkerSilence <= meta.now)
      silent.push_back(worker.record.spec.id);
    else
      expect_silence(worker);
  }
  std::sort(silent.begin(), silent.end(),
            [](const Blob& a, const Blob& b) { return a.view() < b.view(); });
  for (const Blob& id : silent) remove_worker(*find_worker(id.view()));
}

Reply Core::run(const command::RegisterWorker& c) {
  Worker* worker = find_worker(c.worker.id.view());
  if (worker == nullptr) {
    if (known_workers >= model::limits::kWorkers)
      return refuse(Refused::limit_reached, "worker_id", "there are too many workers");
    worker = &add_worker({.spec = c.worker, .started_at = meta.now, .last_seen = meta.now});
    emit(EventType::worker_joined, nullptr, {}, c.worker.id);
  }
  worker->record.spec = c.worker;
  account.weigh(worker->bytes, footprint(*worker));
  worker->record.last_seen = meta.now;
  worker->record.owner = caller;  // whoever may do everything takes it from its key
  worker_changed(*worker);
  return command::Done{};
}

Reply Core::run(const command::RemoveWorker& c) {
  Worker* worker = find_worker(c.worker.view());
  if (worker == nullptr) return refuse(Refused::not_found, "worker_id", "there is no such worker");
  remove_worker(*worker);
  return command::Done{};
}

}  // namespace jobbie::engine
