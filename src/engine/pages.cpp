// Lists a page at a time: what is asked for often costs one look at each name and copies few.
#include <algorithm>
#include <utility>

#include "base/glob.hpp"
#include "engine/core.hpp"
#include "engine/engine.hpp"

namespace jobbie::engine {
namespace {

bool is_on(const NamePage& page, std::string_view name) {
  if (name <= page.after || !name.starts_with(page.prefix)) return false;
  if (!page.glob.empty() && !base::glob_match(page.glob, name)) return false;
  return page.among == nullptr || base::matches_any(*page.among, name);
}

/// A worker that names no queues hides none.
bool listens_among(const std::vector<base::Blob>* queues, const model::WorkerSpec& worker) {
  if (queues == nullptr || worker.queues.empty()) return true;
  return std::any_of(worker.queues.begin(), worker.queues.end(), [&](const base::Blob& pattern) {
    return std::any_of(queues->begin(), queues->end(), [&](const base::Blob& mine) {
      return base::glob_meets(mine.view(), pattern.view());
    });
  });
}

/// The first `limit` of `named` by name, in order.
template <typename Thing>
void keep_first(std::vector<std::pair<std::string_view, const Thing*>>& named, std::size_t limit) {
  const auto kept = static_cast<std::ptrdiff_t>(std::min(limit, named.size()));
  std::partial_sort(named.begin(), named.begin() + kept, named.end());
  named.resize(static_cast<std::size_t>(kept));
}

}  // namespace

std::vector<model::QueueView> Engine::queues(const NamePage& page) const {
  std::vector<std::pair<std::string_view, const Queue*>> named;
  for (const auto& queue : core_->queues)
    if (queue && is_on(page, queue->name.view())) named.emplace_back(queue->name.view(), &*queue);
  keep_first(named, page.limit);
  std::vector<model::QueueView> out;
  out.reserve(named.size());
  for (const auto& [name, queue] : named) out.push_back(core_->view_of(*queue));
  return out;
}

std::vector<model::GroupView> Engine::groups(const NamePage& page) const {
  std::vector<std::pair<std::string_view, const Group*>> named;
  for (const auto& group : core_->groups)
    if (group && is_on(page, group->name.view())) named.emplace_back(group->name.view(), &*group);
  keep_first(named, page.limit);
  std::vector<model::GroupView> out;
  out.reserve(named.size());
  for (const auto& [name, group] : named)
    out.push_back({.name = group->name, .paused = group->paused, .counts = group->counts});
  return out;
}

std::vector<model::WorkerRecord> Engine::workers(NamePage page) const {
  const auto* queues = std::exchange(page.among, nullptr);
  std::vector<std::pair<std::string_view, const Worker*>> named;
  for (const auto& [id, worker] : core_->workers)
    if (worker.known && is_on(page, id) && listens_among(queues, worker.record.spec))
      named.emplace_back(id, &worker);
  keep_first(named, page.limit);
  std::vector<model::WorkerRecord> out;
  out.reserve(named.size());
  for (const auto& [id, worker] : named) out.push_back(worker->record);
  return out;
}

std::vector<model::ScheduleRecord> Engine::schedules(base::ScheduleId after,
                                                     std::size_t limit) const {
  std::vector<model::ScheduleRecord> out;
  for (auto it = core_->schedules.upper_bound(after.sequence());
       it != core_->schedules.end() && out.size() < limit; ++it)
    out.push_back(it->second.record);
  return out;
}

std::optional<model::WorkerRecord> Engine::worker(std::string_view id) const {
  const Worker* worker = core_->find_worker(id);
  if (worker == nullptr) return std::nullopt;
  return worker->record;
}

std::optional<model::ScheduleRecord> Engine::schedule(base::ScheduleId id) const {
  const Schedule* schedule = core_->find_schedule(id);
  if (schedule == nullptr) return std::nullopt;
  return schedule->record;
}

}  // namespace jobbie::engine
