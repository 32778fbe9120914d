// Lines for a job's log: the engine only decides who may write, and passes them on to the store.
#include <utility>

#include "engine/core.hpp"

namespace jobbie::engine {

Reply Core::run(const command::AppendLogs& c) {
  const Slot slot = locate_settled(c.ref.job);
  if (slot == 0) return refuse(Refused::not_found, "job_id", "there is no such job");
  const Job& job = jobs[slot];
  if (auto refusal = check_lease(job, c.ref)) return *std::move(refusal);
  command::LoggedLines logged{.job = job.id, .lines = c.lines};
  for (auto& line : logged.lines)
    if (line.at == Instant{}) line.at = meta.now;
  changes.logged(std::move(logged));
  emit(EventType::logged, job);
  return command::Done{.affected = c.lines.size()};
}

}  // namespace jobbie::engine
