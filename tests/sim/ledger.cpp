// Reads commands and replies into the ledger.
#include "tests/sim/ledger.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/json.hpp"
#include "model/limits.hpp"
#include "tests/sim/describe.hpp"

namespace jobbie::sim {

using base::Blob;
using base::Instant;
using base::JobId;
using command::Reply;

/// What a command and its reply mean for the ledger; the first contradiction as text.
struct Ledger::Reader {
  Ledger& ledger;
  const Reply& reply;
  const engine::Engine& engine;

  [[nodiscard]] bool refused() const { return std::holds_alternative<command::Refusal>(reply); }

  void promise(const command::Enqueued& job, const model::JobSpec& spec,
               base::BatchId batch) const {
    if (job.existing || ledger.lives_.contains(job.job)) return;
    Life& life = ledger.lives_[job.job];
    life.queue = spec.queue.view();
    life.group = spec.group.view();
    life.batch = batch;
    if (!batch.is_nil()) ++ledger.batches_[batch].members;
    ledger.promised_.insert(job.job);
  }

  std::string operator()(const command::Enqueue& c) const {
    if (const auto* job = std::get_if<command::Enqueued>(&reply)) promise(*job, c.job, {});
    return ledger.read_promise(c.idempotency, reply);
  }
  std::string operator()(const command::EnqueueMany& c) const {
    const auto* many = std::get_if<command::EnqueuedMany>(&reply);
    if (many != nullptr && !many->batch.is_nil() && c.batch)  // a repeated answer changes nothing
      ledger.batches_.try_emplace(many->batch,
                                  Batch{.has_callback = !c.batch->callback_queue.empty()});
    if (many != nullptr && many->jobs.size() == c.jobs.size()) {
      for (std::size_t i = 0; i < c.jobs.size(); ++i)
        promise(many->jobs[i], c.jobs[i], many->batch);
    }
    return ledger.read_promise(c.idempotency, reply);
  }
  std::string operator()(const command::Claim& c) const {
    const auto* claimed = std::get_if<command::Claimed>(&reply);
    if (claimed == nullptr) return {};
    if (claimed->jobs.size() > c.count) return "more jobs claimed than asked for";
    for (const auto& job : claimed->jobs) {
      if (auto text = ledger.read_claim(job, engine); !text.empty()) return text;
    }
    return {};
  }
  std::string operator()(const command::Ack& c) const {
    const auto* settled = std::get_if<command::Settled>(&reply);
    if (settled == nullptr || settled->repeated) return {};
    const auto it = ledger.lives_.find(c.ref.job);
    if (it == ledger.lives_.end()) return "ack of a job that nobody sent (I2)";
    if (c.ref.lease != 0 && c.ref.lease != it->second.lease)
      return fmt::format("{} acked with lease {}, the latest is {} (I8)", show(c.ref.job),
                         c.ref.lease, it->second.lease);
    it->second.accepted = c.result;
    ledger.settle(c.ref.job);
    return {};
  }
  std::string operator()(const command::Fail& c) const {
    const auto* settled = std::get_if<command::Settled>(&reply);
    if (settled != nullptr && !settled->repeated) ledger.settle(c.ref.job);
    return {};
  }
  std::string operator()(const command::Heartbeat& c) const {
    const auto* beaten = std::get_if<command::Beaten>(&reply);
    if (beaten == nullptr) return {};
    if (beaten->jobs.size() != c.beats.size()) return "not one answer for each beat";
    for (std::size_t i = 0; i < c.beats.size(); ++i) {
      if (beaten->jobs[i] > command::BeatStatus::cancel) continue;
      Life& life = ledger.lives_[c.beats[i].ref.job];
      const auto job = engine.job(c.beats[i].ref.job);
      if (!job || job->lease != life.lease) continue;
      life.leased_until = held_until(*job);
      life.lease_ends = job->lease_expires_at;
    }
    return {};
  }
  /// What can be retried has ended, by a deadline a moment ago perhaps.
  std::string operator()(const command::Retry& c) const {
    if (refused()) return {};
    ledger.lives_[c.job].reset = true;
    ledger.settle(c.job);
    return {};
  }
  std::string operator()(const command::Requeue& c) const {
    if (!refused()) ledger.settle(c.job);
    return {};
  }
  std::string operator()(const command::Move& c) const {
    if (refused()) return {};
    Life& life = ledger.lives_[c.job];
    life.queue = c.queue.view();
    life.reset = life.reset || c.reset_attempts;
    return {};
  }
  std::string operator()(const command::Delete& c) const {
    if (refused()) return {};
    ledger.asked_to_delete_.insert(c.job);
    ledger.settle(c.job);
    return {};
  }
  /// Which of the jobs it did something to is told by events alone.
  std::string operator()(const command::BulkStep& c) const {
    if (refused()) return {};
    for (const JobId id : c.jobs) {
      ledger.asked_to_delete_.insert(id);
      if (const auto it = ledger.lives_.find(id); it != ledger.lives_.end())
        it->second.reset = true;
    }
    return {};
  }
  std::string operator()(const command::QueueCommand& c) const {
    if (refused() || c.action < command::QueueAction::clear) return {};
    Claims& claims = ledger.claims_of(c.queue);
    claims.wiped = true;
    claims.limits_changed = true;
    claims.all.clear();
    return {};
  }
  std::string operator()(const command::SetConcurrency& c) const {
    ledger.claims_of(c.queue).limits_changed = true;
    return {};
  }
  std::string operator()(const command::SetThrottle& c) const {
    Claims& claims = ledger.claims_of(c.queue);
    claims.limits_changed = true;
    claims.all.clear();
    return {};
  }
  std::string operator()(const command::GroupCommand& c) const {
    if (c.action != command::GroupAction::retry_failed) return {};
    for (auto& [id, life] : ledger.lives_) life.reset = life.reset || life.group == c.group.view();
    return {};
  }
  std::string operator()(const command::ScheduleCommand&) const {
    const auto* shown = std::get_if<command::ScheduleReply>(&reply);
    if (shown != nullptr && !shown->job.is_nil()) ledger.promised_.insert(shown->job);
    return {};
  }
  template <typename Other>
  std::string operator()(const Other&) const {
    return {};
  }
};

std::string Ledger::read(const command::Entry& entry, const engine::Outcome& outcome,
                         const engine::Engine& engine) {
  const Instant before = now_;
  now_ = std::max(now_, entry.now);
  if (engine.now() != now_)
    return fmt::format("log time is {}, expected {} (I13)", engine.now().ms, now_.ms);
  if (outcome.replies.size() != entry.commands.size()) return "not one reply for each command";
  promised_.clear();
  asked_to_delete_.clear();
  for (auto& [name, claims] : claims_) claims.limits_changed = claims.claimed = false;
  // A group's retry goes on in slices after other commands: its jobs begin again unasked.
  for (const auto& event : outcome.events) {
    if (event.type == command::EventType::retried && event.attempt == 0)
      lives_[event.job].reset = true;
  }
  // Elsewhere in an entry it only makes leases longer than what is known of them here.
  const auto* resume =
      entry.commands.empty() ? nullptr : std::get_if<command::Resume>(&entry.commands.front());
  if (resume != nullptr && std::holds_alternative<command::Done>(outcome.replies.front()))
    extend_leases(resume->lost, before, engine);
  for (std::size_t i = 0; i < entry.commands.size(); ++i) {
    const Reader reader{*this, outcome.replies[i], engine};
    if (auto text = std::visit(reader, entry.commands[i]); !text.empty()) return text;
  }
  for (const auto& event : outcome.events) {
    if (auto text = read_event(event, engine); !text.empty()) return text;
  }
  for (const JobId id : promised_) {
    const auto it = lives_.find(id);
    if (it != lives_.end() && !it->second.told)
      return fmt::format("{} was promised and no event told of it", show(id));
  }
  if (auto text = check_limits(engine); !text.empty()) return text;
  const bool ticked = std::ranges::any_of(entry.commands, [](const command::Command& command) {
    return std::holds_alternative<command::Tick>(command);
  });
  return ticked ? check_leases(engine) : std::string{};
}

/// I3: within a day a key stands for one answer.
std::string Ledger::read_promise(const command::Idempotency& key, const Reply& reply) {
  if (key.key.empty()) return {};
  const std::string text(key.key.view());
  auto it = promises_.find({key.scope, text});
  const auto stands = [&] { return it != promises_.end() && it->second.until > now_; };
  // A promise from before keys had scopes is kept to whoever asks for the same.
  if (!stands()) {
    const auto old = promises_.find({{}, text});
    if (old != promises_.end() && old->second.fingerprint == key.fingerprint) it = old;
  }
  const bool known = stands();
  if (const auto* refusal = std::get_if<command::Refusal>(&reply)) {
    const bool mismatch = refusal->code == command::Refused::idempotency_mismatch;
    if (mismatch && (!known || it->second.fingerprint == key.fingerprint))
      return fmt::format("key '{}' refused without reason (I3)", key.key.view());
    return {};
  }
  if (known && (it->second.fingerprint != key.fingerprint || it->second.reply != reply))
    return fmt::format("key '{}' stands for two answers (I3)", key.key.view());
  if (!known)
    promises_[{key.scope, text}] = {key.fingerprint, now_ + model::limits::kIdempotencyPeriod,
                                    reply};
  return {};
}

/// Until when a job must not be delivered again: the first of what may end its lease.
Instant Ledger::held_until(const model::JobRecord& job) {
  Instant until = job.lease_expires_at;
  const auto limit = [&](Instant at, bool given) { until = given ? std::min(until, at) : until; };
  limit(job.expire_at, job.expire_at.ms != 0);
  limit(job.started_at + job.spec.max_runtime, job.spec.max_runtime.ms != 0);
  limit(job.started_at + base::Duration{job.spec.timeout.ms * 5 / 4}, job.spec.timeout.ms != 0);
  return until;
}

/// I7, I11, I12: one live lease, rising numbers, no early and no surplus delivery.
std::string Ledger::read_claim(const command::ClaimedJob& job, const engine::Engine& engine) {
  if (job.lease <= last_lease_)
    return fmt::format("lease {} of {} after {} (I7)", job.lease, show(job.job), last_lease_);
  last_lease_ = job.lease;
  Life& life = lives_[job.job];
  if (life.leased && now_ < life.leased_until)
    return fmt::format("{} delivered again before its lease ended at {} (I7, I12)", show(job.job),
                       life.leased_until.ms);
  const std::uint32_t allowed = std::max<std::uint32_t>(1, job.max_retries);
  if (job.attempt > allowed)
    return fmt::format("{} delivered {} times of {} (I11)", show(job.job), job.attempt, allowed);
  if (job.attempt != life.attempt + 1 && !life.reset)
    return fmt::format("{}: attempt {} after {} (I11)", show(job.job), job.attempt, life.attempt);
  life.attempt = job.attempt;
  life.reset = false;
  life.lease = job.lease;
  life.leased = true;
  const auto record = engine.job(job.job);
  const bool held = record && record->state == model::State::active && record->lease == job.lease;
  life.leased_until = held ? held_until(*record) : now_;  // else it was settled in the same entry
  life.lease_ends = held ? record->lease_expires_at : now_;
  leased_.insert(job.job);
  Claims& claims = claims_of(job.queue);
  claims.claimed = true;
  claims.all.push_back({now_, job.tags, job.group});
  return {};
}

/// What a lease had left when nobody led any more it has still.
void Ledger::extend_leases(base::Duration lost, Instant before, const engine::Engine& engine) {
  for (const JobId id : leased_) {
    Life& life = lives_[id];
    if (life.lease_ends <= before) continue;
    life.lease_ends = life.lease_ends + lost;
    auto record = engine.job(id);
    if (!record || record->lease != life.lease) continue;  // settled in the same entry
    record->lease_expires_at = life.lease_ends;
    life.leased_until = held_until(*record);
  }
}

void Ledger::settle(JobId id) {
  lives_[id].leased = false;
  leased_.erase(id);
}

}  // namespace jobbie::sim
