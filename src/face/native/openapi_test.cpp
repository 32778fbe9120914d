// The API's description against the routes, in both directions.
#include "face/native/openapi.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>

#include "base/json_reader.hpp"
#include "face/native/native_test_support.hpp"
#include "face/native/routes.hpp"

namespace jobbie::face {
namespace {

/// With their summaries.
using Operations = std::map<std::string, std::string>;

/// `GET /api/v1/jobs/{}`: what a variable part is called does not matter.
std::string operation(std::string_view method, std::string_view path) {
  std::string out(method);
  out += ' ';
  bool inside = false;
  for (const char c : path) {
    if (c == '}') inside = false;
    if (!inside) out += c;
    if (c == '{') inside = true;
  }
  return out;
}

Operations routed() {
  Operations out;
  for (const auto& route : native::routes())
    out.emplace(operation(http::method_name(route.method), route.pattern), route.summary);
  return out;
}

/// The operations of one path; its other members are passed over.
void add_path(base::json::Reader& json, const std::string& path, Operations& out,
              std::string_view status) {
  static constexpr std::array<std::string_view, 8> kMethods = {"get",     "put",  "post",  "delete",
                                                               "options", "head", "patch", "trace"};
  std::string_view member;
  std::string_view raw;
  ASSERT_TRUE(json.begin_object());
  while (json.next_member(member)) {
    std::string method(member);
    const bool is_method = std::ranges::find(kMethods, member) != kMethods.end();
    ASSERT_TRUE(json.value(raw));
    if (!is_method) continue;
    const auto responses = base::json::member(raw, "responses").value_or("{}");
    if (!status.empty() && !base::json::member(responses, status)) continue;
    std::ranges::transform(method, method.begin(), [](char c) { return char(c - 'a' + 'A'); });
    auto summary = base::json::member(raw, "summary").value_or("\"\"");
    EXPECT_GT(summary.size(), 2U) << method << " " << path << " has no summary";
    summary = summary.substr(1, summary.size() - 2);
    EXPECT_TRUE(out.emplace(operation(method, path), summary).second) << method << " " << path;
  }
}

/// With `status`, those that may answer it.
Operations described(std::string_view status = {}) {
  Operations out;
  const auto text = native::openapi_json();
  base::json::Reader json(text);
  std::string_view name;
  std::string_view raw;
  EXPECT_TRUE(json.begin_object());
  while (json.next_member(name)) {
    if (name != "paths") {
      EXPECT_TRUE(json.value(raw));
      continue;
    }
    EXPECT_TRUE(json.begin_object());
    while (json.next_member(name)) add_path(json, std::string(name), out, status);
  }
  EXPECT_FALSE(json.failed());
  return out;
}

std::string missing(const Operations& from, const Operations& in) {
  std::string out;
  for (const auto& [one, summary] : from)
    if (!in.contains(one)) out += "\n  " + one;
  return out;
}

class OpenApiTest : public NativeTest {};

TEST_F(OpenApiTest, DescribesEveryRouteAndNoOther) {
  EXPECT_GE(described().size(), 70U);
  EXPECT_EQ(missing(routed(), described()), "") << "routes that api/openapi.yaml does not have";
  EXPECT_EQ(missing(described(), routed()), "") << "operations that no route answers";
}

TEST_F(OpenApiTest, SaysOfEveryRouteWhatTheTableSays) {
  const auto document = described();
  for (const auto& [name, summary] : routed())
    if (const auto found = document.find(name); found != document.end())
      EXPECT_EQ(found->second, summary) << name;
}

TEST_F(OpenApiTest, TellsWhichOperationsAskForKeys) {
  Operations keyed;
  Operations scoped;
  Operations open;
  for (const auto& route : native::routes()) {
    const auto name = operation(http::method_name(route.method), route.pattern);
    (route.action.access.is_open() ? open : keyed).emplace(name, route.summary);
    if (route.action.access.asks_for_scope()) scoped.emplace(name, route.summary);
  }
  EXPECT_EQ(missing(keyed, described("401")), "");
  EXPECT_EQ(missing(scoped, described("403")), "");
  for (const auto& [one, summary] : open) EXPECT_FALSE(described("401").contains(one)) << one;
}

TEST_F(OpenApiTest, IsGivenOnceToWhoKeepsIt) {
  const auto get = [this](std::vector<http::Header> headers) {
    return prepare({.method = http::Method::get,
                    .path = "/api/v1/openapi.json",
                    .body = {},
                    .headers = std::move(headers)})
        .answer;
  };
  const auto first = get({});
  EXPECT_EQ(first.status, 200);
  EXPECT_TRUE(base::json::is_valid(first.body));
  EXPECT_EQ(member_of(first, "openapi"), "3.1.0");
  ASSERT_GT(first.etag.size(), 2U);
  const std::string etag(first.etag);
  for (const auto& known : {etag, "W/" + etag, "\"x\", " + etag, std::string("*")}) {
    const auto again = get({{"if-none-match", known}});
    EXPECT_EQ(again.status, 304) << known;
    EXPECT_EQ(again.body, "");
    EXPECT_EQ(again.etag, etag);
  }
  EXPECT_EQ(get({{"if-none-match", "\"x\""}}).status, 200);
}

}  // namespace
}  // namespace jobbie::face
