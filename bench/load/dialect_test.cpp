// What the dialects send and how they read answers, also those that arrive in pieces.
#include "bench/load/dialect.hpp"

#include <gtest/gtest.h>

#include "bench/load/histogram.hpp"

namespace jobbie::bench::load {
namespace {

constexpr std::uint64_t kStamp = 1'234'567'890'123;

std::string http(std::string_view status, const std::string& body) {
  return "HTTP/1.1 " + std::string(status) +
         "\r\nContent-Type: application/json\r\ncontent-length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

TEST(Payload, HasItsSizeAndCarriesAStamp) {
  auto text = payload();
  EXPECT_EQ(text.size(), kPayloadBytes);
  EXPECT_EQ(read_stamp(text), 0U);
  write_stamp(text, kStamp);
  EXPECT_EQ(text.size(), kPayloadBytes);
  EXPECT_EQ(read_stamp(text), kStamp);
  EXPECT_EQ(read_stamp("{}"), 0U);
}

TEST(JobbieDialect, SendsTheLengthOfItsBody) {
  const auto dialect = make_dialect("jobbie", {.put_batch = 3});
  std::string out;
  EXPECT_EQ(dialect->put(out, kStamp), 1U);
  const auto body = out.substr(out.find("\r\n\r\n") + 4);
  EXPECT_NE(out.find("Content-Length: " + std::to_string(body.size()) + "\r\n"), std::string::npos);
  EXPECT_TRUE(out.starts_with("POST /api/v1/enqueue/batch "));
  EXPECT_EQ(read_stamp(body), kStamp);
}

TEST(JobbieDialect, ReadsManyJobsAndAcksThem) {
  const auto dialect = make_dialect("jobbie", {});
  const auto answer =
      http("200 OK", R"({"jobs":[{"job_id":"job_1","payload":{"stamp":"00000000000000000007"},)"
                     R"("lease_id":"a"},{"lease_id": 12, "job_id": "job_2","payload":{}}]})");
  TakenList jobs;
  for (std::size_t cut = 0; cut < answer.size(); ++cut)
    EXPECT_EQ(dialect->read(std::string_view(answer).substr(0, cut), Step::take, jobs).kind,
              Answer::Kind::incomplete);
  const auto seen = dialect->read(answer, Step::take, jobs);
  EXPECT_EQ(seen.kind, Answer::Kind::fine);
  EXPECT_EQ(seen.bytes, answer.size());
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs.all()[0].stamp_ns, 7U);
  std::string out;
  EXPECT_EQ(dialect->finish(out, jobs.all()), 1U);
  EXPECT_TRUE(out.ends_with(
      R"({"jobs":[{"job_id":"job_1","lease_id":"a"},{"job_id":"job_2","lease_id":12}]})"))
      << out;
}

TEST(JobbieDialect, TellsFetchedJobsFromAckedOnes) {
  const auto dialect = make_dialect("jobbie", {});
  const std::string acked = R"({"acked":[{"job_id":"job_1","status":"completed"}],"failed":[],)";
  TakenList jobs;
  EXPECT_EQ(
      dialect->read(http("200 OK", acked + R"("job_id":null})"), Step::finish_and_take, jobs).kind,
      Answer::Kind::fine);
  EXPECT_EQ(jobs.size(), 0U);
  const auto next = acked + R"("job_id":"job_2","payload":{},"lease_id":"7"})";
  EXPECT_EQ(dialect->read(http("200 OK", next), Step::finish_and_take, jobs).kind,
            Answer::Kind::fine);
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs.all()[0].id, "job_2");
  EXPECT_EQ(jobs.all()[0].lease, R"("7")");
  const std::string lost = R"({"acked":[{"job_id":"job_1","code":"lease_lost"}],"job_id":null})";
  EXPECT_EQ(dialect->read(http("200 OK", lost), Step::finish_and_take, jobs).kind,
            Answer::Kind::broken);
}

TEST(JobbieDialect, TellsEmptyBusyAndBroken) {
  const auto dialect = make_dialect("jobbie", {});
  TakenList jobs;
  EXPECT_EQ(dialect->read("HTTP/1.1 204 No Content\r\n\r\n", Step::take, jobs).kind,
            Answer::Kind::fine);
  EXPECT_EQ(dialect->read(http("429 Too Many Requests", "{}"), Step::put, jobs).kind,
            Answer::Kind::busy);
  EXPECT_EQ(dialect->read(http("409 Conflict", "{}"), Step::finish, jobs).kind,
            Answer::Kind::broken);
  EXPECT_EQ(dialect->read("SSH-2.0\r\n\r\n", Step::put, jobs).kind, Answer::Kind::broken);
  EXPECT_EQ(jobs.size(), 0U);
}

TEST(BeanstalkdDialect, ReadsAJobInPieces) {
  const auto dialect = make_dialect("beanstalkd", {});
  auto text = payload();
  write_stamp(text, kStamp);
  const auto answer = "RESERVED 42 200\r\n" + text + "\r\nTIMED_OUT\r\n";
  TakenList jobs;
  EXPECT_EQ(dialect->read(answer.substr(0, 100), Step::take, jobs).kind, Answer::Kind::incomplete);
  const auto first = dialect->read(answer, Step::take, jobs);
  EXPECT_EQ(first.kind, Answer::Kind::fine);
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs.all()[0].id, "42");
  EXPECT_EQ(jobs.all()[0].stamp_ns, kStamp);
  EXPECT_EQ(dialect->read(answer.substr(first.bytes), Step::take, jobs).kind, Answer::Kind::fine);
  EXPECT_EQ(jobs.size(), 1U);
  EXPECT_EQ(dialect->read("OUT_OF_MEMORY\r\n", Step::put, jobs).kind, Answer::Kind::broken);
}

TEST(NatsDialect, TellsJobsFromStatus) {
  const auto dialect = make_dialect("nats", {});
  TakenList jobs;
  const auto job = "MSG bench 1 $JS.ACK.bench.1 200\r\n" + payload() + "\r\n";
  EXPECT_EQ(dialect->read(job, Step::take, jobs).kind, Answer::Kind::fine);
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs.all()[0].id, "$JS.ACK.bench.1");
  const std::string status = "HMSG _INBOX.0 1 28 28\r\nNATS/1.0 404 No Messages\r\n\r\n\r\n";
  EXPECT_EQ(dialect->read(status, Step::take, jobs).kind, Answer::Kind::last);
  EXPECT_EQ(dialect->read("PING\r\n", Step::take, jobs).kind, Answer::Kind::skip);
  EXPECT_EQ(dialect->read("-ERR 'no'\r\n", Step::take, jobs).kind, Answer::Kind::broken);
}

TEST(FaktoryDialect, GivesEveryJobAnIdOfItsOwn) {
  const auto dialect = make_dialect("faktory", {.put_batch = 2, .connection = 4});
  std::string out;
  EXPECT_EQ(dialect->put(out, 0), 1U);
  EXPECT_NE(out.find("\"jid\":\"00000005000000000000\""), std::string::npos) << out;
  EXPECT_NE(out.find("\"jid\":\"00000005000000000001\""), std::string::npos);
  TakenList jobs;
  const std::string body = R"({"jid":"00000005000000000001","args":[]})";
  const auto answer = "$" + std::to_string(body.size()) + "\r\n" + body + "\r\n";
  EXPECT_EQ(dialect->read(answer, Step::take, jobs).kind, Answer::Kind::fine);
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs.all()[0].id, "00000005000000000001");
  EXPECT_EQ(dialect->read("$-1\r\n", Step::take, jobs).kind, Answer::Kind::fine);
}

TEST(Dialects, OthersAreRefused) { EXPECT_EQ(make_dialect("smtp", {}), nullptr); }

TEST(Histogram, KeepsQuantilesWithinItsWidth) {
  Histogram seen;
  EXPECT_EQ(seen.quantile_ns(0.5), 0U);
  for (std::uint64_t ns = 1; ns <= 100'000; ++ns) seen.add(ns);
  EXPECT_EQ(seen.samples(), 100'000U);
  for (const double share : {0.01, 0.5, 0.99, 0.999}) {
    const auto exact = share * 100'000;
    const auto value = static_cast<double>(seen.quantile_ns(share));
    EXPECT_GE(value, exact);
    EXPECT_LE(value, exact * 1.017);
  }
}

}  // namespace
}  // namespace jobbie::bench::load
