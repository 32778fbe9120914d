// API keys, what a restricted key keeps its holder from, and actions for the audit log.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/glob.hpp"
#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

bool is_admin(const model::KeyRecord& key) {
  return (key.spec.scopes & model::scope_bit(model::Scope::admin)) != 0;
}

/// The job that a command is about; nil: none, or many.
struct JobOf {
  JobId operator()(const command::Ack& c) const { return c.ref.job; }
  JobId operator()(const command::Fail& c) const { return c.ref.job; }
  JobId operator()(const command::AppendLogs& c) const { return c.ref.job; }
  JobId operator()(const command::Cancel& c) const { return c.job; }
  JobId operator()(const command::Retry& c) const { return c.job; }
  JobId operator()(const command::Requeue& c) const { return c.job; }
  JobId operator()(const command::Move& c) const { return c.job; }
  JobId operator()(const command::Delete& c) const { return c.job; }
  JobId operator()(const command::SetPriority& c) const { return c.job; }
  template <typename Other>
  JobId operator()(const Other& /*command*/) const {
    return {};
  }
};

ScheduleId schedule_of(const command::Command& command) {
  if (const auto* update = std::get_if<command::UpdateSchedule>(&command)) return update->schedule;
  if (const auto* act = std::get_if<command::ScheduleCommand>(&command)) return act->schedule;
  return {};
}

}  // namespace

Reply Core::run(const command::Restrict& c) {
  allowed_queues = &c.queues;
  restricting_key = c.key;
  restricted_commands = std::uint64_t{c.commands} + 1;  // this one counts as well
  return command::Done{};
}

bool Core::is_allowed(std::string_view queue) const {
  return base::matches_any(*allowed_queues, queue);
}

/// `field` is what the command names it by.
std::optional<Refusal> Core::forbid_queue(std::string_view queue, std::string_view field) const {
  if (is_allowed(queue)) return std::nullopt;
  return refuse(Refused::forbidden, field, "the key is not for its queue");
}

std::optional<Refusal> Core::forbid(const command::Command& command) {
  if (const JobId id = std::visit(JobOf{}, command); !id.is_nil()) {
    const Slot slot = locate(id);
    return slot == 0 ? std::nullopt : forbid_queue(queue_of(jobs[slot]).name.view(), "job_id");
  }
  if (const ScheduleId id = schedule_of(command); !id.is_nil()) {
    const Schedule* schedule = schedules.find(id);
    return schedule == nullptr
               ? std::nullopt
               : forbid_queue(schedule->record.spec.job.queue.view(), "schedule_id");
  }
  if (const auto* removal = std::get_if<command::RemoveWorker>(&command)) {
    const Worker* worker = workers.find(removal->worker.view());
    if (worker != nullptr && !is_worker_within(worker->record.spec))
      return refuse(Refused::forbidden, "worker_id",
                    "the key is not for all queues of this worker");
  }
  if (caller.is_nil()) return std::nullopt;
  if (const auto* end = std::get_if<command::EndBulk>(&command)) {
    const model::BulkRecord* bulk = find_bulk(end->bulk);
    if (bulk == nullptr || bulk->owner == caller) return std::nullopt;
    return refuse(Refused::forbidden, "bulk_operation_id", "the operation is another key's");
  }
  return forbid_worker(command);
}

std::optional<Refusal> Core::forbid_worker(const command::Command& command) {
  const Blob* id = nullptr;
  if (const auto* claim = std::get_if<command::Claim>(&command)) id = &claim->worker;
  if (const auto* beat = std::get_if<command::Heartbeat>(&command)) id = &beat->worker;
  if (const auto* worker = std::get_if<command::RegisterWorker>(&command)) id = &worker->worker.id;
  const Worker* worker = id == nullptr ? nullptr : workers.find(id->view());
  if (worker == nullptr || !is_foreign(*worker)) return std::nullopt;
  return refuse(Refused::forbidden, "worker_id", "the worker id is in use by another key");
}

/// A worker that no restricted key owns was made by a caller who may do everything, or before
/// workers had owners: it is for those who might remove it as well, if it says where it works.
bool Core::is_foreign(const Worker& worker) const {
  const model::WorkerRecord& record = worker.record;
  if (record.owner == caller) return false;
  if (record.last_seen + model::limits::kWorkerSilence <= meta.now) return false;
  if (record.owner.is_nil()) return record.spec.queues.empty() || !is_worker_within(record.spec);
  const auto owner = api_keys.find(record.owner.sequence());
  return owner != api_keys.end() && owner->second.id == record.owner;
}

bool Core::is_worker_within(const model::WorkerSpec& worker) const {
  const auto covered = [this](const Blob& pattern) {
    return std::any_of(allowed_queues->begin(), allowed_queues->end(), [&](const Blob& mine) {
      return base::glob_covers(mine.view(), pattern.view());
    });
  };
  return std::all_of(worker.queues.begin(), worker.queues.end(), covered);
}

/// The replies of the commands before it are the last ones there are.
Reply Core::run(const command::RecordAction& c) {
  model::AuditRecord record{.at = meta.now,
                            .key = c.key,
                            .name = c.name,
                            .address = c.address,
                            .action = c.action,
                            .target = c.target,
                            .outcome = Blob("ok")};
  const auto& replies = outcome->replies;
  const auto meant = std::min<std::size_t>(c.commands, replies.size());
  for (auto i = replies.size() - meant; i < replies.size(); ++i) {
    const auto* refusal = std::get_if<Refusal>(&replies[i]);
    if (refusal == nullptr) continue;
    record.outcome = Blob(command::to_string(refusal->code));
    break;
  }
  changes.audited(std::move(record));
  return command::Done{};
}

model::KeyRecord* Core::find_key(std::string_view name) {
  for (auto& [sequence, key] : api_keys)
    if (key.spec.name.view() == name) return &key;
  return nullptr;
}

Reply Core::run(const command::CreateKey& c) {
  const model::KeyRecord* old = find_key(c.key.name.view());
  if (old != nullptr && !c.replace)
    return refuse(Refused::name_taken, "name", "a key of that name exists");
  for (const auto& [sequence, key] : api_keys)
    if (&key != old && key.spec.digest == c.key.digest)
      return refuse(Refused::invalid, "secret", "another key has the same secret");
  if (old == nullptr && api_keys.size() >= model::limits::kKeys)
    return refuse(Refused::limit_reached, "name", "there are too many keys");
  if (old != nullptr) {
    changes.removed(command::RemovedKey{old->id});
    api_keys.erase(old->id.sequence());
  }
  const auto sequence = meta.next_sequence++;
  const auto [entry, fresh] = api_keys.emplace(
      sequence, model::KeyRecord{.id = base::KeyId{next_ulid(sequence)}, .spec = c.key});
  changed_keys.push_back(sequence);
  ++keys_revision;
  return command::KeyReply{entry->second};
}

Reply Core::run(const command::RevokeKey& c) {
  const auto found = api_keys.find(c.key.sequence());
  if (found == api_keys.end() || found->second.id != c.key)
    return refuse(Refused::not_found, "key_id", "there is no such key");
  const bool last_admin = is_admin(found->second) &&
                          std::count_if(api_keys.begin(), api_keys.end(), [](const auto& entry) {
                            return is_admin(entry.second);
                          }) == 1;
  if (last_admin)
    return refuse(Refused::wrong_state, "key_id",
                  "this is the last key with the scope admin: make another one first");
  changes.removed(command::RemovedKey{c.key});
  api_keys.erase(found);
  ++keys_revision;
  return command::Done{.affected = 1};
}

}  // namespace jobbie::engine
