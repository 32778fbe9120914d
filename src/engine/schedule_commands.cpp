// Commands about schedules, and their runs: each nominal instant enqueues a job once.
#include "command/validate.hpp"
#include "engine/core.hpp"
#include "model/schedule_fields.hpp"

namespace jobbie::engine {
namespace {

constexpr std::size_t kRunsShown = 5;

/// The latest instant at or before `now` at which `cron` runs, given that one is due at `due`.
/// Looks back in growing steps, so that a long outage of a frequent schedule costs little.
Instant latest_due(const model::CronExpr& cron, const model::ZoneRules& zone, Instant due,
                   Instant now) {
  for (const Duration back : {base::minutes(1), base::hours(1), base::days(1), base::days(32)}) {
    if (now - back <= due) break;
    auto run = cron.next_after(now - back, zone);
    if (!run || *run > now) continue;
    for (auto next = run; next && *next <= now; next = cron.next_after(*next, zone)) run = next;
    return *run;
  }
  for (auto next = cron.next_after(due, zone); next && *next <= now;
       next = cron.next_after(*next, zone))
    due = *next;
  return due;
}

}  // namespace

JobId Core::run_schedule(const Schedule& schedule, Instant nominal) {
  const auto& spec = schedule.record.spec.job;
  Slot slot = lock_holder_of(spec);
  if (slot == 0) {
    slot = create_job(spec);
    jobs[slot].detail().schedule = schedule.record.id;
    jobs[slot].detail().nominal_at = nominal;
    open_job(slot);
  }
  const JobId id = jobs[slot].id;
  emit(EventType::schedule_fired, nullptr, spec.queue, schedule.record.spec.name);
  schedules.count_run(schedule.record.id, id);
  return id;
}

void Core::fire_schedules() {
  std::size_t budget = options.cron_runs_per_tick;
  while (budget > 0) {
    const Schedule* schedule = schedules.first_due(meta.now);
    if (schedule == nullptr) return;
    fire_schedule(*schedule, budget);
  }
}

void Core::fire_schedule(const Schedule& schedule, std::size_t& budget) {
  const ScheduleId id = schedule.record.id;
  const Instant due = schedule.record.next_run;
  const auto& spec = schedule.record.spec;
  Instant nominal = due;
  if (spec.catch_up == model::CatchUp::one) {
    nominal = latest_due(schedule.cron, spec.zone, due, meta.now);
  } else if (spec.catch_up == model::CatchUp::skip && due < meta.now - model::limits::kCronGrace) {
    // One millisecond earlier, since the search is for instants strictly after.
    return schedules.plan(id, meta.now - model::limits::kCronGrace - base::milliseconds(1));
  }
  --budget;
  run_schedule(schedule, nominal);
  schedules.set_last_run(id, nominal);
  schedules.plan(id, options.plants(Plant::cron_fires_again) && schedule.record.runs % 3 == 0
                         ? nominal - base::milliseconds(1)
                         : nominal);
}

command::ScheduleReply Core::show_schedule(const Schedule& schedule) const {
  command::ScheduleReply reply{.schedule = schedule.record, .next_runs = {}, .job = {}};
  if (!schedule.record.spec.paused)
    reply.next_runs = schedule.cron.next_runs(meta.now, schedule.record.spec.zone, kRunsShown);
  return reply;
}

Reply Core::run(const command::CreateSchedule& c) {
  if (schedules.named(c.spec.name.view()) != 0)
    return refuse(Refused::name_taken, "name", "a schedule of that name exists");
  if (schedules.size() >= model::limits::kSchedules)
    return refuse(Refused::limit_reached, "name", "there are too many schedules");
  auto cron = model::CronExpr::parse(c.spec.cron.view());
  if (!cron) return refuse(Refused::invalid, "cron", cron.error().message);
  if (auto refusal = make_owned_queue(c.spec.job.queue)) return *std::move(refusal);
  const auto sequence = meta.next_sequence++;
  model::ScheduleRecord record;
  record.id = ScheduleId{next_ulid(sequence)};
  record.spec = c.spec;
  const Schedule& schedule = schedules.add(std::move(record), *std::move(cron));
  expect_jobs_in(c.spec.job.queue);
  schedules.plan(schedule.record.id, meta.now);
  emit(EventType::schedule_changed, nullptr, c.spec.job.queue, c.spec.name);
  return show_schedule(schedule);
}

Reply Core::run(const command::UpdateSchedule& c) {
  const Schedule* schedule = schedules.find(c.schedule);
  if (schedule == nullptr)
    return refuse(Refused::not_found, "schedule_id", "there is no such schedule");
  command::CreateSchedule whole{c.spec};
  if (c.fields != 0) {
    whole.spec = schedule->record.spec;
    model::take_fields(whole.spec, c.spec, c.fields);
    // What was given may not go together with what was there.
    if (auto refusal = command::validate(whole)) return *std::move(refusal);
  }
  model::ScheduleSpec& spec = whole.spec;
  const auto named = schedules.named(spec.name.view());
  if (named != 0 && named != c.schedule.sequence())
    return refuse(Refused::name_taken, "name", "a schedule of that name exists");
  auto cron = model::CronExpr::parse(spec.cron.view());
  if (!cron) return refuse(Refused::invalid, "cron", cron.error().message);
  if (auto refusal = make_owned_queue(spec.job.queue)) return *std::move(refusal);
  expect_no_jobs_in(schedule->record.spec.job.queue);
  expect_jobs_in(spec.job.queue);
  schedules.replace(c.schedule, std::move(spec), *std::move(cron));
  // A run that is due stays due unless the change is about when it runs.
  if (c.fields == 0 || (c.fields & model::kScheduleTiming) != 0)
    schedules.plan(c.schedule, meta.now);
  emit(EventType::schedule_changed, nullptr, schedule->record.spec.job.queue,
       schedule->record.spec.name);
  return show_schedule(*schedule);
}

Reply Core::run(const command::ScheduleCommand& c) {
  using command::ScheduleAction;
  const Schedule* schedule = schedules.find(c.schedule);
  if (schedule == nullptr)
    return refuse(Refused::not_found, "schedule_id", "there is no such schedule");
  const model::ScheduleSpec& spec = schedule->record.spec;
  if (c.action == ScheduleAction::run_now) {
    if (auto refusal = room_for({&spec.job, 1})) return *std::move(refusal);
    const JobId job = run_schedule(*schedule, {});
    auto reply = show_schedule(*schedule);
    reply.job = job;
    return reply;
  }
  emit(EventType::schedule_changed, nullptr, spec.job.queue, spec.name);
  if (c.action != ScheduleAction::remove) {
    schedules.set_paused(c.schedule, c.action == ScheduleAction::pause);
    schedules.plan(c.schedule, meta.now);
    return show_schedule(*schedule);
  }
  auto reply = show_schedule(*schedule);
  expect_no_jobs_in(spec.job.queue);
  schedules.remove(c.schedule, changes);
  return reply;
}

Reply Core::run(const command::UpdateZone& c) {
  return command::Done{.affected = schedules.set_zone(c.zone, meta.now)};
}

}  // namespace jobbie::engine
