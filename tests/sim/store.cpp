// Applies changes, answers for ended jobs, and compares itself with a dump.
#include "tests/sim/store.hpp"

#include <fmt/format.h>

#include "tests/sim/describe.hpp"

namespace jobbie::sim {
namespace {

std::string key(const base::Blob& blob) { return std::string(blob.view()); }

/// The first key at which two maps differ; `live` says which values count.
template <typename Map, typename Live>
std::string first_difference(const char* what, const Map& stored, const Map& dumped, Live live) {
  for (const auto& [k, value] : dumped) {
    if (!live(value)) return fmt::format("{}: the dump has something that is not live", what);
    const auto it = stored.find(k);
    if (it == stored.end()) return fmt::format("{}: dumped but not stored: {}", what, show(value));
    if (it->second != value)
      return fmt::format("{}: stored {} but dumped {}", what, show(it->second), show(value));
  }
  for (const auto& [k, value] : stored) {
    if (live(value) && !dumped.contains(k))
      return fmt::format("{}: stored but not dumped: {}", what, show(value));
  }
  return {};
}

}  // namespace

struct Store::Apply {
  Store& store;

  void operator()(const model::MetaRecord& r) const { store.meta_ = r; }
  void operator()(const model::QueueRecord& r) const { store.queues_[key(r.name)] = r; }
  void operator()(const model::TallyRecord& r) const {
    const TallyKey k{key(r.queue), r.state, r.minute};
    if (r.count == 0) {
      store.tallies_.erase(k);
    } else {
      store.tallies_[k] = r;
    }
  }
  void operator()(const model::WindowRecord& r) const {
    const WindowKey k{key(r.queue), r.keyed, key(r.key)};
    if (r.claims.empty()) {
      store.windows_.erase(k);
    } else {
      store.windows_[k] = r;
    }
  }
  void operator()(const model::GroupRecord& r) const {
    if (r.paused) {
      store.groups_[key(r.name)] = r;
    } else {
      store.groups_.erase(key(r.name));
    }
  }
  void operator()(const model::JobRecord& r) const { store.jobs_[r.id] = r; }
  void operator()(const model::BatchRecord& r) const { store.batches_[r.id] = r; }
  void operator()(const model::ScheduleRecord& r) const { store.schedules_[r.id] = r; }
  void operator()(const model::WorkerRecord& r) const { store.workers_[key(r.spec.id)] = r; }
  void operator()(const model::IdempotencyRecord& r) const {
    store.idempotency_[{r.scope, key(r.key)}] = r;
  }
  void operator()(const model::TaskRecord& r) const { store.tasks_[r.number] = r; }
  void operator()(const model::BulkRecord& r) const { store.bulks_[r.id] = r; }
  void operator()(const model::KeyRecord& r) const { store.keys_[r.id] = r; }
  void operator()(const model::WebhookRecord& r) const { store.webhooks_[r.id] = r; }
  void operator()(const model::DeliveryRecord& r) const { store.deliveries_[r.id] = r; }

  void operator()(const command::HeldItem& held) const { std::visit(*this, *held); }
  void operator()(const model::PlainJob& plain) const {
    model::JobRecord record;
    model::fill(plain, record);
    store.jobs_[plain.id] = record;
  }
  void operator()(const command::RemovedJob& r) const { store.jobs_.erase(r.job); }
  void operator()(const command::RemovedQueue& r) const {
    const std::string name = key(r.queue);
    store.queues_.erase(name);
    std::erase_if(store.tallies_, [&](const auto& e) { return std::get<0>(e.first) == name; });
    std::erase_if(store.windows_, [&](const auto& e) { return std::get<0>(e.first) == name; });
  }
  void operator()(const command::SweptJobs& r) const { store.sweep(r); }
  void operator()(const command::RemovedSchedule& r) const { store.schedules_.erase(r.schedule); }
  void operator()(const command::RemovedWorker& r) const { store.workers_.erase(key(r.worker)); }
  void operator()(const command::RemovedIdempotency& r) const {
    store.idempotency_.erase({r.scope, key(r.key)});
  }
  void operator()(const command::RemovedTask& r) const { store.tasks_.erase(r.number); }
  void operator()(const command::LoggedLines&) const {}  // never asked for
  void operator()(const command::RemovedBulk& r) const { store.bulks_.erase(r.bulk); }
  void operator()(const command::RemovedKey& r) const { store.keys_.erase(r.key); }
  void operator()(const command::RemovedWebhook& r) const {
    store.webhooks_.erase(r.webhook);
    std::erase_if(store.deliveries_, [&](const auto& e) { return e.second.webhook == r.webhook; });
  }
  void operator()(const command::Audited&) const {}  // never asked for
};

void Store::apply(const command::Changes& changes) {
  for (const command::Change& change : changes) std::visit(Apply{*this}, change);
}

void Store::put(const command::Item& item) { std::visit(Apply{*this}, item); }

void Store::each(const std::function<void(const command::Item&)>& sink) const {
  if (meta_) sink(*meta_);
  const auto all = [&](const auto& records) {
    for (const auto& [key, record] : records) sink(record);
  };
  all(queues_), all(tallies_), all(windows_), all(groups_), all(jobs_), all(batches_);
  all(schedules_), all(workers_), all(idempotency_), all(tasks_), all(bulks_);
}

void Store::sweep(const command::SweptJobs& swept) {
  std::erase_if(jobs_, [&](const auto& entry) {
    const model::JobRecord& job = entry.second;
    return job.state == swept.state && job.ended_at < swept.before && job.spec.queue == swept.queue;
  });
}

const model::JobRecord* Store::ended(base::JobId id) const {
  const auto it = jobs_.find(id);
  return it != jobs_.end() && model::has_ended(it->second.state) ? &it->second : nullptr;
}

std::optional<model::JobRecord> Store::find(base::JobId id) {
  const model::JobRecord* job = ended(id);
  return job != nullptr ? std::optional(*job) : std::nullopt;
}

std::vector<model::JobRecord> Store::dead_in_group(std::string_view group, std::uint64_t after,
                                                   std::uint64_t upto, std::size_t limit) {
  std::map<std::uint64_t, const model::JobRecord*> found;
  for (const auto& [id, job] : jobs_) {
    if (job.state == model::State::dead && job.spec.group.view() == group &&
        id.sequence() > after && id.sequence() <= upto)
      found[id.sequence()] = &job;
  }
  std::vector<model::JobRecord> result;
  for (const auto& [sequence, job] : found) {
    if (result.size() < limit) result.push_back(*job);
  }
  return result;
}

std::size_t Store::ended_count() const {
  std::size_t count = 0;
  for (const auto& [id, job] : jobs_) count += model::has_ended(job.state) ? 1U : 0U;
  return count;
}

const model::BatchRecord* Store::batch(base::BatchId id) const {
  const auto it = batches_.find(id);
  return it != batches_.end() ? &it->second : nullptr;
}

void Store::forget_lapsed_windows(base::Instant now) { windows_ = counting_windows(now); }

/// What is stored of a window may be older than what is dumped: claims that no longer count mean
/// nothing.
std::map<Store::WindowKey, model::WindowRecord> Store::counting_windows(base::Instant now) const {
  std::map<WindowKey, model::WindowRecord> counting;
  for (auto [key, window] : windows_) {
    const auto& settings = queues_.at(std::get<0>(key)).settings;
    const auto& throttle = window.keyed ? settings.throttle_per : settings.throttle;
    if (!throttle) continue;
    std::erase_if(window.claims,
                  [&](const auto& claims) { return claims.first <= now - throttle->period; });
    if (!window.claims.empty()) counting.emplace(key, std::move(window));
  }
  return counting;
}

std::string Store::difference(const engine::Engine& engine) const {
  Store dumped;
  engine.dump([&](const command::Item& item) { dumped.put(item); });
  const auto all = [](const auto&) { return true; };
  const auto live = [](const model::JobRecord& job) { return !model::has_ended(job.state); };
  const auto waiting = [](const model::DeliveryRecord& delivery) {
    return delivery.state == model::DeliveryState::pending;
  };
  const auto unfinished = [](const model::BatchRecord& batch) { return batch.finished_at.ms == 0; };
  if (meta_ != dumped.meta_)
    return fmt::format("meta: stored {} but dumped {}", show(meta_.value_or(model::MetaRecord{})),
                       show(dumped.meta_.value_or(model::MetaRecord{})));
  for (auto text :
       {first_difference("queue", queues_, dumped.queues_, all),
        first_difference("tally", tallies_, dumped.tallies_, all),
        first_difference("window", counting_windows(engine.now()), dumped.windows_, all),
        first_difference("group", groups_, dumped.groups_, all),
        first_difference("job", jobs_, dumped.jobs_, live),
        first_difference("batch", batches_, dumped.batches_, unfinished),
        first_difference("schedule", schedules_, dumped.schedules_, all),
        first_difference("worker", workers_, dumped.workers_, all),
        first_difference("idempotency", idempotency_, dumped.idempotency_, all),
        first_difference("task", tasks_, dumped.tasks_, all),
        first_difference("bulk", bulks_, dumped.bulks_, all),
        first_difference("key", keys_, dumped.keys_, all),
        first_difference("webhook", webhooks_, dumped.webhooks_, all),
        first_difference("delivery", deliveries_, dumped.deliveries_, waiting)}) {
    if (!text.empty()) return text;
  }
  return {};
}

}  // namespace jobbie::sim
