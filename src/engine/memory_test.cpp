// The account of memory, and memory that is given back.
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "command/codec.hpp"
#include "engine/engine.hpp"
#include "engine/idempotency_table.hpp"
#include "engine/nothing_ended.hpp"

namespace jobbie::engine {
namespace {

class MemoryTest : public ::testing::Test {
 protected:
  std::vector<command::Reply> apply(std::vector<command::Command> commands) {
    command::Entry entry{
        .now = now_ = now_ + base::milliseconds(1), .random = 7, .commands = std::move(commands)};
    auto replies = engine_.apply(entry).replies;
    EXPECT_EQ(engine_.audit(), "");
    return replies;
  }
  command::Enqueue job(std::size_t bytes) const {
    command::Enqueue enqueue;
    enqueue.job.queue = base::Blob("q");
    enqueue.job.payload = base::Blob(std::string(bytes, '7'));
    return enqueue;
  }
  command::ClaimedJob claim() {
    auto replies = apply({command::Claim{.queues = {base::Blob("q")}, .worker = base::Blob("w")}});
    return std::get<command::Claimed>(replies[0]).jobs.at(0);
  }

  NothingEnded ended_;
  Engine engine_{ended_};
  base::Instant now_{1'000'000};
};

TEST_F(MemoryTest, FollowsPayloadsCheckpointsAndErrors) {
  const auto empty = engine_.memory();
  apply({job(100'000)});
  const auto one = engine_.memory();
  EXPECT_GT(one, empty + 100'000);
  EXPECT_LT(one, empty + 115'000);
  const auto claimed = claim();
  command::Beat beat;
  beat.ref = {.job = claimed.job, .lease = claimed.lease};
  beat.checkpoint = base::Blob(std::string(50'000, 'c'));
  apply({command::Heartbeat{.beats = {beat}}});
  EXPECT_GT(engine_.memory(), one + 50'000);
  beat.checkpoint = base::Blob("{}");
  apply({command::Heartbeat{.beats = {beat}}});
  EXPECT_LT(engine_.memory(), one + 5'000);
  apply({command::Fail{.ref = beat.ref, .error = base::Blob(std::string(20'000, 'e'))}});
  EXPECT_GT(engine_.memory(), one + 20'000);
  // Deleted, nothing is left but the queue and the worker.
  apply({command::Delete{claimed.job}});
  EXPECT_LT(engine_.memory(), empty + 5'000);
}

TEST_F(MemoryTest, AnEndedJobCountsUntilItIsDrained) {
  apply({job(100'000)});
  const auto claimed = claim();
  apply({command::Ack{.ref = {.job = claimed.job, .lease = claimed.lease}}});
  EXPECT_GT(engine_.memory(), 100'000U);
  static_cast<void>(engine_.drain_changes());
  EXPECT_LT(engine_.memory(), 10'000U);
  EXPECT_EQ(engine_.audit(), "");
}

TEST_F(MemoryTest, CountsIdempotencyKeysBatchesAndSchedules) {
  auto enqueue = job(10);
  apply({enqueue});
  auto before = engine_.memory();
  enqueue.idempotency = {.key = base::Blob(std::string(200, 'k')), .fingerprint = 1};
  apply({enqueue});
  EXPECT_GT(engine_.memory(), before + 500);
  before = engine_.memory();
  command::EnqueueMany many;
  many.jobs.assign(2, job(10).job);
  many.batch = command::BatchSpec{
      .callback_queue = base::Blob("done"),
      .callback_payload = base::Blob("{\"x\":\"" + std::string(30'000, 'x') + "\"}")};
  apply({many});
  EXPECT_GT(engine_.memory(), before + 30'000);
}

TEST_F(MemoryTest, ALoadedEngineCountsTheSame) {
  for (int i = 0; i < 50; ++i) {
    auto enqueue = job(static_cast<std::size_t>(10 + i * 37));
    if (i % 3 == 0) enqueue.job.tags = base::Blob(R"({"a":1})");
    if (i % 5 == 0) enqueue.job.unique.key = base::Blob("u" + std::to_string(i));
    if (i % 7 == 0) enqueue.job.group = base::Blob("g");
    if (i % 4 == 0) enqueue.idempotency = {.key = base::Blob("k" + std::to_string(i))};
    apply({enqueue});
  }
  static_cast<void>(engine_.drain_changes());
  Loader loader(ended_);
  engine_.dump([&](const command::Item& item) { ASSERT_TRUE(loader.add(item)); });
  auto loaded = loader.finish();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->audit(), "");
  EXPECT_EQ(loaded->memory(), engine_.memory());
  EXPECT_EQ(loaded->state_hash(), engine_.state_hash());
}

TEST(IdempotencyTable, AgreesWithAMap) {
  using Name = std::pair<base::KeyId, std::string>;
  std::mt19937_64 random(5);
  IdempotencyTable table(3);
  std::map<Name, model::IdempotencyRecord> model;
  std::map<std::pair<std::int64_t, Name>, int> order;
  std::map<base::KeyId, std::uint64_t> counts;
  for (int i = 0; i < 30'000; ++i) {
    const base::KeyId scope{{0, random() % 3}};
    const Name name{scope, "key " + std::to_string(random() % 1'000)};
    const bool known = model.contains(name);
    ASSERT_EQ(table.find({scope, name.second}) != nullptr, known);
    if (known && random() % 3 != 0) {
      order.erase({model[name].expires_at.ms, name});
      model.erase(name);
      table.erase({scope, name.second});
      --counts[scope];
    } else if (!known) {
      model::IdempotencyRecord record{
          .key = base::Blob(name.second),
          .fingerprint = random(),
          .expires_at = base::Instant{static_cast<std::int64_t>(random() % 50)},
          .reply = base::Blob(std::string(random() % 90, 'r')),
          .scope = scope};
      order[{record.expires_at.ms, name}] = 0;
      model[name] = record;
      table.add(record);
      ++counts[scope];
    } else {
      ASSERT_EQ(*table.find({scope, name.second}), model[name]);
    }
    ASSERT_EQ(table.size(), model.size());
    ASSERT_EQ(table.count_of(scope), scope.is_nil() ? 0 : counts[scope]);
    if (!order.empty()) {
      ASSERT_EQ(table.first()->key.view(), order.begin()->first.second.second);
    }
  }
  EXPECT_TRUE(table.audit());
  auto expected = order.begin();
  table.for_each([&](const model::IdempotencyRecord& record) {
    ASSERT_EQ(record.key.view(), expected->first.second.second);
    ASSERT_EQ(record.scope, expected->first.second.first);
    ++expected;
  });
  while (!model.empty()) {
    table.erase({model.begin()->first.first, model.begin()->first.second});
    model.erase(model.begin());
  }
  EXPECT_EQ(table.first(), nullptr);
  EXPECT_EQ(table.bytes(), 0U);
}

}  // namespace
}  // namespace jobbie::engine
