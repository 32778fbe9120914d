// The model's queue settings and actions, groups and workers (rules 4.6 and 9).
#include <algorithm>

#include "tests/sim/model.hpp"

namespace jobbie::sim {
namespace {

/// What jobs are sorted by beside their order; a change of it makes a relane task (4.6).
std::pair<std::optional<Blob>, std::optional<Blob>> lanes_of(const model::QueueSettings& settings) {
  std::pair<std::optional<Blob>, std::optional<Blob>> lanes;
  if (settings.concurrency_per) lanes.first = settings.concurrency_per->per;
  if (settings.throttle_per) lanes.second = settings.throttle_per->per;
  return lanes;
}

}  // namespace

Reply Model::on(const command::QueueCommand& c) {
  using command::QueueAction;
  const std::string_view name = c.queue.view();
  if (c.action == QueueAction::clear || c.action == QueueAction::destroy) {
    if (!queues_.contains(std::string(name))) return Refusal{Refused::not_found, "queue", ""};
    const bool clear = c.action == QueueAction::clear;
    const command::Done reply{count_in_queue(name, clear)};
    if (!clear) forget_ended(name);
    add_task(clear ? model::TaskKind::clear_queue : model::TaskKind::delete_queue, name);
    return reply;
  }
  if (auto refused = room_for_queue(c.queue)) return *refused;
  auto& settings = make_queue(name).record.settings;
  if (c.action == QueueAction::resume) {
    settings.paused = false;
    settings.draining = false;
  } else {
    settings.paused = true;
    settings.draining = c.action == QueueAction::drain;
  }
  if (c.action == QueueAction::pause) tell(command::EventType::queue_paused, nullptr, c.queue);
  if (c.action == QueueAction::resume) tell(command::EventType::queue_resumed, nullptr, c.queue);
  return command::Done{};
}

/// 9.8
std::optional<Refusal> Model::room_for_queues(const std::vector<Blob>& names,
                                              std::string_view field) const {
  std::set<std::string_view> fresh;
  for (const Blob& name : names) {
    if (!queues_.contains(name.view())) fresh.insert(name.view());
  }
  const auto owned = std::ranges::count_if(queues_, [&](const auto& entry) {
    return !caller_.is_nil() && entry.second.record.owner == caller_;
  });
  if (fresh.empty() || (queues_.size() + fresh.size() <= limits_.queues &&
                        (caller_.is_nil() ||
                         static_cast<std::size_t>(owned) + fresh.size() <= limits_.queues_per_key)))
    return std::nullopt;
  return Refusal{Refused::limit_reached, std::string(field), ""};
}

Reply Model::on(const command::SetLimits& c) {
  limits_ = c;
  return command::Done{};
}

/// 9.9
bool Model::is_forgettable(const QueueState& queue) const {
  const std::string_view name = queue.record.name.view();
  return count_in_queue(name, false) == 0 && !has_queue_task(name) &&
         queue.record.settings == model::QueueSettings{} &&
         std::ranges::none_of(
             schedules_,
             [&](const auto& entry) { return is(entry.second.record.spec.job.queue, name); }) &&
         std::ranges::none_of(batches_, [&](const auto& entry) {
           return entry.second.finished_at.ms == 0 && is(entry.second.callback_queue, name);
         });
}

Reply Model::on(const command::ForgetQueues& c) {
  command::Done done;
  for (const Blob& name : c.queues) {
    const auto it = queues_.find(name.view());
    if (it == queues_.end() || !is_forgettable(it->second)) continue;
    queues_.erase(it);
    ++done.affected;
  }
  return done;
}

std::uint64_t Model::count_in_queue(std::string_view queue, bool idle_only) const {
  const auto meant = std::ranges::count_if(live_, [&](const auto& entry) {
    const JobRecord& job = entry.second;
    return is(job.spec.queue, queue) && !(idle_only && job.state == State::active);
  });
  if (idle_only) return static_cast<std::uint64_t>(meant);
  const auto kept = std::ranges::count_if(
      ended_, [&](const auto& entry) { return is(entry.second.spec.queue, queue); });
  return static_cast<std::uint64_t>(meant + kept);
}

void Model::forget_ended(std::string_view queue) {
  std::erase_if(ended_, [&](const auto& entry) {
    if (!is(entry.second.spec.queue, queue)) return false;
    note(entry.second);
    count_transition(static_cast<std::size_t>(entry.second.state), kNoState);
    return true;
  });
}

Reply Model::on(const command::SetConcurrency& c) {
  if (auto refused = room_for_queue(c.queue)) return *refused;
  auto& settings = make_queue(c.queue.view()).record.settings;
  const auto lanes = lanes_of(settings);
  auto& limit = c.per.empty() ? settings.concurrency : settings.concurrency_per;
  if (limit && !c.max && limit->per != c.per) return Refusal{Refused::not_found, "per", ""};
  limit.reset();
  if (c.max) limit = model::ConcurrencyLimit{*c.max, c.per};
  if (lanes_of(settings) != lanes) add_task(model::TaskKind::relane_queue, c.queue.view());
  return command::Done{};
}

Reply Model::on(const command::SetThrottle& c) {
  if (auto refused = room_for_queue(c.queue)) return *refused;
  QueueState& queue = make_queue(c.queue.view());
  auto& settings = queue.record.settings;
  const auto lanes = lanes_of(settings);
  auto& limit = c.per.empty() ? settings.throttle : settings.throttle_per;
  if (limit && !c.rate && limit->per != c.per) return Refusal{Refused::not_found, "per", ""};
  const bool same_window = limit && c.rate && limit->period == c.period && limit->per == c.per;
  if (!same_window && c.per.empty()) queue.claims.clear();
  if (!same_window && !c.per.empty()) queue.keyed_claims.clear();
  limit.reset();
  if (c.rate) limit = model::Throttle{*c.rate, c.period, c.per};
  if (lanes_of(settings) != lanes) add_task(model::TaskKind::relane_queue, c.queue.view());
  return command::Done{};
}

Reply Model::on(const command::SetRetention& c) {
  if (auto refused = room_for_queue(c.queue)) return *refused;
  auto& retention = make_queue(c.queue.view()).record.settings.retention;
  retention.completed = c.completed.value_or(retention.completed);
  retention.dead = c.dead.value_or(retention.dead);
  retention.cancelled = c.cancelled.value_or(retention.cancelled);
  return command::Done{};
}

Reply Model::on(const command::SetLease& c) {
  if (auto refused = room_for_queue(c.queue)) return *refused;
  make_queue(c.queue.view()).record.settings.lease = c.lease;
  return command::Done{};
}

Reply Model::on(const command::SetFairness& c) {
  if (auto refused = room_for_queue(c.queue)) return *refused;
  auto& record = make_queue(c.queue.view()).record;
  record.settings.fairness = c.fairness;
  record.last_served_group.reset();  // 4.2
  return command::Done{};
}

Reply Model::on(const command::GroupCommand& c) {
  using command::GroupAction;
  const std::string group(c.group.view());
  switch (c.action) {
    case GroupAction::pause:
      paused_groups_.insert(group);
      return command::Done{};
    case GroupAction::resume:
      paused_groups_.erase(group);
      return command::Done{};
    case GroupAction::retry_failed: {
      auto& task = add_task(model::TaskKind::retry_group, group);
      task.bound = next_sequence_ - 1;
      group_retry_ = task.number;
      return command::Done{};  // replaced once the slice is done
    }
    case GroupAction::cancel:
      break;
  }
  const auto meant = std::ranges::count_if(live_, [&](const auto& entry) {
    const JobRecord& job = entry.second;
    return job.spec.group == c.group && (c.include_active || job.state != State::active);
  });
  add_task(model::TaskKind::cancel_group, group).flag = c.include_active;
  return command::Done{static_cast<std::uint64_t>(meant)};
}

Reply Model::on(const command::RegisterWorker& c) {
  auto& worker = workers_[std::string(c.worker.id.view())];
  if (worker.spec.id.empty()) worker.started_at = now_;
  worker.spec = c.worker;
  worker.last_seen = now_;
  worker.owner = caller_;
  return command::Done{};
}

Reply Model::on(const command::RemoveWorker& c) {
  if (workers_.erase(std::string(c.worker.view())) == 0)
    return Refusal{Refused::not_found, "worker_id", ""};
  return command::Done{};
}

}  // namespace jobbie::sim
