// Counting answers and naming those that were never seen.
#include "tests/sim/coverage.hpp"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

namespace jobbie::sim {
namespace {

using model::State;

constexpr std::size_t kFirst = 16;  ///< the first kind of answer that is no refusal
constexpr std::size_t kSecond = kFirst + model::kStates;

constexpr std::size_t number(State state) { return static_cast<std::size_t>(state); }

std::size_t kind_of_done(const command::Command& command, const command::Done& done) {
  std::size_t action = 0;
  if (const auto* queue = std::get_if<command::QueueCommand>(&command)) {
    action = static_cast<std::size_t>(queue->action);
  } else if (const auto* group = std::get_if<command::GroupCommand>(&command)) {
    action = static_cast<std::size_t>(group->action);
  }
  return kFirst + action * 2 + (done.affected > 0 ? 1 : 0);
}

std::size_t kind_of_schedule(const command::Command& command, const command::ScheduleReply& reply) {
  const auto* c = std::get_if<command::ScheduleCommand>(&command);
  const std::size_t action = c != nullptr ? static_cast<std::size_t>(c->action) : 0;
  return kFirst + action * 2 + (reply.job.is_nil() ? 0 : 1);
}

std::size_t kind_of(const command::Command& command, const command::Reply& reply) {
  struct Kind {
    const command::Command& command;
    std::size_t operator()(const command::Refusal& r) const {
      return static_cast<std::size_t>(r.code);
    }
    std::size_t operator()(const command::Enqueued& r) const {
      return (r.existing ? kSecond : kFirst) + number(r.state);
    }
    std::size_t operator()(const command::EnqueuedMany& r) const {
      const bool existing =
          std::ranges::any_of(r.jobs, [](const command::Enqueued& job) { return job.existing; });
      return kFirst + (r.batch.is_nil() ? 0U : 1U) + (existing ? 2U : 0U);
    }
    std::size_t operator()(const command::Claimed& r) const {
      return kFirst + std::min<std::size_t>(r.jobs.size(), 2);
    }
    std::size_t operator()(const command::Settled& r) const {
      return (r.repeated ? kSecond : kFirst) + number(r.state);
    }
    std::size_t operator()(const command::Beaten& r) const {
      return r.jobs.empty() ? kFirst + 4 : kFirst + static_cast<std::size_t>(r.jobs.front());
    }
    std::size_t operator()(const command::JobChanged& r) const { return kFirst + number(r.state); }
    std::size_t operator()(const command::Done& r) const { return kind_of_done(command, r); }
    std::size_t operator()(const command::BulkReply&) const { return kFirst; }
    std::size_t operator()(const command::BulkStepped&) const { return kFirst; }
    std::size_t operator()(const command::ScheduleReply& r) const {
      return kind_of_schedule(command, r);
    }
    std::size_t operator()(const command::KeyReply&) const { return kFirst; }
    std::size_t operator()(const command::WebhookReply&) const { return kFirst; }
    std::size_t operator()(const command::DeliveryReply&) const { return kFirst; }
  };
  return std::min(std::visit(Kind{command}, reply), kAnswers - 1);
}

constexpr std::array<const char*, kVerbs> kVerbNames = {"enqueue",
                                                        "enqueue_many",
                                                        "claim",
                                                        "ack",
                                                        "fail",
                                                        "heartbeat",
                                                        "cancel",
                                                        "retry",
                                                        "requeue",
                                                        "move",
                                                        "delete",
                                                        "set_priority",
                                                        "queue_command",
                                                        "set_concurrency",
                                                        "set_throttle",
                                                        "set_retention",
                                                        "set_lease",
                                                        "set_fairness",
                                                        "group_command",
                                                        "create_schedule",
                                                        "update_schedule",
                                                        "schedule_command",
                                                        "update_zone",
                                                        "register_worker",
                                                        "remove_worker",
                                                        "tick",
                                                        "append_logs",
                                                        "start_bulk",
                                                        "bulk_step",
                                                        "end_bulk",
                                                        "restrict",
                                                        "record_action",
                                                        "create_key",
                                                        "revoke_key",
                                                        "put_webhook",
                                                        "remove_webhook",
                                                        "test_webhook",
                                                        "retry_delivery",
                                                        "settle_delivery",
                                                        "resume"};

std::string state_name(std::size_t state) {
  return state == kNoState ? "none" : model::to_string(static_cast<State>(state));
}

/// Whether a verb's success is counted by the job's state.
bool by_state(std::size_t verb) {
  return verb == verb_index<command::Enqueue>() || verb == verb_index<command::Ack>() ||
         verb == verb_index<command::Fail>() ||
         (verb >= verb_index<command::Cancel>() && verb <= verb_index<command::SetPriority>());
}

std::string answer_name(std::size_t verb, std::size_t answer) {
  if (answer < kRefusals)
    return fmt::format("{}: refused {}", kVerbNames[verb],
                       command::to_string(static_cast<command::Refused>(answer)));
  if (!by_state(verb)) return fmt::format("{}: kind {}", kVerbNames[verb], answer - kFirst);
  const bool second = answer >= kSecond;
  return fmt::format("{}: {}{}", kVerbNames[verb], state_name(answer - (second ? kSecond : kFirst)),
                     second ? " (existing or repeated)" : "");
}

struct Expected {
  std::size_t verb;
  std::vector<std::size_t> answers;
};

std::vector<std::size_t> kinds(std::size_t count) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(kFirst + i);
  return result;
}

std::vector<std::size_t> states(std::initializer_list<State> first,
                                std::initializer_list<State> second = {}) {
  std::vector<std::size_t> result;
  for (const State state : first) result.push_back(kFirst + number(state));
  for (const State state : second) result.push_back(kSecond + number(state));
  return result;
}

/// Answers of success that must be seen.
std::vector<Expected> expected_successes() {
  using enum model::State;
  return {
      {verb_index<command::Enqueue>(), states({scheduled, waiting, pending, cancelled},
                                              {scheduled, waiting, pending, active, retrying})},
      {verb_index<command::EnqueueMany>(), kinds(4)},
      {verb_index<command::Claim>(), kinds(3)},
      {verb_index<command::Ack>(), states({completed, cancelled}, {completed, cancelled})},
      {verb_index<command::Fail>(),
       states({pending, retrying, dead, cancelled}, {pending, retrying, dead, cancelled})},
      {verb_index<command::Heartbeat>(), kinds(5)},
      {verb_index<command::Cancel>(), states({cancelled, active})},
      {verb_index<command::Retry>(), states({pending})},
      {verb_index<command::Requeue>(), states({pending})},
      {verb_index<command::Move>(), states({pending, scheduled, dead, completed})},
      {verb_index<command::Delete>(),
       states({scheduled, waiting, pending, active, retrying, completed, dead, cancelled})},
      {verb_index<command::SetPriority>(), states({pending, scheduled})},
      // pause, resume and drain affect no job; clear and destroy may.
      {verb_index<command::QueueCommand>(),
       {kFirst, kFirst + 2, kFirst + 4, kFirst + 6, kFirst + 7, kFirst + 8, kFirst + 9}},
      {verb_index<command::SetConcurrency>(), kinds(1)},
      {verb_index<command::SetThrottle>(), kinds(1)},
      {verb_index<command::SetRetention>(), kinds(1)},
      {verb_index<command::SetLease>(), kinds(1)},
      {verb_index<command::SetFairness>(), kinds(1)},
      {verb_index<command::GroupCommand>(),
       {kFirst, kFirst + 2, kFirst + 4, kFirst + 5, kFirst + 6, kFirst + 7}},
      {verb_index<command::CreateSchedule>(), kinds(1)},
      {verb_index<command::UpdateSchedule>(), kinds(1)},
      // pause, resume, run_now, remove
      {verb_index<command::ScheduleCommand>(), {kFirst, kFirst + 2, kFirst + 5, kFirst + 6}},
      {verb_index<command::UpdateZone>(), kinds(2)},
      {verb_index<command::RegisterWorker>(), kinds(1)},
      {verb_index<command::RemoveWorker>(), kinds(1)},
      {verb_index<command::Tick>(), kinds(1)},
      {verb_index<command::AppendLogs>(), {kFirst + 1}},
      {verb_index<command::StartBulk>(), kinds(1)},
      {verb_index<command::BulkStep>(), kinds(1)},
      {verb_index<command::EndBulk>(), kinds(1)},
      {verb_index<command::Restrict>(), kinds(1)},
      {verb_index<command::RecordAction>(), kinds(1)},
      {verb_index<command::CreateKey>(), kinds(1)},
      {verb_index<command::RevokeKey>(), {kFirst + 1}},
      {verb_index<command::PutWebhook>(), kinds(1)},
      {verb_index<command::RemoveWebhook>(), kinds(2)},
      {verb_index<command::TestWebhook>(), kinds(1)},
      {verb_index<command::RetryDelivery>(), kinds(1)},
      {verb_index<command::SettleDelivery>(), kinds(2)},
      {verb_index<command::Resume>(), kinds(2)},
      {verb_index<command::SetLimits>(), kinds(1)},
      {verb_index<command::ForgetQueues>(), kinds(2)},
  };
}

/// Refusals that must be seen, beside `invalid`, which every verb with a value can give.
std::vector<Expected> expected_refusals() {
  using enum command::Refused;
  const auto codes = [](std::initializer_list<command::Refused> list) {
    std::vector<std::size_t> result;
    for (const auto code : list) result.push_back(static_cast<std::size_t>(code));
    return result;
  };
  return {
      {verb_index<command::Enqueue>(),
       codes({invalid, idempotency_mismatch, unknown_dependency, limit_reached})},
      {verb_index<command::EnqueueMany>(),
       codes({invalid, idempotency_mismatch, unknown_dependency, dependency_cycle, limit_reached})},
      {verb_index<command::Claim>(), codes({invalid, forbidden})},
      {verb_index<command::Ack>(),
       codes({invalid, not_found, lease_lost, not_active, not_owner, forbidden})},
      {verb_index<command::Fail>(), codes({invalid, not_found, lease_lost, not_active, not_owner})},
      {verb_index<command::Heartbeat>(), codes({invalid, forbidden})},
      {verb_index<command::Cancel>(), codes({invalid, not_found, wrong_state, forbidden})},
      {verb_index<command::Retry>(), codes({invalid, not_found, wrong_state, unique_conflict})},
      {verb_index<command::Requeue>(), codes({invalid, not_found, wrong_state, unique_conflict})},
      {verb_index<command::Move>(),
       codes({invalid, not_found, wrong_state, unique_conflict, limit_reached})},
      {verb_index<command::Delete>(), codes({invalid, not_found, forbidden})},
      {verb_index<command::SetPriority>(), codes({not_found, wrong_state})},
      {verb_index<command::QueueCommand>(), codes({invalid, not_found})},
      {verb_index<command::SetConcurrency>(), codes({invalid})},
      {verb_index<command::SetThrottle>(), codes({invalid})},
      {verb_index<command::SetRetention>(), codes({invalid})},
      {verb_index<command::SetLease>(), codes({invalid})},
      {verb_index<command::SetFairness>(), codes({invalid})},
      {verb_index<command::GroupCommand>(), codes({invalid})},
      {verb_index<command::CreateSchedule>(), codes({invalid, name_taken})},
      {verb_index<command::UpdateSchedule>(), codes({invalid, not_found, name_taken})},
      {verb_index<command::ScheduleCommand>(), codes({invalid, not_found})},
      {verb_index<command::UpdateZone>(), codes({invalid})},
      {verb_index<command::RegisterWorker>(), codes({invalid, forbidden})},
      {verb_index<command::RemoveWorker>(), codes({invalid, not_found})},
      {verb_index<command::AppendLogs>(),
       codes({invalid, not_found, lease_lost, not_active, not_owner})},
      {verb_index<command::StartBulk>(), codes({invalid})},
      {verb_index<command::BulkStep>(), codes({invalid, not_found, wrong_state})},
      {verb_index<command::EndBulk>(), codes({invalid, not_found, wrong_state, forbidden})},
      {verb_index<command::Restrict>(), codes({invalid})},
      {verb_index<command::RecordAction>(), codes({invalid})},
      {verb_index<command::CreateKey>(), codes({invalid, name_taken})},
      {verb_index<command::RevokeKey>(), codes({invalid, not_found, wrong_state})},
      {verb_index<command::PutWebhook>(), codes({invalid, not_found})},
      {verb_index<command::RemoveWebhook>(), codes({invalid, not_found})},
      {verb_index<command::TestWebhook>(), codes({invalid, not_found})},
      {verb_index<command::RetryDelivery>(), codes({invalid, not_found})},
      {verb_index<command::SettleDelivery>(), codes({invalid, not_found, wrong_state})},
      {verb_index<command::Resume>(), codes({invalid})},
      {verb_index<command::SetLimits>(), codes({invalid})},
      {verb_index<command::ForgetQueues>(), codes({invalid})},
  };
}

/// The arrows of the drawing in docs/lifecycle.md.
std::vector<std::pair<std::size_t, std::size_t>> expected_transitions() {
  using enum model::State;
  std::vector<std::pair<std::size_t, std::size_t>> arrows;
  const auto from = [&](std::size_t a, std::initializer_list<State> to) {
    for (const State b : to) arrows.emplace_back(a, number(b));
  };
  from(kNoState, {scheduled, waiting, pending, cancelled});
  from(number(scheduled), {pending, dead, cancelled});
  from(number(waiting), {scheduled, pending, dead, cancelled});
  from(number(pending), {active, dead, cancelled});
  from(number(active), {pending, retrying, completed, dead, cancelled});
  from(number(retrying), {pending, dead, cancelled});
  from(number(completed), {pending});
  from(number(dead), {pending});
  from(number(cancelled), {pending});
  for (std::size_t s = 0; s < model::kStates; ++s) arrows.emplace_back(s, kNoState);
  return arrows;
}

}  // namespace

void Coverage::count(const command::Command& command, const command::Reply& reply) {
  ++answers[command.index()][kind_of(command, reply)];
}

void Coverage::add(const Reached& other) {
  for (std::size_t a = 0; a <= kNoState; ++a) {
    for (std::size_t b = 0; b <= kNoState; ++b)
      reached.transitions[a][b] += other.transitions[a][b];
  }
  for (std::size_t i = 0; i < reached.fired.size(); ++i) {
    reached.fired[i][0] += other.fired[i][0];
    reached.fired[i][1] += other.fired[i][1];
    reached.visits[i] += other.visits[i];
  }
  reached.sliced_tasks += other.sliced_tasks;
  reached.doomed += other.doomed;
  reached.dropped += other.dropped;
}

void Coverage::add(const Coverage& other) {
  for (std::size_t v = 0; v < kVerbs; ++v) {
    for (std::size_t k = 0; k < kAnswers; ++k) answers[v][k] += other.answers[v][k];
  }
  add(other.reached);
  reloads += other.reloads;
  twins += other.twins;
  ready_hints += other.ready_hints;
  idle_claims += other.idle_claims;
}

std::string Coverage::table() const {
  std::string out;
  for (std::size_t v = 0; v < kVerbs; ++v) {
    for (std::size_t k = 0; k < kAnswers; ++k) {
      if (answers[v][k] > 0) out += fmt::format("{:>12}  {}\n", answers[v][k], answer_name(v, k));
    }
  }
  for (std::size_t a = 0; a <= kNoState; ++a) {
    for (std::size_t b = 0; b <= kNoState; ++b) {
      const std::uint64_t count = reached.transitions[a][b];
      if (count > 0) out += fmt::format("{:>12}  {} -> {}\n", count, state_name(a), state_name(b));
    }
  }
  for (const auto& [name, count] : milestones()) out += fmt::format("{:>12}  {}\n", count, name);
  return out;
}

std::vector<std::pair<std::string, std::uint64_t>> Coverage::milestones() const {
  static constexpr std::array kDeadlines = {"expiry", "max_runtime", "timeout",
                                            "lease",  "run_at",      "unique period"};
  static constexpr std::array kTasks = {"clear",        "destroy",     "relane",
                                        "group cancel", "group retry", "telling dependents"};
  std::vector<std::pair<std::string, std::uint64_t>> list;
  for (std::size_t i = 0; i < kDeadlines.size(); ++i) {
    list.emplace_back(fmt::format("deadline: {}", kDeadlines[i]), reached.fired[i][0]);
    const bool can_be_active = i < 4 || i == 5;
    if (can_be_active)
      list.emplace_back(fmt::format("deadline of a job asked to stop: {}", kDeadlines[i]),
                        reached.fired[i][1]);
  }
  for (std::size_t i = 0; i < kTasks.size(); ++i)
    list.emplace_back(fmt::format("task: {}", kTasks[i]), reached.visits[i]);
  list.emplace_back("task that outlived its slice", reached.sliced_tasks);
  list.emplace_back("job deleted because it was touched during a clear or destroy", reached.doomed);
  list.emplace_back("candidate of a claim dropped", reached.dropped);
  list.emplace_back("reload", reloads);
  list.emplace_back("entry beside a twin", twins);
  list.emplace_back("ready hint that was needed", ready_hints);
  list.emplace_back("claim told as idle", idle_claims);
  return list;
}

std::vector<std::string> Coverage::missing() const {
  std::vector<std::string> result;
  for (const auto& list : {expected_successes(), expected_refusals()}) {
    for (const auto& [verb, wanted] : list) {
      for (const std::size_t answer : wanted) {
        if (answers[verb][answer] == 0) result.push_back(answer_name(verb, answer));
      }
    }
  }
  for (const auto& [a, b] : expected_transitions()) {
    if (reached.transitions[a][b] == 0)
      result.push_back(fmt::format("{} -> {}", state_name(a), state_name(b)));
  }
  for (const auto& [name, count] : milestones()) {
    if (count == 0) result.push_back(name);
  }
  return result;
}

}  // namespace jobbie::sim
