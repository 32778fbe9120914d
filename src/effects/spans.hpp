// Spans of a job's life, made of events, as OTLP writes them in JSON.
//
// Nothing is remembered between events: ids of spans, and of traces where the job brought none,
// follow from the job's id, so that the spans of one job find one another.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "command/event.hpp"

namespace jobbie::effects {

/// What a `traceparent` header says.
struct TraceParent {
  std::string_view trace_id;  ///< 32 hex digits
  std::string_view span_id;   ///< 16 hex digits
  bool sampled = true;
};
/// Nothing for a text that is none. The views are into `text`.
[[nodiscard]] std::optional<TraceParent> parse_traceparent(std::string_view text);

/// Spans in the making of one request to a collector.
class SpanBatch {
 public:
  /// Adds the span that ends with this event: `enqueue`, `wait` when it is claimed, `run` when the
  /// attempt ends. Other events, and jobs whose trace nobody records, add none.
  void add(const command::Event& event);
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The body of the request; the batch is empty again.
  [[nodiscard]] std::string take();

 private:
  std::string spans_;
  std::size_t size_ = 0;
};

}  // namespace jobbie::effects
