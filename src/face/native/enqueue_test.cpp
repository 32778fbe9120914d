// Enqueue, one and many: every field, every refusal, every answer.
#include <string>

#include "face/native/native_test_support.hpp"
#include "model/limits.hpp"

namespace jobbie::face {
namespace {

using command::Enqueue;
using command::EnqueueMany;
using model::JobSpec;

class EnqueueTest : public NativeTest {
 protected:
  JobSpec spec(const std::string& body) {
    const auto exchange = call("/api/v1/enqueue", body);
    if (!exchange) return {};
    EXPECT_EQ(exchange->commands.size(), 1U);
    return std::get<Enqueue>(exchange->commands[0]).job;
  }
  void expect_bad(const BadCase& c) {
    expect_problem(refused({.path = "/api/v1/enqueue", .body = c.body}), c);
  }
};

TEST_F(EnqueueTest, ReadsTheExampleOfTheProtocol) {
  const auto job = spec(R"({
    "queue": "emails.send",
    "payload": { "to": "user@example.com", "template": "welcome" },
    "priority": "normal",
    "unique_key": "send-welcome-user@example.com",
    "unique_period": 3600,
    "max_retries": 5,
    "retry_backoff": "exponential",
    "retry_base_delay": "5s",
    "retry_max_delay": "10m",
    "scheduled_at": null,
    "expire_after": "1h",
    "tags": { "tenant": "acme-corp" }
  })");
  JobSpec expected;
  expected.queue = base::Blob("emails.send");
  expected.payload = base::Blob(R"({ "to": "user@example.com", "template": "welcome" })");
  expected.unique = {.key = base::Blob("send-welcome-user@example.com"),
                     .period = base::seconds(3600)};
  expected.max_retries = 5;
  expected.expire_after = base::hours(1);
  expected.tags = base::Blob(R"({ "tenant": "acme-corp" })");
  EXPECT_EQ(job, expected);
}

TEST_F(EnqueueTest, ReadsEveryOtherField) {
  const auto job = spec(R"({"queue":"q","payload":null,"priority":-8,"unique_key":"k",
    "unique_until":"start","retry_backoff":"linear","retry_jitter":0.25,
    "scheduled_at":"2026-02-11T12:00:15+02:00","lease_duration":90,"max_runtime":"2h",
    "timeout_ms":1500,"group":"g","roles":["gpu","eu"],"required_tags":["fast"],
    "target_worker":"w1","depends_on":["job_01JZ0000000000000000000001"],"on_failure":"run",
    "traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})");
  EXPECT_EQ(job.payload.view(), "null");
  EXPECT_EQ(job.priority, -8);
  EXPECT_EQ(job.unique.until, model::UniqueUntil::start);
  EXPECT_EQ(job.retry.backoff, model::Backoff::linear);
  EXPECT_EQ(job.retry.jitter, model::limits::kJitterUnit / 4);
  EXPECT_EQ(job.scheduled_at.ms, 1'770'804'015'000);
  EXPECT_EQ(job.lease, base::seconds(90));
  EXPECT_EQ(job.max_runtime, base::hours(2));
  EXPECT_EQ(job.timeout.ms, 1500);
  EXPECT_EQ(job.group.view(), "g");
  ASSERT_EQ(job.requires_.roles.size(), 2U);
  EXPECT_EQ(job.requires_.roles[1].view(), "eu");
  EXPECT_EQ(job.requires_.tags[0].view(), "fast");
  EXPECT_EQ(job.requires_.target_worker.view(), "w1");
  EXPECT_EQ(job.depends_on, std::vector{job_id(kJobA)});
  EXPECT_EQ(job.on_failure, model::OnFailure::run);
  EXPECT_EQ(job.traceparent.view(), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  EXPECT_EQ(spec(R"({"queue":"q","timeout":"1.5s"})").timeout.ms, 1500);
  EXPECT_EQ(spec(R"({"queue":"q","priority":"critical"})").priority, 0);
  EXPECT_EQ(spec(R"({"queue":"q","priority":"high"})").priority, 1);
}

TEST_F(EnqueueTest, KeepsJsonByteForByte) {
  EXPECT_EQ(spec(R"({"queue":"q","payload": [ 9007199254740993 , 1.0,"\u00e9", {"a":1,"a":2} ] })")
                .payload.view(),
            R"([ 9007199254740993 , 1.0,"\u00e9", {"a":1,"a":2} ])");
  EXPECT_EQ(spec(R"({"queue":"q","tags":{ "a" : 1.0 }})").tags.view(), R"({ "a" : 1.0 })");
}

TEST_F(EnqueueTest, NullAndAbsenceAreTheSame) {
  EXPECT_EQ(spec(R"({"queue":"q"})").payload.view(), "{}");
  EXPECT_EQ(spec(R"({"queue":"q"})"),
            spec(R"({"queue":"q","priority":null,"max_retries":null,"unique_key":null,
              "unique_period":null,"unique_until":null,"tags":null,"scheduled_at":null,
              "expire_after":null,"retry_backoff":null,"retry_base_delay":null,
              "retry_max_delay":null,"retry_jitter":null,"lease_duration":null,
              "max_runtime":null,"timeout":null,"timeout_ms":null,"group":null,"roles":null,
              "required_tags":null,"target_worker":null,"depends_on":null,"on_failure":null,
              "traceparent":null})"));
}

TEST_F(EnqueueTest, NamesWhatIsWrong) {
  const std::string deep = std::string(70, '[') + std::string(70, ']');
  const std::string large(std::size_t{1} << 20, 'x');
  const std::vector<BadCase> cases = {
      {"", 400, "bad_json", ""},
      {"{", 400, "bad_json", ""},
      {"nope", 400, "bad_json", ""},
      {R"({"queue":"q"} x)", 400, "bad_json", ""},
      {R"({"queue":"q",})", 400, "bad_json", ""},
      {"{\"queue\":\"\xFF\"}", 400, "bad_utf8", ""},
      {R"({"queue":"q","payload":)" + deep + "}", 400, "too_deep", ""},
      {R"({"queue":"q","payload":"\ud800"})", 400, "bad_json", ""},
      {"[]", 422, "wrong_type", ""},
      {"\"q\"", 422, "wrong_type", ""},
      {"{}", 422, "missing_field", "queue"},
      {R"({"queue":null})", 422, "missing_field", "queue"},
      {R"({"queue":""})", 400, "invalid", "queue"},
      {R"({"queue":"a b"})", 400, "invalid", "queue"},
      {R"({"queue":")" + std::string(129, 'q') + "\"}", 400, "invalid", "queue"},
      {R"({"queue":7})", 422, "wrong_type", "queue"},
      {R"({"queue":"q","max_retrys":5})", 422, "unknown_field", "max_retrys"},
      {R"({"queue":"q","":5})", 422, "unknown_field", ""},
      {R"({"queue":"q","queue":"r"})", 422, "duplicate_field", "queue"},
      {R"({"queue":"q","\u0071ueue":"r"})", 422, "duplicate_field", "queue"},
      {R"({"queue":"q","payload":")" + large + "\"}", 413, "payload_too_large", "payload"},
      {R"({"queue":"q","priority":"urgent"})", 422, "invalid", "priority"},
      {R"({"queue":"q","priority":1.5})", 422, "invalid", "priority"},
      {R"({"queue":"q","priority":2147483648})", 422, "invalid", "priority"},
      {R"({"queue":"q","priority":99999999999999999999})", 400, "number_out_of_range", "priority"},
      {R"({"queue":"q","priority":true})", 422, "wrong_type", "priority"},
      {R"({"queue":"q","max_retries":-1})", 422, "invalid", "max_retries"},
      {R"({"queue":"q","max_retries":1000001})", 422, "invalid", "max_retries"},
      {R"({"queue":"q","max_retries":"5"})", 422, "wrong_type", "max_retries"},
      {R"({"queue":"q","retry_backoff":"cubic"})", 422, "invalid", "retry_backoff"},
      {R"({"queue":"q","retry_base_delay":"5 s"})", 422, "invalid", "retry_base_delay"},
      {R"({"queue":"q","retry_base_delay":-1})", 422, "invalid", "retry_base_delay"},
      {R"({"queue":"q","retry_max_delay":"999999w"})", 400, "duration_out_of_range",
       "retry_max_delay"},
      {R"({"queue":"q","expire_after":1e300})", 400, "duration_out_of_range", "expire_after"},
      {R"({"queue":"q","expire_after":[]})", 422, "wrong_type", "expire_after"},
      {R"({"queue":"q","retry_jitter":1.1})", 422, "invalid", "retry_jitter"},
      {R"({"queue":"q","retry_jitter":1e999})", 422, "invalid", "retry_jitter"},
      {R"({"queue":"q","scheduled_at":"tomorrow"})", 422, "invalid", "scheduled_at"},
      {R"({"queue":"q","scheduled_at":"1969-12-31T00:00:00Z"})", 422, "invalid", "scheduled_at"},
      {R"({"queue":"q","scheduled_at":1770804015})", 422, "wrong_type", "scheduled_at"},
      {R"({"queue":"q","lease_duration":0.05})", 422, "invalid", "lease_duration"},
      {R"({"queue":"q","lease_duration":0})", 422, "invalid", "lease_duration"},
      {R"({"queue":"q","expire_after":0})", 422, "invalid", "expire_after"},
      {R"({"queue":"q","expire_after":0.0004})", 422, "invalid", "expire_after"},
      {R"({"queue":"q","max_runtime":"0s"})", 422, "invalid", "max_runtime"},
      {R"({"queue":"q","timeout":0})", 422, "invalid", "timeout"},
      {R"({"queue":"q","unique_key":"k","unique_period":0})", 422, "invalid", "unique_period"},
      {R"({"queue":"q","timeout":1,"timeout_ms":5})", 422, "invalid", "timeout_ms"},
      {R"({"queue":"q","timeout_ms":5,"timeout":1})", 422, "invalid", "timeout"},
      {R"({"queue":"q","unique_period":5})", 422, "invalid", "unique_period"},
      {R"({"queue":"q","unique_key":"k","unique_until":"period"})", 422, "invalid",
       "unique_period"},
      {R"({"queue":"q","tags":[]})", 422, "wrong_type", "tags"},
      {R"({"queue":"q","tags":{"a":[1]}})", 422, "invalid", "tags"},
      {R"({"queue":"q","tags":{"a":1,"\u0061":2}})", 422, "invalid", "tags"},
      {R"({"queue":"q","tags":{"a":")" + std::string(20'000, 'x') + "\"}}", 422, "invalid", "tags"},
      {R"({"queue":"q","roles":"gpu"})", 422, "wrong_type", "roles"},
      {R"({"queue":"q","roles":[1]})", 422, "wrong_type", "roles"},
      {R"({"queue":"q","roles":[""]})", 422, "invalid", "roles"},
      {R"({"queue":"q","group":"a\nb"})", 422, "invalid", "group"},
      {R"({"queue":"q","depends_on":["job_nope"]})", 404, "unknown_dependency", "depends_on"},
      {R"({"queue":"q","depends_on":[0]})", 422, "invalid", "depends_on"},
      {R"({"queue":"q","depends_on":[-1]})", 422, "invalid", "depends_on"},
      {R"({"queue":"q","depends_on":[null]})", 422, "wrong_type", "depends_on"},
      {R"({"queue":"q","on_failure":"panic"})", 422, "invalid", "on_failure"},
      {R"({"queue":"q","traceparent":"zz"})", 422, "invalid", "traceparent"},
  };
  for (const auto& c : cases) expect_bad(c);
}

TEST_F(EnqueueTest, TellsTheWayOut) {
  const auto typo = refused({.path = "/api/v1/enqueue", .body = R"({"queue":"q","max_retrys":5})"});
  EXPECT_NE(typo.body.find("did you mean \\\"max_retries\\\"?"), std::string::npos) << typo.body;
  EXPECT_EQ(member_of(typo, "position"), "13");
  const auto broken = refused({.path = "/api/v1/enqueue", .body = "{\n \"queue\": nul }"});
  EXPECT_EQ(member_of(broken, "position"), "15");
  EXPECT_NE(broken.body.find("line 2, column 14"), std::string::npos) << broken.body;
}

TEST_F(EnqueueTest, TakesIdempotencyKeyAndTraceFromHeaders) {
  const std::string trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const auto with = [&](std::string body, std::string_view header) {
    return call({.path = "/api/v1/enqueue",
                 .body = std::move(body),
                 .headers = {{"idempotency-key", "k1"}, {"traceparent", header}}});
  };
  const auto first = with(R"({"queue":"q"})", trace);
  const auto again = with(R"({"queue":"q"})", trace);
  const auto other = with(R"({"queue":"r"})", "garbage");
  const auto& a = std::get<Enqueue>(first->commands[0]);
  EXPECT_EQ(a.idempotency.key.view(), "k1");
  EXPECT_EQ(a.idempotency, std::get<Enqueue>(again->commands[0]).idempotency);
  EXPECT_NE(a.idempotency, std::get<Enqueue>(other->commands[0]).idempotency);
  EXPECT_EQ(a.job.traceparent.view(), trace);
  EXPECT_TRUE(std::get<Enqueue>(other->commands[0]).job.traceparent.empty());
}

TEST_F(EnqueueTest, AnswersAsTheProtocolShows) {
  const auto exchange = call("/api/v1/enqueue", R"({"queue":"q"})");
  auto out = answer(*exchange, command::Enqueued{.job = job_id(kJobA)});
  EXPECT_EQ(out.status, 201);
  EXPECT_EQ(
      out.body,
      R"({"job_id":"job_01JZ0000000000000000000001","status":"pending","unique_existing":false})");
  out = answer(*exchange, command::Enqueued{.job = job_id(kJobA), .existing = true});
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(
      out.body,
      R"({"job_id":"job_01JZ0000000000000000000001","status":"duplicate","unique_existing":true})");
  out =
      answer(*exchange, command::Enqueued{.job = job_id(kJobA), .state = model::State::scheduled});
  EXPECT_EQ(member_of(out, "status"), "scheduled");
}

TEST_F(EnqueueTest, TellsRefusalsAndTroubles) {
  const auto exchange = call("/api/v1/enqueue", R"({"queue":"q"})");
  using command::Refused;
  const std::vector<std::pair<Refused, int>> refusals = {{Refused::invalid, 422},
                                                         {Refused::not_found, 404},
                                                         {Refused::lease_lost, 409},
                                                         {Refused::not_active, 409},
                                                         {Refused::not_owner, 409},
                                                         {Refused::wrong_state, 409},
                                                         {Refused::unique_conflict, 409},
                                                         {Refused::idempotency_mismatch, 422},
                                                         {Refused::unknown_dependency, 404},
                                                         {Refused::dependency_cycle, 400},
                                                         {Refused::name_taken, 409},
                                                         {Refused::limit_reached, 429}};
  for (const auto& [code, status] : refusals) {
    const auto out = answer(*exchange, command::Refusal{code, "some_field", "too bad"});
    expect_problem(out, {"", status, command::to_string(code), "some_field"});
    EXPECT_EQ(member_of(out, "detail"), "Too bad.");
  }
  const std::vector<std::tuple<call::Trouble, int, std::string>> troubles = {
      {call::Trouble::overloaded, 429, "overloaded"},
      {call::Trouble::no_leader, 503, "no_leader"},
      {call::Trouble::stopping, 503, "stopping"},
      {call::Trouble::disk_full, 507, "disk_full"},
      {call::Trouble::memory_full, 429, "memory_full"},
      {call::Trouble::out_of_memory, 503, "out_of_memory"},
      {call::Trouble::lost_track, 503, "outcome_unknown"},
      {call::Trouble::removed, 503, "removed"},
      {call::Trouble::damaged, 503, "database_damaged"},
      {call::Trouble::cancelled, 503, "cancelled"}};
  for (const auto& [trouble, status, code] : troubles) {
    exchange->trouble = trouble;
    const auto out = answer(*exchange);
    expect_problem(out, {"", status, code, ""});
    EXPECT_GT(out.retry_after_s, 0U);
  }
  // A node that forgot a reply is at fault, and must not take the server down.
  exchange->trouble = call::Trouble::none;
  expect_problem(answer(*exchange, command::Done{}), {"", 500, "internal", ""});
}

TEST_F(EnqueueTest, ReadsABatch) {
  const auto exchange = call("/api/v1/enqueue/batch", R"({
    "jobs": [
      { "queue": "emails.send", "payload": { "to": "a@example.com" } },
      { "queue": "emails.send", "payload": { "to": "b@example.com" } },
      { "queue": "other", "depends_on": [0, 1, "job_01JZ0000000000000000000001"] }
    ],
    "batch": {
      "callback_queue": "emails.batch-complete",
      "callback_payload": { "campaign_id": "camp_123" }
    }
  })");
  const auto& many = std::get<EnqueueMany>(exchange->commands.at(0));
  ASSERT_EQ(many.jobs.size(), 3U);
  EXPECT_EQ(many.jobs[1].payload.view(), R"({ "to": "b@example.com" })");
  EXPECT_EQ(many.jobs[0].queue.view().data(), many.jobs[1].queue.view().data()) << "shared";
  EXPECT_EQ(many.jobs[2].depends_on_index, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(many.jobs[2].depends_on, std::vector{job_id(kJobA)});
  EXPECT_EQ(many.batch->callback_queue.view(), "emails.batch-complete");
  EXPECT_EQ(many.batch->callback_payload.view(), R"({ "campaign_id": "camp_123" })");
}

TEST_F(EnqueueTest, BoundsTheDependenciesOfARequest) {
  const auto body = [](std::size_t jobs, std::size_t more) {
    const auto job = [](std::size_t dependencies) {
      std::string list;
      for (std::size_t i = 0; i < dependencies; ++i) list += list.empty() ? "0" : ",0";
      return R"(,{"queue":"q","depends_on":[)" + list + "]}";
    };
    std::string out = R"({"jobs":[{"queue":"q"})";
    const auto full = job(model::limits::kDependencies);
    for (std::size_t i = 0; i < jobs; ++i) out += full;
    return out + job(more) + "]}";
  };
  constexpr auto kFull = model::limits::kDependenciesPerRequest / model::limits::kDependencies;
  EXPECT_NE(call("/api/v1/enqueue/batch", body(kFull, 0)), nullptr);
  const BadCase past{body(kFull, 1), 422, "invalid",
                     "jobs[" + std::to_string(kFull + 1) + "].depends_on"};
  expect_problem(refused({.path = "/api/v1/enqueue/batch", .body = past.body}), past);
}

TEST_F(EnqueueTest, NamesTheJobOfABatchThatIsWrong) {
  const auto path = "/api/v1/enqueue/batch";
  std::string many = R"({"jobs":[{"queue":"q"})";
  for (int i = 0; i < 10'000; ++i) many += R"(,{"queue":"q"})";
  many += "]}";
  const std::vector<BadCase> cases = {
      {"{}", 422, "missing_field", "jobs"},
      {R"({"jobs":[]})", 422, "missing_field", "jobs"},
      {R"({"jobs":{}})", 422, "wrong_type", "jobs"},
      {R"({"jobs":[7]})", 422, "wrong_type", "jobs[0]"},
      {R"({"jobs":[{"queue":"q"},{}]})", 422, "missing_field", "jobs[1].queue"},
      {R"({"jobs":[{"queue":"q"},{"queue":"q","tag":{}}]})", 422, "unknown_field", "jobs[1].tag"},
      {R"({"jobs":[{"queue":"q"},{"queue":"a b"}]})", 400, "invalid", "jobs[1].queue"},
      {R"({"jobs":[{"queue":"q"},{"queue":""}]})", 400, "invalid", "jobs[1].queue"},
      {R"({"jobs":[{"queue":"q"},{"queue":"q","depends_on":[2]}]})", 422, "invalid",
       "jobs[1].depends_on"},
      {R"({"jobs":[{"queue":"q"},{"queue":"q","depends_on":["x"]}]})", 404, "unknown_dependency",
       "jobs[1].depends_on"},
      {R"({"jobs":[{"queue":"q"}],"batch":[]})", 422, "wrong_type", "batch"},
      {R"({"jobs":[{"queue":"q"}],"batch":{"callback_queue":"a b"}})", 400, "invalid",
       "batch.callback_queue"},
      {R"({"jobs":[{"queue":"q"}],"batch":{"callback_queue":"q","callback_payload":[]}})", 422,
       "invalid", "batch.callback_payload"},
      {R"({"jobs":[{"queue":"q"}],"batch":{"callback_payload":{}}})", 422, "invalid",
       "batch.callback_payload"},
      {R"({"jobs":[{"queue":"q"}],"batch":{"callback":"x"}})", 422, "unknown_field",
       "batch.callback"},
      {R"({"jobs":[{"queue":"q"}],"badge":{}})", 422, "unknown_field", "badge"},
      {many, 422, "invalid", "jobs"},
  };
  for (const auto& c : cases) expect_problem(refused({.path = path, .body = c.body}), c);
}

TEST_F(EnqueueTest, AnswersABatch) {
  const auto exchange = call("/api/v1/enqueue/batch", R"({"jobs":[{"queue":"q"},{"queue":"q"}]})");
  auto out = answer(
      *exchange, command::EnqueuedMany{.jobs = {{.job = job_id(kJobA)}, {.job = job_id(kJobB)}}});
  EXPECT_EQ(out.status, 201);
  EXPECT_EQ(out.body, R"({"job_ids":["job_01JZ0000000000000000000001",)"
                      R"("job_01JZ0000000000000000000002"],"batch_id":null})");
  out = answer(*exchange,
               command::EnqueuedMany{
                   .jobs = {{.job = job_id(kJobA)}, {.job = job_id(kJobB), .existing = true}},
                   .batch = *base::BatchId::parse("batch_01JZ0000000000000000000003")});
  EXPECT_EQ(out.body,
            R"({"job_ids":["job_01JZ0000000000000000000001","job_01JZ0000000000000000000002"],)"
            R"("batch_id":"batch_01JZ0000000000000000000003","duplicates":[1]})");
}

}  // namespace
}  // namespace jobbie::face
