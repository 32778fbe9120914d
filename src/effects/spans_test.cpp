// Spans: which events end one, and whose trace it joins.
#include "effects/spans.hpp"

#include <string>

#include <gtest/gtest.h>

#include "base/json.hpp"
#include "effects/webhook_sender.hpp"

namespace jobbie::effects {
namespace {

using command::Event;
using command::EventType;

constexpr std::string_view kParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

Event event(EventType type, std::string_view parent = {}) {
  return {.type = type,
          .job = {base::Ulid::make({1'000}, 7, 9)},
          .queue = base::Blob("mail"),
          .at = {5'000},
          .attempt = 2,
          .detail = {},
          .elapsed = {1'500},
          .traceparent = base::Blob(parent)};
}

std::string spans_of(const Event& one) {
  SpanBatch batch;
  batch.add(one);
  auto out = batch.take();
  EXPECT_TRUE(base::json::is_valid(out)) << out;
  return out;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Spans, ParentsAreRead) {
  const auto parent = parse_traceparent(kParent);
  ASSERT_TRUE(parent);
  EXPECT_EQ(parent->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(parent->span_id, "00f067aa0ba902b7");
  EXPECT_TRUE(parent->sampled);
  std::string text(kParent);
  for (const auto& [digit, sampled] :
       {std::pair{'0', false}, {'3', true}, {'a', false}, {'b', true}, {'e', false}, {'f', true}}) {
    text.back() = digit;
    EXPECT_EQ(parse_traceparent(text)->sampled, sampled) << digit;
  }
  for (const auto* odd : {"", "00-", "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                          "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                          "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                          "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})
    EXPECT_FALSE(parse_traceparent(odd)) << odd;
}

TEST(Spans, OneForEachPartOfALife) {
  const auto run = spans_of(event(EventType::completed, kParent));
  EXPECT_TRUE(has(run, R"("traceId":"4bf92f3577b34da6a3ce929d0e0e4736")"));
  EXPECT_TRUE(has(run, R"("name":"run","kind":5,"startTimeUnixNano":"3500000000",)"
                       R"("endTimeUnixNano":"5000000000")"));
  EXPECT_TRUE(has(run, R"({"key":"jobbie.attempt","value":{"intValue":"2"}})"));
  EXPECT_TRUE(has(run, R"({"key":"jobbie.outcome","value":{"stringValue":"completed"}})"));
  EXPECT_FALSE(has(run, "status"));
  EXPECT_TRUE(has(spans_of(event(EventType::failed)), R"("status":{"code":2})"));
  EXPECT_TRUE(has(spans_of(event(EventType::started)), R"("name":"wait","kind":1)"));
  const auto enqueue = spans_of(event(EventType::enqueued, kParent));
  EXPECT_TRUE(has(enqueue, R"("parentSpanId":"00f067aa0ba902b7","name":"enqueue","kind":4)"));
  SpanBatch batch;
  batch.add(event(EventType::progress));
  batch.add(event(EventType::completed, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"));
  EXPECT_EQ(batch.size(), 0U);
  batch.add(event(EventType::started));
  batch.add(event(EventType::completed));
  EXPECT_EQ(batch.size(), 2U);
  EXPECT_TRUE(base::json::is_valid(batch.take()));
}

std::string field(const std::string& text, std::string_view name) {
  const auto at = text.find("\"" + std::string(name) + "\":\"");
  return at == std::string::npos ? "" : text.substr(at + name.size() + 4, 16);
}

TEST(Spans, ThoseOfAJobFindOneAnother) {
  const auto enqueue = spans_of(event(EventType::enqueued));
  const auto run = spans_of(event(EventType::completed));
  EXPECT_EQ(field(enqueue, "traceId"), field(run, "traceId"));
  EXPECT_EQ(field(run, "parentSpanId"), field(enqueue, "spanId"));
  EXPECT_NE(field(run, "spanId"), field(enqueue, "spanId"));
}

// The example is checked with Python's hmac as well, in the end-to-end tests.
TEST(Webhook, SignaturesAndBodies) {
  EXPECT_EQ(signature_of("Jefe", 1, "x").substr(0, 7), "t=1,v1=");
  EXPECT_EQ(signature_of("Jefe", 1, "x").size(), 7U + 64);
  EXPECT_NE(signature_of("Jefe", 1, "x"), signature_of("Jefe", 2, "x"));
  model::DeliveryRecord delivery;
  delivery.event = base::Blob("queue_paused");
  delivery.queue = base::Blob("a\"b");
  const auto body = body_of(delivery);
  EXPECT_TRUE(base::json::is_valid(body));
  EXPECT_TRUE(has(body, R"("type":"queue_paused")"));
  EXPECT_TRUE(has(body, R"("job_id":null,"queue":"a\"b"})"));
}

}  // namespace
}  // namespace jobbie::effects
