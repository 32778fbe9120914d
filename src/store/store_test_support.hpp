// What the store's tests share: folders, records that fit, and a store in memory to compare with.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "command/item.hpp"
#include "model/limits.hpp"
#include "store/store.hpp"
#include "tests/support/golden_items.hpp"
#include "tests/support/random_command.hpp"

namespace jobbie::store::testing {

using jobbie::testing::RandomCommand;
namespace golden = jobbie::testing::golden;

inline constexpr std::chrono::milliseconds kLong{60'000};

/// A new folder that goes away with its owner.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "jobbie_store_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name = "jobbie.db") const {
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

inline std::unique_ptr<Store> open_store(const std::string& path) {
  auto store = Store::open({.path = path, .checkpoint_every = std::chrono::milliseconds(50)});
  if (!store) ADD_FAILURE() << store.error().code << ": " << store.error().message;
  return store ? *std::move(store) : nullptr;
}

/// The whole state as the store should hold it: maps, and changes applied to them in order.
struct Reference {
  std::optional<model::MetaRecord> meta;
  std::map<std::string, model::QueueRecord> queues;
  std::map<std::pair<std::string, std::pair<model::State, std::int64_t>>, model::TallyRecord>
      tallies;
  std::map<std::pair<std::string, std::pair<bool, std::string>>, model::WindowRecord> windows;
  std::map<std::string, model::GroupRecord> groups;
  std::map<base::JobId, model::JobRecord> jobs;
  std::map<base::BatchId, model::BatchRecord> batches;
  std::map<base::ScheduleId, model::ScheduleRecord> schedules;
  std::map<std::string, model::WorkerRecord> workers;
  std::map<std::pair<base::KeyId, std::string>, model::IdempotencyRecord> idempotency;
  std::map<std::uint64_t, model::TaskRecord> tasks;
  std::map<base::BulkId, model::BulkRecord> bulks;
  std::map<base::KeyId, model::KeyRecord> keys;
  std::map<base::WebhookId, model::WebhookRecord> webhooks;
  std::map<base::DeliveryId, model::DeliveryRecord> deliveries;
  bool operator==(const Reference&) const = default;

  static std::string key(const base::Blob& blob) { return std::string(blob.view()); }

  void operator()(const model::MetaRecord& r) { meta = r; }
  void operator()(const model::QueueRecord& r) { queues[key(r.name)] = r; }
  void operator()(const model::TallyRecord& r) {
    const auto k = std::pair(key(r.queue), std::pair(r.state, r.minute));
    r.count == 0 ? static_cast<void>(tallies.erase(k)) : static_cast<void>(tallies[k] = r);
  }
  void operator()(const model::WindowRecord& r) {
    const auto k = std::pair(key(r.queue), std::pair(r.keyed, key(r.key)));
    r.claims.empty() ? static_cast<void>(windows.erase(k)) : static_cast<void>(windows[k] = r);
  }
  void operator()(const model::GroupRecord& r) {
    r.paused ? static_cast<void>(groups[key(r.name)] = r)
             : static_cast<void>(groups.erase(key(r.name)));
  }
  void operator()(const model::JobRecord& r) { jobs[r.id] = r; }
  void operator()(const model::BatchRecord& r) { batches[r.id] = r; }
  void operator()(const model::ScheduleRecord& r) { schedules[r.id] = r; }
  void operator()(const model::WorkerRecord& r) { workers[key(r.spec.id)] = r; }
  void operator()(const model::IdempotencyRecord& r) { idempotency[{r.scope, key(r.key)}] = r; }
  void operator()(const model::TaskRecord& r) { tasks[r.number] = r; }
  void operator()(const model::BulkRecord& r) { bulks[r.id] = r; }
  void operator()(const model::KeyRecord& r) { keys[r.id] = r; }
  void operator()(const model::WebhookRecord& r) { webhooks[r.id] = r; }
  void operator()(const model::DeliveryRecord& r) { deliveries[r.id] = r; }
  void operator()(const command::Item& item) { std::visit(*this, item); }
  void operator()(const command::HeldItem& held) { std::visit(*this, *held); }
  void operator()(const model::PlainJob& plain) {
    model::JobRecord record;
    model::fill(plain, record);
    jobs[plain.id] = record;
  }
  void operator()(const command::RemovedJob& r) { jobs.erase(r.job); }
  void operator()(const command::RemovedQueue& r) {
    queues.erase(key(r.queue));
    std::erase_if(tallies, [&](const auto& e) { return e.first.first == key(r.queue); });
    std::erase_if(windows, [&](const auto& e) { return e.first.first == key(r.queue); });
  }
  void operator()(const command::SweptJobs& r) {
    std::erase_if(jobs, [&](const auto& e) {
      const auto& job = e.second;
      return job.state == r.state && job.ended_at < r.before && job.spec.queue == r.queue;
    });
  }
  void operator()(const command::RemovedSchedule& r) { schedules.erase(r.schedule); }
  void operator()(const command::RemovedWorker& r) { workers.erase(key(r.worker)); }
  void operator()(const command::RemovedIdempotency& r) {
    idempotency.erase({r.scope, key(r.key)});
  }
  void operator()(const command::RemovedTask& r) { tasks.erase(r.number); }
  void operator()(const command::LoggedLines&) {}  // compared on their own
  void operator()(const command::RemovedBulk& r) { bulks.erase(r.bulk); }
  void operator()(const command::RemovedKey& r) { keys.erase(r.key); }
  void operator()(const command::Audited&) {}  // compared on their own
  void operator()(const command::RemovedWebhook& r) {
    webhooks.erase(r.webhook);
    std::erase_if(deliveries, [&](const auto& e) { return e.second.webhook == r.webhook; });
  }

  void apply(const command::Changes& changes) {
    for (const auto& change : changes) std::visit(*this, change);
  }
  /// What load() gives: no ended jobs, no finished batches.
  [[nodiscard]] Reference hot() const {
    Reference out = *this;
    std::erase_if(out.jobs, [](const auto& e) { return model::has_ended(e.second.state); });
    std::erase_if(out.batches, [](const auto& e) { return e.second.finished_at.ms != 0; });
    std::erase_if(out.deliveries,
                  [](const auto& e) { return e.second.state != model::DeliveryState::pending; });
    return out;
  }
  [[nodiscard]] std::vector<model::JobRecord> dead_in_group(std::string_view group,
                                                            std::uint64_t after, std::uint64_t upto,
                                                            std::size_t limit) const {
    std::map<std::uint64_t, model::JobRecord> found;
    for (const auto& [id, job] : jobs)
      if (job.state == model::State::dead && job.spec.group.view() == group &&
          id.sequence() > after && id.sequence() <= upto)
        found[id.sequence()] = job;
    std::vector<model::JobRecord> out;
    for (auto& [seq, job] : found)
      if (out.size() < limit) out.push_back(std::move(job));
    return out;
  }
};

inline base::Result<Reference> load_all(Store& store) {
  base::Result<Reference> loaded;
  auto done = store.load([&](command::Item item) {
    (*loaded)(item);
    return base::Result<void>{};
  });
  if (!done) return std::unexpected(std::move(done).error());
  return loaded;
}

/// What a plain job has of a record, as an engine would hand it over.
inline model::PlainJob plain_of(const model::JobRecord& record) {
  return {.id = record.id,
          .queue = record.spec.queue,
          .payload = record.spec.payload,
          .worker = record.worker,
          .hostname = record.hostname,
          .run_at = record.run_at,
          .started_at = record.started_at,
          .ended_at = record.ended_at,
          .lease_expires_at = record.lease_expires_at,
          .lease_duration = record.lease_duration,
          .lease = record.lease,
          .arrival = record.arrival,
          .priority = record.spec.priority,
          .max_retries = record.spec.max_retries,
          .attempt = record.attempt,
          .state = record.state,
          .lease_end = record.lease_end,
          .heartbeaten = record.heartbeaten,
          .cancel_requested = record.cancel_requested,
          .batch_counted = record.batch_counted};
}

/// Errors as the engine keeps them: a bounded number, with ordinals that rise.
inline void tidy_errors(model::JobRecord& job) {
  if (job.errors.size() > model::limits::kErrorsKept) job.errors.resize(model::limits::kErrorsKept);
  std::uint32_t ordinal = job.errors.empty() ? 0 : job.errors.front().ordinal % 30;
  for (auto& error : job.errors) error.ordinal = ++ordinal;
}

}  // namespace jobbie::store::testing
