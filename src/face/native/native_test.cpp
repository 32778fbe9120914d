// Routes, media types, look-ups and health.
#include "face/native/native.hpp"

#include <string>

#include "face/native/native_test_support.hpp"

namespace jobbie::face {
namespace {

using http::Method;

TEST_F(NativeTest, TellsPathsFromMethods) {
  auto out = refused({.method = Method::get, .path = "/api/v1/nothing", .body = ""});
  expect_problem(out, {"", 404, "no_such_endpoint", ""});
  out = refused({.method = Method::get, .path = "/api/v1/enqueue", .body = ""});
  expect_problem(out, {"", 405, "method_not_allowed", ""});
  EXPECT_EQ(out.allow, "POST");
  out = refused({.method = Method::del, .path = "/healthz", .body = ""});
  expect_problem(out, {"", 405, "method_not_allowed", ""});
  EXPECT_EQ(out.allow, "GET, HEAD");
  for (const char* path : {"/api/v1/ack/", "/api/v1/enqueue/", "/api/v1/jobs/a/b", "/api", "*"}) {
    out = refused({.method = Method::post, .path = path, .body = "{}"});
    EXPECT_EQ(out.status, 404) << path;
  }
  out = refused({.method = Method::get, .path = "/api/v1/jobs/%zz", .body = ""});
  expect_problem(out, {"", 400, "bad_path", ""});
  for (const char* path : {"/api/v1/jobs/%ff", "/api/v1/queues/a%c3", "/api/v1/workers/%80"}) {
    out = refused({.method = Method::get, .path = path, .body = ""});
    expect_problem(out, {path, 400, "bad_utf8", ""});
  }
  out = refused({.method = Method::get, .path = "/api/v1/queues", .body = "", .query = "glob=%ff"});
  expect_problem(out, {"", 400, "bad_utf8", ""});
}

TEST_F(NativeTest, TakesJsonOnly) {
  const auto status = [this](std::string_view type) {
    auto prepared = prepare({.path = "/api/v1/enqueue",
                             .body = R"({"queue":"q"})",
                             .headers = {{"content-type", type}}});
    return prepared.exchange ? 200 : prepared.answer.status;
  };
  EXPECT_EQ(status("application/json"), 200);
  EXPECT_EQ(status("Application/JSON; charset=utf-8"), 200);
  EXPECT_EQ(status("application/vnd.jobbie+json"), 200);
  EXPECT_EQ(status(""), 200);
  EXPECT_EQ(status("text/plain"), 415);
  EXPECT_EQ(status("application/x-www-form-urlencoded"), 415);
  const auto out = refused({.path = "/api/v1/enqueue",
                            .body = "{}",
                            .headers = {{"content-type", "application/x-www-form-urlencoded"}}});
  EXPECT_NE(out.body.find("-H 'Content-Type: application/json'"), std::string::npos) << out.body;
}

TEST_F(NativeTest, TellsHealth) {
  EXPECT_EQ(prepare({.method = Method::get, .path = "/healthz"}).answer.status, 200);
  EXPECT_EQ(prepare({.method = Method::head, .path = "/healthz"}).answer.status, 200);
  EXPECT_EQ(prepare({.method = Method::get, .path = "/readyz"}).answer.status, 200);
  EXPECT_EQ(prepare({.method = Method::get, .path = "/"}).answer.status, 200);
  service_.is_ready = false;
  EXPECT_EQ(prepare({.method = Method::get, .path = "/readyz"}).answer.status, 503);
}

TEST_F(NativeTest, AllowsLargerBodiesWhereManyJobsCome) {
  EXPECT_GT(native_.bounds(Method::post, "/api/v1/enqueue").body_bytes, std::size_t{1} << 20);
  EXPECT_EQ(native_.bounds(Method::post, "/api/v1/enqueue/batch").body_bytes,
            std::size_t{32} << 20);
  EXPECT_EQ(native_.bounds(Method::post, "/nothing").body_bytes, std::nullopt);
}

TEST_F(NativeTest, TellsWhichAnswersMayBeLarge) {
  const auto bytes = [&](Method method, std::string_view path) {
    return native_.bounds(method, path).answer.bytes;
  };
  for (const auto* path : {"/api/v1/enqueue", "/api/v1/ack/job_01", "/api/v1/fail/job_01"})
    EXPECT_LE(bytes(Method::post, path), http::kSmallAnswerBytes) << path;
  EXPECT_LE(bytes(Method::get, "/healthz"), http::kSmallAnswerBytes);
  for (const auto* path : {"/api/v1/jobs/job_01", "/api/v1/queues", "/api/v1/events", "/metrics"})
    EXPECT_GE(bytes(Method::get, path), std::size_t{1} << 20) << path;
  for (const auto* path : {"/api/v1/fetch", "/api/v1/ack", "/api/v1/enqueue/batch"})
    EXPECT_GE(bytes(Method::post, path), std::size_t{1} << 20) << path;
  EXPECT_GE(bytes(Method::post, "/api/v1/jobs/search"), std::size_t{8} << 20);
  // A fetch may wait for a minute, and there may be thousands: what they wait for takes no room.
  EXPECT_TRUE(native_.bounds(Method::post, "/api/v1/fetch").answer.waits);
  EXPECT_FALSE(native_.bounds(Method::get, "/api/v1/jobs/job_01").answer.waits);
}

TEST_F(NativeTest, LooksUpJobs) {
  const auto exchange = call({.method = Method::get, .path = "/api/v1/jobs/" + std::string(kJobA)});
  EXPECT_EQ(std::get<call::JobQuery>(exchange->query).job, job_id(kJobA));
  exchange->answer = std::optional<model::JobRecord>();
  expect_problem(answer(*exchange), {"", 404, "not_found", ""});

  model::JobRecord job;
  job.id = base::JobId{base::Ulid::make({1'770'804'000'000}, 1, 2)};
  job.state = model::State::active;
  job.spec.queue = base::Blob("emails.send");
  job.spec.payload = base::Blob(R"({ "n": 1.0 })");
  job.spec.expire_after = base::hours(1);
  job.spec.unique = {.key = base::Blob("k"), .period = base::seconds(3600)};
  job.attempt = 2;
  job.started_at = {1'770'804'001'000};
  job.worker = base::Blob("worker-abc");
  job.hostname = base::Blob("pod");
  job.errors.push_back({.ordinal = 1,
                        .attempt = 1,
                        .at = {1'770'804'005'000},
                        .error = base::Blob("SMTP \"timeout\"")});
  job.error_count = 1;
  exchange->answer = std::optional(job);
  const auto out = answer(*exchange);
  EXPECT_EQ(out.status, 200);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"id", job.id.text()},
      {"queue", "emails.send"},
      {"payload", R"({ "n": 1.0 })"},
      {"state", "active"},
      {"priority", "normal"},
      {"attempt", "2"},
      {"max_retries", "3"},
      {"retry_backoff", "exponential"},
      {"retry_base_delay", "5s"},
      {"retry_max_delay", "10m"},
      {"created_at", "2026-02-11T10:00:00.000Z"},
      {"scheduled_at", "null"},
      {"started_at", "2026-02-11T10:00:01.000Z"},
      {"completed_at", "null"},
      {"expire_after", "1h"},
      {"unique_key", "k"},
      {"unique_period", "3600"},
      {"unique_until", "end"},
      {"batch_id", "null"},
      {"tags", "{}"},
      {"progress", "null"},
      {"checkpoint", "null"},
      {"result", "null"},
      {"errors", R"([{"attempt":1,"error":"SMTP \"timeout\"","backtrace":null,)"
                 R"("at":"2026-02-11T10:00:05.000Z","worker_id":null}])"},
      {"worker", R"({"id":"worker-abc","hostname":"pod"})"}};
  for (const auto& [name, value] : expected) EXPECT_EQ(member_of(out, name), value) << name;
  expect_problem(refused({.method = Method::get, .path = "/api/v1/jobs/job_x"}),
                 {"", 404, "not_found", ""});
}

TEST_F(NativeTest, LooksUpBatches) {
  const std::string id = "batch_01JZ0000000000000000000003";
  const auto exchange = call({.method = Method::get, .path = "/api/v1/batches/" + id});
  exchange->answer = std::optional(model::BatchRecord{.id = *base::BatchId::parse(id),
                                                      .total = 3,
                                                      .pending = 1,
                                                      .succeeded = 2,
                                                      .callback_queue = base::Blob("done")});
  const auto out = answer(*exchange);
  EXPECT_EQ(member_of(out, "id"), id);
  EXPECT_EQ(member_of(out, "status"), "pending");
  EXPECT_EQ(member_of(out, "total"), "3");
  EXPECT_EQ(member_of(out, "callback_queue"), "done");
  EXPECT_EQ(member_of(out, "callback_payload"), "null");
  expect_problem(refused({.method = Method::get, .path = "/api/v1/batches/job_x"}),
                 {"", 404, "not_found", ""});
}

TEST_F(NativeTest, TellsTheClustersState) {
  const auto exchange = call({.method = Method::get, .path = "/api/v1/cluster/status"});
  call::NodeStatus status;
  status.node_id = 1;
  status.state_hash = 255;
  status.commit_index = 7;
  status.nodes.resize(3);
  status.nodes[0] = {.id = 1, .name = "a", .voter = true, .self = true, .connected = true};
  status.nodes[1] = {.id = 2, .name = "b", .voter = true, .leader = true, .connected = true};
  status.nodes[2] = {.id = 3, .name = "c", .voter = true, .matched_index = 5};
  exchange->answer = std::move(status);
  const auto out = answer(*exchange);
  EXPECT_EQ(member_of(out, "state_hash"), "00000000000000ff");
  EXPECT_EQ(member_of(out, "leader"), "b");
  EXPECT_EQ(member_of(out, "quorum"), "2");
  EXPECT_EQ(member_of(out, "healthy"), "true");
  EXPECT_NE(member_of(out, "nodes").find(R"("matched_index":5,"lag":2)"), std::string::npos);
}

TEST_F(NativeTest, ReadsMayAskToBeStrong) {
  const auto ask = [&](std::string_view query) {
    return call(
        {.method = Method::get, .path = "/api/v1/queues", .body = {}, .query = std::string(query)});
  };
  EXPECT_FALSE(ask("")->strong);
  EXPECT_FALSE(ask("consistency=local")->strong);
  EXPECT_TRUE(ask("consistency=strong")->strong);
  EXPECT_TRUE(ask("limit=3&consistency=strong&prefix=a")->strong);
  for (const auto* odd :
       {"consistency=odd", "consistency=", "consistency=strong&consistency=strong"})
    expect_problem(
        refused({.method = Method::get, .path = "/api/v1/queues", .body = {}, .query = odd}),
        {"", 422, "invalid", "consistency"});
}

}  // namespace
}  // namespace jobbie::face
