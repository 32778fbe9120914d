// Draining: the final version of every record that has changed, for the store.
#include <utility>

#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

/// What a list or table keeps for the next time, in elements; more than this was a burst.
constexpr std::size_t kKept = 16'384;
/// A table is made smaller when it is emptier than this: so few entries are moved that it takes
/// about a millisecond where the table had a million.
constexpr std::size_t kSparse = 64;

template <typename T>
void empty(std::vector<T>& list) {
  if (list.capacity() > kKept)
    list = std::vector<T>();
  else
    list.clear();
}

template <typename Table>
void shrink(Table& table) {
  if (table.bucket_count() > kKept && table.size() < table.bucket_count() / kSparse)
    table.rehash(2 * table.size());
}

}  // namespace

command::Changes Core::drain_changes() {
  command::Changes out = std::exchange(removals, {});
  removed_jobs.clear();
  shrink_tables();
  swept_jobs.clear();
  out.reserve(out.size() + 1 + changed_jobs.size() + changed_queues.size() +
              changed_tallies.size() + changed_workers.size());
  const auto add = [&](auto record) { out.emplace_back(command::Item(std::move(record))); };
  add(meta);
  drain_queues(out);
  for (const auto& name : std::exchange(changed_groups, {})) {
    const Slot slot = find_group(name);
    add(model::GroupRecord{.name = Blob(name), .paused = slot != 0 && groups[slot]->paused});
  }
  drain_jobs(out);
  for (auto& record : std::exchange(finished_batches, {})) add(std::move(record));
  for (const auto sequence : std::exchange(changed_batches, {})) {
    const auto found = batches.find(sequence);
    if (found == batches.end()) continue;
    found->second.changed = false;
    add(found->second.record);
  }
  for (const auto sequence : std::exchange(changed_schedules, {})) {
    const auto found = schedules.find(sequence);
    if (found == schedules.end()) continue;
    found->second.changed = false;
    add(found->second.record);
  }
  for (const auto& id : std::exchange(changed_workers, {})) {
    Worker* worker = find_worker(id);
    if (worker == nullptr) continue;
    worker->changed = false;
    add(worker->record);
  }
  for (const auto& [scope, key] : std::exchange(new_idempotency, {}))
    if (const auto* found = idempotency.find({scope, key.view()})) add(*found);
  const auto numbers = std::exchange(changed_tasks, {});
  for (const auto& task : tasks)
    if (numbers.contains(task.number)) add(task);
  for (const auto sequence : std::exchange(changed_keys, {}))
    if (const auto found = api_keys.find(sequence); found != api_keys.end()) add(found->second);
  drain_webhooks(out);
  for (auto& record : std::exchange(audited, {}))
    out.emplace_back(command::Audited{std::move(record)});
  // Of a job that has gone meanwhile nothing is kept.
  for (auto& logged : std::exchange(logged_lines, {}))
    if (index.find(logged.job.sequence()) != 0) out.emplace_back(std::move(logged));
  for (const auto sequence : std::exchange(changed_bulks, {}))
    if (const auto found = bulks.find(sequence); found != bulks.end()) add(found->second);
  release_ended();
  return out;
}

void Core::drain_jobs(command::Changes& out) {
  for (const JobRef ref : changed_jobs) {
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
  empty(changed_jobs);
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
  for (const JobRef ref : ended_jobs) {
    if (!exists(ref.slot, ref.sequence) || !model::has_ended(jobs[ref.slot].state)) continue;
    release_job(ref.slot);
  }
  empty(ended_jobs);
}

void Core::shrink_tables() {
  shrink(removed_jobs);
  shrink(batches);
  shrink(dependents);
  shrink(queue_names);
  shrink(group_names);
  shrink(workers);
  shrink(schedule_names);
}

}  // namespace jobbie::engine
