// /api/v1/webhooks: who is told of which events, and what became of it.
#include "base/url.hpp"
#include "command/event.hpp"
#include "face/native/manage.hpp"
#include "model/limits.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;

constexpr Fields kWebhookFields(std::to_array<std::string_view>({"url", "events", "queue", "secret",
                                                                 "active"}));
/// That of `secret`: there is to be none.
constexpr std::uint64_t kSecretMayBeNull = 1U << 3;
constexpr std::array<std::string_view, 3> kDeliveryStates = {"pending", "delivered", "failed"};

void write_webhook(Writer& json, const model::WebhookRecord& webhook, base::Instant /*now*/) {
  const auto& spec = webhook.spec;
  json.begin_object();
  json.member("id").id(webhook.id);
  json.member("url").string(spec.url.view());
  json.member("events").begin_array();
  if (spec.events == 0) json.plain("*");
  for (std::size_t i = 0; i < command::kEventTypes; ++i)
    if ((spec.events >> i & 1) != 0)
      json.plain(command::to_string(static_cast<command::EventType>(i)));
  json.end_array();
  write_text(json, "queue", spec.queue);
  json.member("has_secret").boolean(!spec.secret.empty());
  json.member("active").boolean(spec.active);
  json.member("delivered").number(webhook.delivered);
  json.member("failed").number(webhook.failed);
  json.member("dropped").number(webhook.dropped);
  json.member("created_at").instant(webhook.id.ulid.time());
  json.end_object();
}

void write_delivery(Writer& json, const model::DeliveryRecord& delivery, base::Instant /*now*/) {
  json.begin_object();
  json.member("id").id(delivery.id);
  json.member("webhook_id").id(delivery.webhook);
  json.member("event").string(delivery.event.view());
  json.member("state").plain(model::to_string(delivery.state));
  write_id(json, "job_id", delivery.job);
  write_text(json, "queue", delivery.queue);
  json.member("at").instant(delivery.at);
  json.member("attempts").number(delivery.attempts);
  write_instant(json, "next_attempt_at", delivery.next_attempt_at);
  json.member("status");
  if (delivery.status != 0)
    json.number(delivery.status);
  else
    json.null();
  write_text(json, "error", delivery.error);
  write_instant(json, "ended_at", delivery.ended_at);
  json.end_object();
}

constexpr Shape<model::WebhookRecord> kWebhookShape{
    .list = "webhooks",
    .what = "webhook",
    .write = write_webhook,
    .name = [](const model::WebhookRecord& webhook) { return webhook.id.text(); }};

class WebhookChanged final : public Exchange {
 public:
  WebhookChanged(call::Inbox& inbox, int code) : Exchange(inbox), code_(code) {}

 private:
  void render(Answer& out) const override {
    const auto* reply = reply_as<command::WebhookReply>(replies[0], out);
    if (reply == nullptr) return;
    out.status = code_;
    Writer json(out.body);
    write_webhook(json, reply->webhook, {});
  }

  int code_;
};

/// A test and a retry: the delivery goes out as soon as the sender comes by.
class DeliveryMade final : public Exchange {
 public:
  using Exchange::Exchange;

 private:
  void render(Answer& out) const override {
    const auto* reply = reply_as<command::DeliveryReply>(replies[0], out);
    if (reply == nullptr) return;
    out.status = 202;
    Writer json(out.body);
    write_delivery(json, reply->delivery, {});
  }
};

class DeliveryList final : public Exchange {
 public:
  DeliveryList(call::Inbox& inbox, base::WebhookId webhook) : Exchange(inbox), webhook_(webhook) {}

 private:
  void render(Answer& out) const override {
    const auto* page = std::get_if<call::DeliveryPage>(&answer);
    if (page == nullptr) return face::write(Problem{}, out);
    if (!page->found) return face::write(not_found("webhook", webhook_.text()), out);
    Writer json(out.body);
    json.begin_object();
    json.member("deliveries").begin_array();
    for (const auto& delivery : page->rows) write_delivery(json, delivery, page->now);
    json.end_array();
    json.member("cursor");
    if (page->more)
      json.plain(cursor_after(webhook_.text(), page->rows.back().id.sequence()));
    else
      json.null();
    json.member("has_more").boolean(page->more);
    json.end_object();
  }

  base::WebhookId webhook_;
};

std::expected<base::WebhookId, Problem> webhook_in(const Input& input) {
  const auto id = base::WebhookId::parse(input.id);
  if (!id || id->is_nil()) return std::unexpected(not_found("webhook", input.id));
  return *id;
}

/// Names of events; `*` stands for all, now and later.
bool read_events(Body& body, std::uint64_t& events) {
  bool all = false;
  const bool read = body.array(command::kEventTypes + 1, [&](std::size_t) {
    std::string_view name;
    if (!body.text(name)) return false;
    if (name == "*") return all = true;
    for (std::size_t i = 0; i < command::kEventTypes; ++i) {
      if (name != command::to_string(static_cast<command::EventType>(i))) continue;
      events |= std::uint64_t{1} << i;
      return true;
    }
    return body.refuse_value("has \"" + std::string(shown(name)) + "\", which is no type of event");
  });
  if (!read) return false;
  if (!all && events == 0) return body.refuse_value("names no event; leave it out for all");
  if (all) events = 0;
  return true;
}

bool read_url(Body& body, base::Blob& url) {
  if (!body.text(url)) return false;
  if (url.size() > model::limits::kUrl) return body.refuse_value("is too long");
  if (const auto parsed = base::parse_url(url.view()); !parsed)
    return body.refuse_value("is not accepted: " + parsed.error().message);
  return true;
}

std::expected<command::PutWebhook, Problem> read_webhook(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  command::PutWebhook command;
  command.keep_secret = true;
  auto& spec = command.spec;
  Body body(input.request.body);
  const auto is_null = [&] { return body.reader().peek() == base::json::Kind::null; };
  const bool read = body.object(
      kWebhookFields,
      [&](std::size_t i) {
        switch (i) {
          case 0:
            return read_url(body, spec.url);
          case 1:
            return read_events(body, spec.events);
          case 2:
            return body.text(spec.queue);
          case 3:
            command.keep_secret = false;
            return is_null() ? body.reader().null() : body.text(spec.secret);
          default:
            return body.boolean(spec.active);
        }
      },
      kSecretMayBeNull);
  if (!read || !body.finish() || (spec.url.empty() && !body.refuse_missing("url")))
    return std::unexpected(body.problem());
  return command;
}

}  // namespace

Outcome webhooks(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  auto exchange = std::make_unique<ListExchange<model::WebhookRecord>>(input.inbox, kWebhookShape);
  exchange->query = call::WebhooksQuery{};
  return exchange;
}

Outcome webhook(const Input& input) {
  const auto id = webhook_in(input);
  if (!id) return std::unexpected(id.error());
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  auto exchange =
      std::make_unique<OneExchange<model::WebhookRecord>>(input.inbox, kWebhookShape, input.id);
  exchange->query = call::WebhooksQuery{.only = *id};
  return exchange;
}

Outcome webhook_create(const Input& input) {
  auto command = read_webhook(input);
  if (!command) return std::unexpected(command.error());
  command->keep_secret = false;
  return call_with(std::make_unique<WebhookChanged>(input.inbox, 201), *std::move(command));
}

Outcome webhook_update(const Input& input) {
  const auto id = webhook_in(input);
  if (!id) return std::unexpected(id.error());
  auto command = read_webhook(input);
  if (!command) return std::unexpected(command.error());
  command->webhook = *id;
  return call_with(std::make_unique<WebhookChanged>(input.inbox, 200), *std::move(command));
}

Outcome webhook_delete(const Input& input) {
  const auto id = webhook_in(input);
  if (!id) return std::unexpected(id.error());
  if (auto problem = refuse_details(input)) return std::unexpected(*std::move(problem));
  return act(input, command::RemoveWebhook{*id},
             {.subject = "webhook_id", .name = input.id, .status = "deleted"});
}

Outcome webhook_test(const Input& input) {
  const auto id = webhook_in(input);
  if (!id) return std::unexpected(id.error());
  if (auto problem = refuse_details(input)) return std::unexpected(*std::move(problem));
  return call_with(std::make_unique<DeliveryMade>(input.inbox), command::TestWebhook{*id});
}

Outcome deliveries(const Input& input) {
  const auto id = webhook_in(input);
  if (!id) return std::unexpected(id.error());
  const auto given = Parameters::read(input.request.query, {"cursor", "limit", "state"});
  if (!given) return std::unexpected(given.error());
  call::DeliveriesQuery query{.webhook = *id};
  // Each webhook's deliveries are a list of their own.
  if (auto problem = given->cursor(id->text(), query.before))
    return std::unexpected(*std::move(problem));
  std::uint64_t limit = 100;
  if (auto problem = given->integer("limit", 1, kMostRows, limit))
    return std::unexpected(*std::move(problem));
  query.limit = static_cast<std::uint32_t>(limit);
  if (!given->text("state").empty()) {
    std::size_t state = 0;
    if (auto problem = given->choice("state", kDeliveryStates, state))
      return std::unexpected(*std::move(problem));
    query.state = static_cast<model::DeliveryState>(state);
  }
  auto exchange = std::make_unique<DeliveryList>(input.inbox, *id);
  exchange->query = query;
  return exchange;
}

Outcome delivery_retry(const Input& input) {
  const auto id = webhook_in(input);
  if (!id) return std::unexpected(id.error());
  const auto delivery = base::DeliveryId::parse(input.second);
  if (!delivery || delivery->is_nil()) return std::unexpected(not_found("delivery", input.second));
  if (auto problem = refuse_details(input)) return std::unexpected(*std::move(problem));
  command::RetryDelivery command;
  command.delivery.id = *delivery;
  command.delivery.webhook = *id;
  return call_with(std::make_unique<DeliveryMade>(input.inbox), std::move(command));
}

}  // namespace jobbie::face::native
