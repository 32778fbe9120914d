// Bulk steps by the rule book: each job as if it had been named alone. Operations are not modelled,
// and the workload begins none.
#include "tests/sim/model.hpp"

namespace jobbie::sim {
namespace {

Refusal no_such_operation() { return {Refused::not_found, "bulk_operation_id", ""}; }

}  // namespace

Reply Model::on(const command::StartBulk&) { return Refusal{Refused::limit_reached, "bulk", ""}; }

Reply Model::on(const command::EndBulk&) { return no_such_operation(); }

Reply Model::on(const command::BulkStep& c) {
  if (!c.bulk.is_nil()) return no_such_operation();
  command::BulkStepped out;
  for (const JobId job : c.jobs) {
    Reply reply = no_such_operation();
    switch (c.action) {
      case model::BulkAction::retry:
        reply = on(command::Retry{.job = job});
        break;
      case model::BulkAction::remove:
        reply = on(command::Delete{.job = job});
        break;
      case model::BulkAction::cancel:
        reply = on(command::Cancel{.job = job});
        break;
      case model::BulkAction::move:
        reply = on(command::Move{.job = job, .queue = c.queue});
        break;
      case model::BulkAction::requeue:
        reply = on(command::Requeue{.job = job});
        break;
      case model::BulkAction::change_priority:
        reply = on(command::SetPriority{.job = job, .priority = c.priority});
        break;
    }
    const auto* refusal = std::get_if<Refusal>(&reply);
    if (refusal == nullptr)
      ++out.affected;
    else if (refusal->code == Refused::wrong_state || refusal->code == Refused::not_found)
      ++out.skipped;
    else
      ++out.failed;
  }
  return out;
}

}  // namespace jobbie::sim
