// Searches: what a request asks the node for, what is refused, and how a page is told.
#include <gtest/gtest.h>

#include "face/native/native_test_support.hpp"
#include "face/parameters.hpp"

namespace jobbie::face {
namespace {

using http::Method;

class SearchTest : public NativeTest {
 protected:
  Prepared get(const std::string& path, const std::string& query) {
    const http::Request request{
        .method = Method::get, .method_text = "GET", .target = path, .path = path, .query = query};
    return native_.prepare(request, inbox_);
  }
  /// What a request asks for; a refusal is a failure.
  static search::Request asked(const Prepared& prepared) {
    EXPECT_TRUE(prepared.exchange) << prepared.answer.body;
    if (!prepared.exchange) return {};
    return std::get<call::SearchQuery>(prepared.exchange->query).request;
  }
  search::Request posted(std::string body) {
    return asked(prepare({.path = "/api/v1/jobs/search", .body = std::move(body)}));
  }
};

TEST_F(SearchTest, WithoutABodyThereAreNoConditions) {
  for (const char* body : {"", "{}"}) {
    const auto request = posted(body);
    EXPECT_TRUE(request.filter.queue.empty());
    EXPECT_TRUE(request.filter.states.empty());
    EXPECT_EQ(request.limit, search::kDefaultLimit);
    EXPECT_EQ(request.order, search::Order::desc);
    EXPECT_FALSE(request.after);
  }
}

TEST_F(SearchTest, ReadsTheFilterAndTheOrder) {
  const auto request = posted(
      R"({"queue":"emails.*","state":["dead"],"priority":"high","payload_jq":".to == \"a\"",)"
      R"("tags":{"tenant":"acme"},"attempt_min":2,"sort":"failed_at","order":"asc","limit":9})");
  EXPECT_EQ(request.filter.queue, "emails.*");
  EXPECT_EQ(request.filter.states, std::vector{model::State::dead});
  EXPECT_EQ(request.filter.priority, 1);
  EXPECT_TRUE(request.filter.payload_jq);
  EXPECT_EQ(request.filter.tags.size(), 1U);
  EXPECT_EQ(request.filter.attempt_min, 2U);
  EXPECT_EQ(request.sort, search::Sort::failed_at);
  EXPECT_EQ(request.order, search::Order::asc);
  EXPECT_EQ(request.limit, 9U);
}

TEST_F(SearchTest, ParametersSayTheSame) {
  const auto request = asked(get("/api/v1/jobs", "queue=q&state=dead,pending&limit=3"));
  EXPECT_EQ(request.filter.queue, "q");
  EXPECT_EQ(request.filter.states.size(), 2U);
  EXPECT_EQ(request.limit, 3U);
  const auto dead = asked(get("/api/v1/dead", "queue=q"));
  EXPECT_EQ(dead.filter.states, std::vector{model::State::dead});
  EXPECT_EQ(dead.filter.queue, "q");
}

TEST_F(SearchTest, BadFiltersAreRefusedByField) {
  const BadCase cases[] = {
      {"{", 400, "bad_json", ""},
      {"[]", 422, "wrong_type", ""},
      {R"({"quue":"a"})", 422, "unknown_field", "quue"},
      {R"({"queue":"a b"})", 422, "invalid", "queue"},
      {R"({"state":"asleep"})", 422, "invalid", "state"},
      {R"({"priority":"urgent"})", 422, "invalid", "priority"},
      {R"({"tags":[1]})", 422, "wrong_type", "tags"},
      {R"({"payload_jq":".a =="})", 422, "bad_jq", "payload_jq"},
      {R"({"created_after":"yesterday"})", 422, "invalid", "created_after"},
      {R"({"has_errors":1})", 422, "wrong_type", "has_errors"},
      {R"({"queue":"a","queue":"b"})", 422, "duplicate_field", "queue"},
      {R"({"limit":0})", 422, "invalid", "limit"},
      {R"({"sort":"name"})", 422, "invalid", "sort"},
      {R"({"cursor":"00"})", 422, "bad_cursor", "cursor"},
  };
  for (const auto& bad : cases)
    expect_problem(refused({.path = "/api/v1/jobs/search", .body = bad.body}), bad);
}

TEST_F(SearchTest, BadParametersAreRefusedByName) {
  const std::vector<std::pair<std::string, BadCase>> cases = {
      {"/api/v1/jobs", {"statte=dead", 422, "unknown_field", "statte"}},
      {"/api/v1/jobs", {"limit=many", 422, "invalid", "limit"}},
      {"/api/v1/jobs", {"queue=%zz", 400, "bad_query", ""}},
      {"/api/v1/jobs", {"group=%ff", 400, "bad_utf8", ""}},
      {"/api/v1/jobs", {"ids=,,,", 422, "invalid", "ids"}},
      {"/api/v1/dead", {"state=pending", 422, "invalid", "state"}},
      {"/api/v1/batches", {"status=half", 422, "invalid", "status"}},
      {"/api/v1/batches", {"cursor=x", 422, "bad_cursor", "cursor"}},
      {"/api/v1/batches", {"cursor=" + cursor_after("queues", 7), 422, "bad_cursor", "cursor"}},
      {"/api/v1/batches", {"queue=q", 422, "unknown_field", "queue"}},
  };
  for (const auto& [path, bad] : cases) {
    const auto prepared = get(path, bad.body);
    EXPECT_FALSE(prepared.exchange) << path;
    expect_problem(prepared.answer, bad);
  }
}

TEST_F(SearchTest, NoJobIsCalledSearch) {
  for (const char* path : {"/api/v1/jobs/search", "/api/v1/jobs/bulk"}) {
    const auto prepared = get(path, "");
    EXPECT_FALSE(prepared.exchange);
    expect_problem(prepared.answer, {path, 405, "method_not_allowed", ""});
  }
}

TEST_F(SearchTest, APageAndItsCursor) {
  auto exchange = call("/api/v1/jobs/search", R"({"sort":"priority","limit":1})");
  call::SearchAnswer found;
  found.page.jobs.resize(1);
  found.page.jobs[0].id = job_id(kJobA);
  found.page.jobs[0].spec.queue = base::Blob("q");
  found.page.jobs[0].spec.payload = base::Blob("[1]");
  found.page.total = 10'000;
  found.page.total_is_at_least = true;
  found.page.next = search::Place{.key = 2, .sequence = 1};
  found.duration_us = 1500;
  exchange->answer = found;
  const auto out = answer(*exchange);
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(member_of(out, "total"), "10000");
  EXPECT_EQ(member_of(out, "total_is_at_least"), "true");
  EXPECT_EQ(member_of(out, "has_more"), "true");
  EXPECT_EQ(member_of(out, "duration_ms"), "1.500");
  const auto next =
      posted(R"({"sort":"priority","limit":1,"cursor":")" + member_of(out, "cursor") + "\"}");
  EXPECT_EQ(next.after, found.page.next);
  const auto other = refused(
      {.path = "/api/v1/jobs/search",
       .body = R"({"sort":"priority","queue":"q","cursor":")" + member_of(out, "cursor") + "\"}"});
  expect_problem(other, {"", 422, "bad_cursor", "cursor"});
}

}  // namespace
}  // namespace jobbie::face
