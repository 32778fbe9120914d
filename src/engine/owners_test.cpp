// What belongs to a restricted key: queues, workers, idempotency keys, bulk operations.
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
using base::KeyId;
using command::Refused;

class Owners : public ::testing::Test {
 protected:
  std::vector<command::Reply> apply(std::vector<command::Command> commands) {
    now_ += 10;
    auto replies =
        engine_.apply({.now = {now_}, .random = 7, .commands = std::move(commands)}).replies;
    EXPECT_EQ(engine_.audit(), "");
    return replies;
  }
  command::Reply one(command::Command command) { return apply({std::move(command)}).front(); }
  /// As the leader writes it for a key that is for `queues` alone.
  command::Reply by(KeyId key, std::string_view queues, command::Command command) {
    return apply({command::Restrict{.queues = {Blob(queues)}, .commands = 1, .key = key},
                  std::move(command)})[1];
  }
  KeyId key(char name) {
    command::CreateKey create;
    create.key = {.name = Blob(std::string(1, name)),
                  .scopes = model::scope_bit(model::Scope::work),
                  .queues = {Blob("mail.*")},
                  .digest = Blob(std::string(32, name)),
                  .last_four = Blob("abcd")};
    return std::get<command::KeyReply>(one(std::move(create))).key.id;
  }
  static command::Enqueue enqueue(std::string_view queue, command::Idempotency idempotency = {}) {
    command::Enqueue enqueue;
    enqueue.job.queue = Blob(queue);
    enqueue.job.payload = Blob("{}");
    enqueue.idempotency = std::move(idempotency);
    return enqueue;
  }
  static command::RegisterWorker worker(std::string_view id, std::vector<Blob> queues) {
    command::RegisterWorker out;
    out.worker.id = Blob(id);
    out.worker.queues = std::move(queues);
    return out;
  }
  static command::Claim claim(std::string_view worker) {
    command::Claim out;
    out.queues = {Blob("mail.a")};
    out.worker = Blob(worker);
    return out;
  }
  static Refused refused(const command::Reply& reply) {
    const auto* refusal = std::get_if<command::Refusal>(&reply);
    return refusal == nullptr ? Refused::invalid : refusal->code;
  }
  template <typename T>
  static bool is(const command::Reply& reply) {
    return std::holds_alternative<T>(reply);
  }
  KeyId owner_of(std::string_view worker) { return engine_.worker(worker)->owner; }
  /// The state through a checkpoint: what is counted is counted anew.
  void reload() {
    Loader loader(ended_);
    engine_.dump([&](const command::Item& item) { ASSERT_TRUE(loader.add(item)); });
    const auto hash = engine_.state_hash();
    auto loaded = loader.finish();
    ASSERT_TRUE(loaded);
    engine_ = *std::move(loaded);
    EXPECT_EQ(engine_.state_hash(), hash);
    EXPECT_EQ(engine_.audit(), "");
  }

  std::int64_t now_ = 1'000'000;
  NothingEnded ended_;
  Engine engine_{ended_};
};

TEST_F(Owners, AKeyMakesSoManyQueuesAndOthersGoOn) {
  const auto mine = key('a');
  const auto other = key('b');
  one(command::SetLimits{.queues = 5, .queues_per_key = 2});
  EXPECT_TRUE(is<command::Enqueued>(by(mine, "mail.*", enqueue("mail.1"))));
  EXPECT_TRUE(is<command::Enqueued>(by(mine, "mail.*", enqueue("mail.2"))));
  reload();
  const auto third = by(mine, "mail.*", enqueue("mail.3"));
  ASSERT_EQ(refused(third), Refused::limit_reached);
  EXPECT_EQ(std::get<command::Refusal>(third).field, "queue");
  EXPECT_NE(std::get<command::Refusal>(third).message.find("API key"), std::string::npos);
  EXPECT_TRUE(is<command::Enqueued>(by(mine, "mail.*", enqueue("mail.2"))));
  EXPECT_TRUE(is<command::Enqueued>(by(other, "mail.*", enqueue("mail.3"))));
  EXPECT_TRUE(is<command::Enqueued>(one(enqueue("free.1"))));
  EXPECT_TRUE(is<command::Enqueued>(one(enqueue("free.2"))));
  const auto full = one(enqueue("free.3"));
  ASSERT_EQ(refused(full), Refused::limit_reached);
  EXPECT_NE(std::get<command::Refusal>(full).message.find("server"), std::string::npos);
  EXPECT_EQ(engine_.queue("mail.1")->record.owner, mine);
  EXPECT_TRUE(engine_.queue("free.1")->record.owner.is_nil());
}

TEST_F(Owners, NamesOfOneRequestCountTogether) {
  const auto mine = key('a');
  one(command::SetLimits{.queues = 100, .queues_per_key = 10});
  const auto many = [](int count, std::string_view callback) {
    command::EnqueueMany out;
    for (int i = 0; i < count; ++i)
      out.jobs.push_back(enqueue("mail." + std::to_string(i % 10)).job);
    if (!callback.empty()) out.batch = command::BatchSpec{Blob(callback), {}};
    return out;
  };
  EXPECT_EQ(refused(by(mine, "mail.*", many(10, "mail.done"))), Refused::limit_reached);
  EXPECT_EQ(engine_.queue_count(), 0U);
  EXPECT_TRUE(is<command::EnqueuedMany>(by(mine, "mail.*", many(20, "mail.3"))));
  EXPECT_EQ(engine_.queue_count(), 10U);
}

/// Entries from before there were limits that travel: what they came to, they come to still.
TEST_F(Owners, WithoutAKeyNothingIsOwnedOrCountedForIt) {
  const auto mine = key('a');
  one(command::SetLimits{.queues = 100'000, .queues_per_key = 1});
  const command::Restrict old{.queues = {Blob("mail.*")}, .commands = 2};
  const auto replies = apply({old, enqueue("mail.1"), enqueue("mail.2")});
  EXPECT_TRUE(is<command::Enqueued>(replies[1]));
  EXPECT_TRUE(is<command::Enqueued>(replies[2]));
  EXPECT_TRUE(engine_.queue("mail.1")->record.owner.is_nil());
  one(worker("payw", {Blob("pay.x")}));
  EXPECT_TRUE(is<command::Done>(apply({old, worker("payw", {})})[1]));
  EXPECT_TRUE(is<command::Enqueued>(by(mine, "mail.*", enqueue("mail.3"))));
}

TEST_F(Owners, AForgottenQueueIsGivenBackToItsKey) {
  const auto mine = key('a');
  one(command::SetLimits{.queues = 100, .queues_per_key = 1});
  const auto job = std::get<command::Enqueued>(by(mine, "mail.*", enqueue("mail.1"))).job;
  EXPECT_EQ(refused(by(mine, "mail.*", enqueue("mail.2"))), Refused::limit_reached);
  one(command::Delete{job});
  EXPECT_EQ(std::get<command::Done>(one(command::ForgetQueues{{Blob("mail.1")}})).affected, 1U);
  EXPECT_TRUE(is<command::Enqueued>(by(mine, "mail.*", enqueue("mail.2"))));
}

TEST_F(Owners, AWorkerIdIsItsKeys) {
  const auto mine = key('a');
  const auto other = key('b');
  one(worker("payw", {Blob("pay.x")}));
  const auto forbidden = by(mine, "mail.*", worker("payw", {}));
  ASSERT_EQ(refused(forbidden), Refused::forbidden);
  EXPECT_EQ(std::get<command::Refusal>(forbidden).field, "worker_id");
  EXPECT_EQ(refused(by(mine, "mail.*", claim("payw"))), Refused::forbidden);
  command::Heartbeat beat;
  beat.worker = Blob("payw");
  EXPECT_EQ(refused(by(mine, "mail.*", beat)), Refused::forbidden);
  EXPECT_EQ(engine_.worker("payw")->spec.queues, std::vector{Blob("pay.x")});

  EXPECT_TRUE(is<command::Claimed>(by(mine, "mail.*", claim("w"))));
  EXPECT_EQ(owner_of("w"), mine);
  reload();
  EXPECT_EQ(refused(by(other, "mail.*", worker("w", {}))), Refused::forbidden);
  EXPECT_EQ(refused(by(other, "mail.*", claim("w"))), Refused::forbidden);
  EXPECT_TRUE(is<command::Done>(by(mine, "mail.*", worker("w", {Blob("mail.a")}))));
  // Whoever may do everything may take it, and then it is nobody's.
  EXPECT_TRUE(is<command::Done>(one(worker("w", {}))));
  EXPECT_TRUE(owner_of("w").is_nil());
  EXPECT_EQ(refused(by(mine, "mail.*", claim("w"))), Refused::forbidden);
}

TEST_F(Owners, AWorkerIdIsFreeWhenItsKeyOrItsWorkerIsGone) {
  const auto mine = key('a');
  const auto other = key('b');
  by(mine, "mail.*", claim("one"));
  by(mine, "mail.*", claim("two"));
  now_ += model::limits::kWorkerSilence.ms - 100;
  EXPECT_EQ(refused(by(other, "mail.*", claim("one"))), Refused::forbidden);
  now_ += 100;
  EXPECT_TRUE(is<command::Claimed>(by(other, "mail.*", claim("one"))));
  EXPECT_EQ(owner_of("one"), other);
  by(mine, "mail.*", claim("two"));
  EXPECT_EQ(refused(by(other, "mail.*", claim("two"))), Refused::forbidden);
  one(command::RevokeKey{mine});
  EXPECT_TRUE(is<command::Claimed>(by(other, "mail.*", claim("two"))));
}

/// One that worked before workers had owners goes on under its key.
TEST_F(Owners, AWorkerWithoutAnOwnerIsForThoseWhoMayRemoveIt) {
  const auto mine = key('a');
  one(claim("old"));
  one(worker("silent", {}));
  EXPECT_TRUE(is<command::Claimed>(by(mine, "mail.*", claim("old"))));
  EXPECT_EQ(owner_of("old"), mine);
  EXPECT_EQ(refused(by(mine, "mail.*", claim("silent"))), Refused::forbidden);
}

TEST_F(Owners, AnIdleClaimUnderAnotherKeysWorkerIsTold) {
  const auto mine = key('a');
  const auto other = key('b');
  by(mine, "mail.*", claim("w"));
  EXPECT_TRUE(engine_.is_idle_claim(claim("w"), {now_ - 5}, mine));
  EXPECT_FALSE(engine_.is_idle_claim(claim("w"), {now_ - 5}, other));
  EXPECT_TRUE(engine_.is_idle_claim(claim("w"), {now_ - 5}));
}

TEST_F(Owners, IdempotencyKeysOfOneKeyAreNotThoseOfAnother) {
  const auto mine = key('a');
  const auto other = key('b');
  const auto with = [](KeyId scope, std::uint64_t body) {
    return enqueue("mail.a", {.key = Blob("order-1"), .fingerprint = body, .scope = scope});
  };
  const auto first = one(with(mine, 1));
  EXPECT_EQ(one(with(mine, 1)), first);
  EXPECT_EQ(refused(one(with(mine, 2))), Refused::idempotency_mismatch);
  const auto second = one(with(other, 2));
  ASSERT_TRUE(is<command::Enqueued>(second));
  EXPECT_NE(second, first);
  reload();
  EXPECT_EQ(one(with(mine, 1)), first);
  EXPECT_EQ(one(with(other, 2)), second);
}

TEST_F(Owners, AnIdempotencyKeyFromBeforeScopesIsHonoured) {
  const auto mine = key('a');
  const auto with = [](KeyId scope, std::uint64_t body) {
    return enqueue("mail.a", {.key = Blob("order-1"), .fingerprint = body, .scope = scope});
  };
  const auto old = one(with({}, 1));
  EXPECT_EQ(one(with(mine, 1)), old);
  // Another body is another request, not a mistake: the old one was somebody else's.
  const auto own = one(with(mine, 2));
  EXPECT_TRUE(is<command::Enqueued>(own));
  EXPECT_EQ(one(with(mine, 2)), own);
  EXPECT_EQ(refused(one(with(mine, 1))), Refused::idempotency_mismatch);
}

TEST_F(Owners, AKeyHasSoManyIdempotencyKeys) {
  const auto mine = key('a');
  one(command::SetLimits{.idempotency_keys_per_key = 2});
  const auto with = [&](std::string_view name, KeyId scope) {
    return enqueue("mail.a", {.key = Blob(name), .fingerprint = 1, .scope = scope});
  };
  by(mine, "mail.*", with("1", mine));
  by(mine, "mail.*", with("2", mine));
  EXPECT_EQ(refused(by(mine, "mail.*", with("3", mine))), Refused::limit_reached);
  EXPECT_TRUE(is<command::Enqueued>(by(mine, "mail.*", with("2", mine))));
  // A key for all queues is not counted.
  const auto admin = key('b');
  for (const char* name : {"1", "2", "3"})
    EXPECT_TRUE(is<command::Enqueued>(one(with(name, admin))));
  now_ += model::limits::kIdempotencyPeriod.ms;
  one(command::Tick{});
  EXPECT_TRUE(is<command::Enqueued>(by(mine, "mail.*", with("3", mine))));
}

TEST_F(Owners, ABulkOperationIsItsKeys) {
  const auto mine = key('a');
  const auto other = key('b');
  command::StartBulk start;
  start.action = model::BulkAction::move;
  start.queue = Blob("mail.new");
  start.filter = Blob("{}");
  const auto begun = std::get<command::BulkReply>(by(mine, "mail.*", start)).bulk;
  EXPECT_EQ(begun.owner, mine);
  EXPECT_EQ(refused(by(other, "mail.*", command::EndBulk{begun.id, {}})), Refused::forbidden);
  // What its steps make is the key's, whoever proposes them.
  const auto job = std::get<command::Enqueued>(one(enqueue("mail.a"))).job;
  command::BulkStep step;
  step.bulk = begun.id;
  step.jobs = {job};
  step.upto = job.sequence();
  EXPECT_EQ(std::get<command::BulkStepped>(one(step)).affected, 1U);
  EXPECT_EQ(engine_.queue("mail.new")->record.owner, mine);
  EXPECT_TRUE(is<command::BulkReply>(by(mine, "mail.*", command::EndBulk{begun.id, {}})));
}

TEST_F(Owners, ABulkStepOfAKeyPassesOverJobsThatLeftItsQueues) {
  const auto mine = key('a');
  command::BulkStep step;
  step.action = model::BulkAction::cancel;
  step.jobs = {std::get<command::Enqueued>(one(enqueue("mail.a"))).job,
               std::get<command::Enqueued>(one(enqueue("pay.a"))).job};
  const auto stepped = std::get<command::BulkStepped>(by(mine, "mail.*", step));
  EXPECT_EQ(stepped.affected, 1U);
  EXPECT_EQ(stepped.skipped, 1U);
}

}  // namespace
}  // namespace jobbie::engine
