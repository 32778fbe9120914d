// The bulk runner against a node that a test has written: what it asks, in which order, and what it
// makes of the answers.
#include "node/bulk_runner.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>

#include <gtest/gtest.h>

#include "model/limits.hpp"

namespace jobbie::node {
namespace {

using base::Blob;
using base::JobId;
using namespace std::chrono_literals;

JobId job(std::uint64_t sequence) { return {base::Ulid::make({1'760'000'000'000}, sequence, 7)}; }
base::BulkId operation(std::uint64_t sequence) {
  return {base::Ulid::make({1'760'000'000'000}, sequence, 7)};
}

/// Answers on the runner's own thread.
class FakeNode final : public call::Service {
 public:
  void submit(std::unique_ptr<call::Call> call) override {
    {
      const std::lock_guard lock(mutex_);
      if (const auto* slice = std::get_if<call::SliceQuery>(&call->query)) {
        answer_slice(*slice, *call);
      } else if (std::holds_alternative<call::BulksQuery>(call->query)) {
        call->answer = call::BulksAnswer{bulks_};
      } else {
        answer_command(*call);
      }
    }
    auto& inbox = call->inbox();
    std::vector<std::unique_ptr<call::Call>> calls;
    calls.push_back(std::move(call));
    inbox.deliver(std::move(calls));
  }
  [[nodiscard]] bool ready() const override { return true; }

  void answer_slice(const call::SliceQuery& query, call::Call& call) {
    if (slice_trouble_ != call::Trouble::none) {
      call.trouble = slice_trouble_;
      return;
    }
    filters_.push_back(query.filter);
    call::SliceAnswer answer;
    if (query.count) {
      answer.count = count_ ? *count_ : matching_;
      answer.last = matching_;
    } else {
      for (auto at = query.after + 1; at <= std::min(query.upto, matching_); ++at) {
        if (answer.jobs.size() == query.limit) break;
        answer.jobs.push_back(job(at));
      }
    }
    call.answer = std::move(answer);
  }

  void answer_command(call::Call& call) {
    commands_.push_back(call.commands.at(0));
    if (call.audit) ++audits_;
    if (next_reply_) {
      call.replies.push_back(*std::exchange(next_reply_, std::nullopt));
      if (cancelled_meanwhile_) bulks_.at(0).status = model::BulkStatus::cancelled;
    } else if (const auto* step = std::get_if<command::BulkStep>(&commands_.back())) {
      call.replies.emplace_back(command::BulkStepped{.affected = step->jobs.size(), .errors = {}});
    } else if (const auto* start = std::get_if<command::StartBulk>(&commands_.back())) {
      model::BulkRecord record;
      record.id = operation(5000);
      record.action = start->action;
      record.filter = start->filter;
      record.estimated = start->estimated;
      record.bound = matching_;
      bulks_.push_back(record);
      call.replies.emplace_back(command::BulkReply{record});
    } else {
      call.replies.emplace_back(command::BulkReply{});
    }
    changed_.notify_all();
  }

  /// Once that many commands have come.
  std::vector<command::Command> commands(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 10s, [&] { return commands_.size() >= count; }));
    return commands_;
  }
  template <typename Command>
  Command command(std::size_t i) {
    const auto all = commands(i + 1);
    return i < all.size() ? std::get<Command>(all[i]) : Command{};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t matching_ = 0;          ///< jobs 1 … n match whatever is asked
  std::optional<std::uint64_t> count_;  ///< what a count answers instead
  call::Trouble slice_trouble_ = call::Trouble::none;
  std::optional<command::Reply> next_reply_;
  bool cancelled_meanwhile_ = false;
  std::vector<model::BulkRecord> bulks_;
  std::vector<command::Command> commands_;
  std::vector<search::Filter> filters_;
  std::size_t audits_ = 0;
};

class Caller final : public call::Inbox {
 public:
  void deliver(std::vector<std::unique_ptr<call::Call>> calls) override {
    const std::lock_guard lock(mutex_);
    for (auto& call : calls) arrived_.push_back(std::move(call));
    changed_.notify_all();
  }
  std::unique_ptr<call::Call> next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, 10s, [this] { return !arrived_.empty(); })) return nullptr;
    auto call = std::move(arrived_.front());
    arrived_.pop_front();
    return call;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<call::Call>> arrived_;
};

class Wish final : public call::Call {
 public:
  using Call::Call;
  void finish() override {}
};

class BulkRunnerTest : public testing::Test {
 protected:
  void start(std::size_t bound = 10) {
    runner_ = std::make_unique<BulkRunner>(
        node_, BulkRunner::Options{.bound = bound, .bound_per_caller = bound}, memory_room_);
    runner_->lead(true);
    runner_->start();
  }
  void wish(call::BulkQuery query) {
    auto call = std::make_unique<Wish>(caller_);
    call->query = std::move(query);
    call->audit = command::RecordAction{};
    runner_->take(std::move(call));
  }
  call::BulkAnswer outcome() {
    const auto call = caller_.next();
    if (!call) {
      ADD_FAILURE() << "nobody answered";
      return {};
    }
    EXPECT_EQ(call->trouble, call::Trouble::none);
    const auto* answer = std::get_if<call::BulkAnswer>(&call->answer);
    EXPECT_NE(answer, nullptr);
    return answer != nullptr ? *answer : call::BulkAnswer{};
  }
  static call::BulkQuery by_filter(model::BulkAction action = model::BulkAction::retry) {
    call::BulkQuery query;
    query.action = action;
    query.filter_text = Blob(R"({"queue":"q"})");
    query.filter.queue = "q";
    return query;
  }

  FakeNode node_;
  Caller caller_;
  std::atomic<std::uint64_t> memory_room_ = std::uint64_t{1} << 40;
  std::unique_ptr<BulkRunner> runner_;
};

TEST_F(BulkRunnerTest, JobsByIdGoInStepsOfABound) {
  start();
  call::BulkQuery query;
  query.action = model::BulkAction::move;
  query.queue = Blob("other");
  for (std::uint64_t i = 1; i <= BulkRunner::kStepJobs + 3; ++i) query.jobs.push_back(job(i));
  wish(query);
  EXPECT_EQ(outcome().outcome.affected, BulkRunner::kStepJobs + 3);
  const auto first = node_.command<command::BulkStep>(0);
  EXPECT_TRUE(first.bulk.is_nil());
  EXPECT_EQ(first.action, model::BulkAction::move);
  EXPECT_EQ(first.queue.view(), "other");
  EXPECT_EQ(first.jobs.size(), BulkRunner::kStepJobs);
  const auto second = node_.command<command::BulkStep>(1);
  ASSERT_EQ(second.jobs.size(), 3U);
  EXPECT_EQ(second.jobs.front(), job(BulkRunner::kStepJobs + 1));
  EXPECT_EQ(node_.audits_, 1U);  // it rides on the first step
}

TEST_F(BulkRunnerTest, JobsThatComeBackToLifeGoInStepsThatFitIntoMemory) {
  memory_room_ = std::uint64_t{24} << 20;
  start();
  call::BulkQuery query;
  query.action = model::BulkAction::retry;
  for (std::uint64_t i = 1; i <= 5; ++i) query.jobs.push_back(job(i));
  wish(query);
  EXPECT_EQ(outcome().outcome.affected, 5U);
  EXPECT_EQ(node_.command<command::BulkStep>(0).jobs.size(), 3U);
  EXPECT_EQ(node_.command<command::BulkStep>(1).jobs.size(), 2U);
  memory_room_ = 0;
  query.jobs.resize(2);
  wish(query);
  EXPECT_EQ(outcome().outcome.affected, 2U);
  EXPECT_EQ(node_.command<command::BulkStep>(2).jobs.size(), 1U);
}

TEST_F(BulkRunnerTest, AFewMatchesAreDoneWhileTheCallerWaits) {
  node_.matching_ = 1200;  // more than one search gives
  start();
  wish(by_filter());
  const auto answer = outcome();
  EXPECT_FALSE(answer.started);
  EXPECT_EQ(answer.outcome.affected, 1200U);
  std::uint64_t expected = 0;
  for (const auto& command : node_.commands(5))
    for (const JobId id : std::get<command::BulkStep>(command).jobs)
      EXPECT_EQ(id.sequence(), ++expected);  // each once, in order
  EXPECT_EQ(expected, 1200U);
}

TEST_F(BulkRunnerTest, NothingMatches) {
  start();
  wish(by_filter());
  const auto answer = outcome();
  EXPECT_EQ(answer.outcome, command::BulkStepped{});
  EXPECT_TRUE(node_.commands(0).empty());
}

TEST_F(BulkRunnerTest, ManyBecomeAnOperationThatGoesOnBehindItsAnswer) {
  node_.matching_ = 300;
  node_.count_ = search::kMaxTotal + 1;
  start();
  wish(by_filter(model::BulkAction::cancel));
  const auto answer = outcome();
  ASSERT_TRUE(answer.started);
  EXPECT_EQ(answer.started->id, operation(5000));
  EXPECT_EQ(node_.command<command::StartBulk>(0).estimated, search::kMaxTotal + 1);
  EXPECT_EQ(node_.command<command::StartBulk>(0).filter.view(), R"({"queue":"q"})");
  const auto first = node_.command<command::BulkStep>(1);
  EXPECT_EQ(first.bulk, operation(5000));
  EXPECT_EQ(first.after, 0U);
  EXPECT_EQ(first.upto, BulkRunner::kStepJobs);
  EXPECT_FALSE(first.last);
  const auto second = node_.command<command::BulkStep>(2);
  EXPECT_EQ(second.after, BulkRunner::kStepJobs);
  EXPECT_EQ(second.upto, 300U);
  EXPECT_TRUE(second.last);
}

TEST_F(BulkRunnerTest, TakesUpWhatWasGoingOn) {
  node_.matching_ = 40;
  model::BulkRecord record;
  record.id = operation(100);
  record.filter = Blob("{}");
  record.cursor = 30;
  record.bound = 35;
  node_.bulks_.push_back(record);
  record.id = operation(99);
  record.status = model::BulkStatus::completed;
  node_.bulks_.push_back(record);
  start();
  const auto step = node_.command<command::BulkStep>(0);
  EXPECT_EQ(step.bulk, operation(100));
  EXPECT_EQ(step.after, 30U);
  ASSERT_EQ(step.jobs.size(), 5U);  // none beyond the bound
  EXPECT_EQ(step.jobs.front(), job(31));
  EXPECT_EQ(step.upto, 35U);
  EXPECT_TRUE(step.last);
}

TEST_F(BulkRunnerTest, AFilterThatCannotBeReadAnyMoreEndsTheOperation) {
  model::BulkRecord record;
  record.id = operation(100);
  record.filter = Blob(R"({"moon":"full"})");
  node_.bulks_.push_back(record);
  start();
  const auto end = node_.command<command::EndBulk>(0);
  EXPECT_EQ(end.bulk, operation(100));
  EXPECT_FALSE(end.reason.empty());
}

TEST_F(BulkRunnerTest, AnOperationThatWasEndedIsLeftAlone) {
  node_.matching_ = 10;
  model::BulkRecord record;
  record.id = operation(100);
  record.filter = Blob("{}");
  record.bound = 10;
  node_.bulks_.push_back(record);
  node_.next_reply_ = command::Refusal{command::Refused::wrong_state, "bulk_operation_id", ""};
  node_.cancelled_meanwhile_ = true;
  start();
  static_cast<void>(node_.commands(1));
  wish({});
  EXPECT_EQ(outcome().outcome, command::BulkStepped{});
  EXPECT_EQ(node_.commands(1).size(), 1U);
}

TEST_F(BulkRunnerTest, ATrialChangesNothing) {
  node_.matching_ = 7;
  start();
  auto query = by_filter(model::BulkAction::requeue);
  query.dry_run = true;
  wish(query);
  EXPECT_EQ(outcome().outcome.affected, 7U);
  EXPECT_TRUE(node_.commands(0).empty());
  // The second count is of those in a state that the action is for.
  ASSERT_EQ(node_.filters_.size(), 2U);
  EXPECT_TRUE(node_.filters_[0].states.empty());
  EXPECT_EQ(node_.filters_[1].states, std::vector{model::State::dead});
}

TEST_F(BulkRunnerTest, ARefusedStepIsTold) {
  start();
  node_.next_reply_ = command::Refusal{command::Refused::invalid, "move_to_queue", "no"};
  call::BulkQuery query;
  query.jobs = {job(1)};
  wish(query);
  const auto answer = outcome();
  ASSERT_TRUE(answer.refusal);
  EXPECT_EQ(answer.refusal->field, "move_to_queue");
}

TEST_F(BulkRunnerTest, TroubleIsTheCallers) {
  start();
  {
    const std::lock_guard lock(node_.mutex_);
    node_.slice_trouble_ = call::Trouble::too_slow;
  }
  wish(by_filter());
  const auto call = caller_.next();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->trouble, call::Trouble::too_slow);
}

TEST_F(BulkRunnerTest, ASearchThatTakesTooLongFailsTheOperation) {
  model::BulkRecord record;
  record.id = operation(100);
  record.filter = Blob("{}");
  record.bound = 10;
  node_.bulks_.push_back(record);
  node_.slice_trouble_ = call::Trouble::too_slow;
  start();
  EXPECT_FALSE(node_.command<command::EndBulk>(0).reason.empty());
}

TEST_F(BulkRunnerTest, WhoeverStillWaitsIsToldAtTheEnd) {
  runner_ =
      std::make_unique<BulkRunner>(node_, BulkRunner::Options{.bound = 1, .bound_per_caller = 1},
                                   memory_room_);  // not started: nobody is served
  wish({});
  wish({});
  auto call = caller_.next();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->trouble, call::Trouble::overloaded);
  runner_.reset();
  call = caller_.next();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->trouble, call::Trouble::stopping);
}

}  // namespace
}  // namespace jobbie::node
