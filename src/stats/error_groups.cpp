// Failures, gathered by what makes them alike.
#include "stats/error_groups.hpp"

#include <algorithm>

#include "model/error_pattern.hpp"

namespace jobbie::stats {

void ErrorGrouping::add(const Failed& failed) {
  ++examined_;
  auto key = std::pair(std::string(failed.queue.view()), model::normalise_error(failed.error.view()));
  auto found = groups_.find(key);
  if (found == groups_.end()) {
    if (groups_.size() >= kMaxErrorGroups) {
      complete_ = false;
      return;
    }
    ErrorGroup group{.fingerprint = model::fingerprint_of(key.first, key.second),
                     .queue = failed.queue,
                     .pattern = key.second,
                     .error = failed.error,
                     .first_seen = failed.at,
                     .last_seen = failed.at,
                     .jobs = {}};
    found = groups_.emplace(std::move(key), std::move(group)).first;
  }
  ErrorGroup& group = found->second;
  ++(failed.dead ? group.dead : group.retrying);
  group.first_seen = std::min(group.first_seen, failed.at);
  if (failed.at > group.last_seen) {
    group.last_seen = failed.at;
    group.error = failed.error;
  }
  // They come newest first.
  if (group.jobs.size() < kSampleJobs) group.jobs.push_back(failed.job);
}

ErrorGroups ErrorGrouping::finish(bool all_seen) {
  ErrorGroups out{.groups = {}, .examined = examined_, .complete = complete_ && all_seen};
  for (auto& [key, group] : groups_) out.groups.push_back(std::move(group));
  groups_.clear();
  std::stable_sort(out.groups.begin(), out.groups.end(), [](const auto& a, const auto& b) {
    const auto count = [](const ErrorGroup& g) { return g.dead + g.retrying; };
    if (count(a) != count(b)) return count(a) > count(b);
    return a.last_seen > b.last_seen;
  });
  return out;
}

}  // namespace jobbie::stats
