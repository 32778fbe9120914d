// Keys, restrictions and audited actions, applied to an engine.
#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "engine/nothing_ended.hpp"

namespace jobbie::engine {
namespace {

using base::Blob;
using command::Refused;
using model::Scope;

class Keys : public ::testing::Test {
 protected:
  std::vector<command::Reply> apply(std::vector<command::Command> commands) {
    now_ += 10;
    return engine_.apply({.now = {now_}, .random = 7, .commands = std::move(commands)}).replies;
  }
  command::Reply one(command::Command command) { return apply({std::move(command)}).front(); }
  base::JobId enqueue(std::string_view queue) {
    command::Enqueue enqueue;
    enqueue.job.queue = Blob(queue);
    enqueue.job.payload = Blob("{}");
    return std::get<command::Enqueued>(one(std::move(enqueue))).job;
  }
  static command::CreateKey key(std::string_view name, char digest, Scope scope = Scope::work) {
    return {.key = {.name = Blob(name),
                    .scopes = model::scope_bit(scope),
                    .queues = {Blob("*")},
                    .digest = Blob(std::string(32, digest)),
                    .last_four = Blob("abcd")}};
  }
  static Refused refused(const command::Reply& reply) {
    return std::get<command::Refusal>(reply).code;
  }
  std::vector<model::AuditRecord> audited() {
    std::vector<model::AuditRecord> out;
    for (auto& change : engine_.drain_changes())
      if (auto* audited = std::get_if<command::Audited>(&change))
        out.push_back(std::move(audited->record));
    return out;
  }

  std::int64_t now_ = 1'000'000;
  NothingEnded ended_;
  Engine engine_{ended_};
};

TEST_F(Keys, NamesAndSecretsAreUnique) {
  const auto made = std::get<command::KeyReply>(one(key("a", '1'))).key;
  EXPECT_EQ(made.spec.name.view(), "a");
  EXPECT_EQ(refused(one(key("a", '2'))), Refused::name_taken);
  EXPECT_EQ(refused(one(key("b", '1'))), Refused::invalid);
  auto again = key("a", '2');
  again.replace = true;
  const auto replaced = std::get<command::KeyReply>(one(again)).key;
  EXPECT_NE(replaced.id, made.id);
  ASSERT_EQ(engine_.keys().size(), 1U);
  EXPECT_EQ(engine_.keys().front().id, replaced.id);
}

TEST_F(Keys, TheLastAdminStays) {
  const auto admin = std::get<command::KeyReply>(one(key("a", '1', Scope::admin))).key.id;
  const auto worker = std::get<command::KeyReply>(one(key("b", '2'))).key.id;
  EXPECT_EQ(refused(one(command::RevokeKey{admin})), Refused::wrong_state);
  EXPECT_TRUE(std::holds_alternative<command::Done>(one(command::RevokeKey{worker})));
  EXPECT_EQ(refused(one(command::RevokeKey{worker})), Refused::not_found);
  one(key("c", '3', Scope::admin));
  const auto before = engine_.keys_revision();
  EXPECT_TRUE(std::holds_alternative<command::Done>(one(command::RevokeKey{admin})));
  EXPECT_GT(engine_.keys_revision(), before);
}

TEST_F(Keys, AreChangesAndPartOfTheCheckpoint) {
  one(key("a", '1', Scope::admin));
  const auto gone = std::get<command::KeyReply>(one(key("b", '2'))).key.id;
  one(command::RevokeKey{gone});
  std::vector<std::string> stored;
  bool removed = false;
  for (const auto& change : engine_.drain_changes()) {
    if (const auto* item = command::item_in(change))
      if (const auto* record = std::get_if<model::KeyRecord>(item))
        stored.emplace_back(record->spec.name.view());
    if (const auto* r = std::get_if<command::RemovedKey>(&change)) removed = r->key == gone;
  }
  EXPECT_EQ(stored, std::vector<std::string>{"a"});
  EXPECT_TRUE(removed);
  Loader loader(ended_);
  engine_.dump([&](const command::Item& item) { ASSERT_TRUE(loader.add(item)); });
  auto loaded = loader.finish();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->keys(), engine_.keys());
  EXPECT_EQ(loaded->state_hash(), engine_.state_hash());
}

TEST_F(Keys, ARestrictionHoldsForItsCommandsAlone) {
  const auto mine = enqueue("a.1");
  const auto other = enqueue("b");
  const command::Restrict restrict {.queues = {Blob("a.*")}, .commands = 2};
  const auto replies =
      apply({restrict, command::Cancel{other}, command::Cancel{mine}, command::Cancel{other}});
  EXPECT_EQ(refused(replies[1]), Refused::forbidden);
  EXPECT_TRUE(std::holds_alternative<command::JobChanged>(replies[2]));
  EXPECT_TRUE(std::holds_alternative<command::JobChanged>(replies[3]));
  // It ends with the entry, however many commands it speaks of.
  const auto third = enqueue("b");
  apply({command::Restrict{.queues = {}, .commands = 99}});
  EXPECT_TRUE(std::holds_alternative<command::JobChanged>(one(command::Cancel{third})));
}

TEST_F(Keys, ARestrictionSeesTheJobWhereItIs) {
  const auto job = enqueue("b");
  const auto replies =
      apply({command::Move{.job = job, .queue = Blob("a.1")},
             command::Restrict{.queues = {Blob("b")}, .commands = 1}, command::Delete{job}});
  EXPECT_TRUE(std::holds_alternative<command::JobChanged>(replies[0]));
  EXPECT_EQ(refused(replies[2]), Refused::forbidden);
  EXPECT_TRUE(engine_.job(job).has_value());
}

TEST_F(Keys, ARestrictedJobDependsOnJobsOfItsOwnQueuesAlone) {
  const auto mine = enqueue("a.1");
  const auto other = enqueue("b");
  const auto waiting_for = [](base::JobId job) {
    command::Enqueue enqueue;
    enqueue.job.queue = Blob("a.2");
    enqueue.job.payload = Blob("{}");
    enqueue.job.depends_on = {job};
    return enqueue;
  };
  const auto never = base::JobId{base::Ulid::make({1}, 999, 1)};
  const auto replies =
      apply({command::Restrict{.queues = {Blob("a.*")}, .commands = 3}, waiting_for(mine),
             waiting_for(other), waiting_for(never), waiting_for(other)});
  EXPECT_TRUE(std::holds_alternative<command::Enqueued>(replies[1]));
  // As of a job that is not there.
  EXPECT_EQ(refused(replies[2]), Refused::unknown_dependency);
  EXPECT_EQ(refused(replies[3]), Refused::unknown_dependency);
  EXPECT_TRUE(std::holds_alternative<command::Enqueued>(replies[4]));
}

TEST_F(Keys, AWorkerIsRemovedByKeysForAllItsQueues) {
  const auto listens = [](std::string_view id, std::vector<Blob> queues) {
    command::RegisterWorker command;
    command.worker.id = Blob(id);
    command.worker.queues = std::move(queues);
    return command;
  };
  apply({listens("mine", {Blob("a.1"), Blob("a.x*")}), listens("shared", {Blob("a.1"), Blob("b")}),
         listens("all", {Blob("*")}), listens("none", {})});
  const auto remove = [](std::string_view id) { return command::RemoveWorker{Blob(id)}; };
  const auto replies =
      apply({command::Restrict{.queues = {Blob("a.*")}, .commands = 5}, remove("mine"),
             remove("shared"), remove("all"), remove("none"), remove("nobody"), remove("shared")});
  EXPECT_TRUE(std::holds_alternative<command::Done>(replies[1]));
  EXPECT_EQ(refused(replies[2]), Refused::forbidden);
  EXPECT_EQ(refused(replies[3]), Refused::forbidden);
  EXPECT_TRUE(std::holds_alternative<command::Done>(replies[4]));
  EXPECT_EQ(refused(replies[5]), Refused::not_found);
  EXPECT_TRUE(std::holds_alternative<command::Done>(replies[6]));
}

TEST_F(Keys, AHeartbeatKnowsOnlyItsOwnJobs) {
  const auto mine = enqueue("a");
  const auto other = enqueue("b");
  one(command::Claim{.queues = {Blob("*")}, .count = 2});
  command::Heartbeat heartbeat;
  heartbeat.beats = {{.ref = {.job = mine}}, {.ref = {.job = other}}};
  const auto replies = apply({command::Restrict{.queues = {Blob("a")}}, heartbeat});
  using command::BeatStatus;
  EXPECT_EQ(std::get<command::Beaten>(replies[1]).jobs,
            (std::vector{BeatStatus::ok, BeatStatus::unknown}));
}

TEST_F(Keys, ActionsAreAuditedWithTheirOutcome) {
  const auto job = enqueue("a");
  const command::RecordAction action{.key = Blob("key_1"),
                                     .name = Blob("ops"),
                                     .address = Blob("10.0.0.1"),
                                     .action = Blob("job.cancel"),
                                     .target = Blob("job_1")};
  audited();
  apply({command::Cancel{job}, action});
  apply({command::Cancel{job}, action});
  auto many = action;
  many.commands = 2;
  apply({command::Cancel{job}, command::Tick{}, many});
  const auto records = audited();
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].outcome.view(), "ok");
  EXPECT_EQ(records[0].name.view(), "ops");
  EXPECT_EQ(records[0].at.ms, now_ - 20);
  EXPECT_EQ(records[1].outcome.view(), "wrong_state");
  EXPECT_EQ(records[2].outcome.view(), "wrong_state");
  EXPECT_TRUE(audited().empty());
}

}  // namespace
}  // namespace jobbie::engine
