// Management requests: the commands and questions they become, and how outcomes are told.
#include <gtest/gtest.h>

#include "face/native/native_test_support.hpp"
#include "face/parameters.hpp"
#include "model/schedule_fields.hpp"

namespace jobbie::face {
namespace {

using http::Method;

constexpr std::string_view kSchedule = "sched_01JZ0000000000000000000003";

class ManageTest : public NativeTest {
 protected:
  /// The one command that the request makes.
  template <typename Command>
  Command command_of(const Ask& ask) {
    auto exchange = call(ask);
    if (!exchange || exchange->commands.size() != 1) {
      ADD_FAILURE() << ask.path;
      return {};
    }
    const auto* command = std::get_if<Command>(&exchange->commands[0]);
    if (command == nullptr) {
      ADD_FAILURE() << ask.path << " makes another command";
      return {};
    }
    return *command;
  }

  template <typename Query>
  Query query_of(std::string path, std::string query = {}) {
    auto exchange = get(std::move(path), std::move(query));
    return exchange ? std::get<Query>(exchange->query) : Query{};
  }

  std::unique_ptr<Exchange> get(std::string path, std::string query = {}) {
    const http::Request request{
        .method = Method::get, .method_text = "GET", .target = path, .path = path, .query = query};
    auto prepared = native_.prepare(request, inbox_);
    EXPECT_TRUE(prepared.exchange) << path << "?" << query << "\n" << prepared.answer.body;
    return std::move(prepared.exchange);
  }

  static Answer told(Exchange& exchange, call::Answer answer) {
    exchange.answer = std::move(answer);
    Answer out;
    exchange.write_answer(out);
    EXPECT_TRUE(base::json::is_valid(out.body)) << out.body;
    return out;
  }

  static std::string job_path(std::string_view rest) {
    return "/api/v1/jobs/" + std::string(kJobA) + std::string(rest);
  }
};

TEST_F(ManageTest, QueueActions) {
  using command::QueueAction;
  const std::vector<std::pair<std::string, QueueAction>> actions = {{"pause", QueueAction::pause},
                                                                    {"resume", QueueAction::resume},
                                                                    {"drain", QueueAction::drain},
                                                                    {"clear", QueueAction::clear}};
  for (const auto& [word, action] : actions) {
    const auto made =
        command_of<command::QueueCommand>({.path = "/api/v1/queues/a%2Fb:c/" + word, .body = {}});
    EXPECT_EQ(made.queue.view(), "a/b:c");
    EXPECT_EQ(made.action, action) << word;
  }
}

TEST_F(ManageTest, DrainIsAccepted) {
  auto exchange = call("/api/v1/queues/q/drain", "");
  EXPECT_EQ(answer(*exchange, command::Done{}).status, 202);
}

TEST_F(ManageTest, ClearTellsHowMany) {
  auto exchange = call("/api/v1/queues/q/clear", "{}");
  EXPECT_EQ(answer(*exchange, command::Done{7}).body,
            R"({"queue":"q","status":"cleared","affected":7})");
}

TEST_F(ManageTest, QueueSettings) {
  const auto concurrency = command_of<command::SetConcurrency>(
      {.path = "/api/v1/queues/q/concurrency", .body = R"({"max":3,"per":"tags.tenant"})"});
  EXPECT_EQ(concurrency.max, 3u);
  EXPECT_EQ(concurrency.per.view(), "tags.tenant");
  const auto none = command_of<command::SetConcurrency>(
      {.path = "/api/v1/queues/q/concurrency", .body = R"({"max":null})"});
  EXPECT_FALSE(none.max);
  const auto throttle = command_of<command::SetThrottle>(
      {.path = "/api/v1/queues/q/throttle", .body = R"({"rate":100,"period":"1m"})"});
  EXPECT_EQ(throttle.rate, 100u);
  EXPECT_EQ(throttle.period, base::minutes(1));
  const auto removed = command_of<command::SetThrottle>(
      {.method = Method::del, .path = "/api/v1/queues/q/throttle", .body = {}});
  EXPECT_FALSE(removed.rate);
  EXPECT_TRUE(removed.per.empty());
  const auto retention = command_of<command::SetRetention>(
      {.path = "/api/v1/queues/q/retention", .body = R"({"completed":0,"dead":"2d"})"});
  EXPECT_EQ(retention.completed, base::Duration{});
  EXPECT_EQ(retention.dead, base::days(2));
  EXPECT_FALSE(retention.cancelled);
  const auto lease = command_of<command::SetLease>(
      {.path = "/api/v1/queues/q/lease", .body = R"({"duration":30})"});
  EXPECT_EQ(lease.lease, base::seconds(30));
  const auto fairness = command_of<command::SetFairness>(
      {.path = "/api/v1/queues/q/fairness", .body = R"({"fairness":"group"})"});
  EXPECT_EQ(fairness.fairness, model::Fairness::group);
}

TEST_F(ManageTest, APartOfASchedule) {
  using model::bit_of;
  using model::ScheduleField;
  const auto part = [&](std::string body) {
    return command_of<command::UpdateSchedule>(
        {.method = Method::patch,
         .path = "/api/v1/schedules/" + std::string(kSchedule),
         .body = std::move(body)});
  };
  const auto some = part(R"({"cron":"@daily","timeout_ms":1500,"payload":null,"group":null})");
  EXPECT_EQ(some.schedule.text(), kSchedule);
  EXPECT_EQ(some.fields, bit_of(ScheduleField::cron) | bit_of(ScheduleField::timeout) |
                             bit_of(ScheduleField::payload) | bit_of(ScheduleField::group));
  EXPECT_EQ(some.spec.cron.view(), "@daily");
  EXPECT_EQ(some.spec.job.timeout.ms, 1500);
  EXPECT_EQ(some.spec.job.payload.view(), "null");
  EXPECT_TRUE(some.spec.job.group.empty());
  // Every field that can be given has its own bit.
  const auto all = part(
      R"({"name":"n","cron":"@daily","timezone":"UTC","catch_up":"all","paused":true,"queue":"q",)"
      R"("payload":1,"priority":1,"max_retries":1,"unique_key":"k","unique_period":1,)"
      R"("unique_until":"end","tags":{},"expire_after":1,"retry_backoff":"none",)"
      R"("retry_base_delay":1,"retry_max_delay":1,"retry_jitter":0,"lease_duration":1,)"
      R"("max_runtime":1,"timeout":1,"group":"g","roles":[],"required_tags":[],)"
      R"("target_worker":"w","on_failure":"run",)"
      R"("traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})");
  EXPECT_EQ(all.fields, model::kAllScheduleFields);
  // Nothing is given: nothing changes, and the schedule is shown.
  const auto none = call({.method = Method::patch,
                          .path = "/api/v1/schedules/" + std::string(kSchedule),
                          .body = "{}"});
  EXPECT_EQ(std::get<call::SchedulesQuery>(none->query).only.text(), kSchedule);
}

TEST_F(ManageTest, BadSettings) {
  const std::vector<std::pair<std::string, BadCase>> cases = {
      {"concurrency", {"{}", 422, "missing_field", "max"}},
      {"concurrency", {R"({"max":0})", 422, "invalid", "max"}},
      {"concurrency", {R"({"max":1,"per":"x"})", 422, "invalid", "per"}},
      {"throttle", {R"({"rate":1})", 422, "missing_field", "period"}},
      {"throttle", {R"({"rate":1,"period":0})", 422, "invalid", "period"}},
      {"retention", {"{}", 422, "missing_field", "completed"}},
      {"lease", {R"({"duration":0.01})", 422, "invalid", "duration"}},
      {"lease", {R"({"duration":0})", 422, "invalid", "duration"}},
      {"fairness", {R"({"fairness":"x"})", 422, "invalid", "fairness"}},
      {"pause", {R"({"x":1})", 422, "unknown_field", "x"}},
      {"pause", {"{", 400, "bad_json", ""}}};
  for (const auto& [setting, expected] : cases)
    expect_problem(refused({.path = "/api/v1/queues/q/" + setting, .body = expected.body}),
                   expected);
}

TEST_F(ManageTest, AWebhooksSecretStaysUntilItIsNamed) {
  const auto put = [this](std::string secret) {
    const auto exchange = call({.method = Method::put,
                                .path = "/api/v1/webhooks/hook_01JZ0000000000000000000001",
                                .body = R"({"url":"http://h/")" + secret + "}"});
    return std::get<command::PutWebhook>(exchange->commands.at(0));
  };
  EXPECT_TRUE(put("").keep_secret);
  for (const auto* none : {R"(,"secret":null)", R"(,"secret":"")"}) {
    EXPECT_FALSE(put(none).keep_secret) << none;
    EXPECT_TRUE(put(none).spec.secret.empty()) << none;
  }
  EXPECT_FALSE(put(R"(,"secret":"x")").keep_secret);
  EXPECT_EQ(put(R"(,"secret":"x")").spec.secret.view(), "x");
}

TEST_F(ManageTest, DeletingAQueueWantsConfirmation) {
  expect_problem(refused({.method = Method::del, .path = "/api/v1/queues/q", .body = {}}),
                 {"", 422, "confirmation_required", "confirm"});
}

TEST_F(ManageTest, ListsAskForAPage) {
  const auto query = query_of<call::QueuesQuery>("/api/v1/queues", "limit=5&prefix=a&glob=a*");
  EXPECT_EQ(query.page.limit, 5u);
  EXPECT_EQ(query.page.prefix, "a");
  EXPECT_EQ(query.page.glob, "a*");
  EXPECT_TRUE(query.only.empty());
  EXPECT_EQ(query_of<call::QueuesQuery>("/api/v1/queues/a%2Fb").only, "a/b");
  EXPECT_EQ(query_of<call::WorkersQuery>("/api/v1/workers/w%20x").only, "w x");
}

TEST_F(ManageTest, ACursorLeadsOn) {
  auto exchange = get("/api/v1/queues", "limit=1");
  call::QueueRow view;
  view.record.name = base::Blob("a/b");
  view.oldest_pending = {1000};
  const auto out = told(*exchange, call::QueuePage{.rows = {view}, .more = true, .now = {1250}});
  EXPECT_EQ(member_of(out, "has_more"), "true");
  EXPECT_NE(out.body.find(R"("oldest_pending_age_ms":250)"), std::string::npos);
  const auto cursor = member_of(out, "cursor");
  EXPECT_EQ(query_of<call::QueuesQuery>("/api/v1/queues", "cursor=" + cursor).page.after, "a/b");
}

TEST_F(ManageTest, WhatIsNotThere) {
  EXPECT_EQ(told(*get("/api/v1/queues/q"), call::QueuePage{}).status, 404);
  EXPECT_EQ(told(*get("/api/v1/workers/w"), call::WorkerPage{}).status, 404);
  EXPECT_EQ(told(*get("/api/v1/schedules/" + std::string(kSchedule)), call::SchedulePage{}).status,
            404);
  EXPECT_EQ(told(*get(job_path("/why")), call::Why{}).status, 404);
}

TEST_F(ManageTest, CancelOfAnActiveJob) {
  auto exchange = call(job_path("/cancel"), "");
  const auto id = job_id(kJobA);
  using model::State;
  EXPECT_EQ(member_of(answer(*exchange, command::JobChanged{id, State::active}), "status"),
            "cancelling");
  EXPECT_EQ(member_of(answer(*exchange, command::JobChanged{id, State::cancelled}), "status"),
            "cancelled");
}

TEST_F(ManageTest, JobActions) {
  const auto retry = command_of<command::Retry>(
      {.path = job_path("/retry"), .body = R"({"payload": {"n": 1.0}})"});
  EXPECT_EQ(retry.payload.view(), R"({"n": 1.0})");
  EXPECT_TRUE(command_of<command::Retry>({.path = job_path("/retry"), .body = {}}).payload.empty());
  EXPECT_EQ(command_of<command::Retry>({.path = job_path("/retry"), .body = R"({"payload":null})"})
                .payload.view(),
            "null");
  const auto move =
      command_of<command::Move>({.path = job_path("/move"), .body = R"({"queue":"k"})"});
  EXPECT_EQ(move.queue.view(), "k");
  EXPECT_TRUE(move.reset_attempts);
  EXPECT_FALSE(move.keep_priority);
  EXPECT_EQ(command_of<command::SetPriority>(
                {.path = job_path("/priority"), .body = R"({"priority":"critical"})"})
                .priority,
            model::kCritical);
  EXPECT_EQ(
      command_of<command::Delete>({.method = Method::del, .path = job_path(""), .body = {}}).job,
      job_id(kJobA));
}

TEST_F(ManageTest, WhyIsTold) {
  auto exchange = get(job_path("/why"));
  call::Why why{.found = true, .state = model::State::pending, .reasons = {}};
  why.reasons.push_back(
      {.code = "behind", .detail = "x", .ahead = 10'000, .ahead_is_at_least = true});
  EXPECT_NE(
      told(*exchange, why)
          .body.find(R"({"code":"behind","detail":"x","ahead":10000,"ahead_is_at_least":true})"),
      std::string::npos);
}

TEST_F(ManageTest, ASchedulesZoneTravelsWithIt) {
  const auto made = command_of<command::CreateSchedule>(
      {.path = "/api/v1/schedules",
       .body = R"({"name":"n","queue":"q","cron":"0 9 * * *","timezone":"America/New_York",)"
               R"("payload":null,"catch_up":"skip","paused":true,"max_retries":9})"});
  EXPECT_EQ(made.spec.zone.name, "America/New_York");
  EXPECT_GT(made.spec.zone.transitions.size(), 80u);
  EXPECT_EQ(made.spec.catch_up, model::CatchUp::skip);
  EXPECT_TRUE(made.spec.paused);
  EXPECT_EQ(made.spec.job.payload.view(), "null");
  EXPECT_EQ(made.spec.job.max_retries, 9u);
}

TEST_F(ManageTest, ADelayIsNotMeasuredByThisMachinesClock) {
  const auto delayed = [&](const std::string& delay) {
    return command_of<command::Enqueue>(
               {.path = "/api/v1/enqueue", .body = R"({"queue":"q","delay":)" + delay + "}"})
        .job;
  };
  EXPECT_EQ(delayed(R"("1h")").delay, base::hours(1));
  EXPECT_EQ(delayed(R"("1h")").scheduled_at, base::Instant{});
  EXPECT_EQ(delayed("0").delay, base::Duration{});
}

TEST_F(ManageTest, HistoryOfARevivedJobIsPartial) {
  auto exchange = get(job_path(""));
  model::JobRecord job;
  job.id = job_id(kJobA);
  job.started_at = {2000};
  job.errors = {{.ordinal = 1, .attempt = 1, .at = {3000}, .error = base::Blob("e")}};
  job.error_count = 1;
  const auto revived = told(*exchange, std::optional(job));
  EXPECT_EQ(member_of(revived, "timeline_is_partial"), "true");
  job.attempt = 1;
  job.state = model::State::dead;
  job.ended_at = {3000};
  const auto dead = told(*exchange, std::optional(job));
  EXPECT_EQ(member_of(dead, "timeline_is_partial"), "false");
  EXPECT_NE(dead.body.find(R"("duration_ms":1000,"outcome":"failed")"), std::string::npos);
}

TEST_F(ManageTest, HistoryTellsEveryAttempt) {
  auto exchange = get(job_path(""));
  model::JobRecord job;
  job.id = job_id(kJobA);
  job.state = model::State::active;
  job.attempt = 2;
  job.started_at = {14'000};
  job.errors = {{.ordinal = 1,
                 .attempt = 1,
                 .at = {5'200},
                 .error = base::Blob("e"),
                 .started_at = {1'000},
                 .retry_at = {13'700}}};
  job.error_count = 1;
  const auto out = told(*exchange, std::optional(job));
  EXPECT_EQ(member_of(out, "timeline_is_partial"), "false");
  EXPECT_NE(out.body.find(R"("started_at":"1970-01-01T00:00:01.000Z",)"
                          R"("ended_at":"1970-01-01T00:00:05.200Z","duration_ms":4200)"),
            std::string::npos)
      << out.body;
  EXPECT_NE(out.body.find(R"({"at":"1970-01-01T00:00:05.200Z","event":"retry_scheduled",)"
                          R"("detail":"in 8.5s"})"),
            std::string::npos)
      << out.body;
}

TEST(Parameters, Cursors) {
  std::string name;
  std::uint64_t number = 0;
  const auto given = [](std::string_view cursor) {
    return Parameters::read("cursor=" + std::string(cursor), {"cursor"}).value();
  };
  const auto cursor = cursor_after("queues", "a/b");
  EXPECT_FALSE(given(cursor).cursor("queues", name));
  EXPECT_EQ(name, "a/b");
  EXPECT_FALSE(given("").cursor("queues", name));
  for (const auto& bad : {cursor + "0", cursor + "00", cursor.substr(2), std::string("6"),
                          std::string("zz"), std::string("612f62")})
    EXPECT_STREQ(given(bad).cursor("queues", name).value().code, "bad_cursor") << bad;
  EXPECT_STREQ(given(cursor).cursor("workers", name).value().code, "bad_cursor");
  EXPECT_EQ(name, "a/b");
  EXPECT_FALSE(given(cursor_after("actions", 812)).cursor("actions", number));
  EXPECT_EQ(number, 812U);
  EXPECT_STREQ(given(cursor_after("actions", "x")).cursor("actions", number).value().code,
               "bad_cursor");
}

}  // namespace
}  // namespace jobbie::face
