// Sizes of parts and records, and the engine's account of them.
#include "engine/footprint.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

/// A dependency that has not ended: an id, and the dependent's node among those who wait for it.
constexpr std::size_t kEdge = sizeof(JobId) + kNodeFootprint;

std::size_t footprint_of(const std::vector<Blob>& texts) {
  std::size_t bytes = allocated(texts.size() * sizeof(Blob));
  for (const Blob& text : texts) bytes += footprint(text);
  return bytes;
}

std::size_t footprint_of(const model::Requirements& needs) {
  return footprint_of(needs.roles) + footprint_of(needs.tags) + footprint(needs.target_worker);
}

}  // namespace

std::size_t texts_footprint(const Job& job) {
  return footprint(job.payload) + footprint(job.worker) + footprint(job.hostname);
}

std::size_t footprint(const Unique& unique) {
  return allocated(sizeof(Unique)) + footprint(unique.spec.key) + kNodeFootprint / 2;
}

std::size_t footprint(const Placement& place) {
  return allocated(sizeof(Placement)) + footprint_of(place.requirements) + footprint(place.group) +
         allocated(place.depends_on.size() * sizeof(JobId)) + place.waiting_on.size() * kEdge;
}

std::size_t footprint(const Details& details) {
  std::size_t bytes =
      allocated(sizeof(Details)) + footprint(details.tags) + footprint(details.traceparent) +
      footprint(details.progress) + footprint(details.checkpoint) + footprint(details.result) +
      footprint(details.end_reason) + allocated(details.errors.size() * sizeof(model::JobError));
  for (const auto& error : details.errors)
    bytes += footprint(error.error) + footprint(error.backtrace) + footprint(error.worker);
  return bytes;
}

std::size_t footprint(const model::BatchRecord& batch) {
  return sizeof(Batch) + kNodeFootprint + footprint(batch.callback_queue) +
         footprint(batch.callback_payload);
}

std::size_t footprint(const model::ScheduleRecord& schedule) {
  const auto& spec = schedule.spec;
  return sizeof(Schedule) + 3 * kNodeFootprint + 2 * footprint(spec.name) + footprint(spec.cron) +
         allocated(spec.zone.transitions.size() * sizeof(model::ZoneTransition)) +
         footprint(spec.job.queue) + footprint(spec.job.payload) + footprint(spec.job.tags) +
         footprint(spec.job.unique.key) + footprint(spec.job.group) +
         footprint_of(spec.job.requires_);
}

std::size_t footprint(const Worker& worker) {
  const auto& spec = worker.record.spec;
  return sizeof(Worker) + kNodeFootprint + 2 * footprint(spec.id) + footprint(spec.hostname) +
         footprint(spec.name) + footprint_of(spec.queues) + footprint_of(spec.roles) +
         footprint_of(spec.tags) + footprint_of(worker.stated_roles) +
         footprint_of(worker.stated_tags);
}

std::size_t footprint(const model::IdempotencyRecord& record) {
  return sizeof(record) + 2 * kNodeFootprint + footprint(record.key) + footprint(record.reply);
}

void Core::weigh_parts(Job& job) {
  if (job.placement) account.weigh(job.placement->bytes, footprint(*job.placement));
  if (job.details) account.weigh(job.details->bytes, footprint(*job.details));
}

void Core::weigh_new(Job& job) {
  account.add(kJobFootprint);
  if (job.unique) account.add(footprint(*job.unique));
  account.weigh(job.text_bytes, texts_footprint(job));
  weigh_parts(job);
}

void Core::release_job(Slot slot) {
  Job& job = jobs[slot];
  account.weigh(job.text_bytes, 0);
  if (job.unique) account.subtract(footprint(*job.unique));
  if (job.placement) account.weigh(job.placement->bytes, 0);
  if (job.details) account.weigh(job.details->bytes, 0);
  account.subtract(kJobFootprint);
  index.erase(job.sequence());
  jobs.release(slot);
}

std::uint64_t Core::memory() const {
  return account.bytes() + idempotency.bytes() + queue_names.size() * kQueueFootprint +
         group_names.size() * kGroupFootprint + limiters.size() * kLimiterFootprint +
         lanes.size() * kLaneFootprint + outbox.size() * kDeliveryFootprint;
}

std::string Core::audit_memory() const {
  std::uint64_t bytes = 0;
  std::string found;
  jobs.for_each_live([&](Slot, const Job& job) {
    std::uint64_t own = kJobFootprint + texts_footprint(job);
    if (job.unique) own += footprint(*job.unique);
    if (job.placement) own += footprint(*job.placement);
    if (job.details) own += footprint(*job.details);
    const std::uint64_t known =
        kJobFootprint + job.text_bytes + (job.unique ? footprint(*job.unique) : 0) +
        (job.placement ? job.placement->bytes : 0) + (job.details ? job.details->bytes : 0);
    if (own != known && found.empty())
      found = fmt::format("{} {}: takes {} bytes, counted {}", job.id.text(),
                          model::to_string(job.state), own, known);
    bytes += own;
  });
  if (!found.empty()) return found;
  batches.for_each([&](const model::BatchRecord& batch) { bytes += footprint(batch); });
  for (const auto& [sequence, schedule] : schedules.all()) bytes += footprint(schedule.record);
  for (const auto& [id, worker] : workers.entries()) bytes += footprint(worker);
  if (bytes != account.bytes())
    return fmt::format("{} bytes held, counted {}", bytes, account.bytes());
  return idempotency.is_intact() ? std::string() : "the table of idempotency keys is broken";
}

}  // namespace jobbie::engine
