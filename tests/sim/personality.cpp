// Draws a seed's personality.
#include "tests/sim/personality.hpp"

namespace jobbie::sim {
namespace {

using command::Ack;
using command::Claim;
using command::Enqueue;
using command::EnqueueMany;

engine::Options draw_options(Rng& rng) {
  engine::Options options;
  const auto draw = [&](std::int64_t small, std::size_t large) {
    return rng.percent(60) ? static_cast<std::size_t>(rng.between(1, small)) : large;
  };
  options.timers_per_tick = draw(8, 1000);
  options.task_slice = draw(8, 1000);
  options.cron_runs_per_tick = draw(3, 100);
  options.hash_seed = rng.next();
  return options;
}

std::array<std::uint32_t, kVerbs> usual_weights() {
  std::array<std::uint32_t, kVerbs> w{};
  w[verb_index<Enqueue>()] = 200;
  w[verb_index<EnqueueMany>()] = 60;
  w[verb_index<Claim>()] = 220;
  w[verb_index<Ack>()] = 100;
  w[verb_index<command::Fail>()] = 70;
  w[verb_index<command::Heartbeat>()] = 50;
  w[verb_index<command::Cancel>()] = 35;
  w[verb_index<command::Retry>()] = 35;
  w[verb_index<command::Requeue>()] = 20;
  w[verb_index<command::Move>()] = 30;
  w[verb_index<command::Delete>()] = 20;
  w[verb_index<command::SetPriority>()] = 20;
  w[verb_index<command::QueueCommand>()] = 25;
  w[verb_index<command::SetConcurrency>()] = 12;
  w[verb_index<command::SetThrottle>()] = 12;
  w[verb_index<command::SetRetention>()] = 6;
  w[verb_index<command::SetLease>()] = 5;
  w[verb_index<command::SetFairness>()] = 8;
  w[verb_index<command::GroupCommand>()] = 20;
  w[verb_index<command::CreateSchedule>()] = 6;
  w[verb_index<command::UpdateSchedule>()] = 5;
  w[verb_index<command::ScheduleCommand>()] = 10;
  w[verb_index<command::UpdateZone>()] = 3;
  w[verb_index<command::RegisterWorker>()] = 8;
  w[verb_index<command::RemoveWorker>()] = 4;
  w[verb_index<command::AppendLogs>()] = 10;
  w[verb_index<command::StartBulk>()] = 4;
  w[verb_index<command::BulkStep>()] = 14;
  w[verb_index<command::EndBulk>()] = 2;
  w[verb_index<command::Restrict>()] = 12;
  w[verb_index<command::RecordAction>()] = 4;
  w[verb_index<command::CreateKey>()] = 4;
  w[verb_index<command::RevokeKey>()] = 4;
  w[verb_index<command::PutWebhook>()] = 5;
  w[verb_index<command::RemoveWebhook>()] = 2;
  w[verb_index<command::TestWebhook>()] = 5;
  w[verb_index<command::RetryDelivery>()] = 5;
  w[verb_index<command::SettleDelivery>()] = 10;
  w[verb_index<command::Resume>()] = 6;
  w[verb_index<command::SetLimits>()] = 4;
  w[verb_index<command::ForgetQueues>()] = 8;
  w[verb_index<command::Tick>()] = 0;  // decided by the clock, not by weight
  return w;
}

JobHabits draw_habits(Rng& rng) {
  const auto share = [&](std::uint32_t often) {
    switch (rng.below(4)) {
      case 0:
        return 0U;
      case 1:
        return often / 4;
      case 2:
        return often;
      default:
        return often * 2;
    }
  };
  return {.unique = share(25),
          .unique_period = share(40),
          .group = share(35),
          .tags = share(40),
          .requires_ = share(12),
          .depends = share(20),
          .run_on_failure = share(30),
          .scheduled = share(15),
          .expires = share(15),
          .max_runtime = share(12),
          .timeout = share(12),
          .own_lease = share(25),
          .priority = share(40),
          .jitter = share(30),
          .batch = share(45),
          .idempotent = share(10)};
}

base::Instant draw_start(Rng& rng) {
  switch (rng.below(10)) {
    case 0:
      return {1};
    case 1:
      return {1'711'846'790'000};  // seconds before a clock change of the test zones
    case 2:
      return {4'102'444'799'000};  // the end of 2099
    default:
      return {1'700'000'000'000 + rng.between(0, 4'000'000) * 1000 + rng.between(0, 999)};
  }
}

}  // namespace

Personality draw_personality(Rng& rng) {
  Personality p;
  p.options = draw_options(rng);
  p.weights = usual_weights();
  for (std::size_t i = 0; i < kVerbs; ++i) {
    const std::uint64_t draw = rng.below(10);
    const bool basic = i <= verb_index<command::Fail>();
    if (draw == 0 && !basic) p.weights[i] = 0;
    if (draw == 1) p.weights[i] /= 3;
    if (draw >= 8) p.weights[i] *= 4;
  }
  p.jobs = draw_habits(rng);
  p.queues = static_cast<std::uint32_t>(rng.between(1, 5));
  p.live_cap = static_cast<std::uint32_t>(rng.percent(25) ? rng.between(2, 8) : rng.between(8, 45));
  p.ended_cap = static_cast<std::uint32_t>(rng.between(10, 90));
  p.commands_per_entry = static_cast<std::uint32_t>(rng.percent(30)   ? 1
                                                    : rng.percent(80) ? 4
                                                                      : rng.between(5, 12));
  p.odd = static_cast<std::uint32_t>(rng.percent(50) ? 1 : rng.between(0, 8));
  p.astray = static_cast<std::uint32_t>(rng.between(2, 35));
  p.start = draw_start(rng);
  p.still = static_cast<std::uint32_t>(rng.between(5, 75));
  p.aim = static_cast<std::uint32_t>(rng.between(5, 45));
  p.tick_when_due = static_cast<std::uint32_t>(rng.percent(30) ? 2 : rng.between(10, 100));
  p.tick_anyway = static_cast<std::uint32_t>(rng.between(0, 8));
  p.jump = static_cast<std::uint32_t>(rng.between(0, 20));
  p.resume =
      static_cast<std::uint32_t>(rng.percent(30) ? rng.between(50, 200) : rng.between(0, 10));
  p.retention = static_cast<std::uint32_t>(rng.below(4));
  p.limits = rng.percent(50) ? 0 : static_cast<std::uint32_t>(rng.between(20, 90));
  p.drain = static_cast<std::uint32_t>(rng.percent(25) ? 100 : rng.between(1, 40));
  p.reload = static_cast<std::uint32_t>(rng.between(0, 8));
  p.twin = static_cast<std::uint32_t>(rng.between(0, 5));
  p.bounded_work = rng.percent(30) ? 0 : static_cast<std::uint32_t>(rng.between(20, 100));
  return p;
}

}  // namespace jobbie::sim
