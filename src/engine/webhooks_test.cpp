// Webhooks: which events become deliveries, how they are tried again, and how they end.
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "engine/nothing_ended.hpp"
#include "model/limits.hpp"

namespace jobbie::engine {
namespace {

using base::Blob;
using command::EventType;
using command::Refused;
using model::DeliveryState;

std::uint64_t bits(std::initializer_list<EventType> types) {
  std::uint64_t out = 0;
  for (const auto type : types) out |= std::uint64_t{1} << static_cast<unsigned>(type);
  return out;
}

class Webhooks : public ::testing::Test {
 protected:
  command::Reply one(command::Command command) {
    now_ += 10;
    return engine_.apply({.now = {now_}, .random = 99, .commands = {std::move(command)}})
        .replies.front();
  }
  base::WebhookId hook(std::uint64_t events, std::string_view queue = {}, bool active = true) {
    command::PutWebhook put;
    put.spec = {.url = Blob("http://h/"),
                .events = events,
                .queue = Blob(queue),
                .secret = Blob("s"),
                .active = active};
    return std::get<command::WebhookReply>(one(std::move(put))).webhook.id;
  }
  base::JobId enqueue(std::string_view queue) {
    command::Enqueue enqueue;
    enqueue.job.queue = Blob(queue);
    enqueue.job.payload = Blob("{}");
    return std::get<command::Enqueued>(one(std::move(enqueue))).job;
  }
  model::Outbox due(std::size_t each = 100) { return engine_.due_deliveries({now_}, each); }
  std::vector<std::string> events() {
    std::vector<std::string> out;
    for (const auto& entry : due().due) out.emplace_back(entry.delivery.event.view());
    return out;
  }
  command::Reply settle(const model::DeliveryRecord& delivery, bool delivered) {
    return one(command::SettleDelivery{.delivery = delivery.id,
                                       .attempt = delivery.attempts,
                                       .delivered = delivered,
                                       .status = delivered ? 200U : 500U,
                                       .error = delivered ? Blob() : Blob("no")});
  }
  static Refused refused(const command::Reply& reply) {
    return std::get<command::Refusal>(reply).code;
  }
  std::vector<model::DeliveryRecord> stored() {
    std::vector<model::DeliveryRecord> out;
    for (const auto& change : engine_.drain_changes())
      if (const auto* item = command::item_in(change))
        if (const auto* delivery = std::get_if<model::DeliveryRecord>(item))
          out.push_back(*delivery);
    return out;
  }

  std::int64_t now_ = 1'000'000;
  NothingEnded ended_;
  Engine engine_{ended_};
};

using Strings = std::vector<std::string>;

TEST_F(Webhooks, GetTheEventsTheyWant) {
  enqueue("a");
  EXPECT_TRUE(due().due.empty());
  hook(bits({EventType::completed}), "a*");
  hook(bits({EventType::enqueued}), "b");
  hook(0, {}, false);
  enqueue("a");
  EXPECT_EQ(events(), Strings{});
  enqueue("b");
  EXPECT_EQ(events(), Strings{"enqueued"});
  const auto claimed =
      std::get<command::Claimed>(one(command::Claim{.queues = {Blob("a")}, .count = 1}));
  one(command::Ack{.ref = {.job = claimed.jobs.at(0).job}});
  EXPECT_EQ(events(), (Strings{"completed", "enqueued"}));
  const auto entry = due().due.at(0);
  EXPECT_EQ(entry.url.view(), "http://h/");
  EXPECT_EQ(entry.secret.view(), "s");
  EXPECT_EQ(entry.delivery.job, claimed.jobs.at(0).job);
  EXPECT_EQ(entry.delivery.queue.view(), "a");
  EXPECT_EQ(entry.delivery.at.ms, now_);
}

TEST_F(Webhooks, AnAttemptThatFailedIsMadeAgainLater) {
  hook(bits({EventType::enqueued}));
  enqueue("a");
  std::int64_t waited = 0;
  for (std::uint32_t i = 0; i < model::limits::kDeliveryAttempts; ++i) {
    const auto ready = due();
    ASSERT_EQ(ready.due.size(), 1U) << i;
    const auto delivery = ready.due.front().delivery;
    EXPECT_EQ(delivery.attempts, i);
    settle(delivery, false);
    EXPECT_EQ(refused(settle(delivery, false)), i + 1 == model::limits::kDeliveryAttempts
                                                    ? Refused::not_found
                                                    : Refused::wrong_state);
    EXPECT_TRUE(due().due.empty());
    const auto next = due().next;
    if (next == base::kNever) break;
    EXPECT_GE(next.ms - now_, 4'900);
    waited += next.ms - now_;
    now_ = next.ms;
  }
  EXPECT_GT(waited, 50 * 60'000);
  EXPECT_LT(waited, 80 * 60'000);
  const auto records = stored();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].state, DeliveryState::failed);
  EXPECT_EQ(records[0].status, 500U);
  EXPECT_EQ(engine_.webhooks().front().failed, 1U);
  // It is known to the store alone now; given back, it goes out again.
  EXPECT_TRUE(std::holds_alternative<command::DeliveryReply>(
      one(command::RetryDelivery{.delivery = records[0]})));
  ASSERT_EQ(due().due.size(), 1U);
  EXPECT_EQ(due().due[0].delivery.attempts, 0U);
  settle(due().due[0].delivery, true);
  EXPECT_EQ(stored().at(0).state, DeliveryState::delivered);
}

TEST_F(Webhooks, ARetryOfWhatNobodyKnowsIsRefused) {
  const auto id = hook(0);
  const auto other = hook(bits({EventType::dead}));
  enqueue("a");
  auto delivery = due().due.front().delivery;
  delivery.webhook = other;
  EXPECT_EQ(refused(one(command::RetryDelivery{.delivery = delivery})), Refused::not_found);
  model::DeliveryRecord made_up{.id = {base::Ulid::make({1}, 1'000'000, 1)}, .webhook = id};
  made_up.state = DeliveryState::failed;
  EXPECT_EQ(refused(one(command::RetryDelivery{.delivery = made_up})), Refused::not_found);
  // One that waits is not pushed aside by another of its number, nor sent to another webhook.
  delivery.state = DeliveryState::failed;
  EXPECT_EQ(refused(one(command::RetryDelivery{.delivery = delivery})), Refused::not_found);
  delivery.webhook = id;
  delivery.id.ulid.low ^= 1;
  EXPECT_EQ(refused(one(command::RetryDelivery{.delivery = delivery})), Refused::not_found);
  EXPECT_EQ(due().due.size(), 1U);
}

TEST_F(Webhooks, OneThatIsNotActiveIsSentTestsAlone) {
  const auto id = hook(bits({EventType::enqueued}));
  enqueue("a");
  command::PutWebhook off{.webhook = id, .spec = {.url = Blob("http://i/")}, .keep_secret = true};
  off.spec.active = false;
  const auto changed = std::get<command::WebhookReply>(one(off)).webhook;
  EXPECT_EQ(changed.spec.secret.view(), "s");
  enqueue("a");
  EXPECT_EQ(events(), Strings{});
  one(command::TestWebhook{id});
  EXPECT_EQ(events(), Strings{"test"});
  off.spec.active = true;
  one(off);
  EXPECT_EQ(events(), (Strings{"enqueued", "test"}));
}

TEST_F(Webhooks, TheOutboxIsBounded) {
  const auto id = hook(bits({EventType::enqueued}));
  for (std::size_t i = 0; i < model::limits::kOutbox + 3; ++i) enqueue("a");
  EXPECT_EQ(due(1'000'000).due.size(), model::limits::kOutbox);
  EXPECT_EQ(engine_.webhook(id)->dropped, 3U);
  EXPECT_EQ(refused(one(command::TestWebhook{id})), Refused::limit_reached);
  EXPECT_EQ(due(7).due.size(), 7U);
}

TEST_F(Webhooks, GoWithTheirDeliveries) {
  const auto id = hook(0);
  enqueue("a");
  EXPECT_TRUE(std::holds_alternative<command::Done>(one(command::RemoveWebhook{id})));
  EXPECT_TRUE(due().due.empty());
  EXPECT_TRUE(stored().empty());
  EXPECT_EQ(refused(one(command::RemoveWebhook{id})), Refused::not_found);
  EXPECT_EQ(refused(one(command::TestWebhook{id})), Refused::not_found);
  enqueue("a");
  EXPECT_TRUE(due().due.empty());
}

TEST_F(Webhooks, SurviveACheckpoint) {
  hook(bits({EventType::enqueued}));
  enqueue("a");
  enqueue("b");
  settle(due().due.front().delivery, false);
  engine_.drain_changes();
  Loader loader(ended_);
  engine_.dump([&](const command::Item& item) { ASSERT_TRUE(loader.add(item)); });
  auto loaded = loader.finish();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->state_hash(), engine_.state_hash());
  const auto mine = due();
  const auto theirs = loaded->due_deliveries({now_}, 100);
  ASSERT_EQ(theirs.due.size(), mine.due.size());
  EXPECT_EQ(theirs.due[0].delivery, mine.due[0].delivery);
  EXPECT_EQ(theirs.next, mine.next);
  EXPECT_TRUE(loaded->drain_changes().size() == 1);  // the counters alone
}

TEST_F(Webhooks, ALongDetailIsCutBetweenCharacters) {
  hook(bits({EventType::failed}));
  const auto job = enqueue("a");
  one(command::Claim{.queues = {Blob("a")}, .count = 1});
  std::string text = "x";
  while (text.size() < 3000) text += "ä";
  one(command::Fail{.ref = {.job = job}, .error = Blob(text)});
  const auto detail = due().due.at(0).delivery.detail;
  EXPECT_LE(detail.size(), model::limits::kDeliveryDetail);
  EXPECT_EQ(detail.size() % 2, 1U);
}

}  // namespace
}  // namespace jobbie::engine
