// Bulk requests: what they ask of the node, what is refused, and how outcomes are told.
#include <gtest/gtest.h>

#include "face/native/native_test_support.hpp"

namespace jobbie::face {
namespace {

using http::Method;

constexpr std::string_view kPath = "/api/v1/jobs/bulk";
constexpr std::string_view kBulk = "bulk_01JZ0000000000000000000005";

class BulkTest : public NativeTest {
 protected:
  call::BulkQuery asked(std::string body) {
    const auto exchange = call(std::string(kPath), std::move(body));
    return exchange ? std::get<call::BulkQuery>(exchange->query) : call::BulkQuery{};
  }
  static Answer told(Exchange& exchange, call::Answer given) {
    exchange.answer = std::move(given);
    return answer(exchange);
  }
};

TEST_F(BulkTest, ByIds) {
  const auto query =
      asked(R"({"action":"move","move_to_queue":"other","job_ids":[")" + std::string(kJobA) +
            R"(","nonsense",")" + std::string(kJobB) + R"("]})");
  EXPECT_EQ(query.action, model::BulkAction::move);
  EXPECT_EQ(query.queue.view(), "other");
  EXPECT_EQ(query.jobs, (std::vector{job_id(kJobA), job_id(kJobB)}));
  EXPECT_TRUE(query.filter_text.empty());
  EXPECT_FALSE(query.dry_run);
}

TEST_F(BulkTest, ByFilter) {
  const auto query = asked(R"({"action":"change_priority","priority":"high","dry_run":true,)"
                           R"("filter":{"queue":"emails.*", "state":["pending"]}})");
  EXPECT_EQ(query.action, model::BulkAction::change_priority);
  EXPECT_EQ(query.priority, 1);
  EXPECT_TRUE(query.dry_run);
  EXPECT_EQ(query.filter.queue, "emails.*");
  EXPECT_EQ(query.filter_text.view(), R"({"queue":"emails.*", "state":["pending"]})");
}

TEST_F(BulkTest, EveryAction) {
  const std::vector<std::pair<std::string, model::BulkAction>> actions = {
      {"retry", model::BulkAction::retry},
      {"delete", model::BulkAction::remove},
      {"cancel", model::BulkAction::cancel},
      {"requeue", model::BulkAction::requeue}};
  for (const auto& [word, action] : actions)
    EXPECT_EQ(asked(R"({"filter":{},"action":")" + word + "\"}").action, action) << word;
}

TEST_F(BulkTest, BadRequestsAreRefusedByField) {
  const BadCase cases[] = {
      {"{", 400, "bad_json", ""},
      {"{}", 422, "missing_field", "action"},
      {R"({"action":"retry"})", 422, "missing_field", "job_ids"},
      {R"({"action":"explode","job_ids":[]})", 422, "invalid", "action"},
      {R"({"action":"retry","job_ids":[],"filter":{}})", 422, "invalid", "filter"},
      {R"({"action":"retry","job_ids":"all"})", 422, "wrong_type", "job_ids"},
      {R"({"action":"retry","job_ids":[1]})", 422, "wrong_type", "job_ids"},
      {R"({"action":"move","job_ids":[]})", 422, "missing_field", "move_to_queue"},
      {R"({"action":"move","job_ids":[],"move_to_queue":"a b"})", 400, "invalid", "move_to_queue"},
      {R"({"action":"retry","job_ids":[],"move_to_queue":"q"})", 422, "invalid", "move_to_queue"},
      {R"({"action":"change_priority","job_ids":[]})", 422, "missing_field", "priority"},
      {R"({"action":"change_priority","job_ids":[],"priority":"x"})", 422, "invalid", "priority"},
      {R"({"action":"retry","job_ids":[],"priority":1})", 422, "invalid", "priority"},
      {R"({"action":"retry","job_ids":[],"dry_run":"yes"})", 422, "wrong_type", "dry_run"},
      {R"({"action":"retry","job_idz":[]})", 422, "unknown_field", "job_idz"},
      {R"({"action":"retry","filter":{"quue":"a"}})", 422, "unknown_field", "filter.quue"},
      {R"({"action":"retry","filter":{"limit":5}})", 422, "unknown_field", "filter.limit"},
      {R"({"action":"retry","filter":{"state":["asleep"]}})", 422, "invalid", "filter.state"},
  };
  for (const auto& bad : cases)
    expect_problem(refused({.path = std::string(kPath), .body = bad.body}), bad);
}

TEST_F(BulkTest, PositionsAreThoseOfTheBody) {
  const std::string body = R"({"action":"retry","filter": {"queue":"a","quue":"a"}})";
  const auto out = refused({.path = std::string(kPath), .body = body});
  EXPECT_EQ(member_of(out, "position"), std::to_string(body.find("\"quue\"")));
}

TEST_F(BulkTest, OutcomesAreTold) {
  auto exchange = call(std::string(kPath), R"({"action":"retry","job_ids":["nonsense",")" +
                                               std::string(kJobA) + "\"]}");
  call::BulkAnswer done;
  done.outcome.affected = 3;
  done.outcome.skipped = 2;
  done.outcome.failed = 1;
  done.outcome.errors.push_back(
      {job_id(kJobA), base::Blob("unique_conflict"), base::Blob("taken")});
  done.duration_us = 2500;
  const auto out = told(*exchange, done);
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(member_of(out, "affected"), "3");
  EXPECT_EQ(member_of(out, "skipped"), "3");  // what is no id names no job
  EXPECT_EQ(member_of(out, "errors"), "1");
  EXPECT_EQ(member_of(out, "first_errors"), R"([{"job_id":")" + std::string(kJobA) +
                                                R"(","code":"unique_conflict","detail":"taken"}])");
  EXPECT_EQ(member_of(out, "dry_run"), "false");
  EXPECT_EQ(member_of(out, "duration_ms"), "2.500");
}

TEST_F(BulkTest, AnOperationThatGoesOnIsAccepted) {
  auto exchange = call(std::string(kPath), R"({"action":"retry","filter":{}})");
  call::BulkAnswer started;
  started.started.emplace();
  started.started->id = base::BulkId::parse(kBulk).value();
  started.started->estimated = 50'000;
  const auto out = told(*exchange, started);
  EXPECT_EQ(out.status, 202);
  EXPECT_EQ(member_of(out, "bulk_operation_id"), kBulk);
  EXPECT_EQ(member_of(out, "estimated_total"), "50000");
  EXPECT_EQ(member_of(out, "progress_url"), "/api/v1/bulk/" + std::string(kBulk) + "/progress");

  call::BulkAnswer refused;
  refused.refusal = command::Refusal{command::Refused::limit_reached, "bulk", "too many"};
  EXPECT_EQ(member_of(told(*exchange, refused), "code"), "limit_reached");
}

TEST_F(BulkTest, OperationsAreShownAndCancelled) {
  const std::string path = "/api/v1/bulk/" + std::string(kBulk);
  auto exchange = call({.method = Method::get, .path = path, .body = {}});
  EXPECT_EQ(std::get<call::BulksQuery>(exchange->query).bulk.text(), kBulk);
  EXPECT_EQ(told(*exchange, call::BulksAnswer{}).status, 404);
  call::BulksAnswer found;
  found.bulks.resize(1);
  found.bulks[0].id = base::BulkId::parse(kBulk).value();
  found.bulks[0].filter = base::Blob("{}");
  found.bulks[0].affected = 4;
  found.bulks[0].skipped = 5;
  const auto shown = told(*exchange, found);
  EXPECT_EQ(member_of(shown, "status"), "processing");
  EXPECT_EQ(member_of(shown, "processed"), "9");

  exchange = call({.method = Method::del, .path = path, .body = {}});
  ASSERT_EQ(exchange->commands.size(), 1U);
  EXPECT_EQ(std::get<command::EndBulk>(exchange->commands[0]).bulk.text(), kBulk);
  EXPECT_EQ(refused({.method = Method::get, .path = "/api/v1/bulk/nonsense", .body = {}}).status,
            404);
}

}  // namespace
}  // namespace jobbie::face
