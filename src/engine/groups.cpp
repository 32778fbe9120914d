// Groups: their lists of live jobs, and the commands that act on a whole group.
#include <algorithm>

#include "engine/core.hpp"

namespace jobbie::engine {

Slot Core::find_group(std::string_view name) const {
  const auto found = group_names.find(name);
  return found == group_names.end() ? 0 : found->second;
}

Slot Core::make_group(const Blob& name) {
  if (const Slot slot = find_group(name.view()); slot != 0) return slot;
  Slot slot = 0;
  if (free_groups.empty()) {
    slot = static_cast<Slot>(groups.size());
    groups.emplace_back();
  } else {
    slot = free_groups.back();
    free_groups.pop_back();
  }
  groups[slot] = std::make_unique<Group>();
  groups[slot]->name = name;
  group_names.emplace(name.view(), slot);
  return slot;
}

void Core::drop_group_if_idle(Slot slot) {
  const Group& group = *groups[slot];
  if (group.members > 0 || group.paused || !group.lanes.empty()) return;
  group_names.erase(std::string(group.name.view()));
  groups[slot].reset();
  free_groups.push_back(slot);
}

void Core::join_group(Slot slot) {
  Job& job = jobs[slot];
  if (!job.placement || job.placement->group.empty()) return;
  enrol_in_group(slot);
  job.placement->group_arrival = meta.next_arrival++;
  link_to_group(slot);
}

void Core::enrol_in_group(Slot slot) {
  const Job& job = jobs[slot];
  Placement& place = *job.placement;
  place.group_slot = make_group(place.group);
  Group& group = *groups[place.group_slot];
  ++group.members;
  if (!model::has_ended(job.state)) ++group.counts[static_cast<std::size_t>(job.state)];
}

void Core::leave_group(Slot slot) {
  const Slot group_slot = jobs[slot].group_slot();
  if (group_slot == 0) return;
  unlink_from_group(slot);
  jobs[slot].placement->group_slot = 0;
  --groups[group_slot]->members;
  drop_group_if_idle(group_slot);
}

void Core::link_to_group(Slot slot) {
  Placement& place = *jobs[slot].placement;
  Group& group = *groups[place.group_slot];
  place.group_prev = group.last;
  place.group_next = 0;
  (group.last == 0 ? group.first : jobs[group.last].placement->group_next) = slot;
  group.last = slot;
}

void Core::unlink_from_group(Slot slot) {
  Placement& place = *jobs[slot].placement;
  Group& group = *groups[place.group_slot];
  if (group.visit_next == slot) group.visit_next = place.group_next;
  (place.group_prev == 0 ? group.first : jobs[place.group_prev].placement->group_next) =
      place.group_next;
  (place.group_next == 0 ? group.last : jobs[place.group_next].placement->group_prev) =
      place.group_prev;
  place.group_prev = place.group_next = 0;
}

void Core::set_group_paused(Slot slot, bool paused) {
  Group& group = *groups[slot];
  if (group.paused == paused) return;
  group.paused = paused;
  changed_groups.emplace_back(group.name.view());
  emit(paused ? EventType::group_paused : EventType::group_resumed, nullptr, {}, group.name);
  for (const Slot lane : group.lanes) {
    place_lane(lane);
    if (!paused) mark_ready(*queues[lanes[lane].queue]);
  }
}

Reply Core::run(const command::GroupCommand& c) {
  using command::GroupAction;
  if (c.action == GroupAction::pause) {
    if (find_group(c.group.view()) == 0 && groups.size() > model::limits::kGroups)
      return refuse(Refused::limit_reached, "group", "there are too many groups");
    set_group_paused(make_group(c.group), true);
    return command::Done{};
  }
  const Slot slot = find_group(c.group.view());
  if (c.action == GroupAction::resume) {
    if (slot == 0) return command::Done{};
    set_group_paused(slot, false);
    drop_group_if_idle(slot);
    return command::Done{};
  }
  if (c.action == GroupAction::retry_failed) {
    add_task({.kind = model::TaskKind::retry_group,
              .subject = c.group,
              .bound = meta.next_sequence - 1});
    watched_task = tasks.back().number;
    return command::Done{};
  }
  command::Done done;
  if (slot != 0) {
    const auto& counts = groups[slot]->counts;
    for (const State state : {State::scheduled, State::waiting, State::pending, State::retrying})
      done.affected += counts[static_cast<std::size_t>(state)];
    if (c.include_active) done.affected += counts[static_cast<std::size_t>(State::active)];
  }
  add_task({.kind = model::TaskKind::cancel_group,
            .subject = c.group,
            .bound = meta.next_arrival - 1,
            .flag = c.include_active});
  return done;
}

}  // namespace jobbie::engine
