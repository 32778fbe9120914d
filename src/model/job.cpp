// Names of states, and plain jobs as records.
#include "model/job.hpp"

#include <array>
#include <utility>

namespace jobbie::model {
namespace {

template <typename Job>
void fill_from(Job&& job, JobRecord& record) {
  record.id = job.id;
  record.state = job.state;
  record.spec.queue = std::forward<Job>(job).queue;
  record.spec.payload = std::forward<Job>(job).payload;
  record.spec.priority = job.priority;
  record.spec.max_retries = job.max_retries;
  record.attempt = job.attempt;
  record.run_at = job.run_at;
  record.started_at = job.started_at;
  record.ended_at = job.ended_at;
  record.lease = job.lease;
  record.lease_end = job.lease_end;
  record.lease_duration = job.lease_duration;
  record.lease_expires_at = job.lease_expires_at;
  record.worker = std::forward<Job>(job).worker;
  record.hostname = std::forward<Job>(job).hostname;
  record.heartbeaten = job.heartbeaten;
  record.cancel_requested = job.cancel_requested;
  record.batch_counted = job.batch_counted;
  record.arrival = job.arrival;
}

}  // namespace

void fill(const PlainJob& job, JobRecord& record) { fill_from(job, record); }
void fill(PlainJob&& job, JobRecord& record) { fill_from(std::move(job), record); }

const char* to_string(State s) {
  static constexpr std::array<const char*, kStates> kNames = {
      "scheduled", "waiting", "pending", "active", "retrying", "completed", "dead", "cancelled"};
  const auto i = static_cast<std::size_t>(s);
  return i < kNames.size() ? kNames[i] : "unknown";
}

}  // namespace jobbie::model
