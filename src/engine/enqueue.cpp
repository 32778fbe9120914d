// Enqueue, one or many: all jobs of a request are made, or none.
#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

/// Stands for a position whose unique key is held by a job that was there before the request.
constexpr std::uint32_t kOutside = std::numeric_limits<std::uint32_t>::max();

/// Whether the jobs of one request depend on each other in a circle (Kahn's algorithm). `taker`
/// says which position each one came to.
bool has_cycle(std::span<const model::JobSpec> specs, std::span<const std::uint32_t> taker) {
  const auto for_each_edge = [&](auto&& use) {
    for (std::uint32_t i = 0; i < specs.size(); ++i) {
      if (taker[i] != i) continue;
      for (const auto before : specs[i].depends_on_index)
        if (taker[before] != kOutside) use(taker[before], i);
    }
  };
  // Who follows whom, one list behind the other: those of i end where those of i + 1 begin.
  std::vector<std::uint32_t> unmet(specs.size());
  std::vector<std::uint32_t> begin(specs.size() + 1);
  for_each_edge([&](std::uint32_t before, std::uint32_t i) {
    ++unmet[i];
    ++begin[before];
  });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::uint32_t> followers(begin.back());
  for_each_edge([&](std::uint32_t before, std::uint32_t i) { followers[--begin[before]] = i; });
  std::vector<std::uint32_t> free;
  for (std::uint32_t i = 0; i < specs.size(); ++i)
    if (unmet[i] == 0) free.push_back(i);
  std::size_t done = 0;
  for (; done < free.size(); ++done)
    for (auto next = begin[free[done]]; next < begin[free[done] + 1]; ++next)
      if (--unmet[followers[next]] == 0) free.push_back(followers[next]);
  return done < specs.size();
}

}  // namespace

std::optional<Refusal> Core::check_dependencies(std::span<const model::JobSpec> specs,
                                                bool in_list) {
  // To a key a job in a queue that it is not for is as unknown as one that is not there.
  const auto hidden = [this](Slot slot) {
    return restriction.is_active() && !restriction.allows(queue_of(jobs[slot]).name.view());
  };
  for (std::size_t i = 0; i < specs.size(); ++i)
    for (const JobId id : specs[i].depends_on)
      if (const Slot slot = locate_settled(id); slot == 0 || hidden(slot))
        return refuse(Refused::unknown_dependency,
                      in_list ? "jobs[" + std::to_string(i) + "].depends_on" : "depends_on",
                      "there is no job " + id.text());
  return std::nullopt;
}

std::optional<Refusal> Core::check_cycles(std::span<const model::JobSpec> specs,
                                          std::span<const std::uint32_t> taker) const {
  const auto within = [](const model::JobSpec& spec) { return !spec.depends_on_index.empty(); };
  if (std::none_of(specs.begin(), specs.end(), within)) return std::nullopt;
  std::vector<std::uint32_t> as_written(specs.size());
  std::iota(as_written.begin(), as_written.end(), 0U);
  const bool same = std::equal(taker.begin(), taker.end(), as_written.begin());
  if (!has_cycle(specs, as_written) && (same || !has_cycle(specs, taker))) return std::nullopt;
  return refuse(Refused::dependency_cycle, "depends_on",
                "the jobs depend on each other in a circle");
}

std::vector<std::uint32_t> Core::find_takers(std::span<const model::JobSpec> specs,
                                             std::span<command::Enqueued> request) {
  std::vector<std::uint32_t> taker(specs.size());
  std::unordered_map<std::string, std::uint32_t> first;
  for (std::uint32_t i = 0; i < specs.size(); ++i) {
    taker[i] = i;
    const auto& spec = specs[i];
    if (spec.unique.key.empty()) continue;
    if (const Slot holder = lock_holder_of(spec); holder != 0) {
      taker[i] = kOutside;
      request[i] = {.job = jobs[holder].id, .state = jobs[holder].state, .existing = true};
      continue;
    }
    auto key = std::string(spec.queue.view()) + '\n' + std::string(spec.unique.key.view());
    taker[i] = first.try_emplace(std::move(key), i).first->second;
  }
  return taker;
}

std::optional<Refusal> Core::room_for(std::span<const model::JobSpec> specs, const Blob& callback) {
  // Without a caller that is counted, and with the limit that always was, each name is judged by
  // itself, as it always was: entries of older logs must come to the same.
  const bool exact = !caller.is_nil() || meta.max_queues != model::limits::kQueues;
  std::unordered_set<std::string_view> fresh;
  const auto room_for_name = [&](const Blob& name, std::string_view field) {
    if (find_queue(name.view()) != 0) return std::optional<Refusal>();
    if (exact) fresh.insert(name.view());
    return room_for_queues(exact ? fresh.size() : 1, field);
  };
  for (const auto& spec : specs) {
    if (auto refusal = room_for_name(spec.queue, "queue")) return refusal;
    if (!spec.group.empty() && find_group(spec.group.view()) == 0 &&
        group_names.size() >= model::limits::kGroups)
      return refuse(Refused::limit_reached, "group", "there are too many groups");
    if (spec.requires_.none()) continue;
    const Slot queue = find_queue(spec.queue.view());
    if (queue != 0 && queues[queue]->needs.size() >= model::limits::kRequirementSets)
      return refuse(Refused::limit_reached, "roles",
                    "the queue has too many different requirements");
  }
  return callback.empty() ? std::nullopt : room_for_name(callback, "callback_queue");
}

/// Gives a new job its dependencies; false if one of them has failed and that cancels the job.
bool Core::settle_dependencies(Slot slot, const model::JobSpec& spec,
                               std::span<const command::Enqueued> request) {
  bool failed = false;
  std::vector<JobId> wanted = spec.depends_on;
  for (const auto position : spec.depends_on_index) wanted.push_back(request[position].job);
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
    request[i].state = open_new_job(index.find(request[i].job.sequence()), specs[i], request);
  }
}

State Core::open_new_job(Slot slot, const model::JobSpec& spec,
                         std::span<const command::Enqueued> request) {
  const bool waits = !spec.depends_on.empty() || !spec.depends_on_index.empty();
  if (!waits || settle_dependencies(slot, spec, request)) {
    open_job(slot);
    return jobs[slot].state;
  }
  emit(EventType::enqueued, jobs[slot]);
  end_job(slot, State::cancelled, "dependency_failed");
  return State::cancelled;
}

Reply Core::run(const command::Enqueue& c) {
  if (auto reply = replay_idempotent(c.idempotency)) return *std::move(reply);
  const std::span<const model::JobSpec> specs(&c.job, 1);
  if (auto refusal = check_dependencies(specs, false)) return *std::move(refusal);
  if (auto refusal = room_for(specs)) return *std::move(refusal);
  command::Enqueued enqueued;
  if (const Slot holder = lock_holder_of(c.job); holder != 0) {
    enqueued = {.job = jobs[holder].id, .state = jobs[holder].state, .existing = true};
  } else {
    const Slot slot = create_job(c.job);
    enqueued.job = jobs[slot].id;
    enqueued.state = open_new_job(slot, c.job, {&enqueued, 1});
  }
  remember_idempotent(c.idempotency, enqueued);
  return enqueued;
}

Reply Core::run(const command::EnqueueMany& c) {
  if (auto reply = replay_idempotent(c.idempotency)) return *std::move(reply);
  if (auto refusal = check_dependencies(c.jobs, true)) return *std::move(refusal);
  command::EnqueuedMany many;
  many.jobs.resize(c.jobs.size());
  const auto taker = find_takers(c.jobs, many.jobs);
  if (auto refusal = check_cycles(c.jobs, taker)) return *std::move(refusal);
  const Blob callback = c.batch ? c.batch->callback_queue : Blob{};
  if (auto refusal = room_for(c.jobs, callback)) return *std::move(refusal);

  if (!callback.empty() && !caller.is_nil()) make_queue(callback);
  if (c.batch) many.batch = open_batch(*c.batch);
  for (std::uint32_t i = 0; i < c.jobs.size(); ++i) {
    if (taker[i] == kOutside) continue;
    if (taker[i] != i) {
      many.jobs[i] = many.jobs[taker[i]];
      many.jobs[i].existing = true;
      continue;
    }
    const Slot slot = create_job(c.jobs[i]);
    many.jobs[i].job = jobs[slot].id;
    if (!c.batch) continue;
    jobs[slot].detail().batch = many.batch;
    batches.join();
  }
  open_jobs(c.jobs, many.jobs);
  for (std::uint32_t i = 0; i < c.jobs.size(); ++i)
    if (taker[i] != kOutside) many.jobs[i].state = many.jobs[taker[i]].state;
  if (c.batch) batches.close();
  remember_idempotent(c.idempotency, many);
  return many;
}

}  // namespace jobbie::engine
