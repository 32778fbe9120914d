// The threads, and one delivery as an HTTP request.
#include "effects/webhook_sender.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/digest.hpp"
#include "base/json_writer.hpp"
#include "call/bell.hpp"
#include "call/desk.hpp"
#include "model/limits.hpp"

namespace jobbie::effects {
namespace {

using std::chrono::milliseconds;

/// Asked again after this long even if nobody rings, and sooner after trouble.
constexpr milliseconds kIdle{5'000};
constexpr milliseconds kTrouble{1'000};
constexpr milliseconds kTimeout{10'000};

std::int64_t wall_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

bool is_success(int status) { return status >= 200 && status < 300; }

}  // namespace

std::string body_of(const model::DeliveryRecord& delivery) {
  std::string out;
  base::json::Writer json(out);
  json.begin_object();
  json.member("id").id(delivery.id);
  json.member("webhook_id").id(delivery.webhook);
  json.member("type").string(delivery.event.view());
  json.member("at").instant(delivery.at);
  json.member("job_id");
  if (delivery.job.is_nil())
    json.null();
  else
    json.id(delivery.job);
  json.member("queue");
  if (delivery.queue)
    json.string(delivery.queue.view());
  else
    json.null();
  if (delivery.attempt != 0) json.member("attempt").number(delivery.attempt);
  if (delivery.detail) json.member("detail").string(delivery.detail.view());
  json.end_object();
  return out;
}

std::string signature_of(std::string_view secret, std::int64_t at_s, std::string_view body) {
  const auto signed_text = fmt::format("{}.{}", at_s, body);
  return fmt::format("t={},v1={}", at_s,
                     base::hex(base::bytes_of(base::hmac_sha256(secret, signed_text))));
}

WebhookSender::WebhookSender(call::Service& service, const AllowList& allow)
    : service_(service), client_(allow) {
  if (service_.outbox_bell() == nullptr) return;
  threads_.emplace_back([this] { watch(); });
  for (std::size_t i = 0; i < kThreads; ++i) threads_.emplace_back([this] { send_parcels(); });
}

WebhookSender::~WebhookSender() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  client_.stop();
  work_.notify_all();
  if (auto* bell = service_.outbox_bell()) bell->ring();
  for (auto& thread : threads_) thread.join();
}

void WebhookSender::watch() {
  call::Desk desk(service_);
  call::Bell& bell = *service_.outbox_bell();
  std::uint64_t heard = 0;
  milliseconds patience{0};
  for (;;) {
    bell.wait(heard, patience);
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    auto question = desk.make();
    question->query = call::OutboxQuery{.each = kEach * 2};
    const auto back = desk.ask(std::move(question));
    auto* outbox = std::get_if<model::Outbox>(&back->answer);
    if (outbox == nullptr) {
      patience = kTrouble;
      continue;
    }
    patience = kIdle;
    if (outbox->next != base::kNever)
      patience = milliseconds(
          std::clamp<std::int64_t>((outbox->next - outbox->now).ms + 1, 1, kIdle.count()));
    take(std::move(outbox->due));
  }
}

void WebhookSender::take(std::vector<model::OutboxEntry> due) {
  {
    const std::lock_guard lock(mutex_);
    for (auto& entry : due) {
      const auto& delivery = entry.delivery;
      auto& busy = busy_[delivery.webhook];
      if (busy >= kEach || !under_way_.insert(delivery.id).second) continue;
      ++busy;
      parcels_.push_back(std::move(entry));
    }
    std::erase_if(busy_, [](const auto& entry) { return entry.second == 0; });
  }
  work_.notify_all();
}

void WebhookSender::send_parcels() {
  call::Desk desk(service_);
  for (;;) {
    model::OutboxEntry parcel;
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [this] { return stopping_ || !parcels_.empty(); });
      if (stopping_) return;
      parcel = std::move(parcels_.front());
      parcels_.pop_front();
    }
    if (!report(desk, attempt(parcel))) return;
    {
      const std::lock_guard lock(mutex_);
      under_way_.erase(parcel.delivery.id);
      --busy_[parcel.delivery.webhook];
    }
    // Only now may the next one to this webhook be taken.
    service_.outbox_bell()->ring();
  }
}

/// Until the node has taken it: what was sent must not be sent again because the disk is full.
/// False: the sender is stopping.
bool WebhookSender::report(call::Desk& desk, const command::SettleDelivery& settle) {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return false;
    }
    auto call = desk.make();
    call->commands.emplace_back(settle);
    if (desk.ask(std::move(call))->trouble == call::Trouble::none) return true;
    std::unique_lock lock(mutex_);
    work_.wait_for(lock, kTrouble, [this] { return stopping_; });
  }
}

command::SettleDelivery WebhookSender::attempt(const model::OutboxEntry& parcel) {
  const auto& delivery = parcel.delivery;
  command::SettleDelivery settle{.delivery = delivery.id, .attempt = delivery.attempts};
  const auto fail = [&](const base::Error& error) {
    const auto text = error.code + ": " + error.message;
    settle.error = base::Blob(text.substr(0, model::limits::kDeliveryError));
    return settle;
  };
  auto url = base::parse_url(parcel.url.view());
  if (!url) return fail(url.error());
  const auto body = body_of(delivery);
  Post post{.url = *std::move(url),
            .headers = {{"jobbie-event", std::string(delivery.event.view())},
                        {"jobbie-delivery", delivery.id.text()}},
            .body = body,
            .timeout = kTimeout};
  if (parcel.secret)
    post.headers.emplace_back("jobbie-signature",
                              signature_of(parcel.secret.view(), wall_seconds(), body));
  const auto status = client_.send(post);
  if (!status) return fail(status.error());
  settle.status = static_cast<std::uint32_t>(*status);
  settle.delivered = is_success(*status);
  if (!settle.delivered)
    settle.error = base::Blob(fmt::format("the receiver answered {}", *status));
  return settle;
}

}  // namespace jobbie::effects
