// What has changed since the last drain; see change_log.hpp.
#include "engine/change_log.hpp"

#include <algorithm>

#include "engine/shrink.hpp"

namespace jobbie::engine {

void ChangeLog::removed_job(JobId id) {
  removals_.emplace_back(command::RemovedJob{id});
  removed_jobs_.insert(id.sequence());
}

void ChangeLog::swept(const command::SweptJobs& jobs) {
  removals_.emplace_back(jobs);
  sweeps_.push_back(jobs);
}

bool ChangeLog::is_gone(const model::JobRecord& record) const {
  if (removed_jobs_.contains(record.id.sequence())) return true;
  return std::any_of(sweeps_.begin(), sweeps_.end(), [&](const command::SweptJobs& swept) {
    return swept.state == record.state && record.ended_at < swept.before &&
           swept.queue == record.spec.queue;
  });
}

command::Changes ChangeLog::take_removals() {
  removed_jobs_.clear();
  shrink_table(removed_jobs_);
  sweeps_.clear();
  return std::exchange(removals_, {});
}

void ChangeLog::forget_changed_jobs() { empty_list(changed_jobs_); }
void ChangeLog::forget_ended_jobs() { empty_list(ended_jobs_); }

}  // namespace jobbie::engine
