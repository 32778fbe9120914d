// Keys, the audit log, webhooks and their deliveries, as the store keeps them.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "store/store_test_support.hpp"

namespace jobbie::store {
namespace {

using testing::kLong;
using testing::load_all;
using testing::open_store;
using testing::TempFolder;
using testing::golden::full_delivery;
using testing::golden::full_key;
using testing::golden::full_webhook;
using testing::golden::id;
using testing::golden::text;

model::AuditRecord action(std::int64_t at, const std::string& who, const std::string& what) {
  return {.at = {at},
          .key = text("key_" + who),
          .name = text(who),
          .address = text("10.0.0.1"),
          .action = text(what),
          .target = text("q"),
          .outcome = text("ok")};
}

class AccessRowsTest : public ::testing::Test {
 protected:
  void SetUp() override { store_ = open_store(folder_.file()); }
  template <typename... Each>
  void write(Each... each) {
    command::Changes changes;
    (changes.emplace_back(std::move(each)), ...);
    store_->write(++index_, std::move(changes));
    ASSERT_TRUE(store_->wait_until_written(index_, kLong));
  }
  std::string audit(AuditWanted wanted) {
    const auto rows = store_->audit(wanted);
    EXPECT_TRUE(rows.has_value());
    std::string out;
    for (const auto& [number, record] : *rows)
      out += std::to_string(number) + ":" + std::string(record.action.view()) + " ";
    return out;
  }
  static model::DeliveryRecord delivery(std::uint64_t seq, model::DeliveryState state) {
    auto out = full_delivery();
    out.id = id<base::DeliveryId>(seq);
    out.state = state;
    if (state == model::DeliveryState::pending) out.ended_at = {};
    return out;
  }
  std::string deliveries(DeliveriesWanted wanted) {
    const auto rows = store_->deliveries(wanted);
    EXPECT_TRUE(rows.has_value());
    std::string out;
    for (const auto& row : *rows) out += std::to_string(row.id.sequence()) + " ";
    return out;
  }

  const TempFolder folder_;
  std::unique_ptr<Store> store_;
  std::uint64_t index_ = 0;
};

TEST_F(AccessRowsTest, KeysAreLoadedUntilTheyAreRemoved) {
  const model::KeyRecord a{.id = id<base::KeyId>(1), .spec = full_key()};
  model::KeyRecord b{.id = id<base::KeyId>(2), .spec = full_key()};
  write(command::Item(model::MetaRecord{.next_sequence = 9}), command::Item(a), command::Item(b));
  write(command::RemovedKey{a.id});
  const auto loaded = load_all(*store_);
  ASSERT_TRUE(loaded);
  ASSERT_EQ(loaded->keys.size(), 1U);
  EXPECT_EQ(loaded->keys.begin()->second, b);
}

TEST_F(AccessRowsTest, TheAuditLogIsReadNewestFirst) {
  write(command::Audited{action(100, "a", "one")}, command::Audited{action(200, "b", "two")});
  write(command::Audited{action(300, "a", "three")});
  EXPECT_EQ(audit({.limit = 9}), "3:three 2:two 1:one ");
  EXPECT_EQ(audit({.limit = 2}), "3:three 2:two ");
  EXPECT_EQ(audit({.before = 2, .limit = 2}), "1:one ");
  EXPECT_EQ(audit({.limit = 9, .key = "a"}), "3:three 1:one ");
  EXPECT_EQ(audit({.limit = 9, .key = "key_b"}), "2:two ");
  EXPECT_EQ(audit({.limit = 9, .action = "two"}), "2:two ");
  EXPECT_EQ(audit({.limit = 9, .target = "q"}), "3:three 2:two 1:one ");
  EXPECT_EQ(audit({.limit = 9, .target = "r"}), "");
  EXPECT_EQ(audit({.limit = 9, .since = {200}}), "3:three 2:two ");
  EXPECT_EQ(audit({.limit = 9, .until = {200}}), "1:one ");
  const auto row = store_->audit({.before = 2, .limit = 1})->front().second;
  EXPECT_EQ(row, action(100, "a", "one"));
}

TEST_F(AccessRowsTest, WhatIsOldIsSweptAway) {
  const auto now = base::Instant{} + base::days(100);
  write(command::Audited{action(1, "a", "old")},
        command::Item(delivery(80, model::DeliveryState::failed)),
        command::Item(model::MetaRecord{.now = {2}, .next_sequence = 99}));
  auto fresh = delivery(81, model::DeliveryState::delivered);
  fresh.ended_at = now;
  auto old = delivery(80, model::DeliveryState::failed);
  old.ended_at = {5};
  write(command::Audited{action(now.ms, "a", "new")}, command::Item(fresh), command::Item(old),
        command::Item(delivery(79, model::DeliveryState::pending)),
        command::Item(model::MetaRecord{.now = now, .next_sequence = 99}));
  // The sweeper works between transactions; the next ones give it its turns.
  const auto swept = [&] {
    return audit({.limit = 9}) == "2:new " &&
           deliveries({.webhook = full_delivery().webhook, .limit = 9}) == "81 79 ";
  };
  for (int turn = 0; turn < 200 && !swept(); ++turn)
    write(command::Item(
        model::MetaRecord{.now = now + base::minutes(11 * turn), .next_sequence = 99}));
  EXPECT_EQ(audit({.limit = 9}), "2:new ");
  EXPECT_EQ(deliveries({.webhook = full_delivery().webhook, .limit = 9}), "81 79 ");
}

TEST_F(AccessRowsTest, OnlyDeliveriesThatWaitAreLoaded) {
  const model::WebhookRecord webhook{.id = full_delivery().webhook, .spec = full_webhook()};
  write(command::Item(model::MetaRecord{.next_sequence = 99}), command::Item(webhook),
        command::Item(delivery(81, model::DeliveryState::pending)),
        command::Item(delivery(82, model::DeliveryState::pending)));
  write(command::Item(delivery(82, model::DeliveryState::delivered)));
  const auto loaded = load_all(*store_);
  ASSERT_TRUE(loaded);
  ASSERT_EQ(loaded->deliveries.size(), 1U);
  EXPECT_EQ(loaded->deliveries.begin()->first.sequence(), 81U);
  EXPECT_EQ(loaded->webhooks.at(webhook.id), webhook);
  EXPECT_EQ(deliveries({.webhook = webhook.id, .limit = 9}), "82 81 ");
  EXPECT_EQ(deliveries({.webhook = webhook.id, .before = 82, .limit = 9}), "81 ");
  EXPECT_EQ(
      deliveries({.webhook = webhook.id, .limit = 9, .state = model::DeliveryState::delivered}),
      "82 ");
  EXPECT_TRUE(store_->delivery(id<base::DeliveryId>(82))->has_value());
  EXPECT_FALSE(store_->delivery(id<base::DeliveryId>(83))->has_value());
  write(command::RemovedWebhook{webhook.id});
  EXPECT_EQ(deliveries({.webhook = webhook.id, .limit = 9}), "");
  EXPECT_TRUE(load_all(*store_)->webhooks.empty());
}

}  // namespace
}  // namespace jobbie::store
