// What workers call: fetch, ack, fail, heartbeat.
#include <string>

#include "face/native/native_test_support.hpp"
#include "model/limits.hpp"

namespace jobbie::face {
namespace {

using command::Claimed;
using command::ClaimedJob;
using command::Refused;
using command::Settled;

class WorkerTest : public NativeTest {
 protected:
  void expect_bad(const std::string& path, const BadCase& c) {
    expect_problem(refused({.path = path, .body = c.body}), c);
  }
  static ClaimedJob claimed_job() {
    return {.job = job_id(kJobA),
            .queue = base::Blob("emails.send"),
            .payload = base::Blob(R"({ "n": 9007199254740993 })"),
            .tags = base::Blob(R"({"tenant":"acme"})"),
            .attempt = 1,
            .max_retries = 5,
            .lease = 12,
            .lease_duration = base::seconds(60),
            .lease_expires_at = {1'770'804'075'000}};
  }
};

TEST_F(WorkerTest, ReadsAFetch) {
  const auto exchange = call("/api/v1/fetch", R"({"queues":["emails.send","bulk.*"],
    "worker_id":"worker-abc","hostname":"pod-1","timeout":30,"lease_duration":"90s",
    "roles":["gpu"],"tags":["eu"]})");
  const command::Claim expected{.queues = {base::Blob("emails.send"), base::Blob("bulk.*")},
                                .worker = base::Blob("worker-abc"),
                                .hostname = base::Blob("pod-1"),
                                .lease = base::seconds(90),
                                .roles = {base::Blob("gpu")},
                                .tags = {base::Blob("eu")},
                                .max_bytes = model::limits::kAnswerBytes};
  EXPECT_EQ(std::get<command::Claim>(exchange->commands.at(0)), expected);
  EXPECT_EQ(exchange->wait, base::seconds(30));
}

TEST_F(WorkerTest, AnswersAFetch) {
  const auto one = call("/api/v1/fetch", R"({"queues":["*"]})");
  const std::string job =
      R"("job_id":"job_01JZ0000000000000000000001","queue":"emails.send",)"
      R"("payload":{ "n": 9007199254740993 },"attempt":1,"max_retries":5,"priority":"normal",)"
      R"("lease_id":"12","lease_duration":60,"lease_expires_at":"2026-02-11T10:01:15.000Z",)"
      R"("checkpoint":null,"tags":{"tenant":"acme"})";
  EXPECT_EQ(answer(*one, Claimed{{claimed_job()}}).body, "{" + job + "}");
  EXPECT_EQ(answer(*one, Claimed{}).status, 204);
  EXPECT_EQ(answer(*one, Claimed{}).body, "");

  const auto many = call("/api/v1/fetch", R"({"queues":["*"],"count":10})");
  EXPECT_EQ(std::get<command::Claim>(many->commands.at(0)).count, 10U);
  EXPECT_EQ(answer(*many, Claimed{{claimed_job(), claimed_job()}}).body,
            R"({"jobs":[{)" + job + "},{" + job + "}]}");
  EXPECT_EQ(answer(*many, Claimed{}).status, 204);

  auto rich = claimed_job();
  rich.priority = 5;
  rich.checkpoint = base::Blob("[1]");
  rich.group = base::Blob("g\"1");
  rich.traceparent = base::Blob("00-x");
  rich.max_runtime = base::milliseconds(1500);
  rich.batch = *base::BatchId::parse("batch_01JZ0000000000000000000003");
  const auto out = answer(*one, Claimed{{rich}});
  EXPECT_EQ(member_of(out, "priority"), "5");
  EXPECT_EQ(member_of(out, "checkpoint"), "[1]");
  EXPECT_EQ(member_of(out, "group"), "g\\\"1");
  EXPECT_EQ(member_of(out, "traceparent"), "00-x");
  EXPECT_EQ(member_of(out, "max_runtime"), "1.5");
  EXPECT_EQ(member_of(out, "batch_id"), "batch_01JZ0000000000000000000003");
}

TEST_F(WorkerTest, SettlesInAFetch) {
  const auto exchange = call("/api/v1/fetch", R"({"fail":[{"job_id":"nope","error":"x"},
    {"job_id":"job_01JZ0000000000000000000002","lease_id":"9","error":"boom","retry":false}],
    "queues":["q"],"ack":[{"job_id":"job_01JZ0000000000000000000001","lease_id":"8","result":1.0}],
    "timeout":5})");
  ASSERT_EQ(exchange->commands.size(), 3U);
  EXPECT_TRUE(std::holds_alternative<command::Claim>(exchange->commands.back()));
  const auto& fail = std::get<command::Fail>(exchange->commands[0]);
  EXPECT_TRUE(fail.no_retry);
  EXPECT_EQ(fail.ref.lease, 9U);
  const auto& ack = std::get<command::Ack>(exchange->commands[1]);
  EXPECT_EQ(ack.result.view(), "1.0");
  EXPECT_EQ(ack.ref.job, job_id(kJobA));

  const Settled dead{.state = model::State::dead};
  const std::string settled =
      R"("acked":[{"job_id":"job_01JZ0000000000000000000001","status":"completed"}],)"
      R"("failed":[{"job_id":"nope","code":"not_found","detail":"No such job."},)"
      R"({"job_id":"job_01JZ0000000000000000000002","status":"dead",)"
      R"("next_attempt_at":null,"attempts_remaining":0}],)";
  auto out = answer(*exchange, dead, Settled{}, Claimed{});
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(out.body, "{" + settled + R"("job_id":null})");
  out = answer(*exchange, dead, Settled{}, Claimed{{claimed_job()}});
  EXPECT_TRUE(out.body.starts_with("{" + settled + R"("job_id":"job_01JZ)")) << out.body;
  out = answer(*exchange, dead, command::Refusal{Refused::lease_lost, "lease_id", "the lease"},
               Claimed{});
  EXPECT_NE(out.body.find(R"("code":"lease_lost")"), std::string::npos) << out.body;

  const auto many = call("/api/v1/fetch", R"({"queues":["q"],"count":2,"ack":[]})");
  EXPECT_EQ(answer(*many, Claimed{}).body, R"({"acked":[],"failed":[],"jobs":[]})");
}

TEST_F(WorkerTest, TakesFewGlobsAndManyNamesInAFetch) {
  const auto body = [](std::size_t globs, std::size_t names) {
    std::string queues;
    for (std::size_t i = 0; i < globs; ++i) queues += "\"g" + std::to_string(i) + ".*\",";
    for (std::size_t i = 0; i < names; ++i) queues += "\"q" + std::to_string(i) + "\",";
    queues.pop_back();
    return R"({"queues":[)" + queues + "]}";
  };
  const auto most = model::limits::kGlobsPerFetch;
  EXPECT_NE(call("/api/v1/fetch", body(most, model::limits::kQueuesPerClaim - most)), nullptr);
  expect_bad("/api/v1/fetch", {body(most + 1, 0), 422, "invalid", "queues"});
}

TEST_F(WorkerTest, NamesWhatIsWrongInAFetch) {
  const std::vector<BadCase> cases = {
      {"", 400, "bad_json", ""},
      {"{}", 422, "missing_field", "queues"},
      {R"({"queues":[]})", 422, "invalid", "queues"},
      {R"({"queues":"q"})", 422, "wrong_type", "queues"},
      {R"({"queues":["a b"]})", 400, "invalid", "queues"},
      {R"({"queues":["q"],"timeout":61})", 422, "invalid", "timeout"},
      {R"({"queues":["q"],"timeout":-1})", 422, "invalid", "timeout"},
      {R"({"queues":["q"],"count":0})", 422, "invalid", "count"},
      {R"({"queues":["q"],"count":1001})", 422, "invalid", "count"},
      {R"({"queues":["q"],"lease_duration":0.01})", 422, "invalid", "lease_duration"},
      {R"({"queues":["q"],"lease_duration":0})", 422, "invalid", "lease_duration"},
      {R"({"queues":["q"],"ack":[{"lease_id":"1"}]})", 422, "missing_field", "ack[0].job_id"},
      {R"({"queues":["q"],"ack":[{"job_id":"x","resullt":1}]})", 422, "unknown_field",
       "ack[0].resullt"},
      {R"({"queues":["q"],"fail":[{"job_id":"x"},{"job_id":"x","retry":"no"}]})", 422, "wrong_type",
       "fail[1].retry"},
      {R"({"queues":["q"],"worker":"w"})", 422, "unknown_field", "worker"},
  };
  for (const auto& c : cases) expect_bad("/api/v1/fetch", c);
}

TEST_F(WorkerTest, Acks) {
  const std::string path = "/api/v1/ack/" + std::string(kJobA);
  const auto plain = call(path, "");
  EXPECT_EQ(std::get<command::Ack>(plain->commands.at(0)),
            (command::Ack{.ref = {.job = job_id(kJobA)}}));
  const auto full = call(
      path, R"({"result":{ "sent": true },"lease_id":"18446744073709551614","worker_id":"w"})");
  EXPECT_EQ(std::get<command::Ack>(full->commands.at(0)),
            (command::Ack{.ref = {.job = job_id(kJobA),
                                  .lease = 18'446'744'073'709'551'614ULL,
                                  .worker = base::Blob("w")},
                          .result = base::Blob(R"({ "sent": true })")}));
  auto out = answer(*full, Settled{});
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(out.body, R"({"status":"completed"})");
  out = answer(*full, command::Refusal{Refused::lease_lost, "lease_id", "another lease"});
  expect_problem(out, {"", 409, "lease_lost", "lease_id"});
}

TEST_F(WorkerTest, ALeaseThatNeverWasIsNobodys) {
  for (const char* lease : {"0", "", "x", "-1", "1.5", "99999999999999999999999", "01x"}) {
    const auto exchange =
        call("/api/v1/ack/" + std::string(kJobA), R"({"lease_id":")" + std::string(lease) + "\"}");
    EXPECT_EQ(std::get<command::Ack>(exchange->commands.at(0)).ref.lease,
              std::numeric_limits<std::uint64_t>::max())
        << lease;
  }
}

TEST_F(WorkerTest, Fails) {
  const std::string path = "/api/v1/fail/" + std::string(kJobA);
  const auto exchange =
      call(path, R"({"error":"SMTP timeout","backtrace":"at send:42\nat worker:18",
                     "lease_id":"7","retry":true,"retry_in":"30s"})");
  EXPECT_EQ(std::get<command::Fail>(exchange->commands.at(0)),
            (command::Fail{.ref = {.job = job_id(kJobA), .lease = 7},
                           .error = base::Blob("SMTP timeout"),
                           .backtrace = base::Blob("at send:42\nat worker:18"),
                           .retry_in = base::seconds(30)}));
  const auto out = answer(*exchange, Settled{.state = model::State::retrying,
                                             .next_attempt_at = {1'770'804'015'000},
                                             .attempts_remaining = 4});
  EXPECT_EQ(out.body, R"({"status":"retrying","next_attempt_at":"2026-02-11T10:00:15.000Z",)"
                      R"("attempts_remaining":4})");
  EXPECT_TRUE(call(path, ""));
}

TEST_F(WorkerTest, NamesWhatIsWrongInAnAckOrFail) {
  const std::string ack = "/api/v1/ack/" + std::string(kJobA);
  const std::string fail = "/api/v1/fail/" + std::string(kJobA);
  const std::string large(std::size_t{1} << 20, 'x');
  expect_bad("/api/v1/ack/nope", {"{}", 404, "not_found", ""});
  expect_bad("/api/v1/fail/job_00000000000000000000000000", {"{}", 404, "not_found", ""});
  expect_bad(ack, {R"({"result":1)", 400, "bad_json", ""});
  expect_bad(ack, {R"({"lease_id":7})", 422, "wrong_type", "lease_id"});
  expect_bad(ack, {R"({"reslut":7})", 422, "unknown_field", "reslut"});
  expect_bad(ack, {R"({"result":")" + large + "\"}", 413, "payload_too_large", "result"});
  expect_bad(fail, {R"({"error":{}})", 422, "wrong_type", "error"});
  expect_bad(fail, {R"({"error":")" + large.substr(0, 70'000) + "\"}", 422, "invalid", "error"});
  expect_bad(fail, {R"({"retry":false,"retry_in":5})", 422, "invalid", "retry_in"});
  expect_bad(fail, {R"({"retry_in":"1000000w"})", 400, "duration_out_of_range", "retry_in"});
}

TEST_F(WorkerTest, SettlesMany) {
  const auto acks = call("/api/v1/ack", R"({"jobs":[
    {"job_id":"job_01JZ0000000000000000000001","lease_id":"1","result":null},
    {"job_id":"x\"y"},{"job_id":"job_01JZ0000000000000000000002"}]})");
  ASSERT_EQ(acks->commands.size(), 2U);
  const auto out = answer(*acks, Settled{},
                          command::Refusal{Refused::not_active, "job_id", "the job is not active"});
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(out.body,
            R"({"jobs":[{"job_id":"job_01JZ0000000000000000000001","status":"completed"},)"
            R"({"job_id":"x\"y","code":"not_found","detail":"No such job."},)"
            R"({"job_id":"job_01JZ0000000000000000000002","code":"not_active",)"
            R"("detail":"The job is not active."}]})");
  const auto fails = call("/api/v1/fail", R"({"jobs":[
    {"job_id":"job_01JZ0000000000000000000001","error":"a"},
    {"job_id":"job_01JZ0000000000000000000002","error":")" +
                                              std::string(70'000, 'x') + R"("}]})");
  ASSERT_EQ(fails->commands.size(), 1U) << "one bad item does not fail the call";
  // Nothing for the node to do.
  const auto none = refused({.path = "/api/v1/ack", .body = R"({"jobs":[{"job_id":"x"}]})"});
  EXPECT_EQ(none.status, 200);
  EXPECT_EQ(none.body, R"({"jobs":[{"job_id":"x","code":"not_found","detail":"No such job."}]})");
  expect_bad("/api/v1/ack", {"{}", 422, "missing_field", "jobs"});
  expect_bad("/api/v1/ack", {R"({"jobs":[{}]})", 422, "missing_field", "jobs[0].job_id"});
  expect_bad("/api/v1/ack", {"", 400, "bad_json", ""});
}

TEST_F(WorkerTest, Heartbeats) {
  const auto exchange = call("/api/v1/heartbeat", R"({"worker_id":"w","jobs":{
    "job_01JZ0000000000000000000001": {},
    "job_01JZ0000000000000000000002": {"lease_id":"5",
       "progress": { "current": 450, "total": 1000 }, "checkpoint": { "offset": 47000 } },
    "job_x": null}})");
  const auto& beat = std::get<command::Heartbeat>(exchange->commands.at(0));
  EXPECT_EQ(beat.worker.view(), "w");
  ASSERT_EQ(beat.beats.size(), 3U);
  EXPECT_EQ(beat.beats[0].ref.job, job_id(kJobA));
  EXPECT_EQ(beat.beats[1].ref.lease, 5U);
  EXPECT_EQ(beat.beats[1].progress.view(), R"({ "current": 450, "total": 1000 })");
  EXPECT_EQ(beat.beats[1].checkpoint.view(), R"({ "offset": 47000 })");
  EXPECT_TRUE(beat.beats[2].ref.job.is_nil());
  using command::BeatStatus;
  const auto out =
      answer(*exchange, command::Beaten{{BeatStatus::ok, BeatStatus::cancel, BeatStatus::unknown}});
  EXPECT_EQ(out.body, R"({"jobs":{"job_01JZ0000000000000000000001":{"status":"ok"},)"
                      R"("job_01JZ0000000000000000000002":{"status":"cancel"},)"
                      R"("job_x":{"status":"unknown"}}})");
  EXPECT_TRUE(call("/api/v1/heartbeat", "{}"));
}

TEST_F(WorkerTest, LeavesOutOfAHeartbeatWhatIsTooLong) {
  const std::string long_text(20'000, 'x');
  const auto exchange =
      call("/api/v1/heartbeat",
           R"({"jobs":{"job_01JZ0000000000000000000001":{"lease_id":"5","progress":")" + long_text +
               R"("},"job_01JZ0000000000000000000002":{"progress":7}}})");
  ASSERT_TRUE(exchange);
  const auto& beat = std::get<command::Heartbeat>(exchange->commands.at(0));
  ASSERT_EQ(beat.beats.size(), 2U);
  EXPECT_EQ(beat.beats[0].ref.lease, 5U);
  EXPECT_TRUE(beat.beats[0].progress.empty());
  EXPECT_EQ(beat.beats[1].progress.view(), "7");
  using command::BeatStatus;
  const auto out = answer(*exchange, command::Beaten{{BeatStatus::ok, BeatStatus::ok}});
  EXPECT_EQ(out.body, R"({"jobs":{"job_01JZ0000000000000000000001":{"status":"ok",)"
                      R"("code":"payload_too_large","detail":)"
                      R"("jobs.job_01JZ0000000000000000000001.progress has 20002 bytes; )"
                      R"(at most 16384 are taken."},)"
                      R"("job_01JZ0000000000000000000002":{"status":"ok"}}})");
}

TEST_F(WorkerTest, AnAckThatIsTooLongDoesNotFailTheOthers) {
  const std::string large(std::size_t{1} << 20, 'x');
  const auto acks = call("/api/v1/ack", R"({"jobs":[{"job_id":"job_01JZ0000000000000000000001"},)"
                                        R"({"job_id":"job_01JZ0000000000000000000002","result":")" +
                                            large + "\"}]}");
  ASSERT_TRUE(acks);
  EXPECT_EQ(acks->commands.size(), 1U);
  const auto out = answer(*acks, command::Settled{.state = model::State::completed});
  EXPECT_NE(out.body.find(R"("code":"payload_too_large","detail":"jobs[1].result has)"),
            std::string::npos)
      << out.body;
  EXPECT_NE(out.body.find(R"("status":"completed")"), std::string::npos) << out.body;
}

TEST_F(WorkerTest, NamesWhatIsWrongInAHeartbeat) {
  const std::string a(kJobA);
  const std::vector<BadCase> cases = {
      {R"({"jobs":[]})", 422, "wrong_type", "jobs"},
      {R"({"jobs":{")" + a + R"(":7}})", 422, "wrong_type", "jobs." + a},
      {R"({"jobs":{")" + a + R"(":{"progres":1}}})", 422, "unknown_field",
       "jobs." + a + ".progres"},
      {R"({"jobs":{")" + a + R"(":{},")" + a + R"(":{}}})", 422, "invalid", "jobs"},
      {R"({"workers":1})", 422, "unknown_field", "workers"},
  };
  for (const auto& c : cases) expect_bad("/api/v1/heartbeat", c);
}

}  // namespace
}  // namespace jobbie::face
