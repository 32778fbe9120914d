// The workload's clock and its choice of verbs.
#include "tests/sim/workload.hpp"

#include <algorithm>
#include <array>

namespace jobbie::sim {

using base::days;
using base::hours;
using base::milliseconds;
using base::minutes;

namespace {

constexpr std::size_t kRing = 64;

/// Keeps the latest kRing things.
template <typename T>
void keep(std::vector<T>& ring, std::size_t& at, T value) {
  if (ring.size() < kRing) {
    ring.push_back(std::move(value));
  } else {
    ring[at++ % kRing] = std::move(value);
  }
}

}  // namespace

Workload::Workload(Rng& rng, const Personality& personality, const Model& model)
    : rng_(rng), personality_(personality), model_(model) {}

Entry Workload::opening() {
  Entry entry{.now = personality_.start, .random = rng_.next()};
  for (std::uint32_t i = 0; i < personality_.queues; ++i) {
    const Blob& queue = pool::queues[i];
    command::SetRetention keep{.queue = queue};
    const auto draw = [&]() -> std::optional<Duration> {
      switch (personality_.retention) {
        case 0:
          return Duration{};
        case 1:
          return milliseconds(rng_.between(1, 200'000));
        case 2:
          return rng_.coin() ? Duration{} : minutes(rng_.between(1, 200));
        default:
          return std::nullopt;
      }
    };
    keep.completed = draw();
    keep.dead = draw();
    keep.cancelled = draw();
    if (rng_.percent(80)) entry.commands.emplace_back(keep);
    if (rng_.percent(personality_.limits)) entry.commands.push_back(concurrency());
    if (rng_.percent(personality_.limits)) entry.commands.push_back(throttle());
    if (rng_.percent(25))
      entry.commands.emplace_back(command::SetFairness{queue, model::Fairness::group});
  }
  return entry;
}

Entry Workload::next(Instant engine_deadline) {
  Entry entry{.now = next_time(engine_deadline), .random = rng_.next()};
  if (rng_.percent(personality_.bounded_work))
    entry.work = static_cast<std::uint32_t>(1 + rng_.below(rng_.percent(50) ? 8 : 500));
  if (rng_.permille(personality_.resume))
    entry.commands.push_back(resume(entry.now - model_.now()));
  const bool due = std::min(engine_deadline, model_.next_deadline()) <= entry.now;
  if (rng_.percent(due ? personality_.tick_when_due : personality_.tick_anyway))
    entry.commands.emplace_back(command::Tick{});
  if (model_.live().size() > personality_.live_cap * 2 + 10) relieve(entry);
  if (model_.ended().size() > personality_.ended_cap) prune(entry);
  if (!entry.commands.empty() && rng_.percent(50)) return entry;
  const std::uint64_t count = 1 + rng_.below(personality_.commands_per_entry);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!entry.commands.empty() && rng_.percent(3)) {
      entry.commands.push_back(entry.commands.back());
    } else {
      entry.commands.push_back(next_command());
    }
  }
  if (rng_.percent(1)) entry.commands.clear();
  return entry;
}

/// Too many jobs: stop what makes them and take whole queues away.
void Workload::relieve(Entry& entry) {
  using command::QueueAction;
  if (!model_.schedules().empty() && rng_.coin()) {
    const auto id = some_schedule();
    entry.commands.emplace_back(command::ScheduleCommand{
        id, rng_.coin() ? command::ScheduleAction::remove : command::ScheduleAction::pause});
  }
  entry.commands.emplace_back(
      command::QueueCommand{some_queue(), rng_.coin() ? QueueAction::clear : QueueAction::destroy});
}

/// Too many ended jobs: the model would become slow. Time goes on until most of them are forgotten.
void Workload::prune(Entry& entry) {
  for (std::uint32_t i = 0; i < personality_.queues; ++i) {
    const Duration keep = milliseconds(rng_.between(0, 3000));
    entry.commands.emplace_back(command::SetRetention{pool::queues[i], keep, keep, keep});
  }
  entry.now = std::max(entry.now, model_.now()) + minutes(rng_.between(1, 3));
  entry.commands.emplace_back(command::Tick{});
}

Instant Workload::next_time(Instant engine_deadline) {
  const Instant now = model_.now();
  if (rng_.permille(personality_.jump)) {
    switch (rng_.below(4)) {
      case 0:
        return now + days(rng_.between(1, 3));
      case 1:
        return now + hours(rng_.between(1, 30));
      default:
        return now + minutes(rng_.between(1, 90));
    }
  }
  if (rng_.percent(personality_.aim)) return aimed_time(engine_deadline);
  if (rng_.percent(personality_.still)) return now;
  switch (rng_.below(12)) {
    case 0:
      return now - milliseconds(rng_.between(1, 5'000'000));
    case 1:
    case 2:
    case 3:
      return now + milliseconds(rng_.between(1, 5));
    case 4:
      return now + milliseconds(rng_.between(1, 60'000));
    default:
      return now + milliseconds(rng_.between(1, 3000));
  }
}

/// On a deadline, or one millisecond beside it. One that has passed means now.
Instant Workload::aimed_time(Instant engine_deadline) {
  const Instant at = some_deadline(engine_deadline);
  const Instant now = model_.now();
  if (at <= now || at > now + days(3)) return now + milliseconds(rng_.between(0, 100));
  return at + milliseconds(rng_.between(-1, 1));
}

Instant Workload::some_deadline(Instant engine_deadline) {
  const std::uint64_t draw = rng_.below(20);
  if (draw < 2) return engine_deadline;
  if (draw == 2 && !model_.schedules().empty()) {
    const auto it = std::next(model_.schedules().begin(),
                              static_cast<std::ptrdiff_t>(rng_.below(model_.schedules().size())));
    return it->second.record.next_run;
  }
  if (draw == 3 && !model_.ended().empty())
    return model_.kept_until(model_.ended().begin()->second);
  if (draw == 4 && !model_.remembered().empty())
    return model_.remembered().begin()->second.expires_at;
  if (draw < 8) {
    for (const auto& [name, queue] : model_.queues()) {
      const auto& throttle = queue.record.settings.throttle;
      if (throttle && !queue.claims.empty() && rng_.coin())
        return rng_.pick(queue.claims) + throttle->period;
    }
  }
  if (draw < 12) return model_.next_deadline();
  const JobId id =
      random_job([](const JobRecord& job) { return deadlines_of(job).count > 0; }, false);
  if (id.is_nil()) return model_.next_deadline();
  const DeadlineList list = deadlines_of(*model_.find(id));
  return list.items[static_cast<std::size_t>(rng_.below(list.count))].at;
}

std::size_t Workload::next_verb() {
  std::array<std::uint64_t, kVerbs> weights{};
  std::copy(personality_.weights.begin(), personality_.weights.end(), weights.begin());
  const std::size_t live = model_.live().size();
  const auto more = [&](std::size_t verb, std::uint64_t times) { weights[verb] *= times; };
  if (live >= personality_.live_cap) {
    weights[verb_index<command::Enqueue>()] /= 6;
    weights[verb_index<command::EnqueueMany>()] /= 8;
    weights[verb_index<command::Retry>()] /= 3;
    more(verb_index<command::Claim>(), 2);
    more(verb_index<command::Ack>(), 4);
    more(verb_index<command::Fail>(), 2);
  } else if (live < personality_.live_cap / 3 + 1) {
    more(verb_index<command::Enqueue>(), 3);
    more(verb_index<command::EnqueueMany>(), 2);
  }
  if (model_.schedules().size() >= 4) weights[verb_index<command::CreateSchedule>()] /= 10;
  std::uint64_t total = 0;
  for (const std::uint64_t weight : weights) total += weight;
  std::uint64_t draw = rng_.below(total);
  std::size_t verb = 0;
  while (draw >= weights[verb]) draw -= weights[verb++];
  return verb;
}

Command Workload::next_command() {
  if (!past_calls_.empty() && rng_.permille(15)) return rng_.pick(past_calls_);
  Command command = make(next_verb());
  if (rng_.percent(personality_.odd)) make_odd(command);
  return command;
}

Command Workload::make(std::size_t verb) {
  switch (verb) {
    case verb_index<command::Enqueue>():
      return enqueue();
    case verb_index<command::EnqueueMany>():
      return enqueue_many();
    case verb_index<command::Claim>():
      return claim();
    case verb_index<command::Ack>():
      return ack();
    case verb_index<command::Fail>():
      return fail();
    case verb_index<command::Heartbeat>():
      return heartbeat();
    case verb_index<command::QueueCommand>():
      return queue_command();
    case verb_index<command::SetConcurrency>():
      return concurrency();
    case verb_index<command::SetThrottle>():
      return throttle();
    case verb_index<command::SetRetention>():
      return retention();
    case verb_index<command::SetLease>():
      return command::SetLease{some_queue(), rng_.percent(30) ? Duration{} : lease_length()};
    case verb_index<command::SetFairness>():
      return command::SetFairness{
          some_queue(), rng_.percent(60) ? model::Fairness::group : model::Fairness::priority};
    case verb_index<command::GroupCommand>():
      return group_command();
    case verb_index<command::CreateSchedule>():
      return command::CreateSchedule{schedule_spec()};
    case verb_index<command::UpdateSchedule>():
      return update_schedule();
    case verb_index<command::ScheduleCommand>():
      return schedule_command();
    case verb_index<command::UpdateZone>():
      return update_zone();
    case verb_index<command::RegisterWorker>():
      return register_worker();
    case verb_index<command::RemoveWorker>():
      return command::RemoveWorker{some_worker()};
    case verb_index<command::AppendLogs>():
      return append_logs();
    case verb_index<command::Resume>():
      return resume(duration());
    case verb_index<command::Tick>():
      return command::Tick{};
    default:
      return verb >= verb_index<command::StartBulk>() ? administer(verb) : by_hand(verb);
  }
}

void Workload::learn(const Entry& entry, const std::vector<Reply>& replies) {
  for (std::size_t i = 0; i < replies.size() && i < entry.commands.size(); ++i) {
    if (const auto* enqueued = std::get_if<command::Enqueued>(&replies[i])) {
      keep(past_jobs_, ring_, enqueued->job);
    } else if (const auto* claimed = std::get_if<command::Claimed>(&replies[i])) {
      const auto& claim = std::get<command::Claim>(entry.commands[i]);
      for (const auto& job : claimed->jobs)
        keep(past_leases_, ring_, Held{job.job, job.lease, claim.worker});
    } else if (std::holds_alternative<command::Settled>(replies[i])) {
      keep(past_calls_, ring_, entry.commands[i]);
    }
  }
}

}  // namespace jobbie::sim
