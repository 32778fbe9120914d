// Commands and replies as text, and when two replies are the same.
#include <algorithm>

#include <fmt/format.h>

#include "tests/sim/describe.hpp"

namespace jobbie::sim {
namespace {

using base::Blob;
using base::JobId;

std::string list(const std::vector<Blob>& blobs) {
  std::string out;
  for (const Blob& blob : blobs) out += fmt::format("{}'{}'", out.empty() ? "" : " ", blob.view());
  return out;
}

std::string show(const command::LeaseRef& ref) {
  return fmt::format("{} lease {} worker '{}'", sim::show(ref.job), ref.lease, ref.worker.view());
}

std::string show(const model::JobSpec& spec) {
  std::string out =
      fmt::format("{{queue '{}' payload '{}'", spec.queue.view(), spec.payload.view());
  const auto add = [&](bool given, const std::string& text) {
    if (given) out += " " + text;
  };
  add(spec.priority != model::kNormal, fmt::format("priority {}", spec.priority));
  add(true, fmt::format("max_retries {} backoff {}:{}..{} jitter {}", spec.max_retries,
                        static_cast<int>(spec.retry.backoff), spec.retry.base.ms, spec.retry.max.ms,
                        spec.retry.jitter));
  add(spec.scheduled_at.ms != 0, fmt::format("at {}", spec.scheduled_at.ms));
  add(spec.delay.ms != 0, fmt::format("delay {}", spec.delay.ms));
  add(spec.expire_after.ms != 0, fmt::format("expire_after {}", spec.expire_after.ms));
  add(spec.lease.ms != 0, fmt::format("lease {}", spec.lease.ms));
  add(spec.max_runtime.ms != 0, fmt::format("max_runtime {}", spec.max_runtime.ms));
  add(spec.timeout.ms != 0, fmt::format("timeout {}", spec.timeout.ms));
  add(!spec.unique.key.empty(),
      fmt::format("unique '{}' until {} period {}", spec.unique.key.view(),
                  static_cast<int>(spec.unique.until), spec.unique.period.ms));
  add(!spec.tags.empty(), fmt::format("tags '{}'", spec.tags.view()));
  add(!spec.group.empty(), fmt::format("group '{}'", spec.group.view()));
  add(!spec.requires_.none(),
      fmt::format("requires roles [{}] tags [{}] worker '{}'", list(spec.requires_.roles),
                  list(spec.requires_.tags), spec.requires_.target_worker.view()));
  for (const JobId id : spec.depends_on) add(true, "depends on " + sim::show(id));
  for (const auto index : spec.depends_on_index) add(true, fmt::format("depends on [{}]", index));
  add(spec.on_failure == model::OnFailure::run, "on_failure run");
  return out + "}";
}

std::string show(const model::ScheduleSpec& spec) {
  return fmt::format("'{}' cron '{}' zone {} catch_up {} paused {} {}", spec.name.view(),
                     spec.cron.view(), spec.zone.name, static_cast<int>(spec.catch_up), spec.paused,
                     show(spec.job));
}

std::string show(const command::Idempotency& idempotency) {
  if (idempotency.key.empty()) return {};
  return fmt::format(" key '{}' of #{} body {}", idempotency.key.view(),
                     idempotency.scope.sequence(), idempotency.fingerprint);
}

struct ShowCommand {
  using Text = std::string;

  Text operator()(const command::Enqueue& c) const {
    return "enqueue " + show(c.job) + show(c.idempotency);
  }
  Text operator()(const command::EnqueueMany& c) const {
    Text out = "enqueue_many" + show(c.idempotency);
    if (c.batch)
      out += fmt::format(" batch to '{}' with '{}'", c.batch->callback_queue.view(),
                         c.batch->callback_payload.view());
    for (const auto& job : c.jobs) out += "\n      " + show(job);
    return out;
  }
  Text operator()(const command::Claim& c) const {
    return fmt::format("claim [{}] worker '{}' count {} lease {} roles [{}] tags [{}]",
                       list(c.queues), c.worker.view(), c.count, c.lease.ms, list(c.roles),
                       list(c.tags));
  }
  Text operator()(const command::Ack& c) const {
    return fmt::format("ack {} result '{}'", show(c.ref), c.result.view());
  }
  Text operator()(const command::AppendLogs& c) const {
    return fmt::format("append_logs {} {} lines", show(c.ref), c.lines.size());
  }
  Text operator()(const command::Fail& c) const {
    return fmt::format("fail {} '{}'{}{}", show(c.ref), c.error.view(),
                       c.no_retry ? " no_retry" : "",
                       c.retry_in ? fmt::format(" retry_in {}", c.retry_in->ms) : "");
  }
  Text operator()(const command::Heartbeat& c) const {
    Text out = fmt::format("heartbeat worker '{}'", c.worker.view());
    for (const auto& b : c.beats)
      out += fmt::format(" ({} progress '{}' checkpoint '{}')", show(b.ref), b.progress.view(),
                         b.checkpoint.view());
    return out;
  }
  Text operator()(const command::Cancel& c) const { return "cancel " + sim::show(c.job); }
  Text operator()(const command::Retry& c) const {
    return fmt::format("retry {} payload '{}'", sim::show(c.job), c.payload.view());
  }
  Text operator()(const command::Requeue& c) const { return "requeue " + sim::show(c.job); }
  Text operator()(const command::Move& c) const {
    return fmt::format("move {} to '{}'{}{}", sim::show(c.job), c.queue.view(),
                       c.reset_attempts ? " reset_attempts" : "",
                       c.keep_priority ? " keep_priority" : "");
  }
  Text operator()(const command::Delete& c) const { return "delete " + sim::show(c.job); }
  Text operator()(const command::SetPriority& c) const {
    return fmt::format("set_priority {} {}", sim::show(c.job), c.priority);
  }
  Text operator()(const command::QueueCommand& c) const {
    static constexpr const char* kActions[] = {"pause", "resume", "drain", "clear", "destroy", "?"};
    return fmt::format("{} queue '{}'", kActions[std::min(5, static_cast<int>(c.action))],
                       c.queue.view());
  }
  Text operator()(const command::SetConcurrency& c) const {
    return fmt::format("set_concurrency '{}' {} per '{}'", c.queue.view(),
                       c.max ? std::to_string(*c.max) : "none", c.per.view());
  }
  Text operator()(const command::SetThrottle& c) const {
    return fmt::format("set_throttle '{}' {}/{}ms per '{}'", c.queue.view(),
                       c.rate ? std::to_string(*c.rate) : "none", c.period.ms, c.per.view());
  }
  Text operator()(const command::SetRetention& c) const {
    const auto ms = [](const auto& d) { return d ? std::to_string(d->ms) : "-"; };
    return fmt::format("set_retention '{}' {} {} {}", c.queue.view(), ms(c.completed), ms(c.dead),
                       ms(c.cancelled));
  }
  Text operator()(const command::SetLease& c) const {
    return fmt::format("set_lease '{}' {}", c.queue.view(), c.lease.ms);
  }
  Text operator()(const command::SetFairness& c) const {
    return fmt::format("set_fairness '{}' {}", c.queue.view(), static_cast<int>(c.fairness));
  }
  Text operator()(const command::GroupCommand& c) const {
    static constexpr const char* kActions[] = {"pause", "resume", "retry_failed", "cancel", "?"};
    return fmt::format("{} group '{}'{}", kActions[std::min(4, static_cast<int>(c.action))],
                       c.group.view(), c.include_active ? " include_active" : "");
  }
  Text operator()(const command::CreateSchedule& c) const {
    return "create_schedule " + show(c.spec);
  }
  Text operator()(const command::UpdateSchedule& c) const {
    return fmt::format("update_schedule #{} {}", c.schedule.sequence(), show(c.spec));
  }
  Text operator()(const command::ScheduleCommand& c) const {
    static constexpr const char* kActions[] = {"pause", "resume", "run_now", "remove", "?"};
    return fmt::format("{} schedule #{}", kActions[std::min(4, static_cast<int>(c.action))],
                       c.schedule.sequence());
  }
  Text operator()(const command::UpdateZone& c) const { return "update_zone " + c.zone.name; }
  Text operator()(const command::RegisterWorker& c) const {
    return fmt::format("register_worker '{}' roles [{}] tags [{}]", c.worker.id.view(),
                       list(c.worker.roles), list(c.worker.tags));
  }
  Text operator()(const command::RemoveWorker& c) const {
    return fmt::format("remove_worker '{}'", c.worker.view());
  }
  Text operator()(const command::Tick&) const { return "tick"; }
  Text operator()(const command::Resume& c) const { return fmt::format("resume {}", c.lost.ms); }
  Text operator()(const command::StartBulk& c) const {
    return fmt::format("start_bulk action {}", static_cast<int>(c.action));
  }
  Text operator()(const command::BulkStep& c) const {
    Text out = fmt::format(
        "bulk_step #{} {}..{}{} action {} to '{}' priority {}:", c.bulk.sequence(), c.after, c.upto,
        c.last ? " last" : "", static_cast<int>(c.action), c.queue.view(), c.priority);
    for (const auto& job : c.jobs) out += " " + sim::show(job);
    return out;
  }
  Text operator()(const command::EndBulk& c) const {
    return fmt::format("end_bulk #{} '{}'", c.bulk.sequence(), c.reason.view());
  }
  Text operator()(const command::Restrict& c) const {
    return fmt::format("restrict {} commands to [{}] by key #{}", c.commands, list(c.queues),
                       c.key.sequence());
  }
  Text operator()(const command::SetLimits& c) const {
    return fmt::format("set_limits {} queues, {} a key, {} idempotency keys a key", c.queues,
                       c.queues_per_key, c.idempotency_keys_per_key);
  }
  Text operator()(const command::ForgetQueues& c) const {
    return fmt::format("forget_queues [{}]", list(c.queues));
  }
  Text operator()(const command::RecordAction& c) const {
    return fmt::format("record_action of {} commands", c.commands);
  }
  Text operator()(const command::CreateKey& c) const {
    return fmt::format("create_key '{}' scopes {}{}", c.key.name.view(), c.key.scopes,
                       c.replace ? " replace" : "");
  }
  Text operator()(const command::RevokeKey& c) const {
    return fmt::format("revoke_key #{}", c.key.sequence());
  }
  Text operator()(const command::PutWebhook& c) const {
    return fmt::format("put_webhook #{} events {:x} queue '{}'{}{}", c.webhook.sequence(),
                       c.spec.events, c.spec.queue.view(), c.spec.active ? "" : " not active",
                       c.keep_secret ? " keep_secret" : "");
  }
  Text operator()(const command::RemoveWebhook& c) const {
    return fmt::format("remove_webhook #{}", c.webhook.sequence());
  }
  Text operator()(const command::TestWebhook& c) const {
    return fmt::format("test_webhook #{}", c.webhook.sequence());
  }
  Text operator()(const command::RetryDelivery& c) const {
    return "retry_delivery " + sim::show(c.delivery);
  }
  Text operator()(const command::SettleDelivery& c) const {
    return fmt::format("settle_delivery #{} attempt {}{}", c.delivery.sequence(), c.attempt,
                       c.delivered ? " delivered" : "");
  }
};

struct ShowReply {
  using Text = std::string;

  Text operator()(const command::Refusal& r) const {
    return fmt::format("refused {} '{}' ({})", command::to_string(r.code), r.field, r.message);
  }
  Text operator()(const command::Enqueued& r) const {
    return fmt::format("enqueued {} {}{}", sim::show(r.job), model::to_string(r.state),
                       r.existing ? " existing" : "");
  }
  Text operator()(const command::EnqueuedMany& r) const {
    Text out = fmt::format("enqueued_many batch {}:", r.batch.sequence());
    for (const auto& job : r.jobs) out += " (" + (*this)(job) + ")";
    return out;
  }
  Text operator()(const command::Claimed& r) const {
    Text out = "claimed:";
    for (const auto& j : r.jobs)
      out += fmt::format(
          " ({} of '{}' attempt {}/{} lease {} for {} until {} priority {} payload "
          "'{}' checkpoint '{}')",
          sim::show(j.job), j.queue.view(), j.attempt, j.max_retries, j.lease, j.lease_duration.ms,
          j.lease_expires_at.ms, j.priority, j.payload.view(), j.checkpoint.view());
    return out;
  }
  Text operator()(const command::Settled& r) const {
    return fmt::format("settled {} next {} remaining {}{}", model::to_string(r.state),
                       r.next_attempt_at.ms, r.attempts_remaining, r.repeated ? " repeated" : "");
  }
  Text operator()(const command::Beaten& r) const {
    static constexpr const char* kNames[] = {"ok", "cancel", "lost", "unknown"};
    Text out = "beaten:";
    for (const auto s : r.jobs) out += fmt::format(" {}", kNames[static_cast<int>(s) & 3]);
    return out;
  }
  Text operator()(const command::JobChanged& r) const {
    return fmt::format("changed {} {}", sim::show(r.job), model::to_string(r.state));
  }
  Text operator()(const command::Done& r) const { return fmt::format("done {}", r.affected); }
  Text operator()(const command::BulkReply& r) const { return sim::show(r.bulk); }
  Text operator()(const command::BulkStepped& r) const {
    return fmt::format("stepped affected {} skipped {} failed {}", r.affected, r.skipped, r.failed);
  }
  Text operator()(const command::KeyReply& r) const { return sim::show(r.key); }
  Text operator()(const command::WebhookReply& r) const { return sim::show(r.webhook); }
  Text operator()(const command::DeliveryReply& r) const { return sim::show(r.delivery); }
  Text operator()(const command::ScheduleReply& r) const {
    Text out = fmt::format("{} job {} next", sim::show(r.schedule), sim::show(r.job));
    for (const auto at : r.next_runs) out += fmt::format(" {}", at.ms);
    return out;
  }
};

}  // namespace

std::string show(const command::Command& command) { return std::visit(ShowCommand{}, command); }
std::string show(const command::Reply& reply) { return std::visit(ShowReply{}, reply); }

bool same(const std::vector<model::BulkError>& expected, const std::vector<model::BulkError>& got) {
  return std::ranges::equal(expected, got, [](const auto& a, const auto& b) {
    return a.job == b.job && a.code == b.code;
  });
}

bool same(const model::BulkRecord& expected, const model::BulkRecord& got) {
  model::BulkRecord other = got;
  if (same(expected.errors, got.errors)) other.errors = expected.errors;
  return expected == other;
}

bool same(const command::Reply& expected, const command::Reply& got) {
  const auto* a = std::get_if<command::Refusal>(&expected);
  const auto* b = std::get_if<command::Refusal>(&got);
  const auto* bulk = std::get_if<command::BulkReply>(&expected);
  const auto* other_bulk = std::get_if<command::BulkReply>(&got);
  if (bulk != nullptr && other_bulk != nullptr) return same(bulk->bulk, other_bulk->bulk);
  const auto* stepped = std::get_if<command::BulkStepped>(&expected);
  const auto* other = std::get_if<command::BulkStepped>(&got);
  if (stepped != nullptr && other != nullptr)
    return stepped->affected == other->affected && stepped->skipped == other->skipped &&
           stepped->failed == other->failed && same(stepped->errors, other->errors);
  if (a == nullptr || b == nullptr) return expected == got;
  const bool field_matters = a->code == command::Refused::invalid;
  return a->code == b->code && (!field_matters || a->field == b->field);
}

}  // namespace jobbie::sim
