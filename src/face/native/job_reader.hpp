// A job as a producer asks for it, read from a request. Private to the folder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/blob.hpp"
#include "face/body.hpp"
#include "model/job.hpp"

namespace jobbie::face::native {

/// In the order of JobReader's cases.
inline constexpr auto kJobFieldNames = std::to_array<std::string_view>(
    {"queue",           "payload",       "priority",       "max_retries",
     "unique_key",      "unique_period", "unique_until",   "tags",
     "scheduled_at",    "expire_after",  "retry_backoff",  "retry_base_delay",
     "retry_max_delay", "retry_jitter",  "lease_duration", "max_runtime",
     "timeout",         "timeout_ms",    "group",          "roles",
     "required_tags",   "target_worker", "depends_on",     "on_failure",
     "traceparent",     "delay"});
/// The payload's bit among those fields: null is a value there.
inline constexpr std::uint64_t kPayloadMayBeNull = std::uint64_t{1} << 1;
static_assert(kJobFieldNames[1] == "payload");

/// Reads the jobs of one request. Consecutive jobs of one queue share the bytes of its name.
class JobReader {
 public:
  /// `traceparent` is the request's header; one that is malformed counts as none, as the header's
  /// specification asks.
  JobReader(Body& body, std::size_t max_payload_bytes, std::string_view traceparent);

  /// Reads one object; the body knows where it is.
  [[nodiscard]] bool read(model::JobSpec& job);

  /// The same in parts, for an object that has members of its own beside: the value of one of
  /// kJobFieldNames, and what is to be said after the last.
  [[nodiscard]] bool read_member(std::size_t field, model::JobSpec& job);
  [[nodiscard]] bool complete(model::JobSpec& job);

 private:
  enum class Field : std::size_t;
  bool read_field(Field field, model::JobSpec& job);
  bool read_rare_field(Field field, model::JobSpec& job);
  bool read_queue(base::Blob& out);
  bool read_max_retries(std::uint32_t& out);
  bool read_scheduled_at(model::JobSpec& job);
  bool read_delay(model::JobSpec& job);
  bool read_position(std::uint32_t& out);
  bool read_timeout_ms(model::JobSpec& job);
  bool read_tags(base::Blob& out);
  bool read_dependencies(model::JobSpec& job);
  bool read_traceparent(base::Blob& out);

  Body& body_;
  std::size_t max_payload_bytes_;
  base::Blob traceparent_;
  base::Blob last_queue_;
  base::Blob no_payload_;
};

/// A tier by name, or a whole number.
[[nodiscard]] bool read_priority(Body& body, std::int32_t& out);

/// Reads an object as it stands if its members are scalars and no name occurs twice.
[[nodiscard]] bool read_flat_object(Body& body, base::Blob& out, std::size_t max_bytes);

}  // namespace jobbie::face::native
