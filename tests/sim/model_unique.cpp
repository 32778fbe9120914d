// The model's unique keys (rule 3). Who holds a key is read off the jobs themselves.
#include <algorithm>

#include "tests/sim/model.hpp"

namespace jobbie::sim {

JobRecord* Model::holder(std::string_view queue, std::string_view key) {
  for (auto& [seq, job] : live_) {
    if (job.holds_unique && is(job.spec.unique.key, key) && is(job.spec.queue, queue)) return &job;
  }
  return nullptr;
}

/// 1.3: the holder's passed deadlines happen before anyone looks whether it holds the key.
JobRecord* Model::touch_holder(std::string_view queue, std::string_view key) {
  if (const JobRecord* job = holder(queue, key)) touch(job->id);
  return holder(queue, key);
}

void Model::take_lock(JobRecord& job) {
  if (job.spec.unique.key.empty()) return;
  job.holds_unique = true;
  job.unique_until =
      job.spec.unique.period.ms != 0 ? now_ + job.spec.unique.period : Instant{};  // 2.6
  note(job);
}

void Model::release_lock(JobRecord& job) {
  if (!job.holds_unique) return;
  job.holds_unique = false;
  job.unique_until = {};
  note(job);
}

}  // namespace jobbie::sim
