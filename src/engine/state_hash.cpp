// The state hash: a sum of shares, so that it does not matter in which order things are kept.
//
// The share of a record is the hash of its encoding: a field that is written down is a field that
// is hashed. Shares of jobs are kept from call to call and computed again only for jobs that
// changed, so the cost of a call follows the work done since the last one.
#include <limits>

#include "base/hash.hpp"
#include "command/codec.hpp"
#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

/// Past this many jobs waiting to be hashed nobody seems to ask: the shares are dropped, and the
/// next call starts afresh.
constexpr std::size_t kMostUnhashed = 1'000'000;

std::uint64_t share(const command::Item& item) {
  std::string bytes;
  command::encode(item, bytes);
  return base::hash_bytes(bytes);
}

}  // namespace

void Core::forget_digest(Slot slot) {
  Job& job = jobs[slot];
  if (job.hashed && slot < hash_next) job_digests -= job.digest;
  job.hashed = false;
  if (unhashed_jobs.size() < kMostUnhashed) return;
  hashing = false;
  unhashed_jobs = {};
}

void Core::hash_job(Job& job) {
  job.to_be_hashed = false;
  if (job.hashed || model::has_ended(job.state)) return;
  job.digest = share(record_of(job));
  job_digests += job.digest;
  job.hashed = true;
}

bool Core::hash_jobs(std::size_t& budget) {
  if (!hashing) {
    hashing = true;
    job_digests = 0;
    hash_next = 0;
  }
  // What a job knows of an earlier time, when nobody asked for long, counts for nothing.
  for (; hash_next < jobs.end_slot(); ++hash_next) {
    if (budget == 0) return false;
    --budget;
    if (!jobs.is_live(hash_next)) continue;
    jobs[hash_next].hashed = false;
    hash_job(jobs[hash_next]);
  }
  for (; !unhashed_jobs.empty(); --budget) {
    if (budget == 0) return false;
    const JobRef ref = unhashed_jobs.back();
    unhashed_jobs.pop_back();
    if (exists(ref.slot, ref.sequence)) hash_job(jobs[ref.slot]);
  }
  return true;
}

std::uint64_t Core::state_hash() {
  auto budget = std::numeric_limits<std::size_t>::max();
  hash_jobs(budget);

  model::MetaRecord counters = meta;
  counters.entries = 0;  // how the commands were grouped is not state; log time is
  std::uint64_t sum = job_digests + idempotency.digest() + share(counters);
  const ItemSink add = [&](const command::Item& item) { sum += share(item); };
  for (const auto& queue : queues)
    if (queue) dump_queue(*queue, add);
  for (const auto& group : groups)
    if (group && group->paused) add(model::GroupRecord{.name = group->name, .paused = true});
  batches.for_each(add);
  for (const auto& [sequence, schedule] : schedules.all()) add(schedule.record);
  for (const auto& [id, worker] : workers.entries())
    if (worker.known) add(worker.record);
  for (const auto& task : tasks) add(task);
  for (const auto& [sequence, bulk] : bulks) add(bulk);
  for (const auto& [sequence, key] : api_keys.all()) add(key);
  for (const auto& [sequence, webhook] : webhooks) add(webhook);
  for (const auto& [sequence, delivery] : outbox) add(delivery);
  return base::mix64(sum);
}

}  // namespace jobbie::engine
