// Filters from JSON and from parameters, cursors, prefixes, and the SQL they come to.
#include "search/filter.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "search/sql.hpp"

namespace jobbie::search {
namespace {

TEST(Filter, ReadsEveryField) {
  const auto request = read_request(R"({"queue":"emails.*","state":["pending","dead"],
    "priority":"normal","tags":{"tenant":"acme","n":2},"payload_contains":"x","payload_jq":".a == 1",
    "created_after":"2026-02-10T00:00:00Z","created_before":"2026-02-11T23:59:59Z",
    "scheduled_after":"2026-02-10T00:00:00Z","scheduled_before":"2026-02-11T00:00:00Z",
    "started_after":"2026-02-10T00:00:00Z","started_before":"2026-02-11T00:00:00Z",
    "completed_after":"2026-02-10T00:00:00Z","completed_before":"2026-02-11T00:00:00Z",
    "failed_after":"2026-02-10T00:00:00Z","failed_before":"2026-02-11T00:00:00Z",
    "expire_after":"2026-02-10T00:00:00Z","expire_before":"2026-02-11T00:00:00Z",
    "worker_id":"w","has_errors":true,"error_contains":"SMTP","error_group":"C5b2de726c95ccce",
    "batch_id":"batch_01JZ0000000000000000000001","schedule_id":"sched_01JZ0000000000000000000001",
    "group":"g","unique_key":"u","attempt_min":1,"attempt_max":5,"job_id_prefix":"job_01",
    "ids":["job_01JZ0000000000000000000001","nonsense"],"sort":"priority","order":"asc",
    "cursor":null,"limit":7})");
  ASSERT_TRUE(request.has_value()) << request.error().message;
  const Filter& filter = request->filter;
  EXPECT_EQ(filter.queue, "emails.*");
  EXPECT_EQ(filter.states, std::vector{model::State::dead}) << "no pending job is in a group";
  EXPECT_EQ(filter.priority, model::kNormal);
  EXPECT_EQ(filter.tags.size(), 2U);
  EXPECT_TRUE(filter.payload_jq.has_value());
  EXPECT_TRUE(filter.created.given() && filter.expires.given() && filter.failed.given());
  EXPECT_EQ(filter.ids->size(), 1U);
  EXPECT_TRUE(filter.batch && filter.schedule && filter.id_range);
  EXPECT_EQ(filter.error_group, 0xc5b2de726c95ccceU);
  EXPECT_FALSE(filter.nothing);
  EXPECT_EQ(request->sort, Sort::priority);
  EXPECT_EQ(request->order, Order::asc);
  EXPECT_EQ(request->limit, 7U);
}

TEST(Filter, GroupsOfErrorsAreOfFailedJobs) {
  using model::State;
  const auto states = [](const char* json) { return read_filter(json)->states; };
  EXPECT_EQ(states(R"({"error_group":"c5b2de726c95ccce"})"),
            (std::vector{State::dead, State::retrying}));
  EXPECT_EQ(states(R"({"error_group":"c5b2de726c95ccce","state":"retrying"})"),
            std::vector{State::retrying});
  EXPECT_TRUE(read_filter(R"({"state":["active"],"error_group":"c5b2de726c95ccce"})")->nothing);
}

struct Bad {
  const char* json;
  const char* code;
  const char* field;
};

TEST(Filter, RefusesWithCodeAndField) {
  const Bad cases[] = {{"{", "bad_json", ""},
                       {"[]", "wrong_type", ""},
                       {R"({"quue":"a"})", "unknown_field", "quue"},
                       {R"({"queue":1})", "wrong_type", "queue"},
                       {R"({"queue":"a b"})", "invalid", "queue"},
                       {R"({"state":["asleep"]})", "invalid", "state"},
                       {R"({"state":"pending","state":"dead"})", "duplicate_field", "state"},
                       {R"({"error_group":"c5b2"})", "invalid", "error_group"},
                       {R"({"error_group":7})", "wrong_type", "error_group"},
                       {R"({"priority":"urgent"})", "invalid", "priority"},
                       {R"({"priority":1.5})", "invalid", "priority"},
                       {R"({"tags":["a"]})", "wrong_type", "tags"},
                       {R"({"payload_contains":""})", "invalid", "payload_contains"},
                       {R"({"payload_jq":".a ="})", "bad_jq", "payload_jq"},
                       {R"({"created_after":"yesterday"})", "invalid", "created_after"},
                       {R"({"has_errors":"yes"})", "wrong_type", "has_errors"},
                       {R"({"ids":"job_1"})", "wrong_type", "ids"},
                       {R"({"limit":1001})", "invalid", "limit"},
                       {R"({"limit":0})", "invalid", "limit"},
                       {R"({"attempt_min":-1})", "invalid", "attempt_min"},
                       {R"({"sort":"name"})", "invalid", "sort"},
                       {R"({"order":"up"})", "invalid", "order"},
                       {R"({"cursor":"eyJ"})", "bad_cursor", "cursor"}};
  for (const auto& bad : cases) {
    const auto request = read_request(bad.json);
    ASSERT_FALSE(request.has_value()) << bad.json;
    EXPECT_EQ(request.error().code, bad.code) << bad.json;
    EXPECT_EQ(request.error().field, bad.field) << bad.json;
    EXPECT_FALSE(request.error().message.empty()) << bad.json;
  }
  EXPECT_FALSE(read_filter(R"({"limit":5})").has_value());
}

TEST(Filter, ParametersSayTheSame) {
  const auto request = read_parameters({{"queue", "q"},
                                        {"state", "dead,completed"},
                                        {"priority", "-3"},
                                        {"tags", R"({"a":1})"},
                                        {"has_errors", "false"},
                                        {"limit", "10"}});
  ASSERT_TRUE(request.has_value()) << request.error().message;
  EXPECT_EQ(request->filter.states.size(), 2U);
  EXPECT_EQ(request->filter.priority, -3);
  EXPECT_EQ(request->filter.has_errors, false);
  EXPECT_EQ(request->limit, 10U);
  EXPECT_EQ(read_parameters({{"statte", "dead"}}).error().code, "unknown_field");
  EXPECT_EQ(read_parameters({{"limit", "many"}}).error().field, "limit");
  EXPECT_EQ(read_parameters({{"tags", "x"}}).error().field, "tags");
}

TEST(Filter, ATagThatIsNullIsNotOneThatIsMissing) {
  const auto filter = read_filter(R"({"tags":{"te\"nant":null}})");
  ASSERT_TRUE(filter);
  UnlimitedBudget budget;
  const auto fits = [&](std::string_view tags) {
    return std::all_of(filter->tags.begin(), filter->tags.end(),
                       [&](const Jq& tag) { return tag.matches(tags, budget); });
  };
  EXPECT_TRUE(fits(R"({"te\"nant":null,"a":1})"));
  EXPECT_FALSE(fits(R"({"a":1})"));
  EXPECT_FALSE(fits("{}"));
  EXPECT_FALSE(fits(R"({"te\"nant":0})"));
}

TEST(Cursor, BelongsToItsSearch) {
  const Place place{.key = -7, .sequence = 1234567};
  const Request request{.sort = Sort::priority, .order = Order::desc};
  const auto text = write_cursor(request, place);
  EXPECT_EQ(read_cursor(text, request), place);
  EXPECT_FALSE(read_cursor(text, {.sort = Sort::priority, .order = Order::asc}));
  EXPECT_FALSE(read_cursor(text, {.sort = Sort::attempt, .order = Order::desc}));
  EXPECT_FALSE(read_cursor(text.substr(2), request));
  std::string forged = text;
  forged[5] = forged[5] == '0' ? '1' : '0';
  EXPECT_FALSE(read_cursor(forged, request));
}

TEST(Cursor, BelongsToItsFilter) {
  const auto first = read_request(
      R"({"queue":"q","state":["dead","active"],"tags":{"a":1},"has_errors":true,"limit":5})");
  ASSERT_TRUE(first);
  const auto cursor = write_cursor(*first, {.key = 1, .sequence = 2});
  const auto goes_on = [&](std::string_view filter) {
    const auto request = read_request(fmt::format(R"({{{},"cursor":"{}"}})", filter, cursor));
    if (!request) EXPECT_EQ(request.error().code, "bad_cursor");
    return request.has_value();
  };
  EXPECT_TRUE(goes_on(
      R"("has_errors":true,"tags":{ "a" : 1 },"limit":9,"state":["active","dead"],"queue":"q")"));
  EXPECT_TRUE(read_parameters({{"queue", "q"},
                               {"state", "dead,active"},
                               {"tags", R"({"a":1})"},
                               {"has_errors", "true"},
                               {"cursor", cursor}}));
  EXPECT_FALSE(goes_on(R"("queue":"q","state":["dead","active"],"tags":{"a":1})"));
  EXPECT_FALSE(
      goes_on(R"("queue":"q","state":["dead","active"],"tags":{"a":2},"has_errors":true)"));
  EXPECT_FALSE(goes_on(R"("queue":"q","state":["dead"],"tags":{"a":1},"has_errors":true)"));
  EXPECT_FALSE(
      goes_on(R"("group":"q","state":["dead","active"],"tags":{"a":1},"has_errors":true)"));
}

TEST(Filter, RefusesIdsThatAreEmptyOrTooMany) {
  const auto ids = [](std::string text) { return read_parameters({{"ids", std::move(text)}}); };
  EXPECT_TRUE(ids("job_01JZ0000000000000000000042,nonsense"));
  std::string many = "x";
  for (std::size_t i = 1; i < kMaxIds; ++i) many += ",x";
  EXPECT_TRUE(ids(many));
  for (const auto& bad : {std::string(), std::string(",,,"), std::string("x,"), many + ",x"}) {
    const auto read = ids(bad);
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().field, "ids");
  }
  EXPECT_FALSE(read_filter(R"({"ids":[""]})"));
}

TEST(IdPrefix, CoversExactlyWhatBeginsSo) {
  const auto id = base::JobId::parse("job_01JZ0000000000000000000042").value();
  for (std::size_t length = 0; length <= id.text().size(); ++length) {
    const auto range = ids_beginning_with(id.text().substr(0, length));
    ASSERT_TRUE(range.has_value()) << length;
    EXPECT_LE(range->first, id.ulid);
    EXPECT_GE(range->last, id.ulid);
  }
  const auto range = ids_beginning_with("job_01JZ00000000000000000000").value();
  EXPECT_LT(range.last, base::JobId::parse("job_01JZ0000000000000000000100")->ulid);
  EXPECT_FALSE(ids_beginning_with("batch_"));
  EXPECT_FALSE(ids_beginning_with("job_8"));
  EXPECT_FALSE(ids_beginning_with("job_01jz"));
  EXPECT_FALSE(ids_beginning_with(id.text() + "0"));
}

TEST(Sql, BindsWhatCallersWrite) {
  Request request;
  request.filter.queue = "a'b";
  request.filter.worker = "w'; DROP TABLE job_rows";
  const auto where = translate(request, {}, Path::index);
  EXPECT_EQ(where.sql.find('\''), std::string::npos) << where.sql;
  EXPECT_EQ(where.binds.size(), 2U);
  EXPECT_FALSE(where.indexed);
  EXPECT_TRUE(translate({}, {}, Path::index).indexed);
}

}  // namespace
}  // namespace jobbie::search
