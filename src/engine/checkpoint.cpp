// Dumping: the live state as a flat list of items, in an order that the state alone decides.
#include <algorithm>

#include "engine/core.hpp"

namespace jobbie::engine {

std::vector<const Queue*> Core::queues_by_name() const {
  std::vector<const Queue*> sorted;
  for (const auto& queue : queues)
    if (queue) sorted.push_back(queue.get());
  std::sort(sorted.begin(), sorted.end(),
            [](const Queue* a, const Queue* b) { return a->name.view() < b->name.view(); });
  return sorted;
}

void Core::dump_queue(const Queue& queue, const ItemSink& sink) const {
  sink(queue_record(queue));
  for (const State state : {State::completed, State::dead, State::cancelled})
    for (const auto& [minute, entry] : queue.tallies[ended_index(state)])
      sink(model::TallyRecord{
          .queue = queue.name, .state = state, .minute = minute, .count = entry.count});
  const auto add_window = [&](model::WindowRecord record) {
    if (!record.claims.empty()) sink(record);
  };
  add_window(window_record(queue, false, {}, &queue.window));
  std::vector<const Limiter*> keyed;
  for (const auto& [key, slot] : queue.throttle_keys)
    if (!limiters[slot].window.empty()) keyed.push_back(&limiters[slot]);
  std::sort(keyed.begin(), keyed.end(),
            [](const Limiter* a, const Limiter* b) { return a->key.view() < b->key.view(); });
  for (const Limiter* limiter : keyed)
    add_window(window_record(queue, true, limiter->key, &limiter->window));
}

void Core::dump(const ItemSink& sink) const {
  sink(meta);
  const auto sorted = queues_by_name();
  for (const Queue* queue : sorted) dump_queue(*queue, sink);
  for (const Queue* queue : sorted) {
    for (Slot slot = queue->first; slot != 0; slot = jobs[slot].queue_next) {
      auto record = record_of(jobs[slot]);
      if (options.plants(Plant::checkpoint_loses_cancel)) record.cancel_requested = false;
      sink(record);
    }
  }
  std::map<std::string_view, const Group*> paused;
  for (const auto& group : groups)
    if (group && group->paused) paused.emplace(group->name.view(), group.get());
  for (const auto& [name, group] : paused)
    sink(model::GroupRecord{.name = group->name, .paused = true});
  std::map<std::uint64_t, const model::BatchRecord*> unfinished;
  batches.for_each(
      [&](const model::BatchRecord& batch) { unfinished.emplace(batch.id.sequence(), &batch); });
  for (const auto& [sequence, batch] : unfinished) sink(*batch);
  for (const auto& [sequence, schedule] : schedules.all()) sink(schedule.record);
  std::map<std::string_view, const Worker*> known;
  for (const auto& [id, worker] : workers.entries())
    if (worker.known) known.emplace(id, &worker);
  for (const auto& [id, worker] : known) sink(worker->record);
  idempotency.for_each([&](const model::IdempotencyRecord& record) { sink(record); });
  for (const auto& task : tasks) sink(task);
  for (const auto& [sequence, bulk] : bulks) sink(bulk);
  for (const auto& [sequence, key] : api_keys.all()) sink(key);
  for (const auto& [sequence, webhook] : webhooks) sink(webhook);
  for (const auto& [sequence, delivery] : outbox) sink(delivery);
}

}  // namespace jobbie::engine
