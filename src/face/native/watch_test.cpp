// Watching without a server: what is asked for, and how it is written.
#include "face/native/watch.hpp"

#include "face/native/exposition.hpp"
#include "face/native/native_test_support.hpp"
#include "face/native/rates.hpp"
#include "face/native/sse.hpp"

namespace jobbie::face {
namespace {

using call::EventPosition;
using command::Event;
using command::EventType;

std::string text_of(const Event& event, EventPosition at = {.index = 5, .ordinal = 1},
                    std::uint32_t events = 1) {
  std::string out;
  native::append_event(event, at, events, out);
  return out;
}

class WatchTest : public NativeTest {
 protected:
  Prepared get(const std::string& path, const std::string& query,
               std::vector<http::Header> headers = {}) {
    const http::Request request{.method = http::Method::get,
                                .method_text = "GET",
                                .target = path,
                                .path = path,
                                .query = query,
                                .headers = headers};
    return native_.prepare(request, inbox_);
  }
  native::EventWatch watch(const std::string& query, std::vector<http::Header> headers = {}) {
    auto prepared = get("/api/v1/events", query, std::move(headers));
    EXPECT_TRUE(prepared.watch) << prepared.answer.body;
    return prepared.watch ? *prepared.watch : native::EventWatch{};
  }
};

TEST_F(WatchTest, AWatchWantsWhatItNames) {
  const Event started{.type = EventType::started,
                      .job = job_id(kJobA),
                      .queue = base::Blob("mail.in"),
                      .detail = {}};
  EXPECT_TRUE(watch("").wants(started));
  EXPECT_TRUE(watch("queue=mail.*").wants(started));
  EXPECT_FALSE(watch("queue=sms").wants(started));
  EXPECT_TRUE(watch("types=enqueued,+started").wants(started));
  EXPECT_FALSE(watch("types=enqueued").wants(started));
  EXPECT_TRUE(watch("types=worker_left,logged,started").wants(started));
  EXPECT_TRUE(watch("job_id=" + std::string(kJobA)).wants(started));
  EXPECT_FALSE(watch("job_id=" + std::string(kJobB)).wants(started));
  // Events of no queue are not those of any.
  EXPECT_FALSE(watch("queue=mail").wants({.type = EventType::worker_joined, .detail = {}}));
}

TEST_F(WatchTest, APlaceComesFromTheHeaderOrTheQuery) {
  EXPECT_FALSE(watch("").after);
  EXPECT_EQ(watch("last_event_id=12-3").after, (EventPosition{.index = 12, .ordinal = 3}));
  EXPECT_EQ(watch("last_event_id=12").after, (EventPosition{.index = 12}));
  const auto both = watch("last_event_id=12", {{"last-event-id", "13"}});
  EXPECT_EQ(both.after, (EventPosition{.index = 13}));
  const auto foreign = watch("", {{"last-event-id", "abc"}});
  EXPECT_TRUE(foreign.lost);
  EXPECT_FALSE(foreign.after);
}

TEST_F(WatchTest, PlacesAreReadAsTheyAreWritten) {
  for (const EventPosition at :
       {EventPosition{.index = 1, .ordinal = 1}, EventPosition{.index = 77, .ordinal = 12}}) {
    std::string text;
    native::append_position(at, 12, text);
    EXPECT_EQ(native::parse_position(text), at) << text;
  }
  std::string sole;
  native::append_position({.index = 9, .ordinal = 1}, 1, sole);
  EXPECT_EQ(sole, "9");
  for (const auto* bad : {"", "-", "1-", "-1", "1-2-3", "1 ", "x", "1-x", "99999999999999999999"})
    EXPECT_FALSE(native::parse_position(bad)) << bad;
}

TEST_F(WatchTest, AnEventIsThreeLines) {
  EXPECT_EQ(text_of({.type = EventType::completed,
                     .job = job_id(kJobA),
                     .queue = base::Blob("mail"),
                     .at = {1'760'000'000'123},
                     .attempt = 2,
                     .detail = {},
                     .elapsed = {17}},
                    {.index = 5, .ordinal = 3}, 4),
            "id: 5-3\nevent: completed\ndata: "
            R"({"type":"completed","job_id":"job_01JZ0000000000000000000001","queue":"mail",)"
            R"("at":"2025-10-09T08:53:20.123Z","attempt":2,"run_ms":17})"
            "\n\n");
}

TEST_F(WatchTest, NoTextEndsALine) {
  for (const auto type : {EventType::failed, EventType::progress, EventType::started}) {
    const auto text = text_of({.type = type,
                               .job = job_id(kJobA),
                               .queue = base::Blob("q"),
                               .detail = base::Blob("{\"a\":\r\n1,\n\n\"b\":2}")});
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
    EXPECT_EQ(text.find('\r'), std::string::npos);
    const auto data = text.substr(text.find("data: ") + 6);
    EXPECT_TRUE(base::json::is_valid(data)) << data;
  }
}

TEST_F(WatchTest, LongTextsAreCutBetweenCharacters) {
  std::string error;
  while (error.size() < 10'000) error += "ä€";
  const auto text = text_of({.type = EventType::failed, .detail = base::Blob(error)});
  EXPECT_LT(text.size(), 2'300U);
  EXPECT_EQ(text.find("\xEF\xBF\xBD"), std::string::npos) << "no character was broken";
  const auto progress =
      text_of({.type = EventType::progress, .detail = base::Blob("\"" + error + "\"")});
  EXPECT_NE(progress.find("\"progress\":null"), std::string::npos);
}

TEST_F(WatchTest, MetricsEscapeTheirLabels) {
  std::string out;
  native::Exposition text(out);
  text.family("m", "gauge", "Help.");
  text.sample({{"a", "x\"y\\z\n"}, {"b", ""}}, std::uint64_t{7});
  EXPECT_EQ(out, "# HELP m Help.\n# TYPE m gauge\nm{a=\"x\\\"y\\\\z\\n\",b=\"\"} 7\n");
}

TEST_F(WatchTest, AHistogramIsCumulative) {
  std::string out;
  native::Exposition text(out);
  stats::Timing timing;
  timing.add(5, stats::kJobBounds);
  timing.add(7, stats::kJobBounds);
  text.family("h", "histogram", "Help.");
  text.timing({}, timing, stats::kJobBounds, 1'000);
  EXPECT_NE(out.find("h_bucket{le=\"0.005\"} 1\nh_bucket{le=\"0.01\"} 2\n"), std::string::npos);
  EXPECT_NE(out.find("h_bucket{le=\"+Inf\"} 2\nh_sum 0.012\nh_count 2\n"), std::string::npos);
}

TEST_F(WatchTest, RatesArePerSecond) {
  std::string out;
  base::json::Writer json(out);
  native::write_rates(json, {.enqueued = 75, .completed = 60, .failed = 1});
  EXPECT_EQ(out, R"({"enqueued":1.25,"completed":1,"failed":0.016})");
}

TEST_F(WatchTest, LinesBecomeOneCommand) {
  const auto logs = call("/api/v1/jobs/" + std::string(kJobA) + "/logs",
                         R"({"lease_id":"42","worker_id":"w1","lines":[{"message":"a"},)"
                         R"({"message":"b","level":"debug","at":"1970-01-01T00:00:01Z"}]})");
  ASSERT_TRUE(logs);
  const command::AppendLogs expected{
      .ref = {.job = job_id(kJobA), .lease = 42, .worker = base::Blob("w1")},
      .lines = {{.message = base::Blob("a")},
                {.at = {1'000}, .level = model::LogLevel::debug, .message = base::Blob("b")}}};
  EXPECT_EQ(logs->commands, std::vector<command::Command>{expected});
  const auto out = answer(*logs, command::Done{.affected = 2});
  EXPECT_EQ(out.status, 201);
  EXPECT_EQ(out.body, R"({"appended":2})");
}

TEST_F(WatchTest, ReadinessNamesWhatIsWrong) {
  service_.is_ready = false;
  const auto answer = get("/readyz", "").answer;
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(member_of(answer, "status"), "not_ready");
  EXPECT_NE(answer.body.find("\"serving\":false"), std::string::npos);
}

}  // namespace
}  // namespace jobbie::face
