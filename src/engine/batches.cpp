// Batches: counting members as they end, and the callback when none is left.
#include <fmt/format.h>

#include "base/json.hpp"
#include "engine/core.hpp"
#include "engine/footprint.hpp"

namespace jobbie::engine {

base::BatchId Core::begin_batch(const command::BatchSpec& spec) {
  open_batch = meta.next_sequence++;
  Batch& batch = batches[open_batch];
  batch.record.id = base::BatchId{next_ulid(open_batch)};
  batch.record.callback_queue = spec.callback_queue;
  batch.record.callback_payload = spec.callback_payload;
  weigh(batch.bytes, footprint(batch.record));
  batch_changed(batch);
  expect_jobs_in(spec.callback_queue);
  return batch.record.id;
}

void Core::join_batch(Job& job, base::BatchId batch) {
  job.detail().batch = batch;
  ++batches[open_batch].record.total;
  ++batches[open_batch].record.pending;
}

void Core::end_of_batch_members() {
  if (batches[open_batch].record.pending == 0) batches_at_zero.push_back(open_batch);
  open_batch = 0;
}

void Core::count_in_batch(Job& job, bool succeeded) {
  if (!job.details || job.details->batch.is_nil() || job.batch_counted) return;
  job.batch_counted = true;
  const auto sequence = job.details->batch.sequence();
  const auto found = batches.find(sequence);
  if (found == batches.end()) return;
  Batch& batch = found->second;
  --batch.record.pending;
  ++(succeeded ? batch.record.succeeded : batch.record.failed);
  batch_changed(batch);
  if (batch.record.pending == 0 && open_batch != sequence) batches_at_zero.push_back(sequence);
}

void Core::batch_changed(Batch& batch) {
  if (batch.changed) return;
  batch.changed = true;
  changed_batches.push_back(batch.record.id.sequence());
}

void Core::finish_batches() {
  // A callback job cannot end here, so the list does not grow while it is walked.
  for (const auto sequence : batches_at_zero) {
    const auto found = batches.find(sequence);
    if (found == batches.end()) continue;
    model::BatchRecord record = std::move(found->second.record);
    weigh(found->second.bytes, 0);
    batches.erase(found);
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
    finished_batches.push_back(std::move(record));
  }
  batches_at_zero.clear();
}

}  // namespace jobbie::engine
