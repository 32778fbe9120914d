// The end of a seed: an operator lifts every brake, and honest workers take what they can get.
#include "tests/sim/workload.hpp"

namespace jobbie::sim {

/// No brakes and nothing that makes new jobs.
Entry Workload::recover() {
  Entry entry{.now = model_.now(), .random = rng_.next()};
  for (const auto& [name, queue] : model_.queues()) {
    const Blob& blob = queue.record.name;
    entry.commands.emplace_back(command::QueueCommand{blob, command::QueueAction::resume});
    const auto& settings = queue.record.settings;
    for (const auto& limit : {settings.concurrency, settings.concurrency_per})
      if (limit)
        entry.commands.emplace_back(command::SetConcurrency{blob, std::nullopt, limit->per});
    for (const auto& limit : {settings.throttle, settings.throttle_per})
      if (limit)
        entry.commands.emplace_back(command::SetThrottle{blob, std::nullopt, {}, limit->per});
  }
  for (const auto& group : model_.paused_groups())
    entry.commands.emplace_back(
        command::GroupCommand{Blob(group), command::GroupAction::resume, true});
  for (const auto& [seq, schedule] : model_.schedules())
    entry.commands.emplace_back(
        command::ScheduleCommand{schedule.record.id, command::ScheduleAction::remove});
  past_leases_.clear();
  return entry;
}

/// Acks what was claimed in the rounds before, and claims everything that is there. Leases of
/// workers that are gone run out by themselves.
Entry Workload::honest_round(Instant at) {
  Entry entry{.now = at, .random = rng_.next()};
  for (const Held& held : past_leases_)
    entry.commands.emplace_back(command::Ack{{held.job, held.lease, held.worker}, payload()});
  past_leases_.clear();
  entry.commands.emplace_back(command::Tick{});
  for (const Blob& worker : pool::workers) {
    entry.commands.emplace_back(command::Claim{.queues = {Blob("*")},
                                               .worker = worker,
                                               .count = 20,
                                               .roles = pool::roles,
                                               .tags = pool::marks});
  }
  return entry;
}

}  // namespace jobbie::sim
