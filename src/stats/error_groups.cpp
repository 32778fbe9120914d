// Failures, gathered by what makes them alike.
#include "stats/error_groups.hpp"

#include <algorithm>
#include <functional>

#include "model/error_pattern.hpp"

namespace jobbie::stats {
namespace {

/// They come by the time of their making; an old job may have failed last.
void keep_latest(ErrorGroup& group, const Failed& failed) {
  auto& times = group.jobs_failed;
  const auto place =
      std::upper_bound(times.begin(), times.end(), failed.at, std::greater<>()) - times.begin();
  if (static_cast<std::size_t>(place) == kSampleJobs) return;
  times.insert(times.begin() + place, failed.at);
  group.jobs.insert(group.jobs.begin() + place, failed.job);
  if (times.size() <= kSampleJobs) return;
  times.pop_back();
  group.jobs.pop_back();
}

}  // namespace

void ErrorGrouping::add(const Failed& failed) {
  ++examined_;
  auto key =
      std::pair(std::string(failed.queue.view()), model::normalise_error(failed.error.view()));
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
                     .jobs = {},
                     .jobs_failed = {}};
    found = groups_.emplace(std::move(key), std::move(group)).first;
  }
  ErrorGroup& group = found->second;
  ++(failed.dead ? group.dead : group.retrying);
  group.first_seen = std::min(group.first_seen, failed.at);
  if (failed.at > group.last_seen) {
    group.last_seen = failed.at;
    group.error = failed.error;
  }
  keep_latest(group, failed);
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
