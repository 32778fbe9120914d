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
  restricted_ = std::uint64_t{c.commands} + 1;  // counted down behind this command too
  return command::Done{};
}

bool Model::may_touch(const Blob& queue) const {
  return restricted_ == 0 || base::matches_any(allowed_, queue.view());
}

/// A worker may be removed by those who are for all of its queues.
bool Model::may_remove(const command::RemoveWorker& c) const {
  const auto found = workers_.find(std::string(c.worker.view()));
  return restricted_ == 0 || found == workers_.end() ||
         std::ranges::all_of(found->second.spec.queues, [&](const Blob& queue) {
           return std::ranges::any_of(allowed_, [&](const Blob& mine) {
             return base::glob_covers(mine.view(), queue.view());
           });
         });
}

std::optional<Refusal> Model::forbid(const Command& command) const {
  const auto* removal = std::get_if<command::RemoveWorker>(&command);
  if (removal != nullptr && !may_remove(*removal)) return Refusal{Refused::forbidden, "", ""};
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
