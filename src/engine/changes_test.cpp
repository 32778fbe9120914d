// What is drained is what an engine holds, plain jobs and others.
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "engine/nothing_ended.hpp"

namespace jobbie::engine {
namespace {

using base::Blob;

class Changes : public ::testing::Test {
 protected:
  command::Reply one(command::Command command) {
    now_ += 10;
    std::vector<command::Command> commands;
    commands.push_back(std::move(command));
    return engine_.apply({.now = {now_}, .random = 7, .commands = std::move(commands)})
        .replies.front();
  }
  base::JobId enqueue(model::JobSpec spec) {
    command::Enqueue enqueue;
    enqueue.job = std::move(spec);
    enqueue.job.payload = Blob("{}");
    return std::get<command::Enqueued>(one(std::move(enqueue))).job;
  }
  /// The jobs that have changed, and how many of them came as plain ones.
  std::map<base::JobId, model::JobRecord> drain(int& plain) {
    std::map<base::JobId, model::JobRecord> out;
    plain = 0;
    for (const auto& change : engine_.drain_changes()) {
      const auto* job = command::job_in(change);
      if (job == nullptr) continue;
      if (const auto* bare = std::get_if<model::PlainJob>(&change)) {
        model::fill(*bare, out[*job]);
        ++plain;
      } else {
        out[*job] = std::get<model::JobRecord>(*command::item_in(change));
      }
    }
    return out;
  }

  std::int64_t now_ = 1'000'000;
  NothingEnded ended_;
  Engine engine_{ended_};
};

TEST_F(Changes, AJobComesAsItIs) {
  const auto bare = enqueue({.queue = Blob("a"), .priority = 3, .max_retries = 7});
  const auto tagged = enqueue({.queue = Blob("b"), .tags = Blob("{\"x\":1}")});
  const auto grouped = enqueue({.queue = Blob("b"), .group = Blob("g")});
  const auto unique = enqueue({.queue = Blob("b"), .unique = {.key = Blob("u")}});
  int plain = 0;
  auto jobs = drain(plain);
  EXPECT_EQ(plain, 1);
  ASSERT_EQ(jobs.size(), 4U);
  for (const auto id : {bare, tagged, grouped, unique})
    EXPECT_TRUE(engine_.job(id) == jobs[id]) << id.text();
  EXPECT_EQ(jobs[bare].spec.max_retries, 7U);

  one(command::Claim{.queues = {Blob("a")}, .worker = Blob("w"), .hostname = Blob("h")});
  jobs = drain(plain);
  EXPECT_EQ(plain, 1);
  EXPECT_EQ(jobs[bare].state, model::State::active);
  EXPECT_EQ(jobs[bare].worker.view(), "w");
  EXPECT_TRUE(engine_.job(bare) == jobs[bare]);
}

TEST_F(Changes, AnEndedJobGoesWithItsTexts) {
  const auto quiet = enqueue({.queue = Blob("a")});
  const auto telling = enqueue({.queue = Blob("a")});
  one(command::Claim{.queues = {Blob("a")}, .worker = Blob("w"), .count = 2});
  one(command::Ack{.ref = {.job = quiet}});
  one(command::Ack{.ref = {.job = telling}, .result = Blob("42")});
  int plain = 0;
  auto jobs = drain(plain);
  EXPECT_EQ(plain, 1);
  EXPECT_EQ(jobs[quiet].state, model::State::completed);
  EXPECT_EQ(jobs[quiet].spec.payload.view(), "{}");
  EXPECT_EQ(jobs[quiet].worker.view(), "w");
  EXPECT_EQ(jobs[quiet].lease_end, model::LeaseEnd::acked);
  EXPECT_EQ(jobs[telling].result.view(), "42");
  EXPECT_EQ(jobs[telling].worker.view(), "w");
}

// The store counts on it: a plain job's row has no errors beside it.
TEST_F(Changes, AJobThatHasFailedIsNeverPlainAgain) {
  const auto id = enqueue({.queue = Blob("a"), .max_retries = 2});
  one(command::Claim{.queues = {Blob("a")}, .worker = Blob("w")});
  one(command::Fail{.ref = {.job = id}, .error = Blob("no")});
  int plain = 0;
  EXPECT_EQ(drain(plain)[id].errors.size(), 1U);
  EXPECT_EQ(plain, 0);
  now_ += base::days(1).ms;
  one(command::Tick{});
  one(command::Claim{.queues = {Blob("a")}, .worker = Blob("w")});
  one(command::Ack{.ref = {.job = id}});
  const auto jobs = drain(plain);
  EXPECT_EQ(plain, 0);
  EXPECT_EQ(jobs.at(id).state, model::State::completed);
  EXPECT_EQ(jobs.at(id).errors.size(), 1U);
}

}  // namespace
}  // namespace jobbie::engine
