// The model's webhooks and the deliveries that wait for them.
//
// It tells of few events, those that a command makes at once; the workload's webhooks ask for no
// others.
#include <algorithm>

#include "base/glob.hpp"
#include "base/hash.hpp"
#include "model/limits.hpp"
#include "tests/sim/model.hpp"

namespace jobbie::sim {
namespace {

constexpr std::size_t kEndedKept = 50;

Refusal no_webhook() { return {Refused::not_found, "webhook_id", ""}; }
Refusal no_delivery() { return {Refused::not_found, "delivery_id", ""}; }

}  // namespace

model::WebhookRecord* Model::find_webhook(base::WebhookId id) {
  const auto it = webhooks_.find(id.sequence());
  return it != webhooks_.end() && it->second.id == id ? &it->second : nullptr;
}

model::DeliveryRecord& Model::deliver(model::DeliveryRecord delivery) {
  if (delivery.id.is_nil()) delivery.id = base::DeliveryId{next_ulid()};
  delivery.next_attempt_at = now_;
  return outbox_[delivery.id.sequence()] = std::move(delivery);
}

void Model::tell(command::EventType type, const JobRecord* job, const Blob& queue,
                 const Blob& detail) {
  const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(type);
  for (const auto& [seq, webhook] : webhooks_) {
    const auto& spec = webhook.spec;
    if (!spec.active || (spec.events & bit) == 0) continue;
    if (!spec.queue.empty() && !base::glob_match(spec.queue.view(), queue.view())) continue;
    deliver({.webhook = webhook.id,
             .event = Blob(command::to_string(type)),
             .job = job != nullptr ? job->id : JobId{},
             .queue = queue,
             .at = now_,
             .attempt = job != nullptr ? job->attempt : 0,
             .detail = detail});
  }
}

Reply Model::on(const command::PutWebhook& c) {
  if (!c.webhook.is_nil() && find_webhook(c.webhook) == nullptr) return no_webhook();
  if (c.webhook.is_nil() && webhooks_.size() >= model::limits::kWebhooks)
    return Refusal{Refused::limit_reached, "url", ""};
  const auto id = c.webhook.is_nil() ? base::WebhookId{next_ulid()} : c.webhook;
  model::WebhookRecord& webhook = webhooks_[id.sequence()];
  const Blob secret = webhook.spec.secret;
  webhook.id = id;
  webhook.spec = c.spec;
  if (c.keep_secret) webhook.spec.secret = secret;
  return command::WebhookReply{webhook};
}

Reply Model::on(const command::RemoveWebhook& c) {
  if (find_webhook(c.webhook) == nullptr) return no_webhook();
  webhooks_.erase(c.webhook.sequence());
  const auto gone =
      std::erase_if(outbox_, [&](const auto& entry) { return entry.second.webhook == c.webhook; });
  return command::Done{gone};
}

Reply Model::on(const command::TestWebhook& c) {
  if (find_webhook(c.webhook) == nullptr) return no_webhook();
  return command::DeliveryReply{
      deliver({.webhook = c.webhook, .event = Blob(model::kTestEvent), .at = now_})};
}

Reply Model::on(const command::RetryDelivery& c) {
  if (find_webhook(c.delivery.webhook) == nullptr) return no_webhook();
  const Seq seq = c.delivery.id.sequence();
  if (seq == 0 || seq >= next_sequence_) return no_delivery();
  if (const auto it = outbox_.find(seq); it != outbox_.end()) {
    if (it->second.id != c.delivery.id || it->second.webhook != c.delivery.webhook)
      return no_delivery();
    it->second.next_attempt_at = now_;
    return command::DeliveryReply{it->second};
  }
  if (c.delivery.state == model::DeliveryState::pending) return no_delivery();
  model::DeliveryRecord again = c.delivery;
  again.state = model::DeliveryState::pending;
  again.attempts = 0;
  again.ended_at = {};
  return command::DeliveryReply{deliver(std::move(again))};
}

Reply Model::on(const command::SettleDelivery& c) {
  const Seq seq = c.delivery.sequence();
  const auto it = outbox_.find(seq);
  if (it == outbox_.end() || it->second.id != c.delivery) return no_delivery();
  model::DeliveryRecord& delivery = it->second;
  if (delivery.attempts != c.attempt) return Refusal{Refused::wrong_state, "attempt", ""};
  ++delivery.attempts;
  delivery.status = c.status;
  delivery.error = c.error;
  if (!c.delivered && delivery.attempts < model::limits::kDeliveryAttempts) {
    // 5 s, 15 s, 45 s … half an hour, and up to a fifth more.
    std::int64_t delay = 5000;
    for (std::uint32_t i = 1; i < delivery.attempts; ++i) delay *= 3;
    delay = std::min<std::int64_t>(delay, 30 * 60'000);
    const auto draw =
        static_cast<std::uint32_t>(base::mix64(random_ ^ (seq * 0x9e3779b97f4a7c15ULL)));
    delay += static_cast<std::int64_t>(
        (std::uint64_t{draw} * static_cast<std::uint64_t>(delay / 5)) >> 32);
    delivery.next_attempt_at = now_ + Duration{delay};
    return command::Done{};
  }
  delivery.state = c.delivered ? model::DeliveryState::delivered : model::DeliveryState::failed;
  delivery.next_attempt_at = {};
  delivery.ended_at = now_;
  if (auto* webhook = find_webhook(delivery.webhook))
    ++(c.delivered ? webhook->delivered : webhook->failed);
  ended_deliveries_.push_back(delivery);
  if (ended_deliveries_.size() > kEndedKept) ended_deliveries_.erase(ended_deliveries_.begin());
  outbox_.erase(it);
  return command::Done{1};
}

}  // namespace jobbie::sim
