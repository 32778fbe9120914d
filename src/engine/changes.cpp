// Draining: the final version of every record that has changed, for the store.
#include <utility>

#include "engine/core.hpp"
#include "engine/shrink.hpp"

namespace jobbie::engine {
command::Changes Core::drain_changes() {
  command::Changes out = changes.take_removals();
  shrink_tables();
  out.reserve(out.size() + 1 + changes.changed_jobs().size() + changed_queues.size() +
              changed_tallies.size() + workers.undrained());
  const auto add = [&](auto record) { out.emplace_back(command::Item(std::move(record))); };
  add(meta);
  drain_queues(out);
  for (const auto& name : std::exchange(changed_groups, {})) {
    const Slot slot = find_group(name);
    add(model::GroupRecord{.name = Blob(name), .paused = slot != 0 && groups[slot]->paused});
  }
  drain_jobs(out);
  batches.drain(out);
  schedules.drain(out);
  workers.drain(out);
  idempotency.drain(out);
  const auto numbers = std::exchange(changed_tasks, {});
  for (const auto& task : tasks)
    if (numbers.contains(task.number)) add(task);
  api_keys.drain(out);
  drain_webhooks(out);
  for (auto& record : changes.take_audited()) out.emplace_back(command::Audited{std::move(record)});
  // Of a job that has gone meanwhile nothing is kept.
  for (auto& logged : changes.take_logged())
    if (index.find(logged.job.sequence()) != 0) out.emplace_back(std::move(logged));
  for (const auto sequence : std::exchange(changed_bulks, {}))
    if (const auto found = bulks.find(sequence); found != bulks.end()) add(found->second);
  release_ended();
  return out;
}

void Core::drain_jobs(command::Changes& out) {
  for (const JobRef ref : changes.changed_jobs()) {
    if (!exists(ref.slot, ref.sequence) || !jobs[ref.slot].changed) continue;
    Job& job = jobs[ref.slot];
    job.changed = false;
    job.stored = true;
    // There may be many, so each is made where it stays.
    if (job.unique || job.placement || job.details) {
      auto& change = out.emplace_back(std::in_place_type<command::HeldItem>,
                                      std::in_place_type<model::JobRecord>);
      fill_record(job, std::get<model::JobRecord>(*std::get<command::HeldItem>(change)));
      continue;
    }
    auto& plain = std::get<model::PlainJob>(out.emplace_back(std::in_place_type<model::PlainJob>));
    if (model::has_ended(job.state))
      give_plain(job, plain);  // release_ended() is about to forget it
    else
      fill_plain(job, plain);
  }
  changes.forget_changed_jobs();
}

void Core::drain_queues(command::Changes& out) {
  const auto add = [&](auto record) { out.emplace_back(command::Item(std::move(record))); };
  for (const Slot slot : std::exchange(changed_queues, {})) {
    if (!queues[slot] || !queues[slot]->changed) continue;
    queues[slot]->changed = false;
    add(queue_record(*queues[slot]));
  }
  for (const TallyRef& ref : std::exchange(changed_tallies, {})) {
    model::TallyRecord record{.queue = ref.queue, .state = ref.state, .minute = ref.minute};
    if (const Slot slot = find_queue(ref.queue.view()); slot != 0) {
      auto& minutes = queues[slot]->tallies[ended_index(ref.state)];
      if (const auto found = minutes.find(ref.minute); found != minutes.end()) {
        found->second.changed = false;
        record.count = found->second.count;
      }
    }
    add(std::move(record));
  }
  for (const auto& [name, keyed, key] : std::exchange(changed_windows, {})) {
    const Slot slot = find_queue(name);
    if (slot == 0) continue;
    Queue& queue = *queues[slot];
    const Window* window = nullptr;
    if (!keyed) {
      queue.window_changed = false;
      window = &queue.window;
    } else if (const auto found = queue.throttle_keys.find(key);
               found != queue.throttle_keys.end()) {
      limiters[found->second].changed = false;
      window = &limiters[found->second].window;
    }
    add(window_record(queue, keyed, Blob(key), window));
  }
}

void Core::forget_changes() { drain_changes(); }

/// Ended jobs are the store's from now on.
void Core::release_ended() {
  for (const JobRef ref : changes.ended_jobs()) {
    if (!exists(ref.slot, ref.sequence) || !model::has_ended(jobs[ref.slot].state)) continue;
    release_job(ref.slot);
  }
  changes.forget_ended_jobs();
}

void Core::shrink_tables() {
  batches.shrink();
  dependents.shrink();
  shrink_table(queue_names);
  shrink_table(group_names);
  workers.shrink();
  schedules.shrink();
}

}  // namespace jobbie::engine
