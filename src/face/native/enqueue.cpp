// POST /api/v1/enqueue and /api/v1/enqueue/batch.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/hash.hpp"
#include "base/json_writer.hpp"
#include "command/validate.hpp"
#include "face/body.hpp"
#include "face/native/endpoints.hpp"
#include "face/native/job_reader.hpp"
#include "model/limits.hpp"

namespace jobbie::face::native {
namespace {

namespace limits = model::limits;
using base::json::Writer;

class EnqueueOne final : public Exchange {
 public:
  using Exchange::Exchange;

 private:
  void render(Answer& out) const override {
    const auto* reply = reply_as<command::Enqueued>(replies[0], out);
    if (reply == nullptr) return;
    out.status = reply->existing ? 200 : 201;
    Writer json(out.body);
    json.begin_object();
    json.member("job_id").id(reply->job);
    json.member("status").plain(reply->existing ? "duplicate" : model::to_string(reply->state));
    json.member("unique_existing").boolean(reply->existing);
    json.end_object();
  }
};

class EnqueueMany final : public Exchange {
 public:
  using Exchange::Exchange;

 private:
  void render(Answer& out) const override {
    const auto* reply = reply_as<command::EnqueuedMany>(replies[0], out);
    if (reply == nullptr) return;
    out.status = 201;
    constexpr std::size_t kBytesPerId = 33;
    out.body.reserve(reply->jobs.size() * kBytesPerId + 64);
    Writer json(out.body);
    json.begin_object();
    json.member("job_ids").begin_array();
    for (const auto& job : reply->jobs) json.id(job.job);
    json.end_array();
    json.member("batch_id");
    if (reply->batch.is_nil())
      json.null();
    else
      json.id(reply->batch);
    write_duplicates(json, *reply);
    json.end_object();
  }

  /// Positions of the jobs whose id is that of an earlier job with the same unique key.
  static void write_duplicates(Writer& json, const command::EnqueuedMany& reply) {
    const auto existing = [](const command::Enqueued& job) { return job.existing; };
    if (std::none_of(reply.jobs.begin(), reply.jobs.end(), existing)) return;
    json.member("duplicates").begin_array();
    for (std::size_t i = 0; i < reply.jobs.size(); ++i) {
      if (reply.jobs[i].existing) json.number(std::uint64_t{i});
    }
    json.end_array();
  }
};

/// The key, whose it is, and a fingerprint of what it must always come with: the endpoint and the
/// body.
command::Idempotency idempotency_of(const Input& input) {
  const http::Request& request = input.request;
  const auto key = request.header("idempotency-key");
  if (key.empty()) return {};
  const auto endpoint = base::hash_bytes(request.path);
  return {.key = base::Blob(key),
          .fingerprint = base::hash_bytes(request.body, endpoint),
          .scope = call::owner_of(input.principal)};
}

/// Bad values are refused before they reach the log.
std::optional<Problem> check(const command::Command& command) {
  const auto refusal = command::validate(command);
  if (!refusal) return std::nullopt;
  return problem_of(*refusal);
}

constexpr Fields kBatchBody(std::to_array<std::string_view>({"jobs", "batch"}));
constexpr Fields kBatchFields(std::to_array<std::string_view>({"callback_queue",
                                                               "callback_payload"}));

class BatchReader {
 public:
  BatchReader(const Input& input, Body& body, command::EnqueueMany& command)
      : input_(input),
        body_(body),
        command_(command),
        jobs_(body, input.options.max_payload_bytes, input.request.header("traceparent")) {}

  bool read() {
    const auto member = [this](std::size_t i) { return i == 0 ? read_jobs() : read_batch(); };
    if (!body_.object(kBatchBody, member) || !body_.finish()) return false;
    if (command_.jobs.empty()) return body_.refuse_missing("jobs");
    return true;
  }

 private:
  bool read_jobs() {
    return body_.array(limits::kJobsPerRequest, [this](std::size_t i) {
      if (i == 1) reserve();
      body_.at_item("jobs", i);
      if (!jobs_.read(command_.jobs.emplace_back()) || !count_dependencies()) return false;
      body_.at_top();
      return true;
    });
  }

  bool count_dependencies() {
    const auto& job = command_.jobs.back();
    dependencies_ += job.depends_on.size() + job.depends_on_index.size();
    if (dependencies_ <= limits::kDependenciesPerRequest) return true;
    body_.at_field("depends_on");
    return body_.refuse_value(fmt::format("may name at most {} jobs in all jobs of a request",
                                          limits::kDependenciesPerRequest));
  }

  /// The rest is most likely as long as the first.
  void reserve() {
    const std::size_t first = std::max<std::size_t>(body_.reader().position(), 16);
    const std::size_t guess = input_.request.body.size() / first + 2;
    command_.jobs.reserve(std::min(guess, limits::kJobsPerRequest));
  }

  bool read_batch() {
    auto& batch = command_.batch.emplace();
    if (body_.reader().peek() != base::json::Kind::object) return body_.refuse_kind("an object");
    body_.at_member("batch");
    const bool read = body_.object(kBatchFields, [&](std::size_t i) {
      return i == 0 ? body_.text(batch.callback_queue)
                    : body_.json(batch.callback_payload, input_.options.max_payload_bytes);
    });
    if (!read) return false;
    body_.at_field("callback_payload");
    if (batch.callback_queue.empty() && !batch.callback_payload.empty())
      return body_.refuse_value("goes with callback_queue only");
    body_.at_top();
    return true;
  }

  const Input& input_;
  Body& body_;
  command::EnqueueMany& command_;
  JobReader jobs_;
  std::size_t dependencies_ = 0;
};

}  // namespace

Outcome enqueue(const Input& input) {
  auto exchange = std::make_unique<EnqueueOne>(input.inbox);
  auto& command = exchange->commands.emplace_back(std::in_place_type<command::Enqueue>);
  auto& enqueue = std::get<command::Enqueue>(command);
  Body body(input.request.body);
  JobReader jobs(body, input.options.max_payload_bytes, input.request.header("traceparent"));
  if (!jobs.read(enqueue.job) || !body.finish()) return std::unexpected(body.problem());
  enqueue.idempotency = idempotency_of(input);
  if (auto problem = check(command)) return std::unexpected(*std::move(problem));
  return exchange;
}

Outcome enqueue_batch(const Input& input) {
  auto exchange = std::make_unique<EnqueueMany>(input.inbox);
  auto& command = exchange->commands.emplace_back(std::in_place_type<command::EnqueueMany>);
  auto& enqueue = std::get<command::EnqueueMany>(command);
  Body body(input.request.body);
  BatchReader reader(input, body, enqueue);
  if (!reader.read()) return std::unexpected(body.problem());
  enqueue.idempotency = idempotency_of(input);
  if (auto problem = check(command)) return std::unexpected(*std::move(problem));
  return exchange;
}

}  // namespace jobbie::face::native
