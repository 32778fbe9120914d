// What a record tells about the past of its job.
#include "face/native/job_history.hpp"

#include <string_view>
#include <vector>

#include "face/native/values.hpp"

namespace jobbie::face::native {
namespace {

using base::Instant;
using base::json::Writer;
using model::State;

constexpr std::size_t kShownErrorBytes = 200;

/// One attempt; zero instants are not known, or have not come.
struct Attempt {
  std::uint32_t number = 0;  ///< zero: not known
  Instant started_at;
  Instant ended_at;
  Instant retry_at;          ///< of a failed one: when the next was to come
  std::string_view outcome;  ///< empty: not known
  base::Blob error;
  base::Blob worker;
};

/// Whether the job's latest error ended its latest attempt, rather than an earlier one.
bool latest_attempt_failed(const model::JobRecord& job) {
  if (job.errors.empty()) return false;
  const auto& last = job.errors.back();
  return last.at >= job.started_at && (job.attempt == 0 || last.attempt == job.attempt);
}

/// The latest attempt of a job whose latest error is not that attempt's.
Attempt latest_attempt(const model::JobRecord& job) {
  Attempt out{.number = job.attempt, .started_at = job.started_at, .worker = job.worker};
  // Brought back after it had ended, and not begun again: how it ended then is not kept.
  if (job.attempt == 0) return out;
  if (job.state == State::active) {
    out.outcome = "running";
  } else if (model::has_ended(job.state)) {
    out.outcome = model::to_string(job.state);
    out.ended_at = job.ended_at;
    out.error = job.end_reason;
  }
  return out;
}

std::vector<Attempt> attempts_of(const model::JobRecord& job) {
  std::vector<Attempt> out;
  for (const auto& error : job.errors)
    out.push_back({.number = error.attempt,
                   .started_at = error.started_at,
                   .ended_at = error.at,
                   .retry_at = error.retry_at,
                   .outcome = "failed",
                   .error = error.error,
                   .worker = error.worker});
  if (job.started_at == Instant{}) return out;
  if (latest_attempt_failed(job))
    out.back().started_at = job.started_at;
  else
    out.push_back(latest_attempt(job));
  return out;
}

void write_attempt(Writer& json, const Attempt& attempt) {
  json.begin_object();
  json.member("attempt");
  if (attempt.number != 0)
    json.number(attempt.number);
  else
    json.null();
  write_instant(json, "started_at", attempt.started_at);
  write_instant(json, "ended_at", attempt.ended_at);
  json.member("duration_ms");
  if (attempt.started_at.ms != 0 && attempt.ended_at.ms != 0)
    json.number((attempt.ended_at - attempt.started_at).ms);
  else
    json.null();
  json.member("outcome");
  if (attempt.outcome.empty())
    json.null();
  else
    json.plain(attempt.outcome);
  write_text(json, "error", attempt.error);
  write_text(json, "worker_id", attempt.worker);
  json.end_object();
}

/// The first line of an error, or as much of it as a list has room for.
std::string_view first_line(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  if (text.size() <= kShownErrorBytes) return text;
  std::size_t end = kShownErrorBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

class Timeline {
 public:
  explicit Timeline(Writer& json) : json_(json) {}

  void add(std::string_view event, Instant at, const Attempt* attempt = nullptr,
           std::string_view detail = {}) {
    json_.begin_object();
    json_.member("at").instant(at);
    json_.member("event").plain(event);
    if (attempt != nullptr && attempt->number != 0) json_.member("attempt").number(attempt->number);
    if (attempt != nullptr && attempt->worker) write_text(json_, "worker_id", attempt->worker);
    if (!detail.empty()) json_.member("detail").string(detail);
    json_.end_object();
  }

 private:
  Writer& json_;
};

void write_timeline(Writer& json, const model::JobRecord& job,
                    const std::vector<Attempt>& attempts) {
  json.member("timeline").begin_array();
  Timeline timeline(json);
  timeline.add("enqueued", job.id.ulid.time());
  for (const auto& attempt : attempts) {
    if (attempt.started_at.ms != 0) timeline.add("started", attempt.started_at, &attempt);
    if (attempt.outcome != "failed") continue;
    timeline.add("failed", attempt.ended_at, &attempt, first_line(attempt.error.view()));
    if (attempt.retry_at.ms != 0)
      timeline.add("retry_scheduled", attempt.ended_at, nullptr,
                   "in " + base::format_duration(attempt.retry_at - attempt.ended_at));
  }
  if (model::has_ended(job.state))
    timeline.add(model::to_string(job.state), job.ended_at, nullptr, job.end_reason.view());
  json.end_array();
}

}  // namespace

void write_history(Writer& json, const model::JobRecord& job) {
  const auto attempts = attempts_of(job);
  json.member("attempts").begin_array();
  for (const auto& attempt : attempts) write_attempt(json, attempt);
  json.end_array();
  write_timeline(json, job, attempts);
  // An attempt counter that went back: somebody retried or moved it, and when is not kept.
  bool partial = job.error_count > job.errors.size() ||
                 (job.started_at.ms != 0 && job.attempt == 0) ||
                 (!job.errors.empty() && job.errors.back().attempt > job.attempt);
  for (const auto& attempt : attempts)
    partial = partial || attempt.started_at.ms == 0 || attempt.outcome.empty();
  json.member("timeline_is_partial").boolean(partial);
}

}  // namespace jobbie::face::native
