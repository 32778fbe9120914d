// A job as a producer asks for it, read from a request. Private to the folder.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/blob.hpp"
#include "face/body.hpp"
#include "model/job.hpp"

namespace jobbie::face::native {

/// Reads the jobs of one request. Consecutive jobs of one queue share the bytes of its name.
class JobReader {
 public:
  /// `traceparent` is the request's header; one that is malformed counts as none, as the header's
  /// specification asks.
  JobReader(Body& body, std::size_t max_payload_bytes, std::string_view traceparent);

  /// Reads one object; the body knows where it is.
  [[nodiscard]] bool read(model::JobSpec& job);

 private:
  enum class Field : std::size_t;
  bool read_field(Field field, model::JobSpec& job);
  bool read_rare_field(Field field, model::JobSpec& job);
  bool read_queue(base::Blob& out);
  bool read_priority(std::int32_t& out);
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

/// Reads an object as it stands if its members are scalars and no name occurs twice.
[[nodiscard]] bool read_flat_object(Body& body, base::Blob& out, std::size_t max_bytes);

}  // namespace jobbie::face::native
