// Webhooks and their deliveries, as values.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/blob.hpp"
#include "base/id.hpp"
#include "base/time.hpp"

namespace jobbie::model {

using base::Blob;
using base::DeliveryId;
using base::Instant;
using base::JobId;
using base::WebhookId;

struct WebhookSpec {
  Blob url;
  std::uint64_t events = 0;  ///< a bit for each type of event; zero: all
  Blob queue;                ///< a name or glob; empty: all, also events without a queue
  Blob secret;               ///< signs deliveries; empty: they are not signed
  bool active = true;
  bool operator==(const WebhookSpec&) const = default;
};

struct WebhookRecord {
  WebhookId id;
  WebhookSpec spec;
  std::uint64_t delivered = 0;
  std::uint64_t failed = 0;   ///< given up after the last attempt
  std::uint64_t dropped = 0;  ///< not even tried: too many waited
  bool operator==(const WebhookRecord&) const = default;
};

/// Values are part of the format: append only.
enum class DeliveryState : std::uint8_t { pending = 0, delivered = 1, failed = 2 };
const char* to_string(DeliveryState state);

/// One event on its way to one webhook.
struct DeliveryRecord {
  DeliveryId id;
  WebhookId webhook;
  Blob event;  ///< the type's name
  JobId job;
  Blob queue;
  Instant at;
  std::uint32_t attempt = 0;  ///< the job's
  Blob detail;
  DeliveryState state = DeliveryState::pending;
  std::uint32_t attempts = 0;  ///< of the delivery
  Instant next_attempt_at;     ///< zero: it has ended
  std::uint32_t status = 0;    ///< of the latest answer; zero: there was none
  Blob error;                  ///< why the latest attempt came to nothing
  Instant ended_at;
  bool operator==(const DeliveryRecord&) const = default;
};

/// The event of a delivery that somebody asked for to see whether it arrives.
inline constexpr std::string_view kTestEvent = "test";

/// A delivery and where it goes.
struct OutboxEntry {
  DeliveryRecord delivery;
  Blob url;
  Blob secret;
};

/// Deliveries whose time has come, and when the next one's comes.
struct Outbox {
  std::vector<OutboxEntry> due;
  Instant next = base::kNever;
  Instant now;
};

}  // namespace jobbie::model
