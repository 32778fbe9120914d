// The node with a real log and a real database in a directory of its own.
#include "node/node.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <stdlib.h>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace jobbie::node {
namespace {

using base::Blob;
using namespace std::chrono_literals;

/// Takes calls back on the test's own thread.
class TestInbox final : public call::Inbox {
 public:
  void deliver(std::vector<std::unique_ptr<call::Call>> calls) override {
    const std::lock_guard lock(mutex_);
    for (auto& call : calls) arrived_.push_back(std::move(call));
    changed_.notify_all();
  }
  std::unique_ptr<call::Call> next(std::chrono::milliseconds patience = 10s) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, patience, [this] { return !arrived_.empty(); })) return nullptr;
    auto call = std::move(arrived_.front());
    arrived_.pop_front();
    return call;
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

class NodeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "jobbie-node-XXXXXX").string();
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
    options.segment_bytes = std::size_t{4} << 20;
    options.bounds = bounds_;
    options.on_fatal = [](const base::Error& error) { ADD_FAILURE() << error.message; };
    auto node = Node::open(std::move(options));
    ASSERT_TRUE(node) << node.error().message;
    node_ = *std::move(node);
  }
  void restart() {
    node_.reset();
    open();
  }

  std::unique_ptr<TestCall> make(std::vector<command::Command> commands, std::int64_t wait_ms = 0) {
    auto call = std::make_unique<TestCall>(inbox_);
    call->commands = std::move(commands);
    call->wait = {wait_ms};
    return call;
  }
  void send(std::unique_ptr<call::Call> call) {
    node_->submit(std::move(call));
    node_->flush();
  }
  std::unique_ptr<call::Call> run(std::vector<command::Command> commands,
                                  std::int64_t wait_ms = 0) {
    send(make(std::move(commands), wait_ms));
    auto back = inbox_.next();
    EXPECT_TRUE(back);
    return back;
  }
  static command::Enqueue enqueue(std::string_view queue, std::string_view payload = "{}") {
    command::Enqueue c;
    c.job.queue = Blob(queue);
    c.job.payload = Blob(payload);
    return c;
  }
  static command::Claim claim(std::string_view queue, std::uint32_t count = 1) {
    command::Claim c;
    c.queues = {Blob(queue)};
    c.worker = Blob("w");
    c.count = count;
    return c;
  }
  base::JobId put(std::string_view queue) {
    const auto back = run({enqueue(queue)});
    return std::get<command::Enqueued>(back->replies.at(0)).job;
  }
  static const command::Claimed& claimed(const call::Call& call) {
    return std::get<command::Claimed>(call.replies.back());
  }
  call::NodeStatus status() {
    auto call = make({});
    call->query = call::StatusQuery{};
    send(std::move(call));
    return std::get<call::NodeStatus>(inbox_.next()->answer);
  }
  std::optional<model::JobRecord> job(base::JobId id) {
    auto call = make({});
    call->query = call::JobQuery{id};
    send(std::move(call));
    return std::get<std::optional<model::JobRecord>>(inbox_.next()->answer);
  }

  std::string dir_;
  Bounds bounds_;
  TestInbox inbox_;
  std::unique_ptr<Node> node_;
};

TEST_F(NodeTest, AJobGoesFromEnqueueToCompleted) {
  const auto id = put("q");
  const auto fetched = run({claim("q")});
  ASSERT_EQ(claimed(*fetched).jobs.size(), 1U);
  EXPECT_EQ(claimed(*fetched).jobs[0].job, id);
  const auto acked =
      run({command::Ack{.ref = {.job = id, .lease = claimed(*fetched).jobs[0].lease}}});
  EXPECT_EQ(std::get<command::Settled>(acked->replies.at(0)).state, model::State::completed);
  EXPECT_EQ(job(id)->state, model::State::completed);
}

TEST_F(NodeTest, EverythingIsThereAfterARestart) {
  const auto pending = put("q");
  const auto done = put("other");
  static_cast<void>(run({claim("other")}));
  static_cast<void>(run({command::Ack{.ref = {.job = done}}}));
  const auto before = status().state_hash;
  restart();
  EXPECT_EQ(status().state_hash, before);
  EXPECT_EQ(job(pending)->state, model::State::pending);
  EXPECT_EQ(job(done)->state, model::State::completed);
  EXPECT_EQ(claimed(*run({claim("q")})).jobs.at(0).job, pending);
}

TEST_F(NodeTest, AWaitingFetchRidesOnTheCommitOfTheEnqueue) {
  send(make({claim("q")}, 10'000));
  while (status().waiting_fetches == 0) {
  }
  const auto before = status().applied_index;
  send(make({enqueue("q")}));
  const auto first = inbox_.next();
  const auto second = inbox_.next();
  ASSERT_TRUE(first && second);
  const bool order = std::holds_alternative<command::Enqueued>(first->replies.at(0));
  EXPECT_EQ(claimed(order ? *second : *first).jobs.size(), 1U);
  EXPECT_EQ(status().applied_index, before + 1) << "one entry for both";
}

TEST_F(NodeTest, AFetchThatCanOnlyWaitIsNotWrittenDown) {
  static_cast<void>(run({claim("q")}));  // the worker is known from here on
  const auto before = status().applied_index;
  send(make({claim("q")}, 10'000));
  EXPECT_EQ(status().waiting_fetches, 1U);
  EXPECT_EQ(status().applied_index, before);
  EXPECT_TRUE(claimed(*run({claim("q")}, 30)).jobs.empty()) << "in its time";
  EXPECT_EQ(status().applied_index, before);
  static_cast<void>(run({claim("other")}, 30));
  EXPECT_EQ(status().applied_index, before + 1) << "the worker asks for something else";
}

TEST_F(NodeTest, AFetchFindsWhatComesWithIt) {
  static_cast<void>(run({claim("q")}));
  const auto before = status().applied_index;
  for (const bool settles : {false, true}) {
    std::vector<command::Command> commands;
    if (settles) commands.emplace_back(command::Heartbeat{});
    commands.emplace_back(claim("q"));
    node_->submit(make(std::move(commands), 10'000));
    node_->submit(make({enqueue("q")}));
    node_->flush();
    const auto a = inbox_.next();
    const auto b = inbox_.next();
    ASSERT_TRUE(a && b);
    const bool first = std::holds_alternative<command::Claimed>(a->replies.back());
    EXPECT_EQ(claimed(first ? *a : *b).jobs.size(), 1U);
  }
  EXPECT_LE(status().applied_index, before + 3) << "one entry for both, but for those taken apart";
}

TEST_F(NodeTest, AFetchThatFindsNothingGivesUpInTime) {
  const auto back = run({claim("q")}, 30);
  ASSERT_TRUE(back);
  EXPECT_TRUE(claimed(*back).jobs.empty());
}

TEST_F(NodeTest, AGlobWaitsForQueuesThatDoNotExistYet) {
  send(make({claim("mail.*")}, 10'000));
  while (status().waiting_fetches == 0) {
  }
  send(make({enqueue("other"), enqueue("mail.send")}));
  const auto first = inbox_.next();
  const auto second = inbox_.next();
  ASSERT_TRUE(first && second);
  const auto& fetch = first->replies.size() == 1 ? *first : *second;
  ASSERT_EQ(claimed(fetch).jobs.size(), 1U);
  EXPECT_EQ(claimed(fetch).jobs[0].queue.view(), "mail.send");
}

TEST_F(NodeTest, AFetchWhoseClientHasGoneReceivesNothing) {
  auto gone = make({claim("q")}, 10'000);
  gone->hung_up = std::make_shared<std::atomic<bool>>(false);
  const auto flag = gone->hung_up;
  send(std::move(gone));
  while (status().waiting_fetches == 0) {
  }
  *flag = true;
  send(make({enqueue("q")}));
  const auto a = inbox_.next();
  const auto b = inbox_.next();
  ASSERT_TRUE(a && b);
  const auto& enqueued = std::holds_alternative<command::Enqueued>(a->replies.at(0)) ? *a : *b;
  EXPECT_EQ(job(std::get<command::Enqueued>(enqueued.replies[0]).job)->state,
            model::State::pending);
}

TEST_F(NodeTest, WaitersWakeWhenALimitMakesRoom) {
  command::SetConcurrency limit;
  limit.queue = Blob("q");
  limit.max = 1;
  static_cast<void>(run({limit, enqueue("q"), enqueue("q")}));
  const auto first = run({claim("q")}, 10'000);
  ASSERT_EQ(claimed(*first).jobs.size(), 1U);
  send(make({claim("q")}, 10'000));
  while (status().waiting_fetches == 0) {
  }
  send(make({command::Ack{.ref = {.job = claimed(*first).jobs[0].job}}}));
  const auto a = inbox_.next();
  const auto b = inbox_.next();
  ASSERT_TRUE(a && b);
  const auto& fetch = std::holds_alternative<command::Claimed>(a->replies.at(0)) ? *a : *b;
  EXPECT_EQ(claimed(fetch).jobs.size(), 1U);
}

TEST_F(NodeTest, WakingGoesOnToTheWorkerThatFits) {
  for (int i = 0; i < 3; ++i) send(make({claim("q")}, 10'000));
  auto fits = claim("q");
  fits.roles = {Blob("gpu")};
  send(make({fits}, 10'000));
  while (status().waiting_fetches < 4) {
  }
  auto picky = enqueue("q");
  picky.job.requires_.roles = {Blob("gpu")};
  send(make({picky}));
  const auto a = inbox_.next();
  const auto b = inbox_.next();
  ASSERT_TRUE(a && b);
  const auto& fetch = std::holds_alternative<command::Claimed>(a->replies.at(0)) ? *a : *b;
  EXPECT_EQ(claimed(fetch).jobs.size(), 1U);
  EXPECT_EQ(status().waiting_fetches, 3U);
}

TEST_F(NodeTest, AScheduledJobWakesAWaiterWhenItIsDue) {
  auto later = enqueue("q");
  later.job.scheduled_at = status().now + base::milliseconds(150);
  static_cast<void>(run({later}));
  const auto fetched = run({claim("q")}, 10'000);
  ASSERT_EQ(claimed(*fetched).jobs.size(), 1U);
}

TEST_F(NodeTest, TimeGoesOnWhileNothingIsWritten) {
  static_cast<void>(put("q"));
  const auto queues = [&] {
    auto call = make({});
    call->query = call::QueuesQuery{};
    send(std::move(call));
    return std::get<call::QueuePage>(inbox_.next()->answer);
  };
  const auto before = queues();
  const auto index = status().applied_index;
  std::this_thread::sleep_for(50ms);
  const auto after = queues();
  EXPECT_GE((after.now - before.now).ms, 50);
  EXPECT_GE((status().now - after.rows.at(0).oldest_pending).ms, 50);
  EXPECT_EQ(status().applied_index, index) << "nothing was written";
}

TEST_F(NodeTest, SettlesBeforeItWaits) {
  const auto id = put("q");
  static_cast<void>(run({claim("q")}));
  send(make({command::Ack{.ref = {.job = id}}, claim("q")}, 10'000));
  while (job(id)->state != model::State::completed) {
  }
  send(make({enqueue("q")}));
  const auto a = inbox_.next();
  const auto b = inbox_.next();
  ASSERT_TRUE(a && b);
  const auto& both = a->replies.size() == 2 ? *a : *b;
  ASSERT_EQ(both.replies.size(), 2U);
  EXPECT_EQ(std::get<command::Settled>(both.replies[0]).state, model::State::completed);
  EXPECT_EQ(claimed(both).jobs.size(), 1U);
}

TEST_F(NodeTest, DrainingAnswersWaitersAndClaimsNothing) {
  const auto id = put("q");
  send(make({claim("empty")}, 10'000));
  while (status().waiting_fetches == 0) {
  }
  node_->drain();
  EXPECT_TRUE(claimed(*inbox_.next()).jobs.empty());
  EXPECT_TRUE(claimed(*run({claim("q")}, 10'000)).jobs.empty());
  EXPECT_EQ(job(id)->state, model::State::pending);
  EXPECT_FALSE(node_->ready());
  EXPECT_TRUE(node_->stop());
  EXPECT_EQ(run({enqueue("q")})->trouble, call::Trouble::stopping);
}

class SmallNodeTest : public NodeTest {
 protected:
  void SetUp() override {
    bounds_.intake_calls = 4;
    bounds_.entry_bytes = 200;
    bounds_.round_bytes = 500;
    NodeTest::SetUp();
  }
};

TEST_F(SmallNodeTest, AFullIntakeRefusesAndLosesNothing) {
  constexpr int kCalls = 2000;
  for (int i = 0; i < kCalls; ++i) send(make({enqueue("q", "\"0123456789\"")}));
  int accepted = 0;
  for (int i = 0; i < kCalls; ++i) {
    const auto back = inbox_.next();
    ASSERT_TRUE(back);
    if (back->trouble == call::Trouble::none)
      ++accepted;
    else
      ASSERT_EQ(back->trouble, call::Trouble::overloaded);
  }
  EXPECT_EQ(status().live_jobs, static_cast<std::uint64_t>(accepted));
  restart();
  EXPECT_EQ(status().live_jobs, static_cast<std::uint64_t>(accepted));
}

}  // namespace
}  // namespace jobbie::node
