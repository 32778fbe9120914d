// What those who administer send: bulk operations, keys, restrictions, webhooks and deliveries.
#include <array>
#include <string>

#include "tests/sim/workload.hpp"

namespace jobbie::sim {
namespace {

/// Whom a command names: one of those there are, or nobody.
template <typename Id, typename Map>
Id some_id(Rng& rng, const Map& map, std::uint32_t astray) {
  if (map.empty()) return Id{base::Ulid::make(Instant{1}, 1, 9)};
  const auto at = static_cast<std::ptrdiff_t>(rng.below(map.size()));
  Id id = std::next(map.begin(), at)->second.id;
  if (rng.percent(astray / 4)) id.ulid.low ^= 1;
  return id;
}

/// The events that the model tells of.
constexpr std::array kTold = {command::EventType::queue_paused, command::EventType::queue_resumed,
                              command::EventType::priority_changed, command::EventType::progress,
                              command::EventType::logged};

}  // namespace

Command Workload::start_bulk() {
  return command::StartBulk{.action = static_cast<model::BulkAction>(rng_.below(6)),
                            .queue = some_queue(),
                            .priority = static_cast<std::int32_t>(rng_.between(-2, 5)),
                            .filter = Blob(R"({"state":["dead"]})"),
                            .estimated = rng_.below(100)};
}

Command Workload::bulk_step() {
  static constexpr std::array kVerbOf = {
      verb_index<command::Retry>(),   verb_index<command::Delete>(),
      verb_index<command::Cancel>(),  verb_index<command::Move>(),
      verb_index<command::Requeue>(), verb_index<command::SetPriority>()};
  command::BulkStep step{.action = static_cast<model::BulkAction>(rng_.below(6)),
                         .queue = some_queue(),
                         .priority = static_cast<std::int32_t>(rng_.between(-2, 5))};
  if (rng_.percent(60)) {
    step.bulk = some_id<base::BulkId>(rng_, model_.bulks(), personality_.astray);
    const auto it = model_.bulks().find(step.bulk.sequence());
    if (it != model_.bulks().end()) {
      step.action = it->second.action;
      step.after = it->second.cursor;
    }
    step.upto = step.after + rng_.below(6);
    if (rng_.percent(personality_.astray / 2)) step.after += rng_.below(3);
    step.last = rng_.percent(15);
  }
  for (std::uint64_t left = rng_.below(5); left > 0; --left)
    step.jobs.push_back(job_for(kVerbOf[static_cast<std::size_t>(step.action)]));
  if (!step.jobs.empty() && rng_.percent(10)) step.jobs.push_back(step.jobs.front());
  return step;
}

Command Workload::end_bulk() {
  return command::EndBulk{some_id<base::BulkId>(rng_, model_.bulks(), personality_.astray),
                          rng_.coin() ? Blob{} : Blob("no such field")};
}

Command Workload::restrict_next() {
  return command::Restrict{.queues = rng_.percent(5) ? std::vector<Blob>{} : some_patterns(),
                           .commands = static_cast<std::uint32_t>(rng_.between(1, 4)),
                           .key = rng_.percent(25) ? base::KeyId{} : some_key()};
}

/// One of those there are, or one that is gone.
base::KeyId Workload::some_key() {
  if (!model_.keys().empty() && rng_.percent(70))
    return some_id<base::KeyId>(rng_, model_.keys(), 0);
  return base::KeyId{base::Ulid::make(Instant{1}, 1, 1)};
}

Command Workload::set_limits() {
  if (rng_.percent(40)) return command::SetLimits{};
  const auto draw = [&](std::int64_t most) {
    return static_cast<std::uint32_t>(rng_.between(1, most));
  };
  return command::SetLimits{
      .queues = draw(8), .queues_per_key = draw(3), .idempotency_keys_per_key = draw(3)};
}

Command Workload::forget_queues() {
  command::ForgetQueues forget;
  for (std::uint64_t left = rng_.below(4); left > 0; --left) forget.queues.push_back(some_queue());
  return forget;
}

Command Workload::record_action() {
  return command::RecordAction{.key = {},
                               .name = Blob("ops"),
                               .address = Blob("127.0.0.1"),
                               .action = Blob("job.cancel"),
                               .target = Blob("it"),
                               .commands = static_cast<std::uint32_t>(rng_.below(4))};
}

Command Workload::create_key() {
  const auto letter = [&](std::int64_t last) { return static_cast<char>(rng_.between('a', last)); };
  return command::CreateKey{
      .key = {.name = Blob(std::string(1, letter('d'))),
              .scopes = static_cast<std::uint32_t>(rng_.between(1, model::kAllScopes)),
              .queues = some_patterns(),
              .digest = Blob(std::string(32, letter('z'))),
              .last_four = Blob("abcd")},
      .replace = rng_.percent(30)};
}

Command Workload::revoke_key() {
  return command::RevokeKey{some_id<base::KeyId>(rng_, model_.keys(), personality_.astray)};
}

base::WebhookId Workload::some_webhook() {
  return some_id<base::WebhookId>(rng_, model_.webhooks(), personality_.astray);
}

Command Workload::put_webhook() {
  command::PutWebhook put;
  if (model_.webhooks().size() >= 4 || rng_.percent(40)) put.webhook = some_webhook();
  put.spec.url = Blob("http://127.0.0.1:9/" + std::to_string(rng_.below(5)));
  do {
    put.spec.events |= std::uint64_t{1} << static_cast<unsigned>(rng_.pick(kTold));
  } while (rng_.percent(60));
  if (rng_.percent(40)) put.spec.queue = some_patterns().front();
  if (rng_.percent(40)) put.spec.secret = Blob("s" + std::to_string(rng_.below(3)));
  put.spec.active = rng_.percent(85);
  put.keep_secret = put.spec.secret.empty() && rng_.coin();
  return put;
}

Command Workload::retry_delivery() {
  command::RetryDelivery retry;
  const auto& ended = model_.ended_deliveries();
  if (!ended.empty() && rng_.percent(60)) {
    retry.delivery = rng_.pick(ended);
  } else if (!model_.outbox().empty()) {
    const auto at = static_cast<std::ptrdiff_t>(rng_.below(model_.outbox().size()));
    retry.delivery = std::next(model_.outbox().begin(), at)->second;
  } else {
    retry.delivery.id = base::DeliveryId{base::Ulid::make(model_.now(), 1, 9)};
    retry.delivery.webhook = some_webhook();
  }
  if (!rng_.percent(personality_.astray / 2)) return retry;
  switch (rng_.below(4)) {
    case 0:
      retry.delivery.id.ulid.low ^= 1;
      break;
    case 1:
      retry.delivery.webhook = some_webhook();
      break;
    case 2:
      retry.delivery.id = base::DeliveryId{base::Ulid::make(model_.now(), 1U << 30, 9)};
      break;
    default:
      retry.delivery.state = static_cast<model::DeliveryState>(rng_.below(3));
      break;
  }
  return retry;
}

Command Workload::settle_delivery() {
  command::SettleDelivery settle;
  settle.delivery = some_id<base::DeliveryId>(rng_, model_.outbox(), personality_.astray);
  const auto it = model_.outbox().find(settle.delivery.sequence());
  if (it != model_.outbox().end()) settle.attempt = it->second.attempts;
  if (rng_.percent(personality_.astray / 2)) settle.attempt += 1;
  settle.delivered = rng_.percent(25);
  settle.status = settle.delivered ? 204 : 503;
  if (!settle.delivered) settle.error = Blob("answered 503");
  return settle;
}

Command Workload::administer(std::size_t verb) {
  switch (verb) {
    case verb_index<command::StartBulk>():
      return start_bulk();
    case verb_index<command::BulkStep>():
      return bulk_step();
    case verb_index<command::EndBulk>():
      return end_bulk();
    case verb_index<command::Restrict>():
      return restrict_next();
    case verb_index<command::SetLimits>():
      return set_limits();
    case verb_index<command::ForgetQueues>():
      return forget_queues();
    case verb_index<command::RecordAction>():
      return record_action();
    case verb_index<command::CreateKey>():
      return create_key();
    case verb_index<command::RevokeKey>():
      return revoke_key();
    case verb_index<command::PutWebhook>():
      return put_webhook();
    case verb_index<command::RemoveWebhook>():
      return command::RemoveWebhook{some_webhook()};
    case verb_index<command::TestWebhook>():
      return command::TestWebhook{some_webhook()};
    case verb_index<command::RetryDelivery>():
      return retry_delivery();
    default:
      return settle_delivery();
  }
}

}  // namespace jobbie::sim
