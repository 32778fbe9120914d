// Commands about API keys, what a restricted key keeps its holder from, and the audit log.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

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
  restriction.begin(c);
  return command::Done{};
}

/// `field` is what the command names it by.
std::optional<Refusal> Core::forbid_queue(std::string_view queue, std::string_view field) const {
  if (restriction.allows(queue)) return std::nullopt;
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
    if (worker != nullptr && !restriction.covers(worker->record.spec))
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
  if (record.owner.is_nil()) return record.spec.queues.empty() || !restriction.covers(record.spec);
  return api_keys.find(record.owner) != nullptr;
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

Reply Core::run(const command::CreateKey& c) {
  const model::KeyRecord* old = api_keys.find_named(c.key.name.view());
  if (old != nullptr && !c.replace)
    return refuse(Refused::name_taken, "name", "a key of that name exists");
  if (api_keys.has_secret_of(c.key, old))
    return refuse(Refused::invalid, "secret", "another key has the same secret");
  if (old == nullptr && api_keys.size() >= model::limits::kKeys)
    return refuse(Refused::limit_reached, "name", "there are too many keys");
  if (old != nullptr) api_keys.remove(base::KeyId(old->id), changes);
  const auto sequence = meta.next_sequence++;
  return command::KeyReply{api_keys.add({.id = base::KeyId{next_ulid(sequence)}, .spec = c.key})};
}

Reply Core::run(const command::RevokeKey& c) {
  const model::KeyRecord* key = api_keys.find(c.key);
  if (key == nullptr) return refuse(Refused::not_found, "key_id", "there is no such key");
  if (api_keys.is_last_admin(*key))
    return refuse(Refused::wrong_state, "key_id",
                  "this is the last key with the scope admin: make another one first");
  api_keys.remove(c.key, changes);
  return command::Done{.affected = 1};
}

}  // namespace jobbie::engine
