// Events into spans.
#include "effects/spans.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/digest.hpp"
#include "base/json_writer.hpp"

namespace jobbie::effects {
namespace {

using base::json::Writer;
using command::Event;
using command::EventType;

constexpr std::size_t kTraceDigits = 32;
constexpr std::size_t kSpanDigits = 16;

// As OTLP numbers kinds of spans, and statuses.
constexpr int kInternal = 1;
constexpr int kProducer = 4;
constexpr int kConsumer = 5;
constexpr int kError = 2;

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_zero(std::string_view digits) {
  return digits.find_first_not_of('0') == std::string_view::npos;
}

std::string digest_of(std::string_view text, std::size_t digits) {
  return base::hex(base::bytes_of(base::sha256(text))).substr(0, digits);
}

struct Span {
  const char* name = "";
  int kind = kInternal;
  std::string key;  ///< tells it from the job's other spans
  const char* outcome = "";
  bool failed = false;
};

/// The span that an event ends.
std::optional<Span> span_of(const Event& event) {
  const auto attempt = fmt::format("{}", event.attempt);
  switch (event.type) {
    case EventType::enqueued:
      return Span{.name = "enqueue", .kind = kProducer, .key = "enqueue", .outcome = "enqueued"};
    case EventType::started:
      return Span{.name = "wait", .key = "wait " + attempt, .outcome = "started"};
    case EventType::completed:
      return Span{
          .name = "run", .kind = kConsumer, .key = "run " + attempt, .outcome = "completed"};
    case EventType::failed:
      return Span{.name = "run",
                  .kind = kConsumer,
                  .key = "run " + attempt,
                  .outcome = "failed",
                  .failed = true};
    case EventType::lease_expired:
      return Span{.name = "run",
                  .kind = kConsumer,
                  .key = "run " + attempt,
                  .outcome = "lease_expired",
                  .failed = true};
    default:
      return std::nullopt;
  }
}

void write_attribute(Writer& json, std::string_view key, std::string_view value) {
  json.begin_object();
  json.member("key").plain(key);
  json.member("value").begin_object().member("stringValue").string(value).end_object();
  json.end_object();
}

void write_attributes(Writer& json, const Event& event, const Span& span, std::string_view job) {
  json.member("attributes").begin_array();
  write_attribute(json, "jobbie.queue", event.queue.view());
  write_attribute(json, "jobbie.job_id", job);
  write_attribute(json, "jobbie.outcome", span.outcome);
  json.begin_object();
  json.member("key").plain("jobbie.attempt");
  json.member("value").begin_object().member("intValue").number_text(event.attempt).end_object();
  json.end_object();
  json.end_array();
}

std::string nanoseconds(base::Instant at) { return fmt::format("{}000000", at.ms); }

}  // namespace

std::optional<TraceParent> parse_traceparent(std::string_view text) {
  constexpr std::size_t kLength = 55;
  if (text.size() != kLength || !text.starts_with("00-") || text[35] != '-' || text[52] != '-')
    return std::nullopt;
  const char last = text.back();
  const TraceParent parent{.trace_id = text.substr(3, kTraceDigits),
                           .span_id = text.substr(36, kSpanDigits),
                           .sampled = (last >= 'a' ? last - 'a' : last - '0') % 2 == 1};
  const bool sound = is_hex(parent.trace_id) && is_hex(parent.span_id) && is_hex(text.substr(53)) &&
                     !is_zero(parent.trace_id) && !is_zero(parent.span_id);
  return sound ? std::optional(parent) : std::nullopt;
}

void SpanBatch::add(const Event& event) {
  const auto span = span_of(event);
  if (!span || event.job.is_nil()) return;
  const auto parent = parse_traceparent(event.traceparent.view());
  if (parent && !parent->sampled) return;
  const auto job = event.job.text();
  if (size_++ != 0) spans_ += ',';
  Writer json(spans_);
  json.begin_object();
  json.member("traceId").plain(parent ? std::string(parent->trace_id)
                                      : digest_of(job, kTraceDigits));
  json.member("spanId").plain(digest_of(job + " " + span->key, kSpanDigits));
  if (event.type != EventType::enqueued)
    json.member("parentSpanId").plain(digest_of(job + " enqueue", kSpanDigits));
  else if (parent)
    json.member("parentSpanId").plain(parent->span_id);
  json.member("name").plain(span->name);
  json.member("kind").number(span->kind);
  json.member("startTimeUnixNano").plain(nanoseconds(event.at - event.elapsed));
  json.member("endTimeUnixNano").plain(nanoseconds(event.at));
  write_attributes(json, event, *span, job);
  if (span->failed) json.member("status").begin_object().member("code").number(kError).end_object();
  json.end_object();
}

std::string SpanBatch::take() {
  std::string out =
      R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":)"
      R"({"stringValue":"jobbie"}}]},"scopeSpans":[{"scope":{"name":"jobbie"},"spans":[)";
  out += std::exchange(spans_, {});
  out += "]}]}]}";
  size_ = 0;
  return out;
}

}  // namespace jobbie::effects
