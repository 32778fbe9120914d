// Bulk operations: one action on many jobs, in steps that somebody outside names.
//
// A step acts on its jobs and moves the operation's cursor in one command, so that a crash neither
// repeats nor loses one. The search for the jobs is not the engine's business.
#include <algorithm>
#include <utility>

#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

/// The job is in another state than the action is for, or gone: no error in a bulk operation.
bool is_skip(const Refusal& refusal) {
  return refusal.code == Refused::wrong_state || refusal.code == Refused::not_found;
}

void keep_first(std::vector<model::BulkError>& all, const std::vector<model::BulkError>& more) {
  const auto room = model::limits::kBulkErrors - std::min(all.size(), model::limits::kBulkErrors);
  const auto count = static_cast<std::ptrdiff_t>(std::min(room, more.size()));
  all.insert(all.end(), more.begin(), more.begin() + count);
}

}  // namespace

Reply Core::run(const command::StartBulk& c) {
  const auto is_running = [](const auto& entry) {
    return entry.second.status == model::BulkStatus::processing;
  };
  const auto running =
      static_cast<std::size_t>(std::count_if(bulks.begin(), bulks.end(), is_running));
  if (running >= model::limits::kBulksRunning)
    return refuse(Refused::limit_reached, "bulk", "too many bulk operations are running");
  for (auto it = bulks.begin(); it != bulks.end();) {
    if (bulks.size() - running < model::limits::kBulksKept) break;
    if (is_running(*it)) {
      ++it;
      continue;
    }
    changes.removed(command::RemovedBulk{it->second.id});
    changed_bulks.erase(it->first);
    it = bulks.erase(it);
  }
  const auto sequence = meta.next_sequence++;
  model::BulkRecord& record = bulks[sequence];
  record.id = base::BulkId{next_ulid(sequence)};
  record.action = c.action;
  record.queue = c.queue;
  record.priority = c.priority;
  record.filter = c.filter;
  record.estimated = c.estimated;
  record.bound = sequence;
  record.owner = caller;
  changed_bulks.insert(sequence);
  return command::BulkReply{record};
}

model::BulkRecord* Core::find_bulk(base::BulkId id) {
  const auto found = bulks.find(id.sequence());
  return found != bulks.end() && found->second.id == id ? &found->second : nullptr;
}

Reply Core::bulk_act(const command::BulkStep& c, JobId job) {
  // To a key a job in a queue that it is not for is as unknown as one that is not there.
  const Slot slot = caller.is_nil() || !restriction.is_active() ? 0 : locate(job);
  const bool hidden = slot != 0 && !restriction.allows(queue_of(jobs[slot]).name.view());
  if (job.is_nil() || hidden) return refuse(Refused::not_found, "job_id", "there is no such job");
  switch (c.action) {
    case model::BulkAction::retry:
      return run(command::Retry{.job = job, .payload = {}});
    case model::BulkAction::remove:
      return run(command::Delete{.job = job});
    case model::BulkAction::cancel:
      return run(command::Cancel{.job = job});
    case model::BulkAction::move:
      return run(command::Move{.job = job, .queue = c.queue});
    case model::BulkAction::requeue:
      return run(command::Requeue{.job = job});
    case model::BulkAction::change_priority:
      return run(command::SetPriority{.job = job, .priority = c.priority});
  }
  return refuse(Refused::invalid, "action", "there is no such action");
}

command::BulkStepped Core::bulk_act_on_all(const command::BulkStep& c) {
  command::BulkStepped out;
  for (const JobId job : c.jobs) {
    const Reply reply = bulk_act(c, job);
    const auto* refusal = std::get_if<Refusal>(&reply);
    if (refusal == nullptr) {
      ++out.affected;
    } else if (is_skip(*refusal)) {
      ++out.skipped;
    } else {
      ++out.failed;
      if (out.errors.size() < model::limits::kBulkErrors)
        out.errors.push_back({.job = job,
                              .code = Blob(command::to_string(refusal->code)),
                              .message = Blob(refusal->message)});
    }
  }
  return out;
}

Reply Core::run(const command::BulkStep& c) {
  if (c.bulk.is_nil()) return bulk_act_on_all(c);
  const model::BulkRecord* found = find_bulk(c.bulk);
  if (found == nullptr)
    return refuse(Refused::not_found, "bulk_operation_id", "there is no such bulk operation");
  if (found->status != model::BulkStatus::processing || found->cursor != c.after ||
      c.upto < c.after || (c.upto == c.after && !c.last))
    return refuse(Refused::wrong_state, "bulk_operation_id", "the operation stands elsewhere");
  command::BulkStep step = c;
  step.action = found->action;
  step.queue = found->queue;
  step.priority = found->priority;
  const auto proposer = std::exchange(caller, found->owner);  // what it makes is the owner's
  const command::BulkStepped out = bulk_act_on_all(step);
  caller = proposer;
  model::BulkRecord& record = *find_bulk(c.bulk);
  record.cursor = c.upto;
  record.affected += out.affected;
  record.skipped += out.skipped;
  record.failed += out.failed;
  keep_first(record.errors, out.errors);
  if (c.last) {
    record.status = model::BulkStatus::completed;
    record.finished_at = meta.now;
  }
  changed_bulks.insert(c.bulk.sequence());
  return out;
}

Reply Core::run(const command::EndBulk& c) {
  model::BulkRecord* record = find_bulk(c.bulk);
  if (record == nullptr)
    return refuse(Refused::not_found, "bulk_operation_id", "there is no such bulk operation");
  if (record->status != model::BulkStatus::processing)
    return refuse(Refused::wrong_state, "bulk_operation_id", "the operation has ended");
  record->status = c.reason.empty() ? model::BulkStatus::cancelled : model::BulkStatus::failed;
  record->reason = c.reason;
  record->finished_at = meta.now;
  changed_bulks.insert(c.bulk.sequence());
  return command::BulkReply{*record};
}

}  // namespace jobbie::engine
