// Bulk operations as records: steps count once, in order, and survive a checkpoint.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "engine/nothing_ended.hpp"
#include "model/limits.hpp"

namespace jobbie::engine {
namespace {

/// Keeps what the engine lets go of.
class BulkTest : public ::testing::Test {
 protected:
  command::Reply run(command::Command command) {
    command::Entry entry{.now = {now_ += 10}, .random = 7, .commands = {}};
    entry.commands.push_back(std::move(command));
    auto outcome = engine_.apply(entry);
    EXPECT_EQ(engine_.audit(), "");
    return std::move(outcome.replies[0]);
  }

  base::JobId enqueue(const char* queue) {
    command::Enqueue enqueue;
    enqueue.job.queue = base::Blob(queue);
    enqueue.job.payload = base::Blob("1");
    return std::get<command::Enqueued>(run(enqueue)).job;
  }

  model::BulkRecord start(model::BulkAction action, const char* queue = "") {
    return std::get<command::BulkReply>(run(command::StartBulk{.action = action,
                                                               .queue = base::Blob(queue),
                                                               .filter = base::Blob("{}"),
                                                               .estimated = 3}))
        .bulk;
  }

  [[nodiscard]] std::vector<base::Blob> queues_of(const std::vector<base::JobId>& jobs) const {
    std::vector<base::Blob> out;
    for (const auto id : jobs) out.push_back(engine_.job(id)->spec.queue);
    return out;
  }

  /// The same state in another engine.
  void reload() {
    Loader loader(ended_);
    engine_.dump([&](const command::Item& item) { ASSERT_TRUE(loader.add(item).has_value()); });
    const auto hash = engine_.state_hash();
    auto loaded = loader.finish();
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    engine_ = *std::move(loaded);
    EXPECT_EQ(engine_.state_hash(), hash);
  }

  NothingEnded ended_;
  Engine engine_{ended_};
  std::int64_t now_ = 1'760'000'000'000;
};

TEST_F(BulkTest, AStepMovesItsJobsAndTheCursorOnce) {
  const auto a = enqueue("src");
  const auto b = enqueue("src");
  const auto bulk = start(model::BulkAction::move, "dst");
  EXPECT_EQ(bulk.bound, b.sequence() + 1);
  const auto late = enqueue("src");

  const command::BulkStep step{.bulk = bulk.id, .jobs = {a}, .after = 0, .upto = a.sequence()};
  EXPECT_EQ(std::get<command::BulkStepped>(run(step)).affected, 1U);
  EXPECT_TRUE(std::holds_alternative<command::Refusal>(run(step)));
  EXPECT_EQ(queues_of({a, b, late}),
            (std::vector<base::Blob>{base::Blob("dst"), base::Blob("src"), base::Blob("src")}));
  reload();

  ASSERT_EQ(engine_.bulks().size(), 1U);
  EXPECT_EQ(engine_.bulks()[0].cursor, a.sequence());
  const command::BulkStep last{.bulk = bulk.id,
                               .jobs = {b, base::JobId{}},
                               .after = a.sequence(),
                               .upto = b.sequence(),
                               .last = true};
  const auto stepped = std::get<command::BulkStepped>(run(last));
  EXPECT_EQ(stepped.affected, 1U);
  EXPECT_EQ(stepped.skipped, 1U);
  const auto done = engine_.bulks()[0];
  EXPECT_EQ(done.status, model::BulkStatus::completed);
  EXPECT_EQ(done.affected, 2U);
  EXPECT_EQ(done.skipped, 1U);
  EXPECT_NE(done.finished_at, base::Instant{});
  EXPECT_TRUE(std::holds_alternative<command::Refusal>(run(last)));
}

TEST_F(BulkTest, AnEndedOperationTakesNoSteps) {
  const auto a = enqueue("q");
  const auto bulk = start(model::BulkAction::cancel);
  const auto ended = std::get<command::BulkReply>(run(command::EndBulk{.bulk = bulk.id}));
  EXPECT_EQ(ended.bulk.status, model::BulkStatus::cancelled);
  EXPECT_TRUE(std::holds_alternative<command::Refusal>(run(command::EndBulk{.bulk = bulk.id})));
  EXPECT_TRUE(std::holds_alternative<command::Refusal>(
      run(command::BulkStep{.bulk = bulk.id, .jobs = {a}, .after = 0, .upto = a.sequence()})));
  EXPECT_EQ(engine_.job(a)->state, model::State::pending);
}

TEST_F(BulkTest, ErrorsAreCountedAndTheFirstAreTold) {
  command::Enqueue holder;
  holder.job.queue = base::Blob("dst");
  holder.job.payload = base::Blob("1");
  holder.job.unique.key = base::Blob("k");
  run(holder);
  holder.job.queue = base::Blob("src");
  const auto blocked = std::get<command::Enqueued>(run(holder)).job;
  const auto stepped = std::get<command::BulkStepped>(run(command::BulkStep{
      .action = model::BulkAction::move, .queue = base::Blob("dst"), .jobs = {blocked}}));
  EXPECT_EQ(stepped.failed, 1U);
  ASSERT_EQ(stepped.errors.size(), 1U);
  EXPECT_EQ(stepped.errors[0].job, blocked);
  EXPECT_EQ(stepped.errors[0].code.view(), "unique_conflict");
}

TEST_F(BulkTest, RunningAndKeptOperationsAreBounded) {
  std::vector<model::BulkRecord> running;
  for (std::size_t i = 0; i < model::limits::kBulksRunning; ++i)
    running.push_back(start(model::BulkAction::retry));
  const auto refused = run(command::StartBulk{.filter = base::Blob("{}")});
  EXPECT_EQ(std::get<command::Refusal>(refused).code, command::Refused::limit_reached);
  run(command::EndBulk{.bulk = running[0].id, .reason = base::Blob("odd")});
  EXPECT_EQ(engine_.bulks()[0].status, model::BulkStatus::failed);
  for (std::size_t i = 0; i < model::limits::kBulksKept + 5; ++i)
    run(command::EndBulk{.bulk = start(model::BulkAction::retry).id});
  EXPECT_LE(engine_.bulks().size(), model::limits::kBulksKept + model::limits::kBulksRunning);
  EXPECT_GE(engine_.bulks().size(), model::limits::kBulksKept);
}

}  // namespace
}  // namespace jobbie::engine
