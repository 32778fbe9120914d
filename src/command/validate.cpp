// validate(): one overload of check() for each command, in the order of the variant.
#include "command/validate.hpp"

#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/json.hpp"
#include "command/validate_rules.hpp"
#include "model/cron.hpp"
#include "model/schedule_fields.hpp"

namespace jobbie::command {
namespace {

using rules::Fault;
using rules::Problem;
namespace limits = model::limits;

/// The longest tag name that a limit may be kept by.
constexpr std::size_t kPerTagName = 128;

Fault check(const Idempotency& idempotency) {
  return rules::at_most_bytes(idempotency.key, limits::kIdempotencyKey, "idempotency_key");
}

Fault check(const Enqueue& command) {
  if (auto fault = rules::check_job(command.job, 0)) return fault;
  return check(command.idempotency);
}

Fault check(const BatchSpec& batch) {
  if (!batch.callback_queue.empty()) {
    if (auto fault = rules::queue_name(batch.callback_queue, "callback_queue")) return fault;
  }
  constexpr const char* kField = "callback_payload";
  if (batch.callback_payload.empty()) return {};
  if (auto fault = rules::at_most_bytes(batch.callback_payload, limits::kPayload, kField))
    return fault;
  if (!base::json::is_object(batch.callback_payload.view()))
    return {Problem::not_an_object, kField};
  return {};
}

std::optional<Refusal> check(const EnqueueMany& command) {
  const auto count = command.jobs.size();
  if (count == 0) return rules::refuse({Problem::empty, "jobs"});
  if (count > limits::kJobsPerRequest)
    return rules::refuse({Problem::too_many, "jobs", limits::kJobsPerRequest});
  for (std::size_t i = 0; i < count; ++i) {
    if (auto fault = rules::check_job(command.jobs[i], count))
      return rules::refuse(fault, fmt::format("jobs[{}].", i));
  }
  if (command.batch) {
    if (auto fault = check(*command.batch)) return rules::refuse(fault, "batch.");
  }
  return rules::refuse(check(command.idempotency));
}

Fault check(const Claim& command) {
  if (command.queues.empty()) return {Problem::empty, "queues"};
  if (auto fault = rules::queue_patterns(command.queues)) return fault;
  if (auto fault = rules::optional_name(command.worker, "worker_id")) return fault;
  if (auto fault = rules::optional_name(command.hostname, "hostname")) return fault;
  if (auto fault = rules::at_least(command.count, 1, "count")) return fault;
  if (auto fault = rules::at_most(command.count, limits::kClaimCount, "count")) return fault;
  if (auto fault = rules::lease(command.lease, "lease_duration")) return fault;
  if (auto fault = rules::name_list(command.roles, limits::kCapabilities, "roles")) return fault;
  return rules::name_list(command.tags, limits::kCapabilities, "tags");
}

Fault check(const LeaseRef& ref) {
  if (auto fault = rules::not_nil(ref.job, "job_id")) return fault;
  return rules::optional_name(ref.worker, "worker_id");
}

Fault check(const Ack& command) {
  if (auto fault = check(command.ref)) return fault;
  return rules::at_most_bytes(command.result, limits::kPayload, "result");
}

Fault check(const Fail& command) {
  if (auto fault = check(command.ref)) return fault;
  if (auto fault = rules::at_most_bytes(command.error, limits::kErrorText, "error")) return fault;
  if (auto fault = rules::at_most_bytes(command.backtrace, limits::kErrorText, "backtrace"))
    return fault;
  return command.retry_in ? rules::duration(*command.retry_in, "retry_in") : Fault{};
}

Fault check(const Beat& beat) {
  if (auto fault = rules::optional_name(beat.ref.worker, "worker_id")) return fault;
  if (auto fault = rules::at_most_bytes(beat.progress, limits::kProgress, "progress")) return fault;
  return rules::at_most_bytes(beat.checkpoint, limits::kPayload, "checkpoint");
}

Fault check(const Heartbeat& command) {
  if (auto fault = rules::optional_name(command.worker, "worker_id")) return fault;
  if (command.beats.size() > limits::kBeatsPerRequest)
    return {Problem::too_many, "jobs", limits::kBeatsPerRequest};
  for (const Beat& beat : command.beats) {
    if (auto fault = check(beat)) return fault;
  }
  return {};
}

Fault check(const Cancel& command) { return rules::not_nil(command.job, "job_id"); }

Fault check(const Retry& command) {
  if (auto fault = rules::not_nil(command.job, "job_id")) return fault;
  return rules::at_most_bytes(command.payload, limits::kPayload, "payload");
}

Fault check(const Requeue& command) { return rules::not_nil(command.job, "job_id"); }

Fault check(const Move& command) {
  if (auto fault = rules::not_nil(command.job, "job_id")) return fault;
  return rules::queue_name(command.queue);
}

Fault check(const Delete& command) { return rules::not_nil(command.job, "job_id"); }

Fault check(const SetPriority& command) { return rules::not_nil(command.job, "job_id"); }

Fault check(const QueueCommand& command) {
  if (auto fault = rules::queue_name(command.queue)) return fault;
  return rules::known(command.action, QueueAction::destroy, "action");
}

Fault check_per(const Blob& per) {
  if (per.empty() || per.view() == "group") return {};
  constexpr std::string_view kTags = "tags.";
  const auto text = per.view();
  if (!text.starts_with(kTags)) return {Problem::bad_per, "per"};
  const auto name = text.substr(kTags.size());
  if (name.empty() || name.size() > kPerTagName) return {Problem::bad_per, "per"};
  if (rules::has_control(name)) return {Problem::control_character, "per"};
  return {};
}

Fault check(const SetConcurrency& command) {
  if (auto fault = rules::queue_name(command.queue)) return fault;
  if (command.max) {
    if (auto fault = rules::at_least(*command.max, 1, "max")) return fault;
  }
  return check_per(command.per);
}

Fault check(const SetThrottle& command) {
  if (auto fault = rules::queue_name(command.queue)) return fault;
  if (auto fault = rules::duration(command.period, "period")) return fault;
  if (command.rate) {
    if (auto fault = rules::at_least(*command.rate, 1, "rate")) return fault;
    if (auto fault = rules::at_most(*command.rate, limits::kRate, "rate")) return fault;
    if (command.period.ms == 0) return {Problem::too_short, "period", 1};
  }
  return check_per(command.per);
}

Fault check(const SetRetention& command) {
  if (auto fault = rules::queue_name(command.queue)) return fault;
  if (command.completed) {
    if (auto fault = rules::duration(*command.completed, "completed")) return fault;
  }
  if (command.dead) {
    if (auto fault = rules::duration(*command.dead, "dead")) return fault;
  }
  return command.cancelled ? rules::duration(*command.cancelled, "cancelled") : Fault{};
}

Fault check(const SetLease& command) {
  if (auto fault = rules::queue_name(command.queue)) return fault;
  return rules::lease(command.lease, "duration");
}

Fault check(const SetFairness& command) {
  if (auto fault = rules::queue_name(command.queue)) return fault;
  return rules::known(command.fairness, model::Fairness::group, "fairness");
}

Fault check(const GroupCommand& command) {
  if (auto fault = rules::required_name(command.group, "group")) return fault;
  return rules::known(command.action, GroupAction::cancel, "action");
}

Fault check_schedule_job(const model::JobSpec& job) {
  if (auto fault = rules::check_job(job, 0)) return fault;
  if (job.scheduled_at.ms != 0) return {Problem::not_in_schedule, "scheduled_at"};
  if (job.delay.ms != 0) return {Problem::not_in_schedule, "delay"};
  if (!job.depends_on.empty()) return {Problem::not_in_schedule, "depends_on"};
  return {};
}

std::optional<Refusal> check(const model::ZoneRules& zone) {
  const auto valid = zone.validate();
  if (valid) return std::nullopt;
  return rules::refusal("timezone", fmt::format("timezone: {}.", valid.error().message));
}

std::optional<Refusal> check(const model::ScheduleSpec& spec) {
  if (auto fault = rules::required_name(spec.name, "name")) return rules::refuse(fault);
  if (auto fault = rules::known(spec.catch_up, model::CatchUp::all, "catch_up"))
    return rules::refuse(fault);
  if (auto fault = check_schedule_job(spec.job)) return rules::refuse(fault);
  if (const auto cron = model::CronExpr::parse(spec.cron.view()); !cron)
    return rules::refusal("cron", fmt::format("{}.", cron.error().message));
  return check(spec.zone);
}

std::optional<Refusal> check(const CreateSchedule& command) { return check(command.spec); }

std::optional<Refusal> check(const UpdateSchedule& command) {
  if (auto fault = rules::not_nil(command.schedule, "schedule_id")) return rules::refuse(fault);
  if (command.fields == 0) return check(command.spec);
  // The engine judges what a part of a schedule comes to with the rest.
  if ((command.fields & ~model::kAllScheduleFields) != 0)
    return rules::refuse({Problem::unknown_value, "fields"});
  return std::nullopt;
}

Fault check(const ScheduleCommand& command) {
  if (auto fault = rules::not_nil(command.schedule, "schedule_id")) return fault;
  return rules::known(command.action, ScheduleAction::remove, "action");
}

std::optional<Refusal> check(const UpdateZone& command) { return check(command.zone); }

Fault check(const RegisterWorker& command) {
  const auto& worker = command.worker;
  if (auto fault = rules::required_name(worker.id, "worker_id")) return fault;
  if (auto fault = rules::optional_name(worker.hostname, "hostname")) return fault;
  if (auto fault = rules::optional_name(worker.name, "name")) return fault;
  if (auto fault = rules::queue_patterns(worker.queues)) return fault;
  if (auto fault = rules::name_list(worker.roles, limits::kCapabilities, "roles")) return fault;
  return rules::name_list(worker.tags, limits::kCapabilities, "tags");
}

Fault check(const RemoveWorker& command) {
  return rules::required_name(command.worker, "worker_id");
}

Fault check(const Tick&) { return {}; }

std::optional<Refusal> check(const AppendLogs& command) {
  if (auto fault = check(command.ref)) return rules::refuse(fault);
  if (command.lines.empty()) return rules::refuse({Problem::empty, "lines"});
  if (command.lines.size() > limits::kLogLinesPerRequest)
    return rules::refuse({Problem::too_many, "lines", limits::kLogLinesPerRequest});
  for (std::size_t i = 0; i < command.lines.size(); ++i) {
    const auto& line = command.lines[i];
    Fault fault = rules::instant(line.at, "at");
    if (!fault) fault = rules::known(line.level, model::LogLevel::error, "level");
    if (!fault) fault = rules::at_most_bytes(line.message, limits::kLogMessage, "message");
    if (fault) return rules::refuse(fault, fmt::format("lines[{}].", i));
  }
  return std::nullopt;
}

Fault check_bulk(model::BulkAction action, const Blob& queue) {
  if (auto fault = rules::known(action, model::BulkAction::change_priority, "action")) return fault;
  if (action == model::BulkAction::move) return rules::queue_name(queue, "move_to_queue");
  return {};
}

Fault check(const StartBulk& command) {
  if (auto fault = check_bulk(command.action, command.queue)) return fault;
  if (auto fault = rules::at_most_bytes(command.filter, limits::kBulkFilter, "filter"))
    return fault;
  if (!base::json::is_object(command.filter.view())) return {Problem::not_an_object, "filter"};
  return {};
}

Fault check(const BulkStep& command) {
  if (command.jobs.size() > limits::kBulkJobs)
    return {Problem::too_many, "job_ids", limits::kBulkJobs};
  return command.bulk.is_nil() ? check_bulk(command.action, command.queue) : Fault{};
}

Fault check(const EndBulk& command) { return rules::not_nil(command.bulk, "bulk_operation_id"); }

Fault check(const Restrict& command) {
  if (auto fault = rules::queue_patterns(command.queues)) return fault;
  return rules::at_least(command.commands, 1, "commands");
}

Fault check(const RecordAction& command) {
  const std::pair<const Blob*, const char*> texts[] = {{&command.key, "key"},
                                                       {&command.name, "name"},
                                                       {&command.address, "address"},
                                                       {&command.action, "action"},
                                                       {&command.target, "target"}};
  for (const auto& [text, field] : texts)
    if (auto fault = rules::at_most_bytes(*text, limits::kAuditText, field)) return fault;
  return {};
}

Fault check(const CreateKey& command) {
  const auto& key = command.key;
  if (auto fault = rules::required_name(key.name, "name")) return fault;
  if (key.scopes == 0) return {Problem::empty, "scopes"};
  if (auto fault = rules::at_most(key.scopes, model::kAllScopes, "scopes")) return fault;
  if (key.queues.empty()) return {Problem::empty, "queues"};
  if (key.queues.size() > limits::kKeyQueues)
    return {Problem::too_many, "queues", limits::kKeyQueues};
  if (auto fault = rules::queue_patterns(key.queues)) return fault;
  if (key.digest.size() != limits::kDigest) return {Problem::unknown_value, "digest"};
  return rules::optional_name(key.last_four, "last_four");
}

Fault check(const RevokeKey& command) { return rules::not_nil(command.key, "key_id"); }

Fault check(const PutWebhook& command) {
  const auto& spec = command.spec;
  if (spec.url.empty()) return {Problem::empty, "url"};
  if (auto fault = rules::at_most_bytes(spec.url, limits::kUrl, "url")) return fault;
  if (rules::has_control(spec.url.view())) return {Problem::control_character, "url"};
  if (spec.queue) {
    if (auto fault = rules::at_most_bytes(spec.queue, limits::kQueueName, "queue")) return fault;
    if (!rules::all_marked(spec.queue.view(), rules::kPatternCharacter))
      return {Problem::bad_queue_pattern, "queue"};
  }
  return rules::at_most_bytes(spec.secret, limits::kWebhookSecret, "secret");
}

Fault check(const RemoveWebhook& command) { return rules::not_nil(command.webhook, "webhook_id"); }
Fault check(const TestWebhook& command) { return rules::not_nil(command.webhook, "webhook_id"); }

Fault check(const RetryDelivery& command) {
  const auto& delivery = command.delivery;
  if (auto fault = rules::not_nil(delivery.id, "delivery_id")) return fault;
  if (auto fault = rules::not_nil(delivery.webhook, "webhook_id")) return fault;
  if (auto fault = rules::at_most_bytes(delivery.detail, limits::kDeliveryDetail, "detail"))
    return fault;
  return rules::known(delivery.state, model::DeliveryState::failed, "state");
}

Fault check(const SettleDelivery& command) {
  if (auto fault = rules::not_nil(command.delivery, "delivery_id")) return fault;
  return rules::at_most_bytes(command.error, limits::kDeliveryError, "error");
}

Fault check(const Resume& command) { return rules::duration(command.lost, "lost"); }

Fault check(const SetLimits& command) {
  const std::tuple<std::uint32_t, std::uint32_t, const char*> bounds[] = {
      {command.queues, limits::kMostQueues, "queues"},
      {command.queues_per_key, limits::kMostQueues, "queues_per_key"},
      {command.idempotency_keys_per_key, limits::kIdempotencyKeys, "idempotency_keys_per_key"}};
  for (const auto& [value, most, field] : bounds) {
    if (auto fault = rules::at_least(value, 1, field)) return fault;
    if (auto fault = rules::at_most(value, most, field)) return fault;
  }
  return {};
}

Fault check(const ForgetQueues& command) {
  if (command.queues.size() > limits::kQueuesForgotten)
    return {Problem::too_many, "queues", limits::kQueuesForgotten};
  for (const Blob& name : command.queues)
    if (auto fault = rules::queue_name(name, "queues")) return fault;
  return {};
}

std::optional<Refusal> as_refusal(const Fault& fault) { return rules::refuse(fault); }
std::optional<Refusal> as_refusal(std::optional<Refusal>&& refused) { return std::move(refused); }

}  // namespace

std::optional<Refusal> validate(const Command& command) {
  return std::visit([](const auto& c) { return as_refusal(check(c)); }, command);
}

}  // namespace jobbie::command
