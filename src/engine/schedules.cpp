// Schedules: cron expressions that enqueue jobs, each nominal instant once.
#include "command/validate.hpp"
#include "engine/core.hpp"
#include "engine/footprint.hpp"
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

void Core::plan_schedule(Schedule& schedule, Instant after) {
  const auto sequence = schedule.record.id.sequence();
  Instant& next = schedule.record.next_run;
  if (next != Instant{}) schedule_times.erase({next, sequence});
  next = {};
  if (!schedule.record.spec.paused)
    next = schedule.cron.next_after(after, schedule.record.spec.zone).value_or(Instant{});
  if (next != Instant{}) schedule_times.emplace(next, sequence);
  schedule_changed(schedule);
}

void Core::schedule_changed(Schedule& schedule) {
  account.weigh(schedule.bytes, footprint(schedule.record));
  if (schedule.changed) return;
  schedule.changed = true;
  changed_schedules.push_back(schedule.record.id.sequence());
}

JobId Core::run_schedule(Schedule& schedule, Instant nominal) {
  const auto& spec = schedule.record.spec.job;
  Slot slot = lock_holder_of(spec);
  if (slot == 0) {
    slot = create_job(spec);
    jobs[slot].detail().schedule = schedule.record.id;
    jobs[slot].detail().nominal_at = nominal;
    open_job(slot);
  }
  const JobId id = jobs[slot].id;
  schedule.record.last_job = id;
  ++schedule.record.runs;
  emit(EventType::schedule_fired, nullptr, spec.queue, schedule.record.spec.name);
  schedule_changed(schedule);
  return id;
}

void Core::fire_schedules() {
  std::size_t budget = options.cron_runs_per_tick;
  while (budget > 0 && !schedule_times.empty()) {
    const auto [due, sequence] = *schedule_times.begin();
    if (due > meta.now) return;
    fire_schedule(schedules.find(sequence)->second, due, budget);
  }
}

void Core::fire_schedule(Schedule& schedule, Instant due, std::size_t& budget) {
  const auto& spec = schedule.record.spec;
  Instant nominal = due;
  if (spec.catch_up == model::CatchUp::one) {
    nominal = latest_due(schedule.cron, spec.zone, due, meta.now);
  } else if (spec.catch_up == model::CatchUp::skip && due < meta.now - model::limits::kCronGrace) {
    // One millisecond earlier, since the search is for instants strictly after.
    return plan_schedule(schedule, meta.now - model::limits::kCronGrace - base::milliseconds(1));
  }
  --budget;
  run_schedule(schedule, nominal);
  schedule.record.last_run = nominal;
  plan_schedule(schedule, options.plants(Plant::cron_fires_again) && schedule.record.runs % 3 == 0
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
  if (schedule_names.contains(c.spec.name.view()))
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
  const auto [entry, fresh] =
      schedules.emplace(sequence, Schedule{.record = std::move(record), .cron = *std::move(cron)});
  schedule_names.emplace(c.spec.name.view(), sequence);
  expect_jobs_in(c.spec.job.queue);
  plan_schedule(entry->second, meta.now);
  emit(EventType::schedule_changed, nullptr, c.spec.job.queue, c.spec.name);
  return show_schedule(entry->second);
}

Schedule* Core::find_schedule(ScheduleId id) {
  const auto found = schedules.find(id.sequence());
  return found == schedules.end() || found->second.record.id != id ? nullptr : &found->second;
}

Reply Core::run(const command::UpdateSchedule& c) {
  Schedule* schedule = find_schedule(c.schedule);
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
  const auto named = schedule_names.find(spec.name.view());
  if (named != schedule_names.end() && named->second != c.schedule.sequence())
    return refuse(Refused::name_taken, "name", "a schedule of that name exists");
  auto cron = model::CronExpr::parse(spec.cron.view());
  if (!cron) return refuse(Refused::invalid, "cron", cron.error().message);
  if (auto refusal = make_owned_queue(spec.job.queue)) return *std::move(refusal);
  expect_no_jobs_in(schedule->record.spec.job.queue);
  expect_jobs_in(spec.job.queue);
  schedule_names.erase(std::string(schedule->record.spec.name.view()));
  schedule_names.emplace(spec.name.view(), c.schedule.sequence());
  schedule->record.spec = std::move(spec);
  schedule->cron = *std::move(cron);
  // A run that is due stays due unless the change is about when it runs.
  if (c.fields == 0 || (c.fields & model::kScheduleTiming) != 0)
    plan_schedule(*schedule, meta.now);
  else
    schedule_changed(*schedule);
  emit(EventType::schedule_changed, nullptr, schedule->record.spec.job.queue,
       schedule->record.spec.name);
  return show_schedule(*schedule);
}

Reply Core::run(const command::ScheduleCommand& c) {
  using command::ScheduleAction;
  Schedule* schedule = find_schedule(c.schedule);
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
    schedule->record.spec.paused = c.action == ScheduleAction::pause;
    plan_schedule(*schedule, meta.now);
    return show_schedule(*schedule);
  }
  auto reply = show_schedule(*schedule);
  if (schedule->record.next_run != Instant{})
    schedule_times.erase({schedule->record.next_run, c.schedule.sequence()});
  schedule_names.erase(std::string(spec.name.view()));
  expect_no_jobs_in(spec.job.queue);
  changes.removed(command::RemovedSchedule{c.schedule});
  account.weigh(schedule->bytes, 0);
  schedules.erase(c.schedule.sequence());
  return reply;
}

Reply Core::run(const command::UpdateZone& c) {
  command::Done done;
  for (auto& [sequence, schedule] : schedules) {
    if (schedule.record.spec.zone.name != c.zone.name) continue;
    schedule.record.spec.zone = c.zone;
    schedule_changed(schedule);
    ++done.affected;
    const Instant next = schedule.record.next_run;
    if (next == Instant{} || next > meta.now) plan_schedule(schedule, meta.now);
  }
  return done;
}

}  // namespace jobbie::engine
