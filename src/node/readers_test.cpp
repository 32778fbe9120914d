// Questions to a real database: who waits for whom, and what becomes of those that nobody wants.
#include "node/readers.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <stdlib.h>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "store/store.hpp"

namespace jobbie::node {
namespace {

using base::Blob;
using namespace std::chrono_literals;

class TestInbox final : public call::Inbox {
 public:
  void deliver(std::vector<std::unique_ptr<call::Call>> calls) override {
    const std::lock_guard lock(mutex_);
    for (auto& call : calls) arrived_.push_back(std::move(call));
    changed_.notify_all();
  }
  std::unique_ptr<call::Call> next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, 60s, [this] { return !arrived_.empty(); })) return nullptr;
    auto call = std::move(arrived_.front());
    arrived_.pop_front();
    return call;
  }
  std::size_t arrived() {
    const std::lock_guard lock(mutex_);
    return arrived_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<call::Call>> arrived_;
};

class TestCall final : public call::Call {
 public:
  using Call::Call;
  void finish() override {}
};

class ReadersTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "jobbie-readers-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
    auto store = store::Store::open(
        {.path = dir_ + "/jobbie.db", .searchers = kSearchThreads, .search_time = 10min});
    ASSERT_TRUE(store.has_value());
    store_ = *std::move(store);
    model::JobRecord job;
    job.id = {base::Ulid::make({1'760'000'000'000}, 1, 7)};
    job.spec.queue = Blob("q");
    std::string payload = "[";
    for (int i = 0; i < 100'000; ++i) payload += "[" + std::to_string(i) + "],";
    job.spec.payload = Blob(payload + "0]");
    command::Changes changes;
    changes.emplace_back(command::Item(std::move(job)));
    store_->write(1, std::move(changes));
    readers_ = std::make_unique<Readers>(
        *store_, Readers::Options{.queue = {.threads = kSearchThreads,
                                            .own_threads = kOwnSearchThreads,
                                            .left_to_others = 1,
                                            .bound = 20,
                                            .bound_per_caller = 5}});
  }
  void TearDown() override {
    readers_.reset();
    store_.reset();
    std::filesystem::remove_all(dir_);
  }

  using Flag = std::shared_ptr<std::atomic<bool>>;

  Flag ask(std::uint64_t caller, search::Filter filter) {
    auto call = std::make_unique<TestCall>(inbox_);
    call->query = call::SearchQuery{.request = {.filter = std::move(filter)}};
    call->caller = caller;
    call->hung_up = std::make_shared<std::atomic<bool>>(false);
    auto flag = call->hung_up;
    readers_->ask(std::move(call), 1);
    return flag;
  }
  /// Takes minutes for the one job that there is: each element is looked for among all.
  Flag ask_endlessly(std::uint64_t caller) {
    search::Filter filter;
    filter.payload_jq = search::Jq::parse("contains(.) | not").value();
    return ask(caller, std::move(filter));
  }
  void expect_next(std::uint64_t caller, call::Trouble trouble) {
    const auto call = inbox_.next();
    ASSERT_TRUE(call);
    EXPECT_EQ(call->caller, caller);
    EXPECT_EQ(call->trouble, trouble);
  }

  /// One answer and so many that were cancelled, in whatever order.
  void expect_answered_and_cancelled(int wanted) {
    int cancelled = 0;
    int answered = 0;
    for (int i = 0; i < wanted + 1; ++i) {
      const auto call = inbox_.next();
      ASSERT_TRUE(call);
      cancelled += call->trouble == call::Trouble::cancelled;
      answered += call->trouble == call::Trouble::none;
    }
    EXPECT_EQ(cancelled, wanted);
    EXPECT_EQ(answered, 1);
  }

  std::string dir_;
  std::unique_ptr<store::Store> store_;
  TestInbox inbox_;
  std::unique_ptr<Readers> readers_;
};

TEST_F(ReadersTest, OneCallersSearchesDoNotDelayAnothers) {
  for (int i = 0; i < 4; ++i) ask_endlessly(1);
  ask(2, {});
  expect_next(2, call::Trouble::none);
  // With a second caller who keeps the last thread, the node itself goes on.
  ask_endlessly(2);
  ask(0, {});
  expect_next(0, call::Trouble::none);
}

TEST_F(ReadersTest, WhoHangsUpIsDropped) {
  const auto first = ask_endlessly(1);
  const auto second = ask_endlessly(1);
  const auto waiting = ask_endlessly(1);
  ask(1, {});
  *waiting = true;
  *first = true;
  // The first one's thread is free for the last.
  expect_answered_and_cancelled(2);
  *second = true;
  expect_next(1, call::Trouble::cancelled);
}

TEST_F(ReadersTest, TooManyOfOneCallerAreRefused) {
  // Two are under way and five wait, as soon as so many have been taken.
  std::vector<Flag> taken;
  while (taken.size() < 7) {
    const auto flag = ask_endlessly(1);
    if (inbox_.arrived() == 0)
      taken.push_back(flag);
    else
      expect_next(1, call::Trouble::overloaded);
  }
  ask(1, {});
  expect_next(1, call::Trouble::overloaded);
  ask(2, {});
  expect_next(2, call::Trouble::none);
  // Those whose clients have gone make room when it is needed.
  for (std::size_t i = 2; i < taken.size(); ++i) *taken[i] = true;
  ask(1, {});
  for (int i = 0; i < 5; ++i) expect_next(1, call::Trouble::cancelled);
  *taken[0] = true;
  expect_answered_and_cancelled(1);
}

TEST_F(ReadersTest, AStopWaitsForNoSearch) {
  for (int i = 0; i < 5; ++i) ask_endlessly(1);
  ask_endlessly(0);
  readers_.reset();
  for (int i = 0; i < 6; ++i) {
    const auto call = inbox_.next();
    ASSERT_TRUE(call);
    EXPECT_EQ(call->trouble, call::Trouble::stopping);
  }
}

TEST_F(ReadersTest, ADrainEndsWhatCallersWaitFor) {
  for (int i = 0; i < 4; ++i) ask_endlessly(1);
  readers_->drain();
  ask(2, {});
  for (int i = 0; i < 5; ++i) {
    const auto call = inbox_.next();
    ASSERT_TRUE(call);
    EXPECT_EQ(call->trouble, call::Trouble::stopping);
  }
  // The node's own questions are answered to the end.
  ask(0, {});
  expect_next(0, call::Trouble::none);
}

}  // namespace
}  // namespace jobbie::node
