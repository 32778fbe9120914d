// The engine's face: applies entries and answers reads.
#include "engine/engine.hpp"

#include <algorithm>
#include <utility>

#include "command/validate.hpp"
#include "engine/core.hpp"

namespace jobbie::engine {
Refusal refuse(Refused code, std::string_view field, std::string_view message) {
  return {.code = code, .field = std::string(field), .message = std::string(message)};
}

Core::Core(EndedJobs& ended, const Options& given) : ended_port(ended), options(given) {
  queues.emplace_back();
  heads.add();
  groups.emplace_back();
}

void Core::apply(const command::Entry& entry, Outcome& out) {
  time_before = meta.now;
  meta.now = std::max(meta.now, entry.now);
  random = entry.random;
  entry_work = entry.work;
  work_left = entry.work;
  ++meta.entries;
  outcome = &out;
  out.replies.reserve(entry.commands.size());
  out.events.reserve(entry.commands.size());  // most commands tell of one
  for (const command::Command& command : entry.commands) {
    auto refusal = command::validate(command);
    caller = restriction.key();
    if (!refusal && restriction.is_active()) refusal = forbid(command);
    if (refusal) {
      out.replies.emplace_back(*std::move(refusal));
    } else {
      out.replies.push_back(std::visit([&](const auto& c) { return run(c); }, command));
    }
    caller = {};
    restriction.command_done();
    if (batches.any_done()) finish_batches();
    if (tasks.empty()) continue;
    const auto revived = run_tasks();
    if (std::exchange(watched_task, 0) != 0)
      std::get<command::Done>(out.replies.back()).affected = revived;
    if (batches.any_done()) finish_batches();
  }
  restriction.end();
  outcome = nullptr;
}

model::QueueView Core::view_of(const Queue& queue, std::size_t& looks) const {
  model::QueueView view{.record = queue_record(queue),
                        .counts = queue.counts,
                        .oldest_pending = {},
                        .unique_locks = queue.unique_locks,
                        .clearing = queue.tasks != 0};
  std::uint64_t oldest = 0;
  const auto consider = [&](Slot lane) {
    if (lane == 0 || lanes[lane].empty()) return;
    const auto sequence = lanes[lane].oldest(looks);
    oldest = oldest == 0 ? sequence : std::min(oldest, sequence);
  };
  consider(queue.plain_lane);
  for (const auto& [key, lane] : queue.lanes) {
    if (looks == 0) break;
    --looks;
    consider(lane);
  }
  if (oldest != 0) view.oldest_pending = jobs[index.find(oldest)].id.ulid.time();
  return view;
}

Engine::Engine(EndedJobs& ended, const Options& options)
    : core_(std::make_unique<Core>(ended, options)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Outcome Engine::apply(const command::Entry& entry) {
  Outcome outcome;
  core_->apply(entry, outcome);
  return outcome;
}

base::Instant Engine::next_deadline() const { return core_->next_deadline(); }
command::Changes Engine::drain_changes() { return core_->drain_changes(); }
std::uint64_t Engine::state_hash() { return core_->state_hash(); }
void Engine::dump(const std::function<void(const command::Item&)>& sink) const {
  core_->dump(sink);
}
base::Instant Engine::now() const { return core_->meta.now; }
Why Engine::why(base::JobId id) const { return core_->why(id); }
std::string Engine::audit() const { return core_->audit(); }
Demand Engine::demand(std::string_view queue) const {
  const Slot slot = core_->find_queue(queue);
  if (slot == 0) return {};
  const Queue& found = *core_->queues[slot];
  return {.pending = found.counts[static_cast<std::size_t>(State::pending)],
          .picky = !found.needs.empty()};
}

bool Engine::is_idle_claim(const command::Command& command, base::Instant since,
                           base::KeyId key) const {
  const auto* claim = std::get_if<command::Claim>(&command);
  return claim != nullptr && !command::validate(command) && core_->has_nothing_for(*claim) &&
         core_->workers.is_as_known(*claim, since, key);
}

bool Engine::prepare(const command::Claim& claim, std::size_t& budget) {
  return core_->knows_globs(claim, budget);
}

bool Engine::prepare_hash(std::size_t& budget) { return core_->hash_jobs(budget); }

std::size_t Engine::undrained() const {
  return core_->changes.size() + core_->changed_queues.size() + core_->changed_tallies.size() +
         core_->workers.undrained();
}

std::size_t Engine::live_jobs() const { return core_->live; }
std::uint64_t Engine::memory() const { return core_->memory(); }

bool Engine::any_active() const {
  return std::any_of(core_->queues.begin(), core_->queues.end(), [](const auto& queue) {
    return queue != nullptr && queue->counts[static_cast<std::size_t>(State::active)] > 0;
  });
}

std::optional<model::JobRecord> Engine::job(base::JobId id) const {
  const Slot slot = core_->index.find(id.sequence());
  if (slot == 0 || core_->jobs[slot].id != id) return std::nullopt;
  return core_->record_of(core_->jobs[slot]);
}

std::vector<model::BulkRecord> Engine::bulks() const {
  std::vector<model::BulkRecord> out;
  for (const auto& [sequence, bulk] : core_->bulks) out.push_back(bulk);
  return out;
}

std::optional<model::QueueView> Engine::queue(std::string_view name) const {
  const Slot slot = core_->find_queue(name);
  if (slot == 0) return std::nullopt;
  std::size_t looks = kOldestLookups;
  return core_->view_of(*core_->queues[slot], looks);
}

std::vector<model::QueueView> Engine::queues() const {
  std::vector<model::QueueView> out;
  for (const auto& queue : core_->queues) {
    std::size_t looks = kOldestLookups;
    if (queue) out.push_back(core_->view_of(*queue, looks));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.record.name.view() < b.record.name.view();
  });
  return out;
}

std::vector<model::QueueView> Engine::first_queues(std::size_t limit) const {
  std::vector<model::QueueView> out;
  std::size_t looks = kOldestLookups;
  for (const auto& queue : core_->queues) {
    if (out.size() == limit) break;
    if (queue) out.push_back(core_->view_of(*queue, looks));
  }
  return out;
}

std::size_t Engine::queue_count() const { return core_->queue_names.size(); }
std::size_t Engine::queue_slots() const { return core_->queues.size(); }

std::optional<EmptyQueue> Engine::empty_queue(std::size_t slot) const {
  if (slot >= core_->queues.size() || !core_->queues[slot]) return std::nullopt;
  const Queue& queue = *core_->queues[slot];
  if (!core_->is_forgettable(queue)) return std::nullopt;
  return EmptyQueue{
      .name = queue.name, .created_at = queue.created_at, .enqueued = queue.totals.enqueued};
}

command::SetLimits Engine::limits() const {
  return {.queues = core_->meta.max_queues,
          .queues_per_key = core_->meta.max_queues_per_key,
          .idempotency_keys_per_key = core_->meta.max_idempotency_keys_per_key};
}
std::uint64_t Engine::keys_revision() const { return core_->api_keys.revision(); }
std::size_t Engine::worker_count() const { return core_->workers.count(); }

std::vector<model::GroupView> Engine::groups() const {
  std::vector<model::GroupView> out;
  for (const auto& group : core_->groups)
    if (group)
      out.push_back({.name = group->name, .paused = group->paused, .counts = group->counts});
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.name.view() < b.name.view(); });
  return out;
}

bool Engine::is_removed(base::JobId id) const { return core_->changes.is_removed(id.sequence()); }

const std::vector<command::SweptJobs>& Engine::undrained_sweeps() const {
  return core_->changes.sweeps();
}

std::optional<model::BatchRecord> Engine::batch(base::BatchId id) const {
  const auto* found = core_->batches.find(id);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::vector<model::ScheduleRecord> Engine::schedules() const {
  std::vector<model::ScheduleRecord> out;
  for (const auto& [sequence, schedule] : core_->schedules.all()) out.push_back(schedule.record);
  return out;
}

std::vector<model::WebhookRecord> Engine::webhooks() const {
  std::vector<model::WebhookRecord> out;
  for (const auto& [sequence, webhook] : core_->webhooks) out.push_back(webhook);
  return out;
}

std::optional<model::WebhookRecord> Engine::webhook(base::WebhookId id) const {
  const auto* found = core_->find_webhook(id);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

bool Engine::is_in_outbox(base::DeliveryId id) const {
  return core_->outbox.contains(id.sequence());
}

model::Outbox Engine::due_deliveries(base::Instant now, std::size_t each) const {
  return core_->due_deliveries(now, each);
}

std::uint64_t Engine::outbox_revision() const { return core_->outbox_revision; }

std::vector<model::KeyRecord> Engine::keys() const {
  std::vector<model::KeyRecord> out;
  for (const auto& [sequence, key] : core_->api_keys.all()) out.push_back(key);
  return out;
}

std::vector<model::WorkerRecord> Engine::workers() const {
  std::vector<model::WorkerRecord> out;
  for (const auto& [id, worker] : core_->workers.entries())
    if (worker.known) out.push_back(worker.record);
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.spec.id.view() < b.spec.id.view(); });
  return out;
}

}  // namespace jobbie::engine
