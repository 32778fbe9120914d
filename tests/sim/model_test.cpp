// The model by itself: hand-made sequences with outcomes worked out from docs/lifecycle.md, and the
// workload run over the model alone.
#include "tests/sim/model.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/sim/coverage.hpp"
#include "tests/sim/personality.hpp"
#include "tests/sim/workload.hpp"

namespace jobbie::sim {
namespace {

using namespace command;
using base::milliseconds;
using base::seconds;

constexpr Instant kStart{1'700'000'000'000};

class ModelTest : public testing::Test {
 protected:
  Reply run(Command command) {
    Entry entry{.now = now_, .random = 1};
    entry.commands.push_back(std::move(command));
    return model_.apply(entry).front();
  }
  void pass(Duration duration) { now_ = now_ + duration; }

  static JobSpec job(std::string_view queue = "q") {
    JobSpec spec;
    spec.queue = Blob(queue);
    spec.payload = Blob("1");
    return spec;
  }
  JobId enqueue(const JobSpec& spec) { return std::get<Enqueued>(run(Enqueue{spec, {}})).job; }
  std::vector<ClaimedJob> claim(std::uint32_t count = 1) {
    return std::get<Claimed>(run(Claim{.queues = {Blob("*")}, .worker = Blob("w"), .count = count}))
        .jobs;
  }
  State state(JobId id) { return model_.find(id)->state; }
  static Refused code(const Reply& reply) { return std::get<Refusal>(reply).code; }

  Instant now_ = kStart;
  Model model_{engine::Options{}};
};

TEST_F(ModelTest, AFullLife) {
  const JobId id = enqueue(job());
  const auto claimed = claim();
  ASSERT_EQ(claimed.size(), 1U);
  EXPECT_EQ(claimed[0].job, id);
  EXPECT_EQ(claimed[0].lease, 1U);
  EXPECT_EQ(claimed[0].lease_expires_at, now_ + seconds(60));
  const Reply acked = run(Ack{{id, 1, {}}, Blob("2")});
  EXPECT_EQ(std::get<Settled>(acked).state, State::completed);
  EXPECT_TRUE(std::get<Settled>(run(Ack{{id, 1, {}}, Blob("3")})).repeated);
  EXPECT_TRUE(is(model_.find(id)->result, "2"));
}

TEST_F(ModelTest, ALateAckIsRefusedWhetherOrNotATickCame) {
  JobSpec spec = job();
  spec.lease = seconds(1);
  const JobId id = enqueue(spec);
  claim();
  pass(seconds(1));
  EXPECT_EQ(code(run(Ack{{id, 1, {}}, {}})), Refused::lease_lost);
  EXPECT_EQ(state(id), State::pending);
  EXPECT_TRUE(is(model_.find(id)->errors.front().error, "lease_expired"));
}

TEST_F(ModelTest, BackoffGrowsAndIsCapped) {
  JobSpec spec = job();
  spec.max_retries = 10;
  spec.retry = {.backoff = model::Backoff::exponential, .base = seconds(1), .max = seconds(5)};
  const JobId id = enqueue(spec);
  for (const std::int64_t wait : {1, 2, 4, 5, 5}) {
    const auto lease = claim().front().lease;
    const auto failed = std::get<Settled>(run(Fail{.ref = {id, lease, {}}, .error = Blob("e")}));
    EXPECT_EQ(failed.state, State::retrying);
    EXPECT_EQ(failed.next_attempt_at, now_ + seconds(wait));
    pass(seconds(wait));
    run(Tick{});
    EXPECT_EQ(state(id), State::pending);
  }
}

TEST_F(ModelTest, OrderIsPriorityThenAge) {
  const JobId first = enqueue(job("a"));
  const JobId second = enqueue(job("b"));
  JobSpec urgent = job("b");
  urgent.priority = model::kCritical;
  const JobId third = enqueue(urgent);
  const auto claimed = claim(3);
  ASSERT_EQ(claimed.size(), 3U);
  EXPECT_EQ(claimed[0].job, third);
  EXPECT_EQ(claimed[1].job, first);
  EXPECT_EQ(claimed[2].job, second);
}

TEST_F(ModelTest, FairnessTakesTurnsAmongGroups) {
  run(SetFairness{Blob("q"), model::Fairness::group});
  JobSpec a = job();
  a.group = Blob("a");
  JobSpec b = job();
  b.group = Blob("b");
  const JobId a1 = enqueue(a);
  const JobId a2 = enqueue(a);
  const JobId b1 = enqueue(b);
  const auto claimed = claim(3);
  ASSERT_EQ(claimed.size(), 3U);
  EXPECT_EQ(claimed[0].job, a1);
  EXPECT_EQ(claimed[1].job, b1);
  EXPECT_EQ(claimed[2].job, a2);
}

TEST_F(ModelTest, AThrottleCountsASlidingWindow) {
  run(SetThrottle{Blob("q"), 1, seconds(1), {}});
  enqueue(job());
  enqueue(job());
  EXPECT_EQ(claim(2).size(), 1U);
  pass(milliseconds(999));
  EXPECT_EQ(claim().size(), 0U);
  pass(milliseconds(1));
  EXPECT_EQ(claim().size(), 1U);
}

TEST_F(ModelTest, ConcurrencyByKeyLeavesOthersAlone) {
  run(SetConcurrency{Blob("q"), 1, Blob("tags.tenant")});
  JobSpec a = job();
  a.tags = Blob(R"({"tenant":"a"})");
  enqueue(a);
  enqueue(a);
  enqueue(job());
  EXPECT_EQ(claim(3).size(), 2U);
}

TEST_F(ModelTest, AUniqueKeyIsHeldUntilTheEnd) {
  JobSpec spec = job();
  spec.unique.key = Blob("k");
  const JobId id = enqueue(spec);
  const auto again = std::get<Enqueued>(run(Enqueue{spec, {}}));
  EXPECT_TRUE(again.existing);
  EXPECT_EQ(again.job, id);
  run(Cancel{id});
  EXPECT_FALSE(std::get<Enqueued>(run(Enqueue{spec, {}})).existing);
  EXPECT_EQ(code(run(Retry{id, {}})), Refused::unique_conflict);
}

TEST_F(ModelTest, DependentsFollowOrFall) {
  const JobId root = enqueue(job());
  JobSpec after = job();
  after.depends_on = {root, root};
  const JobId falls = enqueue(after);
  after.on_failure = model::OnFailure::run;
  const JobId runs = enqueue(after);
  EXPECT_EQ(state(falls), State::waiting);
  run(Cancel{root});
  EXPECT_EQ(state(falls), State::cancelled);
  EXPECT_TRUE(is(model_.find(falls)->end_reason, "dependency_failed"));
  EXPECT_EQ(state(runs), State::pending);
}

TEST_F(ModelTest, ARequestThatClosesALoopIsRefused) {
  EnqueueMany many;
  many.jobs = {job(), job()};
  many.jobs[0].depends_on_index = {1};
  many.jobs[1].depends_on_index = {0};
  EXPECT_EQ(code(run(many)), Refused::dependency_cycle);
  EXPECT_TRUE(model_.live().empty());
}

TEST_F(ModelTest, ABatchCallsBackOnce) {
  EnqueueMany many;
  many.jobs = {job(), job()};
  many.batch = BatchSpec{Blob("done"), Blob(R"({"x":1})")};
  const auto reply = std::get<EnqueuedMany>(run(many));
  EXPECT_EQ(reply.batch.sequence(), 1U);
  run(Delete{reply.jobs[0].job});
  run(Cancel{reply.jobs[1].job});
  ASSERT_EQ(model_.live().size(), 1U);
  const JobRecord& callback = model_.live().begin()->second;
  EXPECT_TRUE(is(callback.spec.payload, R"({"x":1,"batch":{"id":")" + reply.batch.text() +
                                            R"(","total":2,"succeeded":0,"failed":2}})"));
  run(Retry{reply.jobs[1].job, {}});
  run(Cancel{reply.jobs[1].job});
  EXPECT_EQ(model_.live().size(), 1U);
}

TEST_F(ModelTest, RetentionForgetsWholeMinutes) {
  run(SetRetention{Blob("q"), seconds(1), seconds(1), seconds(1)});
  const JobId id = enqueue(job());
  run(Cancel{id});
  const Instant minute_end{(now_.ms / 60'000 + 1) * 60'000};
  now_ = minute_end + milliseconds(999);
  run(Tick{});
  EXPECT_NE(model_.find(id), nullptr);
  pass(milliseconds(1));
  run(Tick{});
  EXPECT_EQ(model_.find(id), nullptr);
}

TEST_F(ModelTest, ASchedulesRunsAreCaughtUpAsAsked) {
  const auto runs_after_silence = [&](model::CatchUp catch_up, std::string_view name) {
    model::ScheduleSpec spec{.name = Blob(name), .cron = Blob("*/10 * * * * *")};
    spec.catch_up = catch_up;
    spec.job = job(name);
    run(CreateSchedule{spec});
    pass(base::minutes(5));
    run(Tick{});
    std::uint64_t made = 0;
    for (const auto& [seq, one] : model_.live()) made += is(one.spec.queue, name) ? 1U : 0U;
    return made;
  };
  EXPECT_EQ(runs_after_silence(model::CatchUp::one, "one"), 1U);
  EXPECT_EQ(runs_after_silence(model::CatchUp::all, "all"), 30U);
  // Those of the last minute; when now is on such an instant, both ends count.
  EXPECT_EQ(runs_after_silence(model::CatchUp::skip, "skip"), now_.ms % 10'000 == 0 ? 7U : 6U);
}

TEST_F(ModelTest, AGapExtendsLeasesThatHadNotEnded) {
  const JobId early = enqueue(job());
  const JobId late = enqueue(job());
  run(Claim{.queues = {Blob("*")}, .lease = seconds(5)});
  run(Claim{.queues = {Blob("*")}, .lease = seconds(6)});
  pass(seconds(5));
  enqueue(job("other"));  // log time is on the end of the first lease
  pass(seconds(30));
  EXPECT_EQ(std::get<Done>(run(Resume{seconds(30)})).affected, 1U);
  run(Tick{});
  EXPECT_EQ(state(early), State::pending);
  EXPECT_EQ(state(late), State::active);
  pass(seconds(1));
  run(Tick{});
  EXPECT_EQ(state(late), State::pending);
  EXPECT_EQ(code(run(Resume{milliseconds(-1)})), Refused::invalid);
}

TEST(WorkloadOverModel, ReachesEverything) {
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    const Personality personality = draw_personality(rng);
    Model model(personality.options);
    Workload workload(rng, personality, model);
    Entry entry = workload.opening();
    for (int i = 0; i < 1500; ++i) {
      const auto replies = model.apply(entry);
      for (std::size_t k = 0; k < replies.size(); ++k)
        coverage.count(entry.commands[k], replies[k]);
      workload.learn(entry, replies);
      entry = workload.next(model.next_deadline());
    }
    coverage.add(model.reached());
  }
  coverage.reloads = coverage.twins = coverage.ready_hints = coverage.idle_claims = 1;
  for (const auto& what : coverage.missing()) ADD_FAILURE() << "never seen: " << what;
}

}  // namespace
}  // namespace jobbie::sim
