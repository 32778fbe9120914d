// The node with a real log and a real database in a directory of its own.
#include "node/node.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <set>
#include <stdlib.h>
#include <string>
#include <thread>
#include <unistd.h>
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

/// The system's, with a wall clock that can be set and a machine that can be started again.
class SetClock final : public Clock {
 public:
  std::int64_t wall_us() override { return system_.wall_us() + ahead_us.load(); }
  std::int64_t steady_us() override { return system_.steady_us(); }
  std::string boot() override { return booted; }
  std::atomic<std::int64_t> ahead_us = 0;
  std::string booted = "one";

 private:
  SystemClock system_;
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
    options.clock = clock_;
    options.journal = journal_;
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
  Clock* clock_ = nullptr;
  base::Journal* journal_ = nullptr;
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

TEST_F(NodeTest, AFetchWhoseClientHasGoneIsNotMade) {
  static_cast<void>(run({enqueue("q"), enqueue("q")}));
  const auto first = run({claim("q")});
  ASSERT_EQ(claimed(*first).jobs.size(), 1U);
  const auto before = status().applied_index;
  auto gone = make({claim("q")});
  gone->hung_up = std::make_shared<std::atomic<bool>>(true);
  send(std::move(gone));
  const auto nothing = inbox_.next();
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(claimed(*nothing).jobs.empty());
  EXPECT_EQ(status().applied_index, before) << "without an entry";

  // What stands before the claim is done all the same.
  const auto held = claimed(*first).jobs[0];
  auto settles =
      make({command::Ack{.ref = {.job = held.job, .lease = held.lease}}, claim("q")}, 10'000);
  settles->hung_up = std::make_shared<std::atomic<bool>>(true);
  send(std::move(settles));
  const auto settled = inbox_.next();
  ASSERT_TRUE(settled);
  EXPECT_TRUE(std::holds_alternative<command::Settled>(settled->replies.at(0)));
  EXPECT_TRUE(claimed(*settled).jobs.empty());
  EXPECT_EQ(claimed(*run({claim("q")})).jobs.size(), 1U) << "it is still there";
}

TEST_F(NodeTest, FetchesWithNewGlobsAreMadeWhileOthersAreServed) {
  command::EnqueueMany many;
  for (int i = 0; i < 10'000; ++i) {
    auto& job = many.jobs.emplace_back();
    job.queue = Blob("mail." + std::to_string(i));
    job.payload = Blob("{}");
  }
  static_cast<void>(run({many}));
  many.jobs.clear();
  for (int i = 10'000; i < 20'000; ++i) {
    auto& job = many.jobs.emplace_back();
    job.queue = Blob("mail." + std::to_string(i));
    job.payload = Blob("{}");
  }
  static_cast<void>(run({many}));
  // As many comparisons as need many turns; one of the globs matches one queue.
  constexpr int kFetches = 5;
  for (int fetch = 0; fetch < kFetches; ++fetch) {
    command::Claim wanted;
    for (int i = 0; i < 10; ++i)
      wanted.queues.emplace_back("*" + std::to_string(fetch) + "x" + std::to_string(i) + "*");
    wanted.queues.emplace_back("*il.1234" + std::to_string(fetch));
    send(make({wanted}));
  }
  std::set<std::string> queues;
  for (int fetch = 0; fetch < kFetches; ++fetch) {
    const auto back = inbox_.next();
    ASSERT_TRUE(back);
    ASSERT_EQ(claimed(*back).jobs.size(), 1U);
    queues.emplace(claimed(*back).jobs[0].queue.view());
  }
  EXPECT_EQ(queues.size(), std::size_t{kFetches});
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

TEST_F(NodeTest, ADelayEndsByTheLogsTime) {
  auto later = enqueue("q");
  later.job.delay = base::milliseconds(150);
  const auto before = status().now;
  const auto back = run({later});
  const auto id = std::get<command::Enqueued>(back->replies.at(0)).job;
  const auto made = job(id)->spec;
  EXPECT_EQ(made.delay, base::Duration{});
  EXPECT_GE(made.scheduled_at, before + base::milliseconds(150));
  EXPECT_LE(made.scheduled_at, status().now + base::milliseconds(150));
  ASSERT_EQ(claimed(*run({claim("q")}, 10'000)).jobs.size(), 1U);
}

TEST_F(NodeTest, AWrongClockDoesNotMoveTheLogOfAMachineThatRanOn) {
  constexpr std::int64_t kDay = 86'400'000;
  SetClock clock;
  clock_ = &clock;
  restart();
  static_cast<void>(put("q"));
  ASSERT_EQ(claimed(*run({claim("q")})).jobs.size(), 1U);
  const auto signed_at = [&] {
    const auto sign = LifeSignFile(dir_).read();
    return sign ? sign->log : base::Instant{};
  };
  for (const auto since = status().now; signed_at() <= since;) std::this_thread::sleep_for(5ms);
  const auto before = status().now;
  clock.ahead_us = 400 * kDay * 1000;
  restart();
  EXPECT_LT((status().now - before).ms, kDay) << "the clock is 400 days ahead, and wrong";
  EXPECT_GT(status().clock_offset.ms, 399 * kDay);
  EXPECT_TRUE(claimed(*run({claim("q")})).jobs.empty()) << "the lease goes on";
  EXPECT_LT((node_->now() - before).ms, kDay);
  node_.reset();  // before its clock
}

TEST_F(NodeTest, AClockFarAheadIsBelievedAfterAStartOfTheMachineAndToldOf) {
  constexpr std::int64_t kDay = 86'400'000;
  SetClock clock;
  clock_ = &clock;
  const auto path = dir_ + "/journal";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
  base::Journal journal(file);
  journal_ = &journal;
  restart();
  static_cast<void>(put("q"));
  const auto before = status().now;
  clock.ahead_us = 3 * kDay * 1000;
  clock.booted = "two";
  restart();
  EXPECT_GE((status().now - before).ms, 3 * kDay);
  EXPECT_LT(std::abs(status().clock_offset.ms), 60'000);
  const auto told = [&](std::string_view event) {
    std::string text(1 << 16, '\0');
    text.resize(
        static_cast<std::size_t>(std::max<ssize_t>(::pread(file, text.data(), text.size(), 0), 0)));
    return text.find(event) != std::string::npos;
  };
  EXPECT_TRUE(told("clock_far_ahead_of_log"));
  clock.ahead_us = 0;
  while (!told("clock_is_off")) std::this_thread::sleep_for(5ms);
  EXPECT_LT(status().clock_offset.ms, -2 * kDay);
  node_.reset();
  ::close(file);
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
