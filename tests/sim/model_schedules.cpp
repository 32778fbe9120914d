// The model's schedules (rule 10). The calendar itself (model/cron.hpp) is shared with the engine.
#include <algorithm>

#include "command/validate.hpp"
#include "model/limits.hpp"
#include "model/schedule_fields.hpp"
#include "tests/sim/model.hpp"

namespace jobbie::sim {
namespace {

constexpr std::size_t kNextRunsShown = 5;

Refusal no_such_schedule() { return {Refused::not_found, "schedule_id", ""}; }
Refusal taken() { return {Refused::name_taken, "name", ""}; }

/// The latest run in [first, now], given that `first` is one. Looks back in growing steps, because
/// counting forward from a run missed days ago would take for ever.
Instant latest_due(const ScheduleState& schedule, Instant first, Instant now) {
  const auto& zone = schedule.record.spec.zone;
  Instant latest = first;
  for (std::int64_t back = 1000; now - Duration{back} > first; back *= 2) {
    const auto run = schedule.cron.next_after(now - Duration{back}, zone);
    if (run && *run <= now) {
      latest = *run;
      break;
    }
  }
  for (;;) {
    const auto run = schedule.cron.next_after(latest, zone);
    if (!run || *run > now) return latest;
    latest = *run;
  }
}

}  // namespace

bool Model::name_taken(std::string_view name, Seq by_other_than) const {
  return std::ranges::any_of(schedules_, [&](const auto& entry) {
    return entry.first != by_other_than && is(entry.second.record.spec.name, name);
  });
}

/// 10.1: zero while paused, and when nothing comes any more.
Instant Model::first_run_after(const ScheduleState& schedule, Instant after) const {
  if (schedule.record.spec.paused) return {};
  return schedule.cron.next_after(after, schedule.record.spec.zone).value_or(Instant{});
}

command::ScheduleReply Model::shown(const ScheduleState& schedule) const {
  command::ScheduleReply reply{.schedule = schedule.record};
  if (!schedule.record.spec.paused)
    reply.next_runs = schedule.cron.next_runs(now_, schedule.record.spec.zone, kNextRunsShown);
  return reply;
}

Reply Model::on(const command::CreateSchedule& c) {
  if (name_taken(c.spec.name.view(), 0)) return taken();
  if (!caller_.is_nil()) {  // 9.8
    if (auto refused = room_for_queue(c.spec.job.queue)) return *refused;
    make_queue(c.spec.job.queue.view());
  }
  const base::ScheduleId id{next_ulid()};
  ScheduleState schedule{{.id = id, .spec = c.spec}, *model::CronExpr::parse(c.spec.cron.view())};
  schedule.record.next_run = first_run_after(schedule, now_);
  return shown(schedules_.emplace(id.sequence(), std::move(schedule)).first->second);
}

Reply Model::on(const command::UpdateSchedule& c) {
  const auto it = schedules_.find(c.schedule.sequence());
  if (it == schedules_.end() || it->second.record.id != c.schedule) return no_such_schedule();
  ScheduleState& schedule = it->second;
  model::ScheduleSpec spec = c.spec;
  if (c.fields != 0) {  // 10.3: judged by what old and new come to together
    spec = schedule.record.spec;
    model::take_fields(spec, c.spec, c.fields);
    if (auto refused = command::validate(command::CreateSchedule{spec})) return *refused;
  }
  if (name_taken(spec.name.view(), it->first)) return taken();
  if (!caller_.is_nil()) {
    if (auto refused = room_for_queue(spec.job.queue)) return *refused;
    make_queue(spec.job.queue.view());
  }
  schedule.record.spec = spec;
  schedule.cron = *model::CronExpr::parse(spec.cron.view());
  if (c.fields == 0 || (c.fields & model::kScheduleTiming) != 0)
    schedule.record.next_run = first_run_after(schedule, now_);
  return shown(schedule);
}

Reply Model::on(const command::ScheduleCommand& c) {
  using command::ScheduleAction;
  const auto it = schedules_.find(c.schedule.sequence());
  if (it == schedules_.end() || it->second.record.id != c.schedule) return no_such_schedule();
  ScheduleState& schedule = it->second;
  switch (c.action) {
    case ScheduleAction::pause:
    case ScheduleAction::resume:
      schedule.record.spec.paused = c.action == ScheduleAction::pause;
      schedule.record.next_run = first_run_after(schedule, now_);
      return shown(schedule);
    case ScheduleAction::run_now: {
      if (auto refused = room_for_queue(schedule.record.spec.job.queue)) return *refused;
      run_schedule(schedule, {});
      auto reply = shown(schedule);
      reply.job = schedule.record.last_job;  // the one that is there already, if it is a duplicate
      return reply;
    }
    case ScheduleAction::remove:
      break;
  }
  auto reply = shown(schedule);
  schedules_.erase(it);
  return reply;
}

Reply Model::on(const command::UpdateZone& c) {
  command::Done reply;
  for (auto& [seq, schedule] : schedules_) {
    auto& record = schedule.record;
    if (record.spec.zone.name != c.zone.name) continue;
    record.spec.zone = c.zone;
    ++reply.affected;
    const bool due = record.next_run.ms != 0 && record.next_run <= now_;
    if (!due) record.next_run = first_run_after(schedule, now_);
  }
  return reply;
}

/// 10.2 to 10.4. A unique duplicate counts as a run, and its job as the last one.
void Model::run_schedule(ScheduleState& schedule, Instant nominal) {
  auto& record = schedule.record;
  if (nominal.ms != 0) record.last_run = nominal;
  ++record.runs;
  JobRecord* job = enqueue_plain(record.spec.job);
  if (job == nullptr) {
    const auto& spec = record.spec.job;
    record.last_job = holder(spec.queue.view(), spec.unique.key.view())->id;
    return;
  }
  job->schedule = record.id;
  job->nominal_at = nominal;
  record.last_job = job->id;
}

/// 10.3: the instant that a due schedule runs for; nothing: it was too late, and next_run has
/// moved.
std::optional<Instant> Model::due_instant(ScheduleState& schedule) const {
  const Instant next = schedule.record.next_run;
  switch (schedule.record.spec.catch_up) {
    case model::CatchUp::all:
      return next;
    case model::CatchUp::one:
      return latest_due(schedule, next, now_);
    case model::CatchUp::skip:
      break;
  }
  const Instant oldest = now_ - model::limits::kCronGrace;
  if (next >= oldest) return next;
  schedule.record.next_run = first_run_after(schedule, oldest - Duration{1});
  return std::nullopt;
}

void Model::run_schedules() {
  std::size_t runs = 0;
  while (runs < options_.cron_runs_per_tick) {
    ScheduleState* first = nullptr;
    for (auto& [seq, schedule] : schedules_) {
      const Instant next = schedule.record.next_run;
      if (next.ms == 0 || next > now_) continue;
      if (first == nullptr || next < first->record.next_run) first = &schedule;
    }
    if (first == nullptr) return;
    const auto nominal = due_instant(*first);
    if (!nominal) continue;
    run_schedule(*first, *nominal);
    first->record.next_run = first_run_after(*first, *nominal);
    ++runs;
  }
}

}  // namespace jobbie::sim
