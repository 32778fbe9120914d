// POST /api/v1/jobs/{id}/…, DELETE /api/v1/jobs/{id} and GET /api/v1/jobs/{id}/why.
#include "face/native/job_reader.hpp"
#include "face/native/manage.hpp"
#include "face/native/words.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;

constexpr Fields kRetryFields(std::to_array<std::string_view>({"payload"}));
constexpr Fields kMoveFields(std::to_array<std::string_view>({"queue", "reset_attempts",
                                                              "keep_priority"}));
constexpr Fields kPriorityFields(std::to_array<std::string_view>({"priority"}));

/// `{"job_id": …, "status": …}`: the status is the job's state, unless the action says otherwise.
class JobActed final : public Exchange {
 public:
  using Exchange::Exchange;
  std::string_view deleted;  ///< the status of a job that is no more; empty: it is still there
  bool cancelling = false;   ///< an active job has been asked to stop
  std::string queue;         ///< told when not empty
  std::optional<std::int32_t> priority;

 private:
  void render(Answer& out) const override {
    const auto* changed = reply_as<command::JobChanged>(replies[0], out);
    if (changed == nullptr) return;
    Writer json(out.body);
    json.begin_object();
    json.member("job_id").id(changed->job);
    json.member("status");
    if (!deleted.empty())
      json.plain(deleted);
    else if (cancelling && changed->state == model::State::active)
      json.plain("cancelling");
    else
      json.plain(model::to_string(changed->state));
    if (!queue.empty()) json.member("queue").string(queue);
    if (priority) {
      json.member("priority");
      write_priority(json, *priority);
    }
    json.end_object();
  }
};

class WhyExchange final : public Exchange {
 public:
  WhyExchange(call::Inbox& inbox, base::JobId job) : Exchange(inbox), job_(job) {}

 private:
  void render(Answer& out) const override {
    const auto* why = std::get_if<call::Why>(&answer);
    if (why == nullptr) return face::write(Problem{}, out);
    if (!why->found || !may_show(why->queue))
      return face::write(not_found("job", job_.text()), out);
    Writer json(out.body);
    json.begin_object();
    json.member("job_id").id(job_);
    json.member("state").plain(model::to_string(why->state));
    json.member("reasons").begin_array();
    for (const auto& reason : why->reasons) write_reason(json, reason);
    json.end_array();
    json.end_object();
  }

  static void write_reason(Writer& json, const call::WhyReason& reason) {
    json.begin_object();
    json.member("code").plain(reason.code);
    json.member("detail").string(reason.detail);
    if (reason.until.ms != 0) json.member("until").instant(reason.until);
    if (!reason.jobs.empty()) write_ids(json, "jobs", reason.jobs);
    if (reason.ahead != 0) json.member("ahead").number(reason.ahead);
    if (reason.ahead_is_at_least) json.member("ahead_is_at_least").boolean(true);
    json.end_object();
  }

  base::JobId job_;
};

std::expected<base::JobId, Problem> job_in(const Input& input) {
  const auto id = base::JobId::parse(input.id);
  if (!id || id->is_nil()) return std::unexpected(not_found("job", input.id));
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  return *id;
}

/// An action that takes nothing but the job.
template <typename Command>
Outcome act_on_job(const Input& input, std::unique_ptr<JobActed> exchange) {
  const auto id = job_in(input);
  if (!id) return std::unexpected(id.error());
  if (auto problem = refuse_details(input)) return std::unexpected(*std::move(problem));
  return call_with(std::move(exchange), Command{*id});
}

}  // namespace

Outcome job_cancel(const Input& input) {
  auto exchange = std::make_unique<JobActed>(input.inbox);
  exchange->cancelling = true;
  return act_on_job<command::Cancel>(input, std::move(exchange));
}

Outcome job_requeue(const Input& input) {
  return act_on_job<command::Requeue>(input, std::make_unique<JobActed>(input.inbox));
}

Outcome job_delete(const Input& input) {
  auto exchange = std::make_unique<JobActed>(input.inbox);
  exchange->deleted = "deleted";
  return act_on_job<command::Delete>(input, std::move(exchange));
}

Outcome job_retry(const Input& input) {
  const auto id = job_in(input);
  if (!id) return std::unexpected(id.error());
  command::Retry command{.job = *id, .payload = {}};
  Body body(input.request.body);
  const auto payload = [&](std::size_t) {
    return body.json(command.payload, input.options.max_payload_bytes);
  };
  // A payload of null is one, as it is when a job is enqueued.
  if (!input.request.body.empty() && !(body.object(kRetryFields, payload, 1) && body.finish()))
    return std::unexpected(body.problem());
  return call_with(std::make_unique<JobActed>(input.inbox), std::move(command));
}

Outcome job_move(const Input& input) {
  const auto id = job_in(input);
  if (!id) return std::unexpected(id.error());
  command::Move command{.job = *id};
  Body body(input.request.body);
  const bool read = body.object(kMoveFields, [&](std::size_t i) {
    if (i == 0) return body.text(command.queue);
    return body.boolean(i == 1 ? command.reset_attempts : command.keep_priority);
  });
  if (!read || !body.finish() || (command.queue.empty() && !body.refuse_missing("queue")))
    return std::unexpected(body.problem());
  auto exchange = std::make_unique<JobActed>(input.inbox);
  exchange->queue = std::string(command.queue.view());
  return call_with(std::move(exchange), std::move(command));
}

Outcome job_priority(const Input& input) {
  const auto id = job_in(input);
  if (!id) return std::unexpected(id.error());
  command::SetPriority command{.job = *id};
  bool given = false;
  Body body(input.request.body);
  const bool read = body.object(kPriorityFields, [&](std::size_t) {
    given = true;
    return read_priority(body, command.priority);
  });
  if (!read || !body.finish() || (!given && !body.refuse_missing("priority")))
    return std::unexpected(body.problem());
  auto exchange = std::make_unique<JobActed>(input.inbox);
  exchange->priority = command.priority;
  return call_with(std::move(exchange), command);
}

Outcome job_why(const Input& input) {
  const auto id = job_in(input);
  if (!id) return std::unexpected(id.error());
  auto exchange = std::make_unique<WhyExchange>(input.inbox, *id);
  exchange->query = call::WhyQuery{*id};
  return exchange;
}

}  // namespace jobbie::face::native
