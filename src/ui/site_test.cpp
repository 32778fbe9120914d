// What is served where, to whom, and what is refused.
#include "ui/site.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ui/files.hpp"

namespace jobbie::ui {
namespace {

std::optional<http::Response> ask(http::Method method, std::string_view path,
                                  std::vector<http::Header> headers = {}) {
  http::Request request;
  request.method = method;
  request.path = path;
  request.target = path;
  request.headers = headers;
  return answer(request);
}

std::string header(const http::Response& response, std::string_view name) {
  for (const auto& [key, value] : response.headers)
    if (key == name) return value;
  return "-";
}

TEST(Site, ServesThePageAtEveryScreen) {
  for (const auto* path : {"/ui/", "/ui/queues/emails.send", "/ui/jobs/job_01", "/ui/no/such"}) {
    const auto response = ask(http::Method::get, path);
    ASSERT_TRUE(response) << path;
    EXPECT_EQ(response->status, 200);
    EXPECT_NE(response->body.find("<!doctype html>"), std::string::npos);
    EXPECT_EQ(header(*response, "cache-control"), "no-cache");
    EXPECT_NE(header(*response, "content-security-policy").find("default-src 'none'"),
              std::string::npos);
  }
}

TEST(Site, LeavesTheRestToTheApi) {
  EXPECT_FALSE(ask(http::Method::get, "/api/v1/queues"));
  EXPECT_FALSE(ask(http::Method::post, "/api/v1/enqueue"));
  EXPECT_FALSE(ask(http::Method::get, "/uix"));
  EXPECT_FALSE(ask(http::Method::get, "/"));
  EXPECT_FALSE(ask(http::Method::get, "/", {{"accept", "application/json"}}));
}

TEST(Site, SendsBrowsersFromTheRootToTheUi) {
  const auto response =
      ask(http::Method::get, "/", {{"accept", "text/html,application/xhtml+xml;q=0.9"}});
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 302);
  EXPECT_EQ(header(*response, "location"), "/ui/");
  EXPECT_EQ(header(*ask(http::Method::get, "/ui"), "location"), "/ui/");
}

TEST(Site, CompressesForThoseWhoTakeIt) {
  const auto packed = ask(http::Method::get, "/ui/", {{"accept-encoding", "br, gzip"}});
  EXPECT_EQ(header(*packed, "content-encoding"), "gzip");
  EXPECT_EQ(packed->body.substr(0, 2), "\x1f\x8b");
  const auto plain = ask(http::Method::get, "/ui/", {{"accept-encoding", "gzip;q=0, br"}});
  EXPECT_EQ(header(*plain, "content-encoding"), "-");
}

TEST(Site, KnowsWhatTheClientHas) {
  const auto first = ask(http::Method::get, "/ui/");
  const auto etag = header(*first, "etag");
  const auto again = ask(http::Method::get, "/ui/", {{"if-none-match", etag}});
  EXPECT_EQ(again->status, 304);
  EXPECT_TRUE(again->body.empty());
  EXPECT_EQ(ask(http::Method::get, "/ui/", {{"if-none-match", "\"other\""}})->status, 200);
}

TEST(Site, HashedFilesAreForEverAndForeignOnesGone) {
  for (const auto& file : files()) {
    const auto response = ask(http::Method::get, "/ui/" + std::string(file.path));
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, file.plain);
    EXPECT_EQ(header(*response, "cache-control").find("immutable") != std::string::npos,
              file.immutable);
  }
  EXPECT_EQ(ask(http::Method::get, "/ui/assets/core-old.js")->status, 404);
  EXPECT_EQ(ask(http::Method::post, "/ui/")->status, 405);
}

TEST(Site, RefusesChangesByPagesOfOtherOrigins) {
  const auto change = [](std::vector<http::Header> headers) {
    return ask(http::Method::post, "/api/v1/queues/a/pause", std::move(headers));
  };
  EXPECT_EQ(change({{"sec-fetch-site", "cross-site"}})->status, 403);
  EXPECT_EQ(change({{"sec-fetch-site", "same-site"}})->status, 403);
  EXPECT_EQ(change({{"origin", "https://evil.example"}, {"host", "localhost:8080"}})->status, 403);
  EXPECT_EQ(change({{"origin", "null"}, {"host", "localhost:8080"}})->status, 403);
  EXPECT_FALSE(change({{"sec-fetch-site", "same-origin"}}));
  EXPECT_FALSE(change({{"origin", "http://localhost:8080"}, {"host", "localhost:8080"}}));
  EXPECT_FALSE(change({}));
  EXPECT_FALSE(ask(http::Method::get, "/api/v1/queues", {{"sec-fetch-site", "cross-site"}}));
}

}  // namespace
}  // namespace jobbie::ui
