// Any bytes as the body of any endpoint: the face either makes commands that pass the checks of the
// core, or answers with a problem that is JSON; and what it kept of the body is JSON too.
//
// The first byte chooses the endpoint, the second some headers; the rest is the body.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/json.hpp"
#include "command/validate.hpp"
#include "face/native/native.hpp"

namespace {

using namespace jobbie;

class NoNode final : public call::Service, public call::Inbox {
 public:
  void submit(std::unique_ptr<call::Call>) override {}
  [[nodiscard]] bool ready() const override { return true; }
  void deliver(std::vector<std::unique_ptr<call::Call>>) override {}
};

constexpr std::array<std::string_view, 21> kPaths = {
    "/api/v1/enqueue",
    "/api/v1/enqueue/batch",
    "/api/v1/fetch",
    "/api/v1/ack/job_01JZ0000000000000000000001",
    "/api/v1/ack",
    "/api/v1/fail/job_01JZ0000000000000000000001",
    "/api/v1/heartbeat",
    "/api/v1/fail",
    "/api/v1/queues/a%2Fb/concurrency",
    "/api/v1/queues/a%2Fb/throttle",
    "/api/v1/queues/a%2Fb/retention",
    "/api/v1/queues/a%2Fb/lease",
    "/api/v1/queues/a%2Fb/fairness",
    "/api/v1/queues/a%2Fb/pause",
    "/api/v1/groups/g/cancel",
    "/api/v1/jobs/job_01JZ0000000000000000000001/retry",
    "/api/v1/jobs/job_01JZ0000000000000000000001/move",
    "/api/v1/jobs/job_01JZ0000000000000000000001/priority",
    "/api/v1/schedules",
    "/api/v1/schedules/preview",
    "/api/v1/workers"};

void check_json(const base::Blob& value) {
  JOBBIE_CHECK(value.empty() || base::json::is_valid(value.view()));
}

void check_job(const model::JobSpec& job) {
  JOBBIE_CHECK(!job.queue.empty() && !job.payload.empty());
  check_json(job.payload);
  check_json(job.tags);
}

void check_values(const command::Command& command) {
  if (const auto* one = std::get_if<command::Enqueue>(&command)) check_job(one->job);
  if (const auto* many = std::get_if<command::EnqueueMany>(&command))
    for (const auto& job : many->jobs) check_job(job);
  if (const auto* ack = std::get_if<command::Ack>(&command)) check_json(ack->result);
  if (const auto* retry = std::get_if<command::Retry>(&command)) check_json(retry->payload);
  if (const auto* create = std::get_if<command::CreateSchedule>(&command))
    check_job(create->spec.job);
  if (const auto* heartbeat = std::get_if<command::Heartbeat>(&command)) {
    for (const auto& beat : heartbeat->beats) {
      check_json(beat.progress);
      check_json(beat.checkpoint);
    }
  }
}

/// A reply to each command, so that the answer is written too.
command::Reply reply_to(const command::Command& command) {
  if (std::holds_alternative<command::Enqueue>(command)) return command::Enqueued{};
  if (const auto* many = std::get_if<command::EnqueueMany>(&command))
    return command::EnqueuedMany{.jobs = std::vector<command::Enqueued>(many->jobs.size())};
  if (std::holds_alternative<command::Claim>(command)) return command::Claimed{};
  if (const auto* heartbeat = std::get_if<command::Heartbeat>(&command))
    return command::Beaten{std::vector<command::BeatStatus>(heartbeat->beats.size())};
  if (std::holds_alternative<command::Ack>(command) ||
      std::holds_alternative<command::Fail>(command))
    return command::Settled{};
  if (const auto* create = std::get_if<command::CreateSchedule>(&command))
    return command::ScheduleReply{.schedule = {.spec = create->spec}};
  if (std::holds_alternative<command::Retry>(command) ||
      std::holds_alternative<command::Move>(command) ||
      std::holds_alternative<command::SetPriority>(command))
    return command::JobChanged{};
  return command::Done{};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static NoNode node;
  static face::Native native(node, {.max_payload_bytes = 4096});
  const std::string_view body(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::array<http::Header, 2> headers = {
      http::Header{"idempotency-key", "k"},
      http::Header{"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}};
  const http::Request request{.method = http::Method::post,
                              .path = kPaths[data[0] % kPaths.size()],
                              .body = body,
                              .headers = std::span(headers).first(data[1] % (headers.size() + 1))};
  auto prepared = native.prepare(request, node);
  if (!prepared.exchange) {
    // A list in which nothing names a job is answered at once, item by item.
    const int status = prepared.answer.status;
    JOBBIE_CHECK(prepared.answer.problem ? status >= 400 && status < 500 : status == 200);
    JOBBIE_CHECK(base::json::is_object(prepared.answer.body));
    return 0;
  }
  for (const auto& command : prepared.exchange->commands) {
    JOBBIE_CHECK(!command::validate(command));
    check_values(command);
    prepared.exchange->replies.push_back(reply_to(command));
  }
  face::Answer answer;
  prepared.exchange->write_answer(answer);
  JOBBIE_CHECK(answer.status < 300);
  JOBBIE_CHECK(answer.body.empty() || base::json::is_object(answer.body));
  return 0;
}
