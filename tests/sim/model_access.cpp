// The model's keys, and what a restriction keeps the commands behind it from.
#include <algorithm>
#include <type_traits>

#include "base/glob.hpp"
#include "model/limits.hpp"
#include "tests/sim/model.hpp"

namespace jobbie::sim {
namespace {

/// The one job that a command names.
JobId named_job(const Command& command) {
  return std::visit(
      [](const auto& c) -> JobId {
        if constexpr (requires { c.ref.job; }) {
          return c.ref.job;
        } else if constexpr (requires { c.job; }) {
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(c.job)>, JobId>) return c.job;
        }
        return {};
      },
      command);
}

base::ScheduleId named_schedule(const Command& command) {
  return std::visit(
      [](const auto& c) -> base::ScheduleId {
        if constexpr (requires { c.schedule; }) return c.schedule;
        return {};
      },
      command);
}

bool is_admin(const std::pair<const Seq, model::KeyRecord>& key) {
  return (key.second.spec.scopes & model::scope_bit(model::Scope::admin)) != 0;
}

}  // namespace

Reply Model::on(const command::Restrict& c) {
  allowed_ = c.queues;
  restricting_ = c.key;
  restricted_ = std::uint64_t{c.commands} + 1;  // counted down behind this command too
  return command::Done{};
}

bool Model::may_touch(const Blob& queue) const {
  return restricted_ == 0 || base::matches_any(allowed_, queue.view());
}

/// A worker may be removed by those who are for all of its queues.
bool Model::may_remove(const command::RemoveWorker& c) const {
  const auto found = workers_.find(std::string(c.worker.view()));
  return restricted_ == 0 || found == workers_.end() || covers_queues_of(found->second);
}

bool Model::covers_queues_of(const model::WorkerRecord& worker) const {
  return std::ranges::all_of(worker.spec.queues, [&](const Blob& queue) {
    return std::ranges::any_of(
        allowed_, [&](const Blob& mine) { return base::glob_covers(mine.view(), queue.view()); });
  });
}

/// 9.6: a worker's id is its key's while it is heard of and the key is there.
bool Model::may_use_worker(const Command& command) const {
  std::string id;
  if (const auto* claim = std::get_if<command::Claim>(&command)) id = claim->worker.view();
  if (const auto* beat = std::get_if<command::Heartbeat>(&command)) id = beat->worker.view();
  if (const auto* made = std::get_if<command::RegisterWorker>(&command))
    id = made->worker.id.view();
  const auto found = workers_.find(id);
  if (caller_.is_nil() || found == workers_.end()) return true;
  const model::WorkerRecord& worker = found->second;
  if (worker.owner == caller_ || worker.last_seen + model::limits::kWorkerSilence <= now_)
    return true;
  if (worker.owner.is_nil()) return !worker.spec.queues.empty() && covers_queues_of(worker);
  return std::ranges::none_of(keys_,
                              [&](const auto& key) { return key.second.id == worker.owner; });
}

std::optional<Refusal> Model::forbid(const Command& command) const {
  const auto* removal = std::get_if<command::RemoveWorker>(&command);
  if (removal != nullptr && !may_remove(*removal)) return Refusal{Refused::forbidden, "", ""};
  if (!may_use_worker(command)) return Refusal{Refused::forbidden, "worker_id", ""};
  if (const auto* end = std::get_if<command::EndBulk>(&command); end != nullptr) {
    const auto bulk = bulks_.find(end->bulk.sequence());
    if (!caller_.is_nil() && bulk != bulks_.end() && bulk->second.id == end->bulk &&
        bulk->second.owner != caller_)
      return Refusal{Refused::forbidden, "bulk_operation_id", ""};
  }
  const JobRecord* job = find(named_job(command));
  const auto schedule = schedules_.find(named_schedule(command).sequence());
  const bool known =
      schedule != schedules_.end() && schedule->second.record.id == named_schedule(command);
  if ((job == nullptr || may_touch(job->spec.queue)) &&
      (!known || may_touch(schedule->second.record.spec.job.queue)))
    return std::nullopt;
  return Refusal{Refused::forbidden, "", ""};
}

Reply Model::on(const command::RecordAction&) { return command::Done{}; }

Reply Model::on(const command::CreateKey& c) {
  const auto old = std::ranges::find_if(
      keys_, [&](const auto& key) { return key.second.spec.name == c.key.name; });
  if (old != keys_.end() && !c.replace) return Refusal{Refused::name_taken, "name", ""};
  const bool same_secret = std::ranges::any_of(keys_, [&](const auto& key) {
    return key.second.spec.digest == c.key.digest && key.second.spec.name != c.key.name;
  });
  if (same_secret) return Refusal{Refused::invalid, "secret", ""};
  if (old == keys_.end() && keys_.size() >= model::limits::kKeys)
    return Refusal{Refused::limit_reached, "name", ""};
  if (old != keys_.end()) keys_.erase(old);
  const model::KeyRecord key{base::KeyId{next_ulid()}, c.key};
  keys_[key.id.sequence()] = key;
  return command::KeyReply{key};
}

Reply Model::on(const command::RevokeKey& c) {
  const auto it = keys_.find(c.key.sequence());
  if (it == keys_.end() || it->second.id != c.key) return Refusal{Refused::not_found, "key_id", ""};
  if (is_admin(*it) && std::ranges::count_if(keys_, is_admin) == 1)
    return Refusal{Refused::wrong_state, "key_id", ""};
  keys_.erase(it);
  return command::Done{1};
}

}  // namespace jobbie::sim
