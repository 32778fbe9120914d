// Bulk operations by the rule book: a step acts on each job as if it had been named alone.
#include <algorithm>
#include <utility>

#include "model/limits.hpp"
#include "tests/sim/model.hpp"

namespace jobbie::sim {
namespace {

Refusal no_such_operation() { return {Refused::not_found, "bulk_operation_id", ""}; }
Refusal wrong_place() { return {Refused::wrong_state, "bulk_operation_id", ""}; }

bool runs(const std::pair<const Seq, model::BulkRecord>& entry) {
  return entry.second.status == model::BulkStatus::processing;
}

}  // namespace

Reply Model::on(const command::StartBulk& c) {
  const auto running = static_cast<std::size_t>(std::ranges::count_if(bulks_, runs));
  if (running >= model::limits::kBulksRunning) return Refusal{Refused::limit_reached, "bulk", ""};
  while (bulks_.size() - running >= model::limits::kBulksKept)
    bulks_.erase(std::ranges::find_if_not(bulks_, runs));
  model::BulkRecord bulk;
  bulk.id = base::BulkId{next_ulid()};
  bulk.bound = bulk.id.sequence();
  bulk.action = c.action;
  bulk.queue = c.queue;
  bulk.priority = c.priority;
  bulk.filter = c.filter;
  bulk.estimated = c.estimated;
  bulk.owner = caller_;
  bulks_[bulk.bound] = bulk;
  return command::BulkReply{bulk};
}

model::BulkRecord* Model::find_bulk(base::BulkId id) {
  const auto it = bulks_.find(id.sequence());
  return it != bulks_.end() && it->second.id == id ? &it->second : nullptr;
}

Reply Model::on(const command::EndBulk& c) {
  model::BulkRecord* bulk = find_bulk(c.bulk);
  if (bulk == nullptr) return no_such_operation();
  if (bulk->status != model::BulkStatus::processing) return wrong_place();
  bulk->status = c.reason.empty() ? model::BulkStatus::cancelled : model::BulkStatus::failed;
  bulk->reason = c.reason;
  bulk->finished_at = now_;
  return command::BulkReply{*bulk};
}

Reply Model::act(const command::BulkStep& c, JobId job) {
  const JobRecord* known = find(job);
  if (!caller_.is_nil() && known != nullptr && !may_touch(known->spec.queue))
    return Refusal{Refused::not_found, "job_id", ""};
  switch (c.action) {
    case model::BulkAction::retry:
      return on(command::Retry{.job = job});
    case model::BulkAction::remove:
      return on(command::Delete{.job = job});
    case model::BulkAction::cancel:
      return on(command::Cancel{.job = job});
    case model::BulkAction::move:
      return on(command::Move{.job = job, .queue = c.queue});
    case model::BulkAction::requeue:
      return on(command::Requeue{.job = job});
    case model::BulkAction::change_priority:
      return on(command::SetPriority{.job = job, .priority = c.priority});
  }
  return no_such_operation();
}

command::BulkStepped Model::act_on_all(const command::BulkStep& c) {
  command::BulkStepped out;
  for (const JobId job : c.jobs) {
    const Reply reply = act(c, job);
    const auto* refusal = std::get_if<Refusal>(&reply);
    if (refusal == nullptr) {
      ++out.affected;
    } else if (refusal->code == Refused::wrong_state || refusal->code == Refused::not_found) {
      ++out.skipped;
    } else {
      ++out.failed;
      if (out.errors.size() < model::limits::kBulkErrors)
        out.errors.push_back({job, Blob(command::to_string(refusal->code)), {}});
    }
  }
  return out;
}

Reply Model::on(const command::BulkStep& c) {
  if (c.bulk.is_nil()) return act_on_all(c);
  const model::BulkRecord* found = find_bulk(c.bulk);
  if (found == nullptr) return no_such_operation();
  const bool moves = c.upto > c.after || (c.upto == c.after && c.last);
  if (found->status != model::BulkStatus::processing || found->cursor != c.after || !moves)
    return wrong_place();
  command::BulkStep step = c;
  step.action = found->action;
  step.queue = found->queue;
  step.priority = found->priority;
  const auto proposer = std::exchange(caller_, found->owner);
  const command::BulkStepped out = act_on_all(step);
  caller_ = proposer;
  model::BulkRecord& bulk = *find_bulk(c.bulk);
  bulk.cursor = c.upto;
  bulk.affected += out.affected;
  bulk.skipped += out.skipped;
  bulk.failed += out.failed;
  for (const auto& error : out.errors) {
    if (bulk.errors.size() < model::limits::kBulkErrors) bulk.errors.push_back(error);
  }
  if (c.last) {
    bulk.status = model::BulkStatus::completed;
    bulk.finished_at = now_;
  }
  return out;
}

}  // namespace jobbie::sim
