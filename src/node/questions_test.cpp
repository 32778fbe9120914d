// Questions to an engine that a test has filled.
#include "node/questions.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace jobbie::node {
namespace {

using base::Blob;

class NoEndedJobs final : public engine::EndedJobs {
 public:
  std::optional<model::JobRecord> find(base::JobId /*id*/) override { return std::nullopt; }
  std::vector<model::JobRecord> dead_in_group(std::string_view, std::uint64_t, std::uint64_t,
                                              std::size_t) override {
    return {};
  }
};

class NoInbox final : public call::Inbox {
 public:
  void deliver(std::vector<std::unique_ptr<call::Call>> /*calls*/) override {}
};

class Question final : public call::Call {
 public:
  using Call::Call;
  void finish() override {}
};

class QuestionsTest : public testing::Test {
 protected:
  command::Reply apply(command::Command command) {
    now_.ms += 10;
    return engine_.apply({.now = now_, .random = 7, .commands = {std::move(command)}})
        .replies.at(0);
  }
  base::JobId enqueue(std::string_view queue, std::string_view group = {}) {
    command::Enqueue enqueue;
    enqueue.job.queue = Blob(queue);
    enqueue.job.payload = Blob("{}");
    enqueue.job.group = Blob(group);
    return std::get<command::Enqueued>(apply(std::move(enqueue))).job;
  }
  /// The answer; a failure where the engine does not know.
  template <typename Answer>
  Answer ask(call::Query query) {
    Question question(inbox_);
    question.query = std::move(query);
    question.grant = grant_;
    if (auto scan = scan_for(question)) {
      // One name at a time, which must make no difference.
      for (std::size_t name = 1; !engine_.look_through(*scan, name); name = 1) {
      }
      answer_scan(engine_, stats_, engine_.now(), *std::move(scan), question);
    } else {
      EXPECT_TRUE(answer_from_engine(engine_, stats_, engine_.now(), question));
    }
    const auto* answer = std::get_if<Answer>(&question.answer);
    EXPECT_NE(answer, nullptr);
    return answer != nullptr ? *answer : Answer{};
  }
  bool knows(call::Query query) {
    Question question(inbox_);
    question.query = std::move(query);
    return answer_from_engine(engine_, stats_, engine_.now(), question);
  }
  static std::string names(const call::QueuePage& page) {
    std::string out;
    for (const auto& row : page.rows) out += std::string(row.record.name.view()) + " ";
    return out + (page.more ? "more" : "end");
  }

  NoEndedJobs ended_;
  NoInbox inbox_;
  engine::Engine engine_{ended_};
  stats::Stats stats_;
  base::Instant now_{1'770'000'000'000};
  call::GrantPtr grant_;
};

TEST_F(QuestionsTest, QueuesComeByName) {
  for (const auto* queue : {"b", "a/x", "c", "a"}) enqueue(queue);
  const auto listed = [&](call::NamePage page) {
    return names(ask<call::QueuePage>(call::QueuesQuery{.page = std::move(page), .only = {}}));
  };
  EXPECT_EQ(listed({.limit = 10}), "a a/x b c end");
  EXPECT_EQ(listed({.limit = 4}), "a a/x b c end");
  EXPECT_EQ(listed({.limit = 2}), "a a/x more");
  EXPECT_EQ(listed({.after = "a/x", .limit = 2}), "b c end");
  EXPECT_EQ(listed({.after = "c", .limit = 2}), "end");
  EXPECT_EQ(listed({.prefix = "a", .limit = 9}), "a a/x end");
  EXPECT_EQ(listed({.glob = "?", .limit = 1}), "a more");
  EXPECT_EQ(names(ask<call::QueuePage>(call::QueuesQuery{.page = {}, .only = "b"})), "b end");
  EXPECT_EQ(names(ask<call::QueuePage>(call::QueuesQuery{.page = {}, .only = "no"})), "end");
}

TEST_F(QuestionsTest, GroupsAndWorkers) {
  enqueue("q", "g2");
  enqueue("q", "g1");
  const auto groups = ask<call::GroupPage>(call::GroupsQuery{{.limit = 1}});
  ASSERT_EQ(groups.rows.size(), 1u);
  EXPECT_EQ(groups.rows[0].name.view(), "g1");
  EXPECT_TRUE(groups.more);
  apply(command::Claim{.queues = {Blob("q")}, .worker = Blob("w")});
  const auto worker = ask<call::WorkerPage>(call::WorkersQuery{.page = {}, .only = "w"});
  ASSERT_EQ(worker.rows.size(), 1u);
  EXPECT_EQ(worker.rows[0].active, 1u);
  EXPECT_TRUE(ask<call::WorkerPage>(call::WorkersQuery{.page = {}, .only = "v"}).rows.empty());
}

TEST_F(QuestionsTest, AKeySeesTheWorkersOfItsQueues) {
  const auto claim = [&](std::string_view worker, std::vector<Blob> queues) {
    apply(command::Claim{.queues = std::move(queues), .worker = Blob(worker)});
  };
  claim("a", {Blob("sms")});
  claim("b", {Blob("sms"), Blob("mail.x")});
  claim("c", {Blob("*")});
  const auto seen = [&](call::NamePage page) {
    std::string out;
    const auto found = ask<call::WorkerPage>(call::WorkersQuery{.page = std::move(page)});
    for (const auto& row : found.rows) out += std::string(row.spec.id.view()) + " ";
    return out + (found.more ? "more" : "end");
  };
  const auto shows = [&](std::string id) {
    return !ask<call::WorkerPage>(call::WorkersQuery{.page = {}, .only = std::move(id)})
                .rows.empty();
  };
  EXPECT_EQ(seen({.limit = 9}), "a b c end");
  grant_ = std::make_shared<const call::Grant>(call::Grant{.queues = {Blob("mail.*")}});
  EXPECT_EQ(seen({.limit = 9}), "b c end");
  EXPECT_EQ(seen({.limit = 1}), "b more");
  EXPECT_FALSE(shows("a"));
  EXPECT_TRUE(shows("b"));
}

TEST_F(QuestionsTest, SchedulesComeInOrderOfTheirMaking) {
  std::vector<base::ScheduleId> ids;
  for (const auto* name : {"z", "y", "x"}) {
    command::CreateSchedule create;
    create.spec.name = Blob(name);
    create.spec.cron = Blob("0 9 * * *");
    create.spec.job.queue = Blob("q");
    create.spec.job.payload = Blob("{}");
    ids.push_back(std::get<command::ScheduleReply>(apply(std::move(create))).schedule.id);
  }
  const auto page =
      ask<call::SchedulePage>(call::SchedulesQuery{.after = ids[0], .limit = 1, .only = {}});
  ASSERT_EQ(page.rows.size(), 1u);
  EXPECT_EQ(page.rows[0].id, ids[1]);
  EXPECT_TRUE(page.more);
  const auto one =
      ask<call::SchedulePage>(call::SchedulesQuery{.after = {}, .limit = 1, .only = ids[2]});
  ASSERT_EQ(one.rows.size(), 1u);
  EXPECT_EQ(one.rows[0].spec.name.view(), "x");
}

TEST_F(QuestionsTest, WhyNamesTheReason) {
  const auto job = enqueue("q");
  apply(command::QueueCommand{.queue = Blob("q"), .action = command::QueueAction::pause});
  const auto why = ask<call::Why>(call::WhyQuery{job});
  EXPECT_TRUE(why.found);
  ASSERT_FALSE(why.reasons.empty());
  EXPECT_STREQ(why.reasons[0].code, "paused");
}

TEST_F(QuestionsTest, ARemovedJobIsKnownToBeGone) {
  const auto job = enqueue("q");
  const auto never = base::JobId{base::Ulid::make(now_, 99, 1)};
  EXPECT_TRUE(ask<std::optional<model::JobRecord>>(call::JobQuery{job}));
  engine_.drain_changes();  // now the database has it
  apply(command::Delete{job});
  EXPECT_FALSE(ask<std::optional<model::JobRecord>>(call::JobQuery{job}));
  EXPECT_FALSE(ask<call::Why>(call::WhyQuery{job}).found);
  // Of others the database has to be asked; and of this one too, once it has been told.
  EXPECT_FALSE(knows(call::JobQuery{never}));
  engine_.drain_changes();
  EXPECT_FALSE(knows(call::JobQuery{job}));
}

}  // namespace
}  // namespace jobbie::node
