// The statements for webhooks and deliveries.
#include "store/webhook_rows.hpp"

#include <limits>
#include <string_view>
#include <utility>

#include "command/codec.hpp"
#include "store/store.hpp"

namespace jobbie::store {
namespace {

base::Result<model::DeliveryRecord> record_in(const Statement& row) {
  auto item = command::decode_item(row.bytes(0));
  if (!item) return std::unexpected(std::move(item).error());
  auto* delivery = std::get_if<model::DeliveryRecord>(&*item);
  if (delivery == nullptr) return std::unexpected(corrupt_row("a delivery"));
  return std::move(*delivery);
}

}  // namespace

base::Result<WebhookWriter> WebhookWriter::make(Connection& connection) {
  WebhookWriter writer;
  const std::pair<Statement*, std::string_view> wanted[] = {
      {&writer.put_webhook_, "INSERT OR REPLACE INTO webhook_rows VALUES (?1, ?2, ?3, ?4, ?5, ?6)"},
      {&writer.put_delivery_,
       "INSERT OR REPLACE INTO delivery_rows VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"},
      {&writer.delete_webhook_, "DELETE FROM webhook_rows WHERE seq = ?1"},
      {&writer.delete_deliveries_, "DELETE FROM delivery_rows WHERE webhook = ?1"}};
  for (const auto& [statement, sql] : wanted) {
    auto prepared = connection.prepare(sql);
    if (!prepared) return std::unexpected(std::move(prepared).error());
    *statement = *std::move(prepared);
  }
  return writer;
}

bool WebhookWriter::put(const model::WebhookRecord& webhook) {
  scratch_.clear();
  command::encode(command::Item(webhook), scratch_);
  put_webhook_.bind(1, webhook.id.sequence());
  put_webhook_.bind_copy(2, webhook.id.text());
  put_webhook_.bind_key(3, webhook.spec.url.view());
  put_webhook_.bind(4, std::int64_t{webhook.spec.active});
  put_webhook_.bind(5, webhook.id.ulid.time().ms);
  put_webhook_.bind_blob(6, scratch_);
  return put_webhook_.run();
}

bool WebhookWriter::put(const model::DeliveryRecord& delivery) {
  scratch_.clear();
  command::encode(command::Item(delivery), scratch_);
  put_delivery_.bind(1, delivery.id.sequence());
  put_delivery_.bind_copy(2, delivery.id.text());
  put_delivery_.bind(3, delivery.webhook.sequence());
  put_delivery_.bind_key(4, delivery.event.view());
  put_delivery_.bind(5, static_cast<std::int64_t>(delivery.state));
  put_delivery_.bind(6, std::int64_t{delivery.attempts});
  put_delivery_.bind(7, std::int64_t{delivery.status});
  put_delivery_.bind(8, delivery.ended_at);
  put_delivery_.bind_blob(9, scratch_);
  return put_delivery_.run();
}

bool WebhookWriter::remove(const command::RemovedWebhook& removed) {
  for (auto* statement : {&delete_webhook_, &delete_deliveries_}) {
    statement->bind(1, removed.webhook.sequence());
    if (!statement->run()) return false;
  }
  return true;
}

base::Result<std::vector<model::DeliveryRecord>> read_deliveries(Connection& connection,
                                                                 const DeliveriesWanted& wanted) {
  auto select = connection.prepare(
      "SELECT record FROM delivery_rows WHERE webhook = ?1 AND seq < ?2 "
      "AND (?3 IS NULL OR state = ?3) ORDER BY seq DESC LIMIT ?4");
  if (!select) return std::unexpected(std::move(select).error());
  select->bind(1, wanted.webhook.sequence());
  select->bind(2, wanted.before == 0 ? std::numeric_limits<std::int64_t>::max()
                                     : static_cast<std::int64_t>(wanted.before));
  if (wanted.state)
    select->bind(3, static_cast<std::int64_t>(*wanted.state));
  else
    select->bind_null(3);
  select->bind(4, static_cast<std::int64_t>(wanted.limit));
  base::Result<std::vector<model::DeliveryRecord>> out;
  for (;;) {
    const Step step = select->step();
    if (step == Step::done) return out;
    if (step == Step::failed) return std::unexpected(connection.error());
    auto record = record_in(*select);
    if (!record) return std::unexpected(std::move(record).error());
    out->push_back(*std::move(record));
  }
}

base::Result<std::optional<model::DeliveryRecord>> read_delivery(Connection& connection,
                                                                 base::DeliveryId id) {
  auto select = connection.prepare("SELECT record FROM delivery_rows WHERE seq = ?1");
  if (!select) return std::unexpected(std::move(select).error());
  select->bind(1, id.sequence());
  const Step step = select->step();
  if (step == Step::failed) return std::unexpected(connection.error());
  if (step == Step::done) return std::nullopt;
  auto record = record_in(*select);
  if (!record) return std::unexpected(std::move(record).error());
  if (record->id != id) return std::nullopt;
  return std::optional(*std::move(record));
}

}  // namespace jobbie::store
