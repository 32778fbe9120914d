// What the workload's workers, operators and schedulers send, and how commands are made odd.
#include <algorithm>
#include <string>

#include "model/limits.hpp"
#include "model/schedule_fields.hpp"
#include "tests/sim/workload.hpp"

namespace jobbie::sim {

using base::hours;
using base::milliseconds;
using base::minutes;
using base::seconds;

Command Workload::append_logs() {
  command::AppendLogs logs{.ref = lease_ref(), .lines = {}};
  logs.lines.resize(rng_.below(3) + 1);
  for (auto& line : logs.lines) line.message = payload();
  return logs;
}

Command Workload::ack() { return command::Ack{lease_ref(), rng_.percent(70) ? payload() : Blob{}}; }

Command Workload::fail() {
  command::Fail fail{.ref = lease_ref()};
  if (rng_.percent(90)) fail.error = rng_.coin() ? Blob("boom") : payload();
  if (rng_.percent(20)) fail.backtrace = Blob("at line 1\nat line 2");
  fail.no_retry = rng_.percent(8);
  if (rng_.percent(15)) fail.retry_in = rng_.percent(30) ? Duration{} : duration();
  return fail;
}

Command Workload::heartbeat() {
  command::Heartbeat heartbeat;
  if (rng_.percent(25)) heartbeat.worker = some_worker();
  do {
    command::Beat beat{.ref = lease_ref()};
    if (rng_.percent(40)) beat.progress = payload();
    if (rng_.percent(30)) beat.checkpoint = payload();
    if (rng_.permille(10)) beat.ref.job = {};
    heartbeat.beats.push_back(std::move(beat));
  } while (rng_.percent(30));
  return heartbeat;
}

Command Workload::by_hand(std::size_t verb) {
  const JobId job = job_for(verb);
  switch (verb) {
    case verb_index<command::Retry>():
      return command::Retry{job, rng_.percent(25) ? payload() : Blob{}};
    case verb_index<command::Requeue>():
      return command::Requeue{job};
    case verb_index<command::Move>():
      return command::Move{job, some_queue(), rng_.percent(70), rng_.coin()};
    case verb_index<command::Delete>():
      return command::Delete{job};
    case verb_index<command::SetPriority>():
      return command::SetPriority{job, static_cast<std::int32_t>(rng_.between(-2, 5))};
    default:
      return command::Cancel{job};
  }
}

Command Workload::queue_command() {
  using command::QueueAction;
  const Blob queue = some_queue();
  const auto it = model_.queues().find(std::string(queue.view()));
  const bool paused = it != model_.queues().end() && it->second.record.settings.paused;
  if (paused && rng_.percent(60)) return command::QueueCommand{queue, QueueAction::resume};
  switch (rng_.below(8)) {
    case 0:
    case 1:
      return command::QueueCommand{queue, QueueAction::pause};
    case 2:
      return command::QueueCommand{queue, QueueAction::drain};
    case 3:
    case 4:
      return command::QueueCommand{queue, QueueAction::clear};
    case 5:
      return command::QueueCommand{queue, QueueAction::destroy};
    default:
      return command::QueueCommand{queue, QueueAction::resume};
  }
}

Command Workload::concurrency() {
  command::SetConcurrency limit{.queue = some_queue()};
  if (rng_.percent(65)) limit.max = static_cast<std::uint32_t>(rng_.between(1, 4));
  if (rng_.percent(50)) limit.per = rng_.pick(pool::pers);
  return limit;
}

Command Workload::throttle() {
  command::SetThrottle limit{.queue = some_queue()};
  static const std::vector<Duration> periods = {milliseconds(1), milliseconds(10), seconds(1),
                                                seconds(10), minutes(1)};
  limit.period = rng_.pick(periods);
  if (rng_.percent(65)) limit.rate = static_cast<std::uint32_t>(rng_.between(1, 4));
  if (rng_.percent(50)) limit.per = rng_.pick(pool::pers);
  return limit;
}

Command Workload::retention() {
  command::SetRetention keep{.queue = some_queue()};
  const auto draw = [&]() -> std::optional<Duration> {
    switch (rng_.below(5)) {
      case 0:
        return Duration{};
      case 1:
        return milliseconds(1);
      case 2:
        return seconds(rng_.between(1, 200));
      case 3:
        return hours(1);
      default:
        return std::nullopt;
    }
  };
  keep.completed = draw();
  keep.dead = draw();
  keep.cancelled = draw();
  return keep;
}

Command Workload::group_command() {
  using command::GroupAction;
  const Blob group = some_group();
  const bool paused = model_.paused_groups().contains(std::string(group.view()));
  command::GroupCommand command{.group = group, .include_active = rng_.percent(60)};
  if (paused && rng_.percent(60)) {
    command.action = GroupAction::resume;
  } else {
    command.action = static_cast<GroupAction>(rng_.below(4));
  }
  return command;
}

model::ScheduleSpec Workload::schedule_spec() {
  model::ScheduleSpec spec;
  spec.name = rng_.pick(pool::schedule_names);
  spec.cron = rng_.pick(pool::crons);
  spec.zone = rng_.percent(40) ? model::ZoneRules{} : test_zone(rng_.below(2), rng_.below(2));
  spec.catch_up = static_cast<model::CatchUp>(rng_.below(3));
  spec.paused = rng_.percent(10);
  spec.job = job_spec();
  if (!rng_.percent(1)) {
    spec.job.scheduled_at = {};
    spec.job.delay = {};
    spec.job.depends_on.clear();
  }
  // Frequent ones that catch up on everything would fill the queues: mostly let them be unique.
  if (spec.catch_up == model::CatchUp::all && rng_.percent(70)) {
    spec.job.unique = {.key = rng_.pick(pool::keys)};
  }
  return spec;
}

base::ScheduleId Workload::some_schedule() {
  const auto& schedules = model_.schedules();
  if (schedules.empty() || rng_.percent(personality_.astray / 4)) {
    base::ScheduleId id{base::Ulid::make(model_.now(), model_.next_sequence(), 9)};
    if (!schedules.empty()) id = schedules.begin()->second.record.id;
    id.ulid.low ^= 1;
    return id;
  }
  const auto at = static_cast<std::ptrdiff_t>(rng_.below(schedules.size()));
  return std::next(schedules.begin(), at)->second.record.id;
}

Command Workload::update_schedule() {
  command::UpdateSchedule update{some_schedule(), schedule_spec()};
  const auto it = model_.schedules().find(update.schedule.sequence());
  if (it != model_.schedules().end() && rng_.percent(70))
    update.spec.name = it->second.record.spec.name;
  if (rng_.coin()) {
    do {
      update.fields |= std::uint64_t{1} << rng_.below(model::kScheduleFields);
    } while (rng_.percent(70));
  }
  return update;
}

Command Workload::schedule_command() {
  using command::ScheduleAction;
  return command::ScheduleCommand{some_schedule(), static_cast<ScheduleAction>(rng_.below(4))};
}

Command Workload::update_zone() {
  return command::UpdateZone{test_zone(rng_.below(3), rng_.below(3))};
}

/// `gap` is the time between two entries: nobody led for all of it, for a part, or for longer.
Command Workload::resume(Duration gap) {
  if (gap.ms <= 0 || rng_.percent(10))
    return command::Resume{rng_.coin() ? Duration{} : duration()};
  switch (rng_.below(6)) {
    case 0:
      return command::Resume{milliseconds(rng_.between(0, gap.ms))};
    case 1:
      return command::Resume{Duration{gap.ms + duration().ms}};
    case 2:
      return command::Resume{Duration{gap.ms + rng_.between(-1, 1)}};
    default:
      return command::Resume{gap};
  }
}

Command Workload::register_worker() {
  command::RegisterWorker worker;
  worker.worker.id = some_worker();
  if (rng_.percent(60)) worker.worker.roles = {rng_.pick(pool::roles)};
  if (rng_.percent(60)) worker.worker.tags = {rng_.pick(pool::marks)};
  if (rng_.percent(30)) worker.worker.queues = some_patterns();
  worker.worker.concurrency = static_cast<std::uint32_t>(rng_.below(10));
  worker.worker.draining = rng_.percent(10);
  return worker;
}

namespace {

/// A few wrong values for each kind of command; `draw` chooses.
struct Oddity {
  std::uint64_t draw;

  void operator()(command::Enqueue& c) const { spoil(c.job); }
  void operator()(command::EnqueueMany& c) const {
    if (c.jobs.empty() || draw % 5 == 0) {
      c.jobs.clear();
    } else if (draw % 5 == 1) {
      c.jobs.back().depends_on_index.push_back(static_cast<std::uint32_t>(c.jobs.size()));
    } else if (draw % 5 == 2) {
      c.batch = command::BatchSpec{Blob("no good"), {}};
    } else {
      spoil(c.jobs.back());
    }
  }
  void operator()(command::Claim& c) const {
    if (draw % 5 == 0) c.queues.clear();
    if (draw % 5 == 1) c.queues.emplace_back("sp ace");
    if (draw % 5 == 2) c.count = 0;
    if (draw % 5 == 3) c.count = 0xffffffff;
    if (draw % 5 == 4) c.lease = Duration{draw % 2 == 0 ? 99 : -1};
  }
  void operator()(command::Ack& c) const { c.ref.job = {}; }
  void operator()(command::AppendLogs& c) const {
    if (draw % 3 == 0) c.lines.clear();
    if (draw % 3 == 1) c.lines.front().at = Instant{-1};
    if (draw % 3 == 2) c.lines.resize(model::limits::kLogLinesPerRequest + 1);
  }
  void operator()(command::Fail& c) const {
    c.retry_in = draw % 2 == 0 ? Duration{-1} : Duration{base::kMaxDuration.ms + 1};
  }
  void operator()(command::Heartbeat& c) const {
    if (draw % 2 == 0) c.beats.clear();
    if (draw % 2 == 1) c.worker = Blob(std::string(300, 'w'));
  }
  void operator()(command::Move& c) const { c.queue = Blob(draw % 2 == 0 ? "" : "no good"); }
  void operator()(command::SetPriority& c) const {
    c.priority = draw % 2 == 0 ? INT32_MIN : INT32_MAX;
  }
  void operator()(command::QueueCommand& c) const { c.action = command::QueueAction{9}; }
  void operator()(command::SetConcurrency& c) const {
    if (draw % 2 == 0) c.max = 0;
    if (draw % 2 == 1) c.per = Blob("payload.x");
  }
  void operator()(command::SetThrottle& c) const {
    c.rate = draw % 2 == 0 ? 0 : 1;
    c.period = Duration{};
  }
  void operator()(command::SetRetention& c) const { c.dead = Duration{-1}; }
  void operator()(command::SetLease& c) const { c.lease = Duration{1}; }
  void operator()(command::SetFairness& c) const { c.fairness = model::Fairness{7}; }
  void operator()(command::GroupCommand& c) const { c.group = {}; }
  void operator()(command::CreateSchedule& c) const { c.spec.cron = Blob("61 * * * *"); }
  void operator()(command::UpdateSchedule& c) const { c.spec.name = {}; }
  void operator()(command::ScheduleCommand& c) const { c.schedule = {}; }
  void operator()(command::UpdateZone& c) const { c.zone.base_offset_s = 1 << 30; }
  void operator()(command::RegisterWorker& c) const { c.worker.id = {}; }
  void operator()(command::RemoveWorker& c) const { c.worker = {}; }
  void operator()(command::StartBulk& c) const { c.filter = Blob("[]"); }
  void operator()(command::BulkStep& c) const {
    c.bulk = {};
    c.action = model::BulkAction{9};
  }
  void operator()(command::EndBulk& c) const { c.bulk = {}; }
  void operator()(command::Restrict& c) const {
    if (draw % 2 == 0) c.queues.emplace_back("sp ace");
    if (draw % 2 == 1) c.commands = 0;
  }
  void operator()(command::RecordAction& c) const { c.key = Blob(std::string(2000, 'k')); }
  void operator()(command::CreateKey& c) const { c.key.scopes = draw % 2 == 0 ? 0 : 1 << 9; }
  void operator()(command::RevokeKey& c) const { c.key = {}; }
  void operator()(command::PutWebhook& c) const { c.spec.url = Blob(draw % 2 == 0 ? "" : "a\x01"); }
  void operator()(command::RemoveWebhook& c) const { c.webhook = {}; }
  void operator()(command::TestWebhook& c) const { c.webhook = {}; }
  void operator()(command::RetryDelivery& c) const { c.delivery.id = {}; }
  void operator()(command::SettleDelivery& c) const { c.delivery = {}; }
  void operator()(command::Resume& c) const {
    c.lost = draw % 2 == 0 ? Duration{-1} : Duration{base::kMaxDuration.ms + 1};
  }
  void operator()(command::SetLimits& c) const {
    if (draw % 2 == 0) c.queues = 0;
    if (draw % 2 == 1) c.queues_per_key = model::limits::kMostQueues + 1;
  }
  void operator()(command::ForgetQueues& c) const { c.queues.emplace_back("sp ace"); }
  template <typename Other>
  void operator()(Other& c) const {
    if constexpr (requires { c.job = JobId{}; }) c.job = JobId{};
  }

  void spoil(JobSpec& job) const {
    switch (draw % 9) {
      case 0:
        job.queue = Blob("sp ace");
        break;
      case 1:
        job.payload = {};
        break;
      case 2:
        job.max_retries = model::limits::kMaxAttempts + 1;
        break;
      case 3:
        job.expire_after = Duration{-5};
        break;
      case 4:
        job.tags = Blob("[1]");
        break;
      case 5:
        job.unique = {.until = model::UniqueUntil::start};
        break;
      case 6:
        job.lease = Duration{1};
        break;
      case 7:
        job.expire_after = job.max_runtime = job.timeout = base::kMaxDuration;
        break;
      default:
        job.scheduled_at = base::kMaxInstant;
        break;
    }
  }
};

}  // namespace

void Workload::make_odd(Command& command) { std::visit(Oddity{rng_.next() >> 8}, command); }

model::ZoneRules test_zone(std::uint64_t which, std::uint64_t variant) {
  model::ZoneRules zone;
  if (which == 2) return zone;  // UTC
  zone.name = which == 0 ? "Test/East" : "Test/West";
  zone.base_offset_s = which == 0 ? 3600 : -18'000;
  // Two changes a year from 2023 on, near the ends of March and October.
  constexpr std::int64_t kSpring_s = 1'679'792'400;
  constexpr std::int64_t kYear_s = 364 * 86'400;
  constexpr std::int64_t kSummer_s = 217 * 86'400;
  const auto shift = static_cast<std::int64_t>(variant) * 3600;
  for (std::int64_t year = 0; year < 12; ++year) {
    const std::int64_t spring = kSpring_s + year * kYear_s + shift;
    zone.transitions.push_back({{spring * 1000}, zone.base_offset_s + 3600});
    zone.transitions.push_back({{(spring + kSummer_s) * 1000}, zone.base_offset_s});
  }
  return zone;
}

}  // namespace jobbie::sim
