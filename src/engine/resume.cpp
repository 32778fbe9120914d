// Resume: leases do not run while nobody leads.
#include <algorithm>
#include <vector>

#include "engine/core.hpp"

namespace jobbie::engine {

/// The entry's time may lie behind a lease's end already. What counts is the time before the entry:
/// a lease that had ended by then has ended, and any other lives on for what it had left, because
/// its worker could not speak meanwhile. Other deadlines run whether somebody leads or not.
///
/// Takes time in proportion to the jobs that have a deadline. It happens once for each leader.
Reply Core::run(const command::Resume& c) {
  if (c.lost == Duration{} || options.plants(Plant::resume_forgets)) return command::Done{};
  std::vector<JobRef> held;
  timers.for_each([&](const auto& timer) {
    const Job& job = jobs[timer.item];
    if (job.state == State::active && job.lease_expires_at > time_before)
      held.push_back({timer.item, job.sequence()});
    return true;
  });
  // The heap's order differs between replicas.
  std::sort(held.begin(), held.end(),
            [](const JobRef& a, const JobRef& b) { return a.sequence < b.sequence; });
  for (const auto& [slot, sequence] : held) {
    jobs[slot].lease_expires_at = jobs[slot].lease_expires_at + c.lost;
    rearm(slot);
    touch(slot);
  }
  return command::Done{.affected = held.size()};
}

}  // namespace jobbie::engine
