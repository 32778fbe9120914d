// Workers and the jobs they hold; see workers.hpp.
#include "engine/workers.hpp"

#include <algorithm>
#include <utility>

#include "engine/footprint.hpp"
#include "engine/shrink.hpp"

namespace jobbie::engine {

Worker* Workers::find_known(std::string_view id) {
  const auto found = entries_.find(id);
  return found == entries_.end() || !found->second.known ? nullptr : &found->second;
}

const Worker* Workers::find(std::string_view id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() || !found->second.known ? nullptr : &found->second;
}

Workers::Seen Workers::see(const Blob& id, const command::Claim* claim, Instant now,
                           base::KeyId caller) {
  if (id.empty()) return {};
  Seen seen;
  Worker* worker = find_known(id.view());
  if (worker == nullptr) {
    if (claim == nullptr || is_full()) return {};
    model::WorkerSpec spec;
    spec.id = id;
    worker = &add({.spec = std::move(spec), .started_at = now, .last_seen = now});
    seen.joined = true;
  }
  worker->record.last_seen = now;
  if (!caller.is_nil()) worker->record.owner = caller;
  if (claim != nullptr) {
    const bool another =
        worker->record.spec.queues != claim->queues || worker->stated_roles != claim->roles ||
        worker->stated_tags != claim->tags ||
        (!claim->hostname.empty() && worker->record.spec.hostname != claim->hostname);
    if (another) restate(*worker, *claim);
  }
  changed(*worker);
  seen.worker = worker;
  return seen;
}

void Workers::restate(Worker& worker, const command::Claim& claim) {
  worker.record.spec.queues = claim.queues;
  if (!claim.hostname.empty()) worker.record.spec.hostname = claim.hostname;
  worker.stated_roles = claim.roles;
  worker.stated_tags = claim.tags;
  memory_.weigh(worker.bytes, footprint(worker));
}

bool Workers::is_as_known(const command::Claim& c, Instant since, base::KeyId key) const {
  if (c.worker.empty()) return true;
  const Worker* worker = find(c.worker.view());
  return worker != nullptr && worker->record.last_seen >= since &&
         (key.is_nil() || worker->record.owner == key) && worker->record.spec.queues == c.queues &&
         (c.hostname.empty() || worker->record.spec.hostname == c.hostname) &&
         worker->stated_roles == c.roles && worker->stated_tags == c.tags;
}

bool Workers::enrol(const model::WorkerSpec& spec, Instant now, base::KeyId owner) {
  Worker* worker = find_known(spec.id.view());
  const bool joined = worker == nullptr;
  if (joined) worker = &add({.spec = spec, .started_at = now, .last_seen = now});
  worker->record.spec = spec;
  memory_.weigh(worker->bytes, footprint(*worker));
  worker->record.last_seen = now;
  worker->record.owner = owner;
  changed(*worker);
  return joined;
}

Worker& Workers::make(std::string_view id) {
  const auto [entry, fresh] = entries_.try_emplace(std::string(id));
  Worker& worker = entry->second;
  if (!fresh) return worker;
  memory_.weigh(worker.bytes, footprint(worker));
  if (free_.empty()) {
    worker.slot = static_cast<Slot>(slots_.size());
    slots_.push_back(&worker);
  } else {
    worker.slot = free_.back();
    free_.pop_back();
    slots_[worker.slot] = &worker;
  }
  return worker;
}

void Workers::drop(Worker& worker, std::string_view id) {
  memory_.weigh(worker.bytes, 0);
  slots_[worker.slot] = nullptr;
  free_.push_back(worker.slot);
  entries_.erase(entries_.find(id));
}

Worker& Workers::add(model::WorkerRecord record) {
  Worker& worker = make(record.spec.id.view());
  record.active = worker.record.active;
  worker.record = std::move(record);
  worker.known = true;
  memory_.weigh(worker.bytes, footprint(worker));
  ++known_;
  expect_silence(worker);
  return worker;
}

void Workers::expect_silence(const Worker& worker) {
  checked_at_ = std::min(checked_at_, worker.record.last_seen + model::limits::kWorkerSilence);
}

void Workers::changed(Worker& worker) {
  if (worker.changed) return;
  worker.changed = true;
  changed_.emplace_back(worker.record.spec.id.view());
}

void Workers::begin_holding(Job& job, const Worker* known) {
  if (job.worker.empty()) return;
  Worker& worker = known != nullptr ? *slots_[known->slot] : make(job.worker.view());
  job.seat = worker.slot;
  ++worker.record.active;
  if (worker.known) changed(worker);
}

void Workers::end_holding(Job& job) {
  if (job.seat == 0) return;
  Worker& worker = *slots_[std::exchange(job.seat, 0)];
  --worker.record.active;
  if (worker.known) {
    changed(worker);
    if (worker.record.active == 0) expect_silence(worker);
  } else if (worker.record.active == 0) {
    drop(worker, job.worker.view());
  }
}

bool Workers::is_held_right(const Job& job) const {
  if (job.worker.empty()) return job.seat == 0;
  const auto found = entries_.find(job.worker.view());
  return found != entries_.end() && slots_[job.seat] == &found->second &&
         found->second.slot == job.seat;
}

void Workers::remove(const Blob& id, ChangeLog& changes) {
  Worker& worker = *find_known(id.view());
  changes.removed(command::RemovedWorker{id});
  --known_;
  const auto active = worker.record.active;
  if (active == 0) return drop(worker, id.view());
  worker.record = {};
  worker.record.active = active;
  worker.stated_roles.clear();
  worker.stated_tags.clear();
  memory_.weigh(worker.bytes, footprint(worker));
  worker.known = worker.changed = false;
}

std::vector<Blob> Workers::find_silent(Instant now) {
  std::vector<Blob> silent;
  if (checked_at_ > now) return silent;
  checked_at_ = base::kNever;
  for (const auto& [id, worker] : entries_) {
    if (!worker.known || worker.record.active > 0) continue;
    if (worker.record.last_seen + model::limits::kWorkerSilence <= now)
      silent.push_back(worker.record.spec.id);
    else
      expect_silence(worker);
  }
  std::sort(silent.begin(), silent.end(),
            [](const Blob& a, const Blob& b) { return a.view() < b.view(); });
  return silent;
}

void Workers::drain(command::Changes& out) {
  for (const auto& id : std::exchange(changed_, {})) {
    Worker* worker = find_known(id);
    if (worker == nullptr) continue;
    worker->changed = false;
    out.emplace_back(command::Item(worker->record));
  }
}

void Workers::shrink() { shrink_table(entries_); }

}  // namespace jobbie::engine
