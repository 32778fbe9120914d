// Events, limits and ends: the ledger's checks that need more than one reply.
#include <algorithm>

#include <fmt/format.h>

#include "base/json.hpp"
#include "tests/sim/describe.hpp"
#include "tests/sim/ledger.hpp"

namespace jobbie::sim {

using base::Blob;
using base::Instant;
using base::JobId;
using command::EventType;

std::string Ledger::read_event(const command::Event& event, const engine::Engine& engine) {
  if (event.job.is_nil()) return {};
  if (event.type == EventType::enqueued) {
    Life& life = lives_[event.job];
    life.queue = event.queue.view();
    return read_new_job(event.job, life, engine);
  }
  const auto it = lives_.find(event.job);
  if (it == lives_.end())
    return fmt::format("event {} of {}, that nobody sent (I2)", command::to_string(event.type),
                       show(event.job));
  Life& life = it->second;
  switch (event.type) {
    case EventType::completed:
    case EventType::dead:
    case EventType::cancelled:
      if (life.ended || life.deleted)
        return fmt::format("{} ended twice in one life (I9)", show(event.job));
      life.ended = true;
      count_ended(life);
      settle(event.job);
      if (event.type == EventType::completed) {
        const auto job = engine.job(event.job);
        if (job && job->state == model::State::completed && job->result != life.accepted)
          return fmt::format("{} keeps another result than the accepted one (I9)", show(event.job));
      }
      return {};
    case EventType::moved:
      life.queue = event.queue.view();
      return {};
    case EventType::retried:
      if (!life.ended) return fmt::format("{} retried before it ended", show(event.job));
      life.ended = false;
      return {};
    case EventType::deleted:
      if (!asked_to_delete_.contains(event.job) && !claims_[life.queue].wiped)
        return fmt::format("{} was deleted though nobody asked (I1)", show(event.job));
      if (!life.ended) count_ended(life);
      life.deleted = true;
      settle(event.job);
      return {};
    default:
      return {};
  }
}

/// I2, I14, I25: a new job was asked for, or is a schedule's, or is a callback, each once.
std::string Ledger::read_new_job(JobId id, Life& life, const engine::Engine& engine) {
  if (life.told) return fmt::format("{} was made twice", show(id));
  life.told = true;
  const auto job = engine.job(id);
  if (!job) {  // gone within the entry
    unseen_jobs_ = unseen_jobs_ || !promised_.contains(id);
    return {};
  }
  life.group = job->spec.group.view();
  if (!job->schedule.is_nil()) {
    if (job->nominal_at.ms != 0 && !runs_.emplace(job->schedule, job->nominal_at).second)
      return fmt::format("a second job for one instant of a schedule: {} (I14)", show(*job));
    return {};
  }
  return promised_.contains(id) ? std::string{} : read_callback(*job);
}

std::string Ledger::read_callback(const model::JobRecord& job) {
  const auto member = base::json::member(job.spec.payload.view(), "batch");
  const auto text = member ? base::json::member(*member, "id") : std::nullopt;
  const auto id = text && text->size() > 2
                      ? base::BatchId::parse(std::string_view(*text).substr(1, text->size() - 2))
                      : std::nullopt;
  const auto it = id ? batches_.find(*id) : batches_.end();
  if (it == batches_.end()) return fmt::format("nobody asked for {} (I2)", show(job));
  if (it->second.called_back) return fmt::format("{} calls back again (I25)", show(job));
  it->second.called_back = true;
  return {};
}

void Ledger::count_ended(Life& life) {
  if (life.batch.is_nil()) return;
  ++batches_[life.batch].ended;
  life.batch = {};  // counted once in its whole history
}

/// I20, for queues that were claimed from and whose limits stood still in this entry.
std::string Ledger::check_limits(const engine::Engine& engine) {
  for (auto& [name, claims] : claims_) {
    if (!claims.claimed || claims.limits_changed) continue;
    const auto view = engine.queue(name);
    if (!view) continue;
    const auto& settings = view->record.settings;
    const auto active = view->counts[static_cast<std::size_t>(model::State::active)];
    if (settings.concurrency && active > settings.concurrency->max)
      return fmt::format("queue '{}': {} active, {} allowed (I20)", name, active,
                         settings.concurrency->max);
    const auto too_many = [&](const model::Throttle& throttle, auto counts) {
      return std::ranges::count_if(claims.all, [&](const Claims::One& one) {
               return one.at > now_ - throttle.period && counts(one);
             }) > static_cast<std::ptrdiff_t>(throttle.rate);
    };
    if (settings.throttle && too_many(*settings.throttle, [](const auto&) { return true; }))
      return fmt::format("queue '{}': more claims than its throttle allows (I20)", name);
    if (settings.throttle_per && settings.throttle_per->per.view() == "group" &&
        !claims.all.empty() && !claims.all.back().group.empty()) {
      const Blob group = claims.all.back().group;
      if (too_many(*settings.throttle_per, [&](const auto& one) { return one.group == group; }))
        return fmt::format("queue '{}', group '{}': too many claims (I20)", name, group.view());
    }
    const auto longest = std::max(settings.throttle ? settings.throttle->period.ms : 0,
                                  settings.throttle_per ? settings.throttle_per->period.ms : 0);
    std::erase_if(claims.all,
                  [&](const Claims::One& one) { return one.at.ms <= now_.ms - longest; });
  }
  return {};
}

/// I12, the other half: once nothing is due any more, no lease that has run out is still held.
std::string Ledger::check_leases(const engine::Engine& engine) {
  const bool nothing_due = engine.next_deadline() > now_;
  for (auto it = leased_.begin(); it != leased_.end();) {
    const JobId id = *it;
    const auto job = engine.job(id);
    if (!job || job->state != model::State::active) {
      it = leased_.erase(it);
      continue;
    }
    if (nothing_due && held_until(*job) <= now_)
      return fmt::format("{} keeps a lease that has ended, and no tick is asked for (I12)",
                         show(id));
    ++it;
  }
  return {};
}

std::string Ledger::check_all(const engine::Engine& engine) const {
  for (const auto& [id, life] : lives_) {
    if (!life.ended && !life.deleted && !engine.job(id))
      return fmt::format("{} is gone, and nobody said why (I1)", show(id));
  }
  for (const auto& [id, batch] : batches_) {
    const bool over = batch.ended == batch.members;
    if (batch.called_back && !over)
      return fmt::format("batch #{} called back before its last member ended (I25)", id.sequence());
    if (over && batch.has_callback && !batch.called_back && !unseen_jobs_)
      return fmt::format("batch #{} did not call back (I25)", id.sequence());
  }
  return {};
}

}  // namespace jobbie::sim
