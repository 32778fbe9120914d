// Items: the state as a flat list of records. A checkpoint is a stream of them, a change is a few.
//
// Applying every change in order to an empty collection keyed as below gives the items of a
// checkpoint taken at the same entry, plus the ended jobs, which leave the engine and live in the
// collection only.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "base/blob.hpp"
#include "base/id.hpp"
#include "model/access.hpp"
#include "model/job.hpp"
#include "model/log_line.hpp"
#include "model/queue.hpp"
#include "model/records.hpp"
#include "model/webhook.hpp"

namespace jobbie::command {

/// Keys: meta (one), queue name, (queue, state, minute), (queue, keyed, key), group name, job id,
/// batch id, schedule id, worker id, (scope, idempotency key), task number, bulk id,
/// key id, webhook id, delivery id. Append only. Deliveries that have ended leave the engine as
/// ended jobs do.
using Item =
    std::variant<model::MetaRecord, model::QueueRecord, model::TallyRecord, model::WindowRecord,
                 model::GroupRecord, model::JobRecord, model::BatchRecord, model::ScheduleRecord,
                 model::WorkerRecord, model::IdempotencyRecord, model::TaskRecord,
                 model::BulkRecord, model::KeyRecord, model::WebhookRecord, model::DeliveryRecord>;

// What is no longer there. In one drain these come before the items, so that a name used again
// after its removal stays.
struct RemovedJob {
  base::JobId job;
};
/// Its tallies and windows go with it.
struct RemovedQueue {
  base::Blob queue;
};
/// Ended jobs of a queue go: those of `state` that ended before `before`.
struct SweptJobs {
  base::Blob queue;
  model::State state = model::State::completed;
  base::Instant before;
};
struct RemovedSchedule {
  base::ScheduleId schedule;
};
struct RemovedWorker {
  base::Blob worker;
};
struct RemovedIdempotency {
  base::Blob key;
  base::KeyId scope;
};
struct RemovedTask {
  std::uint64_t number = 0;
};
struct RemovedBulk {
  base::BulkId bulk;
};

/// Lines that a job's log gets, behind those it has. Logs live in the collection only: the engine
/// keeps none.
struct LoggedLines {
  base::JobId job;
  std::vector<model::LogLine> lines;
};

struct RemovedKey {
  base::KeyId key;
};
/// Its deliveries go with it.
struct RemovedWebhook {
  base::WebhookId webhook;
};
/// For the audit log, which lives in the collection only.
struct Audited {
  model::AuditRecord record;
};

/// An item that is held elsewhere: most changes are much smaller than the largest item.
class HeldItem {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): an item is a change.
  HeldItem(Item item) : item_(std::make_unique<Item>(std::move(item))) {}
  template <typename Record>
  explicit HeldItem(std::in_place_type_t<Record> type) : item_(std::make_unique<Item>(type)) {}
  HeldItem(const HeldItem& other) : HeldItem(*other) {}
  HeldItem(HeldItem&&) noexcept = default;
  HeldItem& operator=(HeldItem other) noexcept {
    item_.swap(other.item_);
    return *this;
  }
  ~HeldItem() = default;

  Item& operator*() { return *item_; }
  const Item& operator*() const { return *item_; }

 private:
  std::unique_ptr<Item> item_;  ///< null only in what was moved from
};

/// In order. An item replaces the one with the same key; a plain job stands for its record.
using Change = std::variant<HeldItem, model::PlainJob, RemovedJob, RemovedQueue, SweptJobs,
                            RemovedSchedule, RemovedWorker, RemovedIdempotency, RemovedTask,
                            LoggedLines, RemovedBulk, RemovedKey, Audited, RemovedWebhook>;
using Changes = std::vector<Change>;

/// The item that a change is; null if it is something else.
[[nodiscard]] inline const Item* item_in(const Change& change) {
  const auto* held = std::get_if<HeldItem>(&change);
  return held == nullptr ? nullptr : &**held;
}
/// The id of the job that a change brings; null if it brings none.
[[nodiscard]] inline const base::JobId* job_in(const Change& change) {
  if (const auto* plain = std::get_if<model::PlainJob>(&change)) return &plain->id;
  const auto* item = item_in(change);
  const auto* job = item == nullptr ? nullptr : std::get_if<model::JobRecord>(item);
  return job == nullptr ? nullptr : &job->id;
}

}  // namespace jobbie::command
