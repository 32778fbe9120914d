// Sends the deliveries of the outbox, and reports through the log what came of each.
//
// One thread asks the node what is due whenever the outbox has changed or a delivery's time has
// come; a few others send. A node that does not lead says that nothing is due. What is under way
// when the process ends stays in the outbox and is sent again.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "call/call.hpp"
#include "call/desk.hpp"
#include "effects/http_client.hpp"

namespace jobbie::effects {

/// The body of a delivery: the event as JSON.
[[nodiscard]] std::string body_of(const model::DeliveryRecord& delivery);

/// `t=<seconds>,v1=<hex>`: HMAC-SHA-256 of `<seconds>.<body>` with the webhook's secret.
[[nodiscard]] std::string signature_of(std::string_view secret, std::int64_t at_s,
                                       std::string_view body);

class WebhookSender {
 public:
  /// Threads that send.
  static constexpr std::size_t kThreads = 8;
  /// Deliveries under way to one webhook: one that is slow leaves room for the others.
  static constexpr std::size_t kEach = 3;

  /// Both must outlive it. A service without a bell has no webhooks, and nothing is done.
  WebhookSender(call::Service& service, const AllowList& allow);
  /// Ends what is under way within moments.
  ~WebhookSender();
  WebhookSender(const WebhookSender&) = delete;
  WebhookSender& operator=(const WebhookSender&) = delete;

 private:
  void watch();
  void send_parcels();
  /// The command that tells of an attempt.
  command::SettleDelivery attempt(const model::OutboxEntry& parcel);
  bool report(call::Desk& desk, const command::SettleDelivery& settle);
  void take(std::vector<model::OutboxEntry> due);

  call::Service& service_;
  HttpClient client_;

  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<model::OutboxEntry> parcels_;
  std::set<base::DeliveryId> under_way_;         ///< in parcels_, or being sent
  std::map<base::WebhookId, std::size_t> busy_;  ///< the same, counted by webhook
  bool stopping_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace jobbie::effects
