// Webhooks: which events they get, the outbox of deliveries, and what becomes of each.
//
// A delivery is made in the entry that made its event, and stays in the outbox until the sender has
// reported its end through the log. So a crash loses none; what was sent and not yet reported is
// sent again.
#include <algorithm>
#include <utility>

#include "base/glob.hpp"
#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

namespace limits = model::limits;
using model::DeliveryState;

constexpr std::uint64_t kEveryEvent = ~std::uint64_t{0};
constexpr Duration kFirstDelay = base::seconds(5);
constexpr Duration kLongestDelay = base::minutes(30);
constexpr std::int64_t kDelayFactor = 3;
/// A delay grows by up to this share of itself, so that not all come back at once.
constexpr std::int64_t kJitterPercent = 20;

std::uint64_t bit_of(EventType type) { return std::uint64_t{1} << static_cast<unsigned>(type); }

std::uint64_t events_of(const model::WebhookSpec& spec) {
  if (!spec.active) return 0;
  return spec.events == 0 ? kEveryEvent : spec.events;
}

/// No more than the bound, and no half character at its end.
Blob cut(const Blob& text) {
  auto view = text.view();
  if (view.size() <= limits::kDeliveryDetail) return text;
  auto end = limits::kDeliveryDetail;
  while (end > 0 && (static_cast<unsigned char>(view[end]) & 0xc0) == 0x80) --end;
  return Blob(view.substr(0, end));
}

Duration delay_after(std::uint32_t attempts, std::uint32_t draw) {
  Duration delay = kFirstDelay;
  for (std::uint32_t i = 1; i < attempts && delay < kLongestDelay; ++i)
    delay = std::min(Duration{delay.ms * kDelayFactor}, kLongestDelay);
  const std::int64_t most = delay.ms * kJitterPercent / 100;
  return Duration{delay.ms + static_cast<std::int64_t>(
                                 (std::uint64_t{draw} * static_cast<std::uint64_t>(most)) >> 32)};
}

}  // namespace

void Core::note_webhooks() {
  webhook_events = 0;
  for (const auto& [sequence, webhook] : webhooks) webhook_events |= events_of(webhook.spec);
}

void Core::tell_webhooks(const command::Event& event) {
  for (auto& [sequence, webhook] : webhooks) {
    const auto& spec = webhook.spec;
    if ((events_of(spec) & bit_of(event.type)) == 0) continue;
    if (spec.queue && !base::glob_match(spec.queue.view(), event.queue.view())) continue;
    if (outbox.size() >= limits::kOutbox) {
      ++webhook.dropped;
      changed_webhooks.insert(sequence);
      continue;
    }
    add_delivery({.webhook = webhook.id,
                  .event = Blob(command::to_string(event.type)),
                  .job = event.job,
                  .queue = event.queue,
                  .at = event.at,
                  .attempt = event.attempt,
                  .detail = cut(event.detail)});
  }
}

model::DeliveryRecord& Core::add_delivery(model::DeliveryRecord delivery) {
  const auto sequence = meta.next_sequence++;
  delivery.id = base::DeliveryId{next_ulid(sequence)};
  delivery.next_attempt_at = meta.now;
  return place_delivery(std::move(delivery));
}

model::DeliveryRecord& Core::place_delivery(model::DeliveryRecord delivery) {
  const auto sequence = delivery.id.sequence();
  outbox_times[delivery.webhook.sequence()].emplace(delivery.next_attempt_at, sequence);
  changed_deliveries.insert(sequence);
  ++outbox_revision;
  return outbox.emplace(sequence, std::move(delivery)).first->second;
}

void Core::remove_delivery(std::uint64_t sequence) {
  const auto found = outbox.find(sequence);
  const auto times = outbox_times.find(found->second.webhook.sequence());
  times->second.erase({found->second.next_attempt_at, sequence});
  if (times->second.empty()) outbox_times.erase(times);
  changed_deliveries.erase(sequence);
  outbox.erase(found);
}

model::WebhookRecord* Core::find_webhook(base::WebhookId id) {
  const auto found = webhooks.find(id.sequence());
  return found == webhooks.end() || found->second.id != id ? nullptr : &found->second;
}

Reply Core::run(const command::PutWebhook& c) {
  model::WebhookRecord* webhook = nullptr;
  if (c.webhook.is_nil()) {
    if (webhooks.size() >= limits::kWebhooks)
      return refuse(Refused::limit_reached, "url", "there are too many webhooks");
    const auto sequence = meta.next_sequence++;
    webhook =
        &webhooks
             .emplace(sequence,
                      model::WebhookRecord{.id = base::WebhookId{next_ulid(sequence)}, .spec = {}})
             .first->second;
  } else if (webhook = find_webhook(c.webhook); webhook == nullptr) {
    return refuse(Refused::not_found, "webhook_id", "there is no such webhook");
  }
  auto spec = c.spec;
  if (c.keep_secret) spec.secret = webhook->spec.secret;
  webhook->spec = std::move(spec);
  changed_webhooks.insert(webhook->id.sequence());
  note_webhooks();
  ++outbox_revision;
  return command::WebhookReply{*webhook};
}

Reply Core::run(const command::RemoveWebhook& c) {
  const model::WebhookRecord* webhook = find_webhook(c.webhook);
  if (webhook == nullptr)
    return refuse(Refused::not_found, "webhook_id", "there is no such webhook");
  std::vector<std::uint64_t> gone;
  for (const auto& [sequence, delivery] : outbox)
    if (delivery.webhook == c.webhook) gone.push_back(sequence);
  for (const auto sequence : gone) remove_delivery(sequence);
  std::erase_if(ended_deliveries, [&](const auto& ended) { return ended.webhook == c.webhook; });
  changed_webhooks.erase(c.webhook.sequence());
  changes.removed(command::RemovedWebhook{c.webhook});
  webhooks.erase(c.webhook.sequence());
  note_webhooks();
  return command::Done{.affected = gone.size()};
}

Reply Core::run(const command::TestWebhook& c) {
  if (find_webhook(c.webhook) == nullptr)
    return refuse(Refused::not_found, "webhook_id", "there is no such webhook");
  if (outbox.size() >= limits::kOutbox)
    return refuse(Refused::limit_reached, "webhook_id", "too many deliveries wait");
  return command::DeliveryReply{
      add_delivery({.webhook = c.webhook, .event = Blob(model::kTestEvent), .at = meta.now})};
}

/// The leader has put the delivery as it is stored into the command; one that still waits is sent
/// at once.
Reply Core::run(const command::RetryDelivery& c) {
  if (find_webhook(c.delivery.webhook) == nullptr)
    return refuse(Refused::not_found, "webhook_id", "there is no such webhook");
  const auto sequence = c.delivery.id.sequence();
  if (sequence == 0 || sequence >= meta.next_sequence)
    return refuse(Refused::not_found, "delivery_id", "there is no such delivery");
  if (const auto found = outbox.find(sequence); found != outbox.end()) {
    if (found->second.id != c.delivery.id || found->second.webhook != c.delivery.webhook)
      return refuse(Refused::not_found, "delivery_id", "there is no such delivery");
    auto waiting = found->second;
    remove_delivery(sequence);
    waiting.next_attempt_at = meta.now;
    return command::DeliveryReply{place_delivery(std::move(waiting))};
  }
  if (c.delivery.state == DeliveryState::pending)
    return refuse(Refused::not_found, "delivery_id", "there is no such delivery");
  if (outbox.size() >= limits::kOutbox)
    return refuse(Refused::limit_reached, "delivery_id", "too many deliveries wait");
  auto again = c.delivery;
  std::erase_if(ended_deliveries, [&](const auto& ended) { return ended.id == again.id; });
  again.state = DeliveryState::pending;
  again.attempts = 0;
  again.ended_at = {};
  again.next_attempt_at = meta.now;
  return command::DeliveryReply{place_delivery(std::move(again))};
}

Reply Core::run(const command::SettleDelivery& c) {
  const auto sequence = c.delivery.sequence();
  const auto found = outbox.find(sequence);
  if (found == outbox.end() || found->second.id != c.delivery)
    return refuse(Refused::not_found, "delivery_id", "there is no such delivery");
  auto delivery = found->second;
  if (delivery.attempts != c.attempt)
    return refuse(Refused::wrong_state, "attempt", "this attempt has been settled before");
  remove_delivery(sequence);
  ++outbox_revision;
  ++delivery.attempts;
  delivery.status = c.status;
  delivery.error = c.error;
  if (!c.delivered && delivery.attempts < limits::kDeliveryAttempts) {
    delivery.next_attempt_at = meta.now + delay_after(delivery.attempts, draw(sequence));
    place_delivery(std::move(delivery));
    return command::Done{};
  }
  delivery.state = c.delivered ? DeliveryState::delivered : DeliveryState::failed;
  delivery.next_attempt_at = {};
  delivery.ended_at = meta.now;
  if (auto* webhook = find_webhook(delivery.webhook)) {
    ++(c.delivered ? webhook->delivered : webhook->failed);
    changed_webhooks.insert(webhook->id.sequence());
  }
  ended_deliveries.push_back(std::move(delivery));
  return command::Done{.affected = 1};
}

model::Outbox Core::due_deliveries(Instant now, std::size_t each) const {
  model::Outbox out;
  for (const auto& [sequence, times] : outbox_times) {
    const auto& webhook = webhooks.find(sequence)->second;
    std::size_t taken = 0;
    for (const auto& [at, number] : times) {
      const auto& delivery = outbox.find(number)->second;
      // While a webhook is not active its deliveries wait, but for tests of it.
      if (!webhook.spec.active && delivery.event.view() != model::kTestEvent) continue;
      if (at > now || taken == each) {
        out.next = std::min(out.next, at);
        break;
      }
      ++taken;
      out.due.push_back(
          {.delivery = delivery, .url = webhook.spec.url, .secret = webhook.spec.secret});
    }
  }
  return out;
}

void Core::drain_webhooks(command::Changes& out) {
  for (const auto sequence : std::exchange(changed_webhooks, {}))
    if (const auto found = webhooks.find(sequence); found != webhooks.end())
      out.emplace_back(command::Item(found->second));
  // Those that have ended are the store's from now on.
  for (auto& delivery : std::exchange(ended_deliveries, {}))
    out.emplace_back(command::Item(std::move(delivery)));
  for (const auto sequence : std::exchange(changed_deliveries, {}))
    out.emplace_back(command::Item(outbox.find(sequence)->second));
}

}  // namespace jobbie::engine
