// Lists a page at a time: a page costs one look at each name, and copies few.
#include <algorithm>
#include <utility>

#include "base/glob.hpp"
#include "engine/core.hpp"
#include "engine/engine.hpp"

namespace jobbie::engine {
namespace {

using List = NameScan::List;

bool is_on(const NamePage& page, std::string_view name) {
  if (name <= page.after || !name.starts_with(page.prefix)) return false;
  return page.glob.empty() || base::glob_match(page.glob, name);
}

/// A worker that names no queues hides none.
bool listens_among(const std::vector<base::Blob>& queues, const model::WorkerSpec& worker) {
  if (worker.queues.empty()) return true;
  return std::any_of(worker.queues.begin(), worker.queues.end(), [&](const base::Blob& pattern) {
    return std::any_of(queues.begin(), queues.end(), [&](const base::Blob& mine) {
      return base::glob_meets(mine.view(), pattern.view());
    });
  });
}

std::size_t slots_of(const Core& core, List list) {
  switch (list) {
    case List::queues:
      return core.queues.size();
    case List::groups:
      return core.groups.size();
    case List::workers:
      return core.workers.slots();
  }
  return 0;
}

/// Empty: there is nobody.
std::string_view name_at(const Core& core, List list, Slot slot) {
  switch (list) {
    case List::queues:
      return core.queues[slot] ? core.queues[slot]->name.view() : std::string_view{};
    case List::groups:
      return core.groups[slot] ? core.groups[slot]->name.view() : std::string_view{};
    case List::workers: {
      const Worker* worker = core.workers.at(slot);
      const bool known = worker != nullptr && worker->known;
      return known ? worker->record.spec.id.view() : std::string_view{};
    }
  }
  return {};
}

/// How many comparisons it takes to see whether a name is among those that may be shown.
std::size_t comparisons(const Core& core, const NameScan& scan, Slot slot) {
  if (scan.page.among == nullptr || scan.list == List::groups) return 0;
  const auto patterns =
      scan.list == List::queues ? 1 : core.workers.at(slot)->record.spec.queues.size();
  return patterns * scan.page.among->size();
}

bool may_be_shown(const Core& core, const NameScan& scan, std::string_view name, Slot slot) {
  if (scan.page.among == nullptr || scan.list == List::groups) return true;
  if (scan.list == List::queues) return base::matches_any(*scan.page.among, name);
  return listens_among(*scan.page.among, core.workers.at(slot)->record.spec);
}

/// Slots by name, without those that somebody else has now.
std::vector<Slot> in_order(const Core& core, NameScan scan) {
  std::sort(scan.first.begin(), scan.first.end());
  std::vector<Slot> out;
  for (const auto& [name, slot] : scan.first)
    if (slot < slots_of(core, scan.list) && name_at(core, scan.list, slot) == name)
      out.push_back(slot);
  return out;
}

}  // namespace

bool Engine::look_through(NameScan& scan, std::size_t& budget) const {
  const auto end = slots_of(*core_, scan.list);
  auto& first = scan.first;  // a heap, its last name in front
  for (; scan.next < end; ++scan.next) {
    if (budget == 0) return false;
    --budget;
    const auto name = name_at(*core_, scan.list, scan.next);
    if (name.empty() || !is_on(scan.page, name)) continue;
    if (first.size() == scan.page.limit && name >= first.front().first) continue;
    budget -= std::min(budget, comparisons(*core_, scan, scan.next));
    if (!may_be_shown(*core_, scan, name, scan.next)) continue;
    if (first.size() == scan.page.limit) {
      std::pop_heap(first.begin(), first.end());
      first.pop_back();
    }
    first.emplace_back(name, scan.next);
    std::push_heap(first.begin(), first.end());
  }
  return true;
}

std::vector<model::QueueView> Engine::queues(NameScan scan) const {
  std::vector<model::QueueView> out;
  std::size_t looks = kOldestLookups;
  for (const Slot slot : in_order(*core_, std::move(scan)))
    out.push_back(core_->view_of(*core_->queues[slot], looks));
  return out;
}

std::vector<model::GroupView> Engine::groups(NameScan scan) const {
  std::vector<model::GroupView> out;
  for (const Slot slot : in_order(*core_, std::move(scan))) {
    const Group& group = *core_->groups[slot];
    out.push_back({.name = group.name, .paused = group.paused, .counts = group.counts});
  }
  return out;
}

std::vector<model::WorkerRecord> Engine::workers(NameScan scan) const {
  std::vector<model::WorkerRecord> out;
  for (const Slot slot : in_order(*core_, std::move(scan)))
    out.push_back(core_->workers.at(slot)->record);
  return out;
}

std::vector<model::ScheduleRecord> Engine::schedules(base::ScheduleId after,
                                                     std::size_t limit) const {
  std::vector<model::ScheduleRecord> out;
  const auto& all = core_->schedules.all();
  for (auto it = all.upper_bound(after.sequence()); it != all.end() && out.size() < limit; ++it)
    out.push_back(it->second.record);
  return out;
}

std::optional<model::WorkerRecord> Engine::worker(std::string_view id) const {
  const Worker* worker = core_->workers.find(id);
  if (worker == nullptr) return std::nullopt;
  return worker->record;
}

std::optional<model::ScheduleRecord> Engine::schedule(base::ScheduleId id) const {
  const Schedule* schedule = core_->schedules.find(id);
  if (schedule == nullptr) return std::nullopt;
  return schedule->record;
}

}  // namespace jobbie::engine
