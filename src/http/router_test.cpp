// Routes, what they refuse, and the small helpers that faces use beside them.
#include "http/router.hpp"

#include <gtest/gtest.h>

#include "base/json.hpp"
#include "http/answer.hpp"
#include "http/percent.hpp"
#include "http/problem.hpp"

namespace jobbie::http {
namespace {

Router example() {
  Router router;
  router.add(Method::get, "/", 0);
  router.add(Method::get, "/jobs", 1);
  router.add(Method::post, "/jobs", 2);
  router.add(Method::post, "/jobs/fetch", 3);
  router.add(Method::get, "/jobs/{id}", 4);
  router.add(Method::del, "/jobs/{id}", 5);
  router.add(Method::post, "/jobs/{id}/ack", 6);
  router.add(Method::get, "/queues/{queue}/groups/{group}", 7);
  router.add(Method::get, "/ui/{path*}", 8);
  return router;
}

TEST(Router, FindsRoutesAndParameters) {
  const Router router = example();
  const auto route = [&](Method method, std::string_view path) {
    const Match match = router.match(method, path);
    return match.outcome == Match::Outcome::found ? static_cast<int>(match.route) : -1;
  };
  EXPECT_EQ(route(Method::get, "/"), 0);
  EXPECT_EQ(route(Method::get, "/jobs"), 1);
  EXPECT_EQ(route(Method::head, "/jobs"), 1);
  EXPECT_EQ(route(Method::post, "/jobs"), 2);
  EXPECT_EQ(route(Method::post, "/jobs/fetch"), 3);
  EXPECT_EQ(route(Method::get, "/jobs/fetch"), -1);
  EXPECT_EQ(route(Method::post, "/jobs/fetch/ack"), 6);
  EXPECT_EQ(route(Method::del, "/jobs/7"), 5);
  EXPECT_EQ(route(Method::post, "/jobs/7/ack"), 6);
  EXPECT_EQ(route(Method::get, "/jobs/"), -1);
  EXPECT_EQ(route(Method::get, "/jobs//"), -1);
  EXPECT_EQ(route(Method::get, "//jobs"), -1);
  EXPECT_EQ(route(Method::get, "jobs"), -1);
  EXPECT_EQ(route(Method::get, "*"), -1);
  EXPECT_EQ(route(Method::get, "/ui/"), 8);
  EXPECT_EQ(route(Method::get, "/ui/a/b.js"), 8);
  EXPECT_EQ(route(Method::get, "/ui"), -1);

  const Match two = router.match(Method::get, "/queues/mail%2Fout/groups/a%20b");
  ASSERT_EQ(two.outcome, Match::Outcome::found);
  ASSERT_EQ(two.parameters, 2U);
  EXPECT_EQ(two.parameter[0], "mail/out");
  EXPECT_EQ(two.parameter[1], "a b");
  EXPECT_EQ(router.match(Method::get, "/ui/a/b%20c").parameter[0].substr(0, 2), "a/");
}

TEST(Router, TellsRefusalsApart) {
  const Router router = example();
  EXPECT_EQ(router.match(Method::get, "/none").outcome, Match::Outcome::no_path);
  const Match wrong = router.match(Method::put, "/jobs");
  EXPECT_EQ(wrong.outcome, Match::Outcome::no_method);
  EXPECT_EQ(wrong.allow, "GET, POST, HEAD");
  // The job that would be called `fetch` is not what was meant.
  const Match literal = router.match(Method::get, "/jobs/fetch");
  EXPECT_EQ(literal.outcome, Match::Outcome::no_method);
  EXPECT_EQ(literal.allow, "POST");
  EXPECT_EQ(router.match(Method::del, "/jobs/fetch").allow, "POST");
  EXPECT_EQ(router.match(Method::post, "/jobs/7").allow, "GET, DELETE, HEAD");
  for (const char* path : {"/jobs/%", "/jobs/%2", "/jobs/%zz", "/jobs/a%00"})
    EXPECT_EQ(router.match(Method::get, path).outcome, Match::Outcome::bad_path) << path;
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "/a";
  EXPECT_EQ(router.match(Method::get, deep).outcome, Match::Outcome::no_path);
}

TEST(Percent, Decodes) {
  EXPECT_EQ(percent_decode("a%2fb%C3%A4+"), "a/b\xC3\xA4+");
  EXPECT_FALSE(percent_decode("%4"));
  EXPECT_FALSE(percent_decode("%00"));
  const auto parameters = query_parameters("a=1&b=x+y%26&&c&=d&a=2");
  ASSERT_TRUE(parameters);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"a", "1"}, {"b", "x y&"}, {"c", ""}, {"", "d"}, {"a", "2"}};
  EXPECT_EQ(*parameters, expected);
  EXPECT_FALSE(query_parameters("a=%"));
  std::string many;
  for (std::size_t i = 0; i <= kMaxParameters; ++i) many += "a&";
  EXPECT_FALSE(query_parameters(many));
}

TEST(Problem, IsJsonWhateverItQuotes) {
  EXPECT_EQ(problem_json({.status = 404, .code = "no_job", .detail = "say \"x\""}),
            R"({"type":"about:blank","title":"Not Found","status":404,"code":"no_job",)"
            R"("detail":"say \"x\""})"
            "\n");
  const std::string odd =
      problem_json({.status = 422, .code = "bad", .detail = "\xFF\x01", .field = "max_retrys"});
  EXPECT_TRUE(base::json::is_object(odd)) << odd;
  EXPECT_EQ(base::json::member(odd, "field"), "\"max_retrys\"");
}

TEST(Answer, LeavesNoRoomForAnotherLine) {
  DateLine date;
  date.update(784111777);
  EXPECT_EQ(date.text(), "date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
  std::string out;
  const std::vector<std::pair<std::string, std::string>> headers = {{"x", "a\r\nset-cookie: b"}};
  append_head(out, {.status = 299, .headers = headers, .given_id = "i", .body_bytes = 12}, date,
              RequestIds(0));
  EXPECT_EQ(out, "HTTP/1.1 299 Unknown\r\n" + std::string(date.text()) +
                     "content-length: 12\r\nx-content-type-options: nosniff\r\n"
                     "x-request-id: i\r\nx: aset-cookie: b\r\n\r\n");
}

}  // namespace
}  // namespace jobbie::http
