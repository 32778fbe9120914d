// What batches do to jobs: opening one, counting a member's end, and the callback when none is
// left.
#include <fmt/format.h>

#include "base/json.hpp"
#include "engine/core.hpp"

namespace jobbie::engine {

base::BatchId Core::open_batch(const command::BatchSpec& spec) {
  const base::BatchId id{next_ulid(meta.next_sequence++)};
  model::BatchRecord record;
  record.id = id;
  record.callback_queue = spec.callback_queue;
  record.callback_payload = spec.callback_payload;
  batches.open(std::move(record));
  expect_jobs_in(spec.callback_queue);
  return id;
}

void Core::count_in_batch(Job& job, bool succeeded) {
  if (!job.details || job.details->batch.is_nil() || job.batch_counted) return;
  job.batch_counted = true;
  batches.count(job.details->batch, succeeded);
}

void Core::finish_batches() {
  // A callback job cannot end here, so no other batch is done meanwhile.
  for (model::BatchRecord& record : batches.take_done()) {
    expect_no_jobs_in(record.callback_queue);
    record.finished_at = meta.now;
    emit(EventType::batch_completed, nullptr, record.callback_queue, Blob(record.id.text()));
    if (!record.callback_queue.empty()) {
      const auto summary =
          fmt::format(R"({{"id":"{}","total":{},"succeeded":{},"failed":{}}})", record.id.text(),
                      record.total, record.succeeded, record.failed);
      const auto payload =
          base::json::with_member(record.callback_payload.view(), "batch", summary);
      model::JobSpec spec;
      spec.queue = record.callback_queue;
      spec.payload = Blob(payload ? *payload : summary);
      const Slot slot = create_job(spec);
      record.callback_job = jobs[slot].id;
      open_job(slot);
    }
    batches.finished(std::move(record));
  }
}

}  // namespace jobbie::engine
