// The comparisons after every entry: touched jobs and the counters of queues.
#include "tests/sim/compare.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "tests/sim/describe.hpp"

namespace jobbie::sim {
namespace {

using Counts = std::array<std::uint64_t, model::kStates>;

/// What a queue's counters must show, counted job by job.
struct Recount {
  Counts counts{};
  std::uint64_t locks = 0;
  Instant oldest_pending;

  void add(const JobRecord& job) {
    ++counts[static_cast<std::size_t>(job.state)];
    locks += job.holds_unique ? 1U : 0U;
    if (job.state != State::pending) return;
    const Instant created = job.id.ulid.time();
    if (oldest_pending.ms == 0 || created < oldest_pending) oldest_pending = created;
  }
};

std::string compare_queue(const Model& model, const QueueState& expected,
                          const model::QueueView& got, const Recount& recount) {
  const auto name = expected.record.name.view();
  if (expected.record != got.record)
    return fmt::format("queue '{}': {}", name, differing_fields(expected.record, got.record));
  for (std::size_t s = 0; s < model::kStates; ++s) {
    if (recount.counts[s] != got.counts[s])
      return fmt::format("queue '{}': {} {} jobs, counted {} (I16)", name,
                         model::to_string(static_cast<State>(s)), recount.counts[s], got.counts[s]);
  }
  if (recount.locks != got.unique_locks)
    return fmt::format("queue '{}': {} unique locks, counted {} (I15)", name, recount.locks,
                       got.unique_locks);
  if (recount.oldest_pending != got.oldest_pending)
    return fmt::format("queue '{}': oldest pending {}, shown {}", name, recount.oldest_pending.ms,
                       got.oldest_pending.ms);
  if (got.clearing && !model.has_queue_task(name))
    return fmt::format("queue '{}' is shown as clearing", name);
  return {};
}

}  // namespace

std::string compare_touched(const Model& model, const engine::Engine& engine, const Store& store) {
  std::vector<JobId> ids = model.touched();
  std::ranges::sort(ids);
  const auto repeats = std::ranges::unique(ids);
  ids.erase(repeats.begin(), repeats.end());
  for (const JobId id : ids) {
    const JobRecord* expected = model.find(id);
    const auto got = engine.job(id);
    if (expected == nullptr) {
      if (got) return fmt::format("{} should be gone, but is {}", show(id), show(*got));
      continue;
    }
    const JobRecord* seen = got ? &*got : nullptr;
    if (seen == nullptr && model::has_ended(expected->state)) seen = store.ended(id);
    if (seen == nullptr)
      return fmt::format("{} is lost; expected {} (I1)", show(id), show(*expected));
    if (!same(*expected, *seen))
      return fmt::format("{}: {} (expected/got)", show(id), differing_fields(*expected, *seen));
  }
  return {};
}

std::string compare_queues(const Model& model, const engine::Engine& engine) {
  const auto views = engine.queues();
  const auto& queues = model.queues();
  if (views.size() != queues.size()) {
    std::string text = fmt::format("{} queues expected, {} there:", queues.size(), views.size());
    for (const auto& view : views) text += " " + show(view.record);
    return text;
  }
  std::vector<Recount> recounts(queues.size());
  std::size_t last = 0;
  for (const Jobs* jobs : {&model.live(), &model.ended()}) {
    for (const auto& [seq, job] : *jobs) {
      if (views[last].record.name != job.spec.queue) {
        const auto it = std::ranges::find_if(
            views, [&](const model::QueueView& v) { return v.record.name == job.spec.queue; });
        if (it == views.end()) return fmt::format("queue '{}' is not there", job.spec.queue.view());
        last = static_cast<std::size_t>(it - views.begin());
      }
      recounts[last].add(job);
    }
  }
  std::size_t i = 0;
  for (const auto& [name, queue] : queues) {
    if (auto text = compare_queue(model, queue, views[i], recounts[i]); !text.empty()) return text;
    ++i;
  }
  return {};
}

}  // namespace jobbie::sim
