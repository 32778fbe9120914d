// Waiting fetches: who is first, found a part at a time.
#include "node/waiters.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace jobbie::node {
namespace {

class NoInbox final : public call::Inbox {
 public:
  void deliver(std::vector<std::unique_ptr<call::Call>> /*calls*/) override {}
};

class Fetch final : public call::Call {
 public:
  using Call::Call;
  void finish() override {}
};

class WaitersTest : public ::testing::Test {
 protected:
  void add(const std::vector<std::string>& queues, std::int64_t deadline_us = 1) {
    auto call = std::make_unique<Fetch>(inbox_);
    command::Claim claim;
    for (const auto& queue : queues) claim.queues.emplace_back(queue);
    call->commands.emplace_back(std::move(claim));
    call->hung_up = std::make_shared<std::atomic<bool>>(false);
    flags_.push_back(call->hung_up);
    waiters_.add({.call = std::move(call), .deadline_us = deadline_us});
  }
  std::vector<Ticket> first(std::string_view queue, Ticket after = 0) {
    WaitersFound found;
    std::size_t budget = 1'000'000;
    EXPECT_TRUE(waiters_.find_first(queue, after, found, budget));
    return {found.first.begin(), found.first.end()};
  }

  NoInbox inbox_;
  std::vector<std::shared_ptr<std::atomic<bool>>> flags_;
  Waiters waiters_;
};

TEST_F(WaitersTest, AreFoundByNameAndByGlobInOrderOfTheirComing) {
  add({"mail.*"});
  add({"sms", "mail.a"});
  add({"other"});
  add({"*"});
  EXPECT_EQ(first("mail.a"), (std::vector<Ticket>{1, 2, 4}));
  EXPECT_EQ(first("mail.b"), (std::vector<Ticket>{1, 4}));
  EXPECT_EQ(first("mail.a", 1), (std::vector<Ticket>{2, 4}));
  static_cast<void>(waiters_.remove(4));
  EXPECT_EQ(first("nobody's"), std::vector<Ticket>{});
}

TEST_F(WaitersTest, ALookCostsNoMoreThanItMayAndGoesOn) {
  constexpr std::size_t kGlobs = 1000;
  for (std::size_t i = 0; i < kGlobs; ++i) add({"*" + std::to_string(i) + "*"});
  add({"exact12"});
  WaitersFound found;
  std::size_t looks = 0;
  for (bool done = false; !done; ++looks) {
    std::size_t budget = 100;
    done = waiters_.find_first("exact12", 0, found, budget);
    ASSERT_LE(looks, kGlobs / 100);
  }
  EXPECT_EQ(looks, kGlobs / 100) << "a hundred at a time";
  EXPECT_EQ((std::vector<Ticket>{found.first.begin(), found.first.end()}),
            (std::vector<Ticket>{2, 3, 13, kGlobs + 1}));
  EXPECT_FALSE(found.more);
}

TEST_F(WaitersTest, OfVeryManyTheFirstAreFound) {
  for (int i = 0; i < 200; ++i) add({i % 2 == 0 ? "a*" : "a"});
  WaitersFound found;
  std::size_t budget = 1000;
  ASSERT_TRUE(waiters_.find_first("a", 0, found, budget));
  EXPECT_TRUE(found.more);
  ASSERT_EQ(found.first.size(), WaitersFound::kMost);
  EXPECT_EQ(*found.first.begin(), 1U);
  EXPECT_EQ(*found.first.rbegin(), WaitersFound::kMost);
  EXPECT_FALSE(found.exhausted());
}

TEST_F(WaitersTest, ThoseWhoHaveGoneAreFoundAFewAtATime) {
  for (int i = 0; i < 100; ++i) add({"a"});
  for (const int i : {0, 55, 99}) *flags_[static_cast<std::size_t>(i)] = true;
  std::size_t gone = 0;
  for (int i = 0; i < 10; ++i) gone += waiters_.take_hung_up(10).size();
  EXPECT_EQ(gone, 3U);
  EXPECT_EQ(waiters_.size(), 97U);
}

}  // namespace
}  // namespace jobbie::node
