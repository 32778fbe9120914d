// One case for each field of a job.
#include "face/native/job_reader.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/id.hpp"
#include "face/native/words.hpp"
#include "model/limits.hpp"

namespace jobbie::face::native {
namespace {

namespace limits = model::limits;
using base::json::Kind;

constexpr Fields kJobFields(kJobFieldNames);

/// Version, trace id, parent id and flags in lower-case hexadecimal: 00-…32…-…16…-01.
bool is_traceparent(std::string_view text) {
  if (text.size() != 55) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 2 || i == 35 || i == 52;
    const bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (dash ? text[i] != '-' : !hex) return false;
  }
  return true;
}

}  // namespace

enum class JobReader::Field : std::size_t {
  queue,
  payload,
  priority,
  max_retries,
  unique_key,
  unique_period,
  unique_until,
  tags,
  scheduled_at,
  expire_after,
  retry_backoff,
  retry_base_delay,
  retry_max_delay,
  retry_jitter,
  lease_duration,
  max_runtime,
  timeout,
  timeout_ms,
  group,
  roles,
  required_tags,
  target_worker,
  depends_on,
  on_failure,
  traceparent,
  delay,
};

JobReader::JobReader(Body& body, std::size_t max_payload_bytes, std::string_view traceparent)
    : body_(body), max_payload_bytes_(max_payload_bytes) {
  if (is_traceparent(traceparent)) traceparent_ = base::Blob(traceparent);
}

bool JobReader::read(model::JobSpec& job) {
  body_.at_field({});
  const auto member = [&](std::size_t i) { return read_member(i, job); };
  return body_.object(kJobFields, member, kPayloadMayBeNull) && complete(job);
}

bool JobReader::read_member(std::size_t field, model::JobSpec& job) {
  return read_field(static_cast<Field>(field), job);
}

bool JobReader::complete(model::JobSpec& job) {
  if (job.queue.empty()) return body_.refuse_missing("queue");
  if (job.payload.empty()) {
    if (no_payload_.empty()) no_payload_ = base::Blob("{}");
    job.payload = no_payload_;
  }
  if (job.traceparent.empty()) job.traceparent = traceparent_;
  return true;
}

bool JobReader::read_field(Field field, model::JobSpec& job) {
  switch (field) {
    case Field::queue:
      return read_queue(job.queue);
    case Field::payload:
      return body_.json(job.payload, max_payload_bytes_);
    case Field::priority:
      return read_priority(body_, job.priority);
    case Field::max_retries:
      return read_max_retries(job.max_retries);
    case Field::unique_key:
      return body_.text(job.unique.key);
    case Field::unique_period:
      return body_.positive_duration(job.unique.period);
    case Field::unique_until:
      return body_.choice(job.unique.until, kUniqueUntilNames);
    case Field::tags:
      return read_tags(job.tags);
    case Field::scheduled_at:
      return read_scheduled_at(job);
    case Field::expire_after:
      return body_.positive_duration(job.expire_after);
    case Field::retry_backoff:
      return body_.choice(job.retry.backoff, kBackoffNames);
    case Field::retry_base_delay:
      return body_.duration(job.retry.base);
    case Field::retry_max_delay:
      return body_.duration(job.retry.max);
    case Field::retry_jitter:
      return body_.share(job.retry.jitter);
    default:
      return read_rare_field(field, job);
  }
}

bool JobReader::read_rare_field(Field field, model::JobSpec& job) {
  switch (field) {
    case Field::lease_duration:
      return body_.positive_duration(job.lease);
    case Field::max_runtime:
      return body_.positive_duration(job.max_runtime);
    case Field::timeout:
      return job.timeout.ms != 0 ? body_.refuse_value("and timeout_ms exclude one another")
                                 : body_.positive_duration(job.timeout);
    case Field::timeout_ms:
      return read_timeout_ms(job);
    case Field::group:
      return body_.text(job.group);
    case Field::roles:
      return body_.texts(job.requires_.roles, limits::kRequirements);
    case Field::required_tags:
      return body_.texts(job.requires_.tags, limits::kRequirements);
    case Field::target_worker:
      return body_.text(job.requires_.target_worker);
    case Field::depends_on:
      return read_dependencies(job);
    case Field::on_failure:
      return body_.choice(job.on_failure, kOnFailureNames);
    case Field::traceparent:
      return read_traceparent(job.traceparent);
    case Field::delay:
      return read_delay(job);
    default:
      return false;
  }
}

bool JobReader::read_queue(base::Blob& out) {
  std::string_view name;
  if (!body_.text(name)) return false;
  if (name.empty()) return body_.refuse_value("must not be empty", 400);
  if (name != last_queue_.view()) last_queue_ = base::Blob(name);
  out = last_queue_;
  return true;
}

bool JobReader::read_max_retries(std::uint32_t& out) {
  std::int64_t wide = 0;
  if (!body_.integer(wide, 0, limits::kMaxAttempts)) return false;
  out = static_cast<std::uint32_t>(wide);
  return true;
}

bool JobReader::read_scheduled_at(model::JobSpec& job) {
  if (job.delay.ms != 0) return body_.refuse_value("and delay exclude one another");
  return body_.instant(job.scheduled_at);
}

/// It stays a duration: this machine's clock may be wrong, and the log's time is what counts.
bool JobReader::read_delay(model::JobSpec& job) {
  if (job.scheduled_at.ms != 0) return body_.refuse_value("and scheduled_at exclude one another");
  return body_.duration(job.delay);
}

bool JobReader::read_timeout_ms(model::JobSpec& job) {
  if (job.timeout.ms != 0) return body_.refuse_value("and timeout exclude one another");
  return body_.integer(job.timeout.ms, 0, base::kMaxDuration.ms);
}

bool JobReader::read_tags(base::Blob& out) { return read_flat_object(body_, out, limits::kTags); }

bool JobReader::read_dependencies(model::JobSpec& job) {
  return body_.array(limits::kDependencies, [&](std::size_t) {
    switch (body_.reader().peek()) {
      case Kind::number:
        return read_position(job.depends_on_index.emplace_back());
      case Kind::string: {
        std::string_view text;
        if (!body_.text(text)) return false;
        const auto id = base::JobId::parse(text);
        if (id && !id->is_nil()) {
          job.depends_on.push_back(*id);
          return true;
        }
        return body_.refuse({.status = 404,
                             .code = "unknown_dependency",
                             .detail = fmt::format("There is no job {}.", shown(text)),
                             .field = body_.here()});
      }
      default:
        return body_.refuse_kind("a list of job ids, or positions in the same request");
    }
  });
}

bool JobReader::read_position(std::uint32_t& out) {
  std::int64_t wide = 0;
  if (!body_.integer(wide, 0, limits::kJobsPerRequest - 1)) return false;
  out = static_cast<std::uint32_t>(wide);
  return true;
}

bool JobReader::read_traceparent(base::Blob& out) {
  std::string_view text;
  if (!body_.text(text)) return false;
  if (!is_traceparent(text))
    return body_.refuse_value("must be version, trace id, parent id and flags: 00-…-…-01");
  out = base::Blob(text);
  return true;
}

bool read_priority(Body& body, std::int32_t& out) {
  switch (body.reader().peek()) {
    case Kind::number:
      return body.integer(out);
    case Kind::string:
      return body.choice(out, kPriorityNames);
    default:
      return body.refuse_kind("critical, high, normal or a whole number");
  }
}

bool read_flat_object(Body& body, base::Blob& out, std::size_t max_bytes) {
  auto& reader = body.reader();
  if (reader.peek() != Kind::object) return body.refuse_kind("an object");
  const std::size_t begin = reader.position();
  if (!reader.begin_object()) return false;
  std::vector<std::string> names;
  std::string_view name;
  std::string_view value;
  while (reader.next_member(name)) {
    names.emplace_back(name);
    const Kind kind = reader.peek();
    if (kind == Kind::object || kind == Kind::array)
      return body.refuse_value("may hold strings, numbers, true, false and null only");
    if (!reader.value(value)) return false;
    if (reader.position() - begin > max_bytes) break;
  }
  if (reader.failed()) return false;
  if (reader.position() - begin > max_bytes)
    return body.refuse_value(fmt::format("is longer than {} bytes", max_bytes));
  std::sort(names.begin(), names.end());
  if (std::adjacent_find(names.begin(), names.end()) != names.end())
    return body.refuse_value("names a member twice");
  out = base::Blob(body.since(begin));
  return true;
}

}  // namespace jobbie::face::native
