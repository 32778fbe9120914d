// Enqueue, one or many: all jobs of a request are made, or none.
#include <algorithm>

#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

/// Whether the jobs of one request depend on each other in a circle (Kahn's algorithm).
bool has_cycle(const std::vector<model::JobSpec>& specs) {
  std::vector<std::uint32_t> unmet(specs.size());
  std::vector<std::vector<std::uint32_t>> followers(specs.size());
  for (std::uint32_t i = 0; i < specs.size(); ++i) {
    for (const auto before : specs[i].depends_on_index) {
      followers[before].push_back(i);
      ++unmet[i];
    }
  }
  std::vector<std::uint32_t> free;
  for (std::uint32_t i = 0; i < specs.size(); ++i)
    if (unmet[i] == 0) free.push_back(i);
  std::size_t done = 0;
  for (; done < free.size(); ++done)
    for (const auto next : followers[free[done]])
      if (--unmet[next] == 0) free.push_back(next);
  return done < specs.size();
}

}  // namespace

std::optional<Refusal> Core::check_dependencies(std::span<const model::JobSpec> specs) {
  bool within = false;
  for (const auto& spec : specs) {
    for (const JobId id : spec.depends_on)
      if (locate_settled(id) == 0)
        return refuse(Refused::unknown_dependency, "depends_on", "there is no job " + id.text());
    within = within || !spec.depends_on_index.empty();
  }
  if (within && has_cycle({specs.begin(), specs.end()}))
    return refuse(Refused::dependency_cycle, "depends_on", "the jobs depend on each other in a circle");
  return std::nullopt;
}

std::optional<Refusal> Core::room_for_queue(const Blob& name, std::string_view field) {
  if (find_queue(name.view()) != 0 || queue_names.size() < model::limits::kQueues)
    return std::nullopt;
  return refuse(Refused::limit_reached, field, "there are too many queues");
}

std::optional<Refusal> Core::room_for(std::span<const model::JobSpec> specs) {
  for (const auto& spec : specs) {
    if (auto refusal = room_for_queue(spec.queue, "queue")) return refusal;
    if (!spec.group.empty() && find_group(spec.group.view()) == 0 &&
        group_names.size() >= model::limits::kGroups)
      return refuse(Refused::limit_reached, "group", "there are too many groups");
    if (spec.requires_.none()) continue;
    const Slot queue = find_queue(spec.queue.view());
    if (queue != 0 && queues[queue]->needs.size() >= model::limits::kRequirementSets)
      return refuse(Refused::limit_reached, "roles", "the queue has too many different requirements");
  }
  return std::nullopt;
}

command::Enqueued Core::enqueue_one(const model::JobSpec& spec) {
  if (!spec.unique.key.empty()) {
    const Slot holder = lock_holder(find_queue(spec.queue.view()), spec.unique.key.view());
    if (holder != 0)
      return {.job = jobs[holder].id, .state = jobs[holder].state, .existing = true};
  }
  const Slot slot = create_job(spec);
  return {.job = jobs[slot].id, .state = State::waiting, .existing = false};
}

/// Gives a new job its dependencies; false if one of them has failed and that cancels the job.
bool Core::settle_dependencies(Slot slot, const model::JobSpec& spec,
                               std::span<const command::Enqueued> request) {
  bool failed = false;
  std::vector<JobId> wanted = spec.depends_on;
  for (const auto position : spec.depends_on_index)
    wanted.push_back(request[position].job);
  for (const JobId id : wanted) {
    const Slot dependency = locate(id);
    const State state = dependency == 0 ? State::dead : jobs[dependency].state;
    if (!model::has_ended(state)) {
      wait_for(slot, id);
    } else if (state != State::completed && spec.on_failure == model::OnFailure::cancel) {
      failed = true;
    }
  }
  if (!wanted.empty()) jobs[slot].place().depends_on = std::move(wanted);
  return !failed;
}

void Core::open_jobs(std::span<const model::JobSpec> specs, std::span<command::Enqueued> request) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (request[i].existing) continue;
    const Slot slot = index.find(request[i].job.sequence());
    const auto sequence = jobs[slot].sequence();
    const bool runs = specs[i].depends_on.empty() && specs[i].depends_on_index.empty()
                          ? true
                          : settle_dependencies(slot, specs[i], request);
    if (runs) {
      open_job(slot);
    } else {
      emit(EventType::enqueued, jobs[slot]);
      end_job(slot, State::cancelled, "dependency_failed");
    }
    request[i].state = exists(slot, sequence) ? jobs[slot].state : State::cancelled;
  }
  // A duplicate within the request shows what the first one came to.
  for (auto& one : request) {
    if (!one.existing) continue;
    const Slot slot = index.find(one.job.sequence());
    one.state = slot != 0 ? jobs[slot].state : State::cancelled;
  }
}

Reply Core::run(const command::Enqueue& c) {
  if (auto reply = replay_idempotent(c.idempotency)) return *std::move(reply);
  const std::span<const model::JobSpec> specs(&c.job, 1);
  if (auto refusal = check_dependencies(specs)) return *std::move(refusal);
  if (auto refusal = room_for(specs)) return *std::move(refusal);
  auto enqueued = enqueue_one(c.job);
  open_jobs(specs, {&enqueued, 1});
  remember_idempotent(c.idempotency, enqueued);
  return enqueued;
}

Reply Core::run(const command::EnqueueMany& c) {
  if (auto reply = replay_idempotent(c.idempotency)) return *std::move(reply);
  if (auto refusal = check_dependencies(c.jobs)) return *std::move(refusal);
  if (auto refusal = room_for(c.jobs)) return *std::move(refusal);
  if (c.batch && !c.batch->callback_queue.empty())
    if (auto refusal = room_for_queue(c.batch->callback_queue, "callback_queue"))
      return *std::move(refusal);

  command::EnqueuedMany many;
  if (c.batch) {
    open_batch = meta.next_sequence++;
    many.batch = base::BatchId{next_ulid(open_batch)};
    Batch& batch = batches[open_batch];
    batch.record.id = many.batch;
    batch.record.callback_queue = c.batch->callback_queue;
    batch.record.callback_payload = c.batch->callback_payload;
    batch_changed(batch);
  }
  many.jobs.reserve(c.jobs.size());
  for (const auto& spec : c.jobs) {
    many.jobs.push_back(enqueue_one(spec));
    if (!c.batch || many.jobs.back().existing) continue;
    jobs[index.find(many.jobs.back().job.sequence())].detail().batch = many.batch;
    ++batches[open_batch].record.total;
    ++batches[open_batch].record.pending;
  }
  open_jobs(c.jobs, many.jobs);
  if (c.batch && batches[open_batch].record.pending == 0) batches_at_zero.push_back(open_batch);
  open_batch = 0;
  remember_idempotent(c.idempotency, many);
  return many;
}

}  // namespace jobbie::engine
