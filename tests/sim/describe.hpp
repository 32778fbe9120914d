// Commands, replies and records as one line of text each, for traces and for telling what differs.
#pragma once

#include <string>
#include <vector>

#include "command/command.hpp"
#include "command/reply.hpp"
#include "model/access.hpp"
#include "model/job.hpp"
#include "model/queue.hpp"
#include "model/records.hpp"
#include "model/webhook.hpp"

namespace jobbie::sim {

std::string show(const command::Command& command);
std::string show(const command::Reply& reply);

std::string show(const model::JobRecord& job);
std::string show(const model::QueueRecord& queue);
std::string show(const model::TallyRecord& tally);
std::string show(const model::WindowRecord& window);
std::string show(const model::GroupRecord& group);
std::string show(const model::BatchRecord& batch);
std::string show(const model::ScheduleRecord& schedule);
std::string show(const model::WorkerRecord& worker);
std::string show(const model::IdempotencyRecord& record);
std::string show(const model::TaskRecord& task);
std::string show(const model::BulkRecord& bulk);
std::string show(const model::MetaRecord& meta);
std::string show(const model::KeyRecord& key);
std::string show(const model::WebhookRecord& webhook);
std::string show(const model::DeliveryRecord& delivery);

/// `#7`: jobs are known by their number in traces.
std::string show(base::JobId id);

/// Whether two replies say the same. Messages of refusals are for people and are not compared, nor
/// is the field where the rule book does not name one.
bool same(const command::Reply& expected, const command::Reply& got);
bool same(const std::vector<model::BulkError>& expected, const std::vector<model::BulkError>& got);
bool same(const model::BulkRecord& expected, const model::BulkRecord& got);

/// Whether two records of a job say the same, but for the numbers of their arrivals (the order in
/// the lists counts, see compare.hpp) and the order of what the job waits for.
bool same(const model::JobRecord& expected, const model::JobRecord& got);

/// The fields in which two jobs differ: `state pending/active, …` (expected first).
std::string differing_fields(const model::JobRecord& expected, const model::JobRecord& got);
std::string differing_fields(const model::QueueRecord& expected, const model::QueueRecord& got);

}  // namespace jobbie::sim
