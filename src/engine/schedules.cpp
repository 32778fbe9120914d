// Schedules by number, name and time; see schedules.hpp.
#include "engine/schedules.hpp"

#include "base/check.hpp"
#include "engine/footprint.hpp"
#include "engine/shrink.hpp"

namespace jobbie::engine {

const Schedule* Schedules::find(ScheduleId id) const {
  const auto found = schedules_.find(id.sequence());
  return found == schedules_.end() || found->second.record.id != id ? nullptr : &found->second;
}

Schedule& Schedules::at(ScheduleId id) {
  const auto found = schedules_.find(id.sequence());
  JOBBIE_CHECK(found != schedules_.end());
  return found->second;
}

std::uint64_t Schedules::named(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? 0 : found->second;
}

const Schedule* Schedules::first_due(Instant now) const {
  if (times_.empty() || times_.begin()->first > now) return nullptr;
  return &schedules_.find(times_.begin()->second)->second;
}

Instant Schedules::next_run() const {
  return times_.empty() ? base::kNever : times_.begin()->first;
}

const Schedule& Schedules::add(model::ScheduleRecord record, model::CronExpr cron) {
  const auto sequence = record.id.sequence();
  names_.emplace(record.spec.name.view(), sequence);
  return schedules_
      .emplace(sequence, Schedule{.record = std::move(record), .cron = std::move(cron)})
      .first->second;
}

bool Schedules::restore(model::ScheduleRecord record, model::CronExpr cron) {
  const auto sequence = record.id.sequence();
  if (schedules_.contains(sequence) || names_.contains(record.spec.name.view())) return false;
  if (record.next_run != Instant{}) times_.emplace(record.next_run, sequence);
  add(std::move(record), std::move(cron));
  Schedule& schedule = schedules_.find(sequence)->second;
  memory_.weigh(schedule.bytes, footprint(schedule.record));
  return true;
}

void Schedules::replace(ScheduleId id, model::ScheduleSpec spec, model::CronExpr cron) {
  Schedule& schedule = at(id);
  names_.erase(std::string(schedule.record.spec.name.view()));
  names_.emplace(spec.name.view(), id.sequence());
  schedule.record.spec = std::move(spec);
  schedule.cron = std::move(cron);
  changed(schedule);
}

void Schedules::set_paused(ScheduleId id, bool paused) {
  Schedule& schedule = at(id);
  schedule.record.spec.paused = paused;
  changed(schedule);
}

void Schedules::set_last_run(ScheduleId id, Instant nominal) {
  Schedule& schedule = at(id);
  schedule.record.last_run = nominal;
  changed(schedule);
}

void Schedules::plan(ScheduleId id, Instant after) { plan(at(id), after); }

void Schedules::plan(Schedule& schedule, Instant after) {
  const auto sequence = schedule.record.id.sequence();
  Instant& next = schedule.record.next_run;
  if (next != Instant{}) times_.erase({next, sequence});
  next = {};
  if (!schedule.record.spec.paused)
    next = schedule.cron.next_after(after, schedule.record.spec.zone).value_or(Instant{});
  if (next != Instant{}) times_.emplace(next, sequence);
  changed(schedule);
}

void Schedules::changed(Schedule& schedule) {
  memory_.weigh(schedule.bytes, footprint(schedule.record));
  if (schedule.changed) return;
  schedule.changed = true;
  changed_.push_back(schedule.record.id.sequence());
}

void Schedules::count_run(ScheduleId id, JobId job) {
  Schedule& schedule = at(id);
  schedule.record.last_job = job;
  ++schedule.record.runs;
  changed(schedule);
}

std::size_t Schedules::set_zone(const model::ZoneRules& zone, Instant now) {
  std::size_t count = 0;
  for (auto& [sequence, schedule] : schedules_) {
    if (schedule.record.spec.zone.name != zone.name) continue;
    schedule.record.spec.zone = zone;
    changed(schedule);
    ++count;
    const Instant next = schedule.record.next_run;
    if (next == Instant{} || next > now) plan(schedule, now);
  }
  return count;
}

void Schedules::remove(ScheduleId id, ChangeLog& changes) {
  Schedule& schedule = at(id);
  if (schedule.record.next_run != Instant{})
    times_.erase({schedule.record.next_run, id.sequence()});
  names_.erase(std::string(schedule.record.spec.name.view()));
  changes.removed(command::RemovedSchedule{id});
  memory_.weigh(schedule.bytes, 0);
  schedules_.erase(id.sequence());
}

void Schedules::drain(command::Changes& out) {
  for (const auto sequence : std::exchange(changed_, {})) {
    const auto found = schedules_.find(sequence);
    if (found == schedules_.end()) continue;
    found->second.changed = false;
    out.emplace_back(command::Item(found->second.record));
  }
}

void Schedules::shrink() { shrink_table(names_); }

}  // namespace jobbie::engine
