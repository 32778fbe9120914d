// Room for queues, whose they are, and which of them are forgotten.
//
// A queue comes into being by its name alone, so there is a bound on how many there are, and one on
// those of each restricted key: the names are for everybody. Those that nobody uses any more go.
#include <algorithm>

#include "engine/core.hpp"

namespace jobbie::engine {

std::optional<Refusal> Core::room_for_queues(std::size_t count, std::string_view field) const {
  if (queue_names.size() + count > meta.max_queues)
    return refuse(Refused::limit_reached, field, "the server has too many queues");
  if (caller.is_nil()) return std::nullopt;
  const auto own = owned_queues.find(caller);
  const auto owned = own == owned_queues.end() ? 0 : own->second;
  if (owned + count <= meta.max_queues_per_key) return std::nullopt;
  return refuse(Refused::limit_reached, field, "the API key has made too many queues");
}

std::optional<Refusal> Core::room_for_queue(const Blob& name, std::string_view field) {
  return find_queue(name.view()) != 0 ? std::nullopt : room_for_queues(1, field);
}

std::optional<Refusal> Core::make_owned_queue(const Blob& name) {
  if (caller.is_nil()) return std::nullopt;
  if (auto refusal = room_for_queue(name, "queue")) return refusal;
  make_queue(name);
  return std::nullopt;
}

void Core::expect_jobs_in(const Blob& queue) {
  if (!queue.empty()) ++expected_queues[std::string(queue.view())];
}

void Core::expect_no_jobs_in(const Blob& queue) {
  const auto found = expected_queues.find(queue.view());
  if (found != expected_queues.end() && --found->second == 0) expected_queues.erase(found);
}

bool Core::is_forgettable(const Queue& queue) const {
  const auto none = [](std::uint64_t count) { return count == 0; };
  return std::all_of(queue.counts.begin(), queue.counts.end(), none) && queue.tasks == 0 &&
         queue.settings == model::QueueSettings{} && !expected_queues.contains(queue.name.view());
}

std::string Core::audit_owners() const {
  std::unordered_map<base::KeyId, std::uint64_t> owned;
  for (const auto& queue : queues)
    if (queue && !queue->owner.is_nil()) ++owned[queue->owner];
  if (owned != owned_queues) return "queues of a key: count drifted";
  TextMap<std::uint32_t> expected;
  const auto expect = [&](const Blob& name) {
    if (!name.empty()) ++expected[std::string(name.view())];
  };
  for (const auto& [sequence, schedule] : schedules.all()) expect(schedule.record.spec.job.queue);
  batches.for_each([&](const model::BatchRecord& batch) { expect(batch.callback_queue); });
  if (expected.size() != expected_queues.size()) return "expected queues: count drifted";
  for (const auto& [name, count] : expected_queues) {
    const auto found = expected.find(name);
    if (found == expected.end() || found->second != count)
      return "queue " + name + ": count of what is expected drifted";
  }
  return {};
}

Reply Core::run(const command::SetLimits& c) {
  meta.max_queues = c.queues;
  meta.max_queues_per_key = c.queues_per_key;
  meta.max_idempotency_keys_per_key = c.idempotency_keys_per_key;
  return command::Done{};
}

Reply Core::run(const command::ForgetQueues& c) {
  command::Done done;
  for (const Blob& name : c.queues) {
    const Slot slot = find_queue(name.view());
    if (slot == 0 || !is_forgettable(*queues[slot])) continue;
    emit(EventType::queue_deleted, nullptr, queues[slot]->name);
    release_queue_parts(*queues[slot]);
    remove_queue(slot);
    ++done.affected;
  }
  return done;
}

}  // namespace jobbie::engine
