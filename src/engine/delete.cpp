// Delete: the job is gone, in whatever state it was.
#include "engine/core.hpp"

namespace jobbie::engine {

Reply Core::run(const command::Delete& c) {
  const Slot slot = locate_settled(c.job);
  if (slot == 0) return refuse(Refused::not_found, "job_id", "there is no such job");
  const State state = jobs[slot].state;
  delete_job(slot);
  return command::JobChanged{.job = c.job, .state = state};
}

}  // namespace jobbie::engine
