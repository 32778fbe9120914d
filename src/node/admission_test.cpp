// What a node refuses while its memory is full, and what it goes on with.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <stdlib.h>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "node/node.hpp"

namespace jobbie::node {
namespace {

using base::Blob;
using call::Trouble;

constexpr std::uint64_t kLimit = std::uint64_t{64} << 20;

class Replies final : public call::Inbox {
 public:
  void deliver(std::vector<std::unique_ptr<call::Call>> calls) override {
    const std::lock_guard lock(mutex_);
    for (auto& call : calls) arrived_.push_back(std::move(call));
    changed_.notify_all();
  }
  std::unique_ptr<call::Call> next() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [this] { return !arrived_.empty(); });
    if (arrived_.empty()) return nullptr;
    auto call = std::move(arrived_.front());
    arrived_.pop_front();
    return call;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<call::Call>> arrived_;
};

class PlainCall final : public call::Call {
 public:
  using Call::Call;
  void finish() override {}
};

/// A node whose process is said to take `resident_` bytes.
class AdmissionTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "jobbie-memory-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
    open();
  }
  void TearDown() override {
    node_.reset();
    std::filesystem::remove_all(dir_);
  }
  void open() {
    Options options;
    options.data_dir = dir_;
    options.segment_bytes = std::size_t{16} << 20;  // an entry has to fit
    options.memory.limit = kLimit;
    options.memory.process = [this] { return ProcessMemory{.resident = resident_.load()}; };
    options.on_fatal = [](const base::Error& error) { ADD_FAILURE() << error.message; };
    auto node = Node::open(std::move(options));
    ASSERT_TRUE(node) << node.error().message;
    node_ = *std::move(node);
  }
  std::unique_ptr<call::Call> finish(std::unique_ptr<call::Call> call) {
    node_->submit(std::move(call));
    node_->flush();
    auto back = replies_.next();
    EXPECT_TRUE(back);
    return back;
  }
  std::unique_ptr<call::Call> run(command::Command command) {
    auto call = std::make_unique<PlainCall>(replies_);
    call->commands.push_back(std::move(command));
    return finish(std::move(call));
  }
  Trouble trouble_of(command::Command command) { return run(std::move(command))->trouble; }
  call::NodeStatus status() {
    auto call = std::make_unique<PlainCall>(replies_);
    call->query = call::StatusQuery{};
    return std::get<call::NodeStatus>(finish(std::move(call))->answer);
  }
  void wait_until_refusing(bool refusing) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (status().memory_full != refusing && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_EQ(status().memory_full, refusing);
  }
  static command::Enqueue job(std::size_t bytes = 2) {
    command::Enqueue enqueue;
    enqueue.job.queue = Blob("q");
    enqueue.job.payload = Blob(std::string(bytes, '1'));
    enqueue.job.max_retries = 1;
    return enqueue;
  }
  command::LeaseRef claim() {
    const auto back = run(command::Claim{.queues = {Blob("q")}, .worker = Blob("w")});
    const auto& claimed = std::get<command::Claimed>(back->replies.at(0)).jobs.at(0);
    return {.job = claimed.job, .lease = claimed.lease};
  }

  std::atomic<std::uint64_t> resident_ = 1;
  std::string dir_;
  Replies replies_;
  std::unique_ptr<Node> node_;
};

TEST_F(AdmissionTest, RefusesWhatStaysAndGoesOnWithTheRest) {
  for (int i = 0; i < 3; ++i) ASSERT_EQ(trouble_of(job()), Trouble::none);
  const auto failing = claim();
  ASSERT_EQ(trouble_of(command::Fail{.ref = failing, .error = Blob("e"), .no_retry = true}),
            Trouble::none);
  resident_ = kLimit;
  wait_until_refusing(true);
  EXPECT_EQ(status().memory_used, kLimit);
  EXPECT_EQ(trouble_of(job()), Trouble::memory_full);
  EXPECT_EQ(trouble_of(command::EnqueueMany{.jobs = {job().job}}), Trouble::memory_full);
  EXPECT_EQ(trouble_of(command::Retry{.job = failing.job}), Trouble::memory_full);
  EXPECT_EQ(trouble_of(command::Requeue{.job = failing.job}), Trouble::memory_full);
  EXPECT_EQ(trouble_of(command::CreateSchedule{}), Trouble::memory_full);
  EXPECT_EQ(trouble_of(command::GroupCommand{.group = Blob("g"),
                                             .action = command::GroupAction::retry_failed}),
            Trouble::memory_full);
  EXPECT_EQ(trouble_of(command::BulkStep{.jobs = {failing.job}}), Trouble::memory_full);
  // What ends jobs or lets them go on.
  const auto held = claim();
  command::Beat beat{.ref = held, .progress = {}, .checkpoint = Blob(std::string(100'000, '1'))};
  EXPECT_EQ(trouble_of(command::Heartbeat{.worker = Blob("w"), .beats = {beat}}), Trouble::none);
  EXPECT_EQ(trouble_of(command::Ack{.ref = held}), Trouble::none);
  EXPECT_EQ(trouble_of(command::Cancel{.job = held.job}), Trouble::none);
  EXPECT_EQ(trouble_of(command::BulkStep{.action = model::BulkAction::remove, .jobs = {held.job}}),
            Trouble::none);
  EXPECT_EQ(trouble_of(command::QueueCommand{.queue = Blob("q")}), Trouble::none);
  // Not until there is clearly room.
  resident_ = kLimit - kLimit / 16;
  EXPECT_EQ(trouble_of(job()), Trouble::memory_full);
  resident_ = kLimit / 2;
  wait_until_refusing(false);
  EXPECT_EQ(trouble_of(job()), Trouble::none);
  EXPECT_EQ(trouble_of(command::Retry{.job = failing.job}), Trouble::none);
}

TEST_F(AdmissionTest, ARequestThatDoesNotFitIsRefusedAlone) {
  resident_ = kLimit - (std::uint64_t{4} << 20);
  wait_until_refusing(false);
  command::EnqueueMany many;
  many.jobs.assign(5, job(std::size_t{1} << 20).job);
  EXPECT_EQ(trouble_of(many), Trouble::memory_full);
  EXPECT_EQ(status().live_jobs, 0U);
  EXPECT_EQ(trouble_of(job()), Trouble::none);
  EXPECT_FALSE(status().memory_full);
}

TEST_F(AdmissionTest, LargeHeartbeatsWaitOnlyFarPastTheLimit) {
  ASSERT_EQ(trouble_of(job()), Trouble::none);
  const auto held = claim();
  const auto with = [&](std::size_t bytes) {
    command::Beat beat{.ref = held, .progress = {}, .checkpoint = Blob(std::string(bytes, '1'))};
    return command::Heartbeat{.worker = Blob("w"), .beats = {beat}};
  };
  resident_ = kLimit + kLimit / 8;
  wait_until_refusing(true);
  EXPECT_EQ(trouble_of(with(10)), Trouble::none);
  EXPECT_EQ(trouble_of(with(100'000)), Trouble::memory_full);
  resident_ = kLimit;
  std::this_thread::sleep_for(std::chrono::milliseconds(150));  // until it is looked at again
  EXPECT_EQ(trouble_of(with(100'000)), Trouble::none);
}

TEST_F(AdmissionTest, TheStateItselfCountsAlsoAfterAStart) {
  // Payloads of three quarters of the limit, whatever the process says.
  for (int i = 0; i < 48; ++i) ASSERT_EQ(trouble_of(job(std::size_t{1} << 20)), Trouble::none) << i;
  EXPECT_GT(status().memory_used, std::uint64_t{48} << 20);
  int more = 0;
  while (trouble_of(job(std::size_t{256} << 10)) == Trouble::none) ASSERT_LT(++more, 64);
  const auto live = status().live_jobs;
  node_.reset();
  open();
  EXPECT_EQ(status().live_jobs, live);
  wait_until_refusing(true);
  EXPECT_EQ(trouble_of(job()), Trouble::memory_full);
}

}  // namespace
}  // namespace jobbie::node
