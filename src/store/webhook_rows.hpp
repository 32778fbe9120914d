// Webhooks and their deliveries as rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "command/item.hpp"
#include "store/sqlite.hpp"

namespace jobbie::store {

struct DeliveriesWanted;

/// A part of the change writer, under the same rules.
class WebhookWriter {
 public:
  WebhookWriter() = default;
  static base::Result<WebhookWriter> make(Connection& connection);

  [[nodiscard]] bool put(const model::WebhookRecord& webhook);
  [[nodiscard]] bool put(const model::DeliveryRecord& delivery);
  [[nodiscard]] bool remove(const command::RemovedWebhook& removed);

 private:
  Statement put_webhook_;
  Statement put_delivery_;
  Statement delete_webhook_;
  Statement delete_deliveries_;
  std::string scratch_;  ///< bytes bound to a statement until it has run
};

base::Result<std::vector<model::DeliveryRecord>> read_deliveries(Connection& connection,
                                                                 const DeliveriesWanted& wanted);
base::Result<std::optional<model::DeliveryRecord>> read_delivery(Connection& connection,
                                                                 base::DeliveryId id);

}  // namespace jobbie::store
