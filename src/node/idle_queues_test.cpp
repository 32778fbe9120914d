// When a queue counts as forgotten, on an engine of its own.
#include "node/idle_queues.hpp"

#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "engine/nothing_ended.hpp"

namespace jobbie::node {
namespace {

using base::Blob;

class IdleQueuesTest : public ::testing::Test {
 protected:
  base::JobId enqueue(std::string_view queue) {
    command::Enqueue command;
    command.job.queue = Blob(queue);
    command.job.payload = Blob("{}");
    return std::get<command::Enqueued>(apply(command)).job;
  }
  command::Reply apply(command::Command command) {
    return engine_.apply({.now = {now_}, .random = 1, .commands = {std::move(command)}}).replies[0];
  }
  /// One step that long after the last.
  std::vector<Blob> after(base::Duration passed) {
    now_ += passed.ms;
    steady_us_ += passed.ms * 1000;
    return idle_.step(engine_, {now_}, steady_us_,
                      [this](std::string_view queue) { return queue == waited_for_; });
  }

  std::int64_t now_ = 1'000'000;
  std::int64_t steady_us_ = 1'000'000;
  std::string waited_for_;
  engine::NothingEnded ended_;
  engine::Engine engine_{ended_};
  IdleQueues idle_{base::hours(1)};
};

TEST_F(IdleQueuesTest, AQueueIsEmptyForAWholePeriodFirst) {
  const auto job = enqueue("a");
  enqueue("b");
  EXPECT_TRUE(after(base::hours(3)).empty());
  apply(command::Delete{job});
  EXPECT_TRUE(after(base::hours(3)).empty()) << "it has been seen empty just now";
  EXPECT_TRUE(after(base::minutes(59)).empty());
  EXPECT_EQ(after(base::minutes(1)), std::vector{Blob("a")});
  EXPECT_TRUE(after(base::seconds(1)).empty()) << "it was said already";
}

TEST_F(IdleQueuesTest, UseInBetweenBeginsThePeriodAnew) {
  apply(command::Delete{enqueue("a")});
  EXPECT_TRUE(after(base::seconds(1)).empty());
  apply(command::Delete{enqueue("a")});
  EXPECT_TRUE(after(base::hours(1)).empty());
  EXPECT_EQ(after(base::hours(1)), std::vector{Blob("a")});
}

TEST_F(IdleQueuesTest, ANewQueueInTheOldPlaceIsAnotherOne) {
  apply(command::Delete{enqueue("a")});
  EXPECT_TRUE(after(base::seconds(1)).empty());
  apply(command::ForgetQueues{{Blob("a")}});
  apply(command::Delete{enqueue("b")});
  EXPECT_TRUE(after(base::hours(1)).empty());
  EXPECT_EQ(after(base::hours(1)), std::vector{Blob("b")});
}

TEST_F(IdleQueuesTest, AQueueThatSomebodyWaitsForStays) {
  apply(command::Delete{enqueue("a")});
  waited_for_ = "a";
  EXPECT_TRUE(after(base::seconds(1)).empty());
  EXPECT_TRUE(after(base::hours(1)).empty());
  waited_for_.clear();
  EXPECT_EQ(after(base::hours(1)), std::vector{Blob("a")});
}

TEST_F(IdleQueuesTest, ATermAndAnIntervalBeginAnew) {
  apply(command::Delete{enqueue("a")});
  EXPECT_TRUE(after(base::seconds(1)).empty());
  idle_.begin_again();
  EXPECT_TRUE(after(base::hours(1)).empty());
  EXPECT_EQ(after(base::hours(1)).size(), 1U);
  IdleQueues never{base::Duration{}};
  EXPECT_TRUE(never.step(engine_, {now_}, steady_us_, {}).empty());
}

/// However many there are, a step looks at a thousand.
TEST_F(IdleQueuesTest, StepsAreBounded) {
  for (std::size_t i = 0; i < 2 * IdleQueues::kStepQueues; ++i)
    apply(command::Delete{enqueue("q" + std::to_string(i))});
  for (int round = 0; round < 3; ++round) EXPECT_TRUE(after(base::seconds(1)).empty());
  now_ += base::hours(2).ms;
  std::size_t found = 0;
  for (int round = 0; round < 3; ++round) {
    const auto names = after(base::seconds(1));
    EXPECT_LE(names.size(), IdleQueues::kStepQueues);
    found += names.size();
  }
  EXPECT_EQ(found, 2 * IdleQueues::kStepQueues);
  EXPECT_TRUE(idle_.step(engine_, {now_}, steady_us_, {}).empty()) << "not so soon";
}

}  // namespace
}  // namespace jobbie::node
