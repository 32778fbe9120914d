// Which claims change nothing, so that a worker may wait without making one.
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "engine/nothing_ended.hpp"

namespace jobbie::engine {
namespace {

using base::Blob;

class IdleClaim : public ::testing::Test {
 protected:
  void apply(command::Command command) {
    now_ += 10;
    static_cast<void>(
        engine_.apply({.now = {now_}, .random = 7, .commands = {std::move(command)}}));
  }
  void enqueue(std::string_view queue) {
    command::Enqueue enqueue;
    enqueue.job.queue = Blob(queue);
    enqueue.job.payload = Blob("{}");
    apply(enqueue);
  }
  static command::Claim claim(std::string_view queue, std::string_view worker = {}) {
    command::Claim claim;
    claim.queues = {Blob(queue)};
    claim.worker = Blob(worker);
    claim.count = 1;
    return claim;
  }
  [[nodiscard]] bool is_idle(const command::Command& command, std::int64_t since_ms = 0) const {
    return engine_.is_idle_claim(command, {since_ms});
  }

  std::int64_t now_ = 1'000'000;
  NothingEnded ended_;
  Engine engine_{ended_};
};

TEST_F(IdleClaim, WithoutAPendingJob) {
  EXPECT_TRUE(is_idle(claim("mail.a"))) << "of a queue that nobody knows";
  enqueue("mail.a");
  EXPECT_FALSE(is_idle(claim("mail.a")));
  EXPECT_FALSE(is_idle(claim("mail.*")));
  EXPECT_TRUE(is_idle(claim("other")));
  EXPECT_TRUE(is_idle(claim("other.*")));
  auto both = claim("other");
  both.queues.emplace_back("mail.a");
  EXPECT_FALSE(is_idle(both));
  apply(claim("mail.a"));
  EXPECT_TRUE(is_idle(claim("mail.a")));
  EXPECT_TRUE(is_idle(both));
}

TEST_F(IdleClaim, OfAWorkerWithoutNews) {
  EXPECT_FALSE(is_idle(claim("q", "w"))) << "nobody knows it";
  apply(claim("q", "w"));
  EXPECT_TRUE(is_idle(claim("q", "w")));
  EXPECT_TRUE(is_idle(claim("q", "w"), now_));
  EXPECT_FALSE(is_idle(claim("q", "w"), now_ + 1)) << "not heard of for long";
  EXPECT_FALSE(is_idle(claim("other", "w")));
  auto told = claim("q", "w");
  told.hostname = Blob("here");
  EXPECT_FALSE(is_idle(told));
  told = claim("q", "w");
  told.roles = {Blob("gpu")};
  EXPECT_FALSE(is_idle(told));
  told = claim("q", "w");
  told.tags = {Blob("fast")};
  EXPECT_FALSE(is_idle(told));
  apply(told);
  EXPECT_TRUE(is_idle(told));
}

TEST_F(IdleClaim, IsAClaimAndInOrder) {
  EXPECT_FALSE(is_idle(command::Tick{}));
  auto wrong = claim("q");
  wrong.count = 0;
  EXPECT_FALSE(is_idle(wrong)) << "it is refused";
}

}  // namespace
}  // namespace jobbie::engine
