// POST /api/v1/ack and /api/v1/fail, for one job and for many.
#include "face/native/settle.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "command/validate.hpp"
#include "face/native/endpoints.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;

/// No lease reaches this number: they count up from one.
constexpr std::uint64_t kNobodysLease = std::numeric_limits<std::uint64_t>::max();

// The members of one ack and of one fail; in lists `job_id` comes in front.
constexpr Fields kAckFields(std::to_array<std::string_view>({"lease_id", "worker_id", "result"}));
constexpr Fields kAckItem(std::to_array<std::string_view>({"job_id", "lease_id", "worker_id",
                                                           "result"}));
constexpr Fields kFailFields(std::to_array<std::string_view>({"lease_id", "worker_id", "error",
                                                              "backtrace", "retry", "retry_in"}));
constexpr Fields kFailItem(std::to_array<std::string_view>(
    {"job_id", "lease_id", "worker_id", "error", "backtrace", "retry", "retry_in"}));
constexpr Fields kListBody(std::to_array<std::string_view>({"jobs"}));

bool read_ref(Body& body, std::size_t field, command::LeaseRef& ref) {
  return field == 0 ? read_lease(body, ref.lease) : body.text(ref.worker);
}

bool read_ack_field(Body& body, std::size_t field, std::size_t max_bytes, command::Ack& ack) {
  return field < 2 ? read_ref(body, field, ack.ref) : body.json(ack.result, max_bytes);
}

bool read_retry(Body& body, command::Fail& fail) {
  bool retry = true;
  if (!body.boolean(retry)) return false;
  fail.no_retry = !retry;
  return true;
}

bool read_fail_field(Body& body, std::size_t field, command::Fail& fail) {
  switch (field) {
    case 0:
    case 1:
      return read_ref(body, field, fail.ref);
    case 2:
      return body.text(fail.error);
    case 3:
      return body.text(fail.backtrace);
    case 4:
      return read_retry(body, fail);
    default:
      return body.duration(fail.retry_in.emplace());
  }
}

/// "retry": false and "retry_in" contradict one another.
bool check_fail(Body& body, const command::Fail& fail) {
  if (!fail.no_retry || !fail.retry_in) return true;
  body.at_field("retry_in");
  return body.refuse_value("and \"retry\": false exclude one another");
}

bool read_job_id(Body& body, NamedJob& out) {
  std::string_view text;
  if (!body.text(text)) return false;
  out = NamedJob::from(text);
  return true;
}

bool read_ack_item(Body& body, std::size_t max_bytes, command::Ack& ack, NamedJob& job,
                   std::optional<Problem>& too_long) {
  return body.object(kAckItem, [&](std::size_t i) {
    if (i == 0) return read_job_id(body, job);
    return i < 3 ? read_ref(body, i - 1, ack.ref) : body.json(ack.result, max_bytes, too_long);
  });
}

bool read_fail_item(Body& body, command::Fail& fail, NamedJob& job) {
  const bool read = body.object(kFailItem, [&](std::size_t i) {
    return i == 0 ? read_job_id(body, job) : read_fail_field(body, i - 1, fail);
  });
  return read && check_fail(body, fail);
}

command::LeaseRef& ref_of(command::Command& command) {
  if (auto* ack = std::get_if<command::Ack>(&command)) return ack->ref;
  return std::get<command::Fail>(command).ref;
}

Problem unknown_job() {
  return problem_of(
      {.code = command::Refused::not_found, .field = "job_id", .message = "no such job"});
}

void write_settled(Writer& json, Settle kind, const command::Settled& settled) {
  json.member("status").plain(model::to_string(settled.state));
  if (kind == Settle::ack) return;
  json.member("next_attempt_at");
  if (settled.state == model::State::retrying)
    json.instant(settled.next_attempt_at);
  else
    json.null();
  json.member("attempts_remaining").number(settled.attempts_remaining);
}

void write_refused(Writer& json, const Problem& problem) {
  json.member("code").plain(problem.code);
  json.member("detail").string(problem.detail);
}

class SettleOne final : public Exchange {
 public:
  SettleOne(call::Inbox& inbox, Settle kind) : Exchange(inbox), kind_(kind) {}

 private:
  void render(Answer& out) const override {
    const auto* settled = reply_as<command::Settled>(replies[0], out);
    if (settled == nullptr) return;
    Writer json(out.body);
    json.begin_object();
    write_settled(json, kind_, *settled);
    json.end_object();
  }

  Settle kind_;
};

class SettleMany final : public Exchange {
 public:
  SettleMany(call::Inbox& inbox, Settle kind) : Exchange(inbox), kind_(kind) {}
  std::vector<SettleItem> items;

 private:
  void render(Answer& out) const override {
    Writer json(out.body);
    json.begin_object();
    json.member("jobs");
    write_settles(json, kind_, items, replies);
    json.end_object();
  }

  Settle kind_;
};

Outcome settle_one(const Input& input, Settle kind) {
  const auto id = base::JobId::parse(input.id);
  if (!id || id->is_nil()) return std::unexpected(not_found("job", input.id));
  auto exchange = std::make_unique<SettleOne>(input.inbox, kind);
  auto& command = exchange->commands.emplace_back();
  // A worker that has nothing to say may send no body at all.
  Body body(input.request.body.empty() ? "{}" : input.request.body);
  bool read = false;
  if (kind == Settle::ack) {
    auto& ack = command.emplace<command::Ack>();
    read = body.object(kAckFields, [&](std::size_t i) {
      return read_ack_field(body, i, input.options.max_payload_bytes, ack);
    });
  } else {
    auto& fail = command.emplace<command::Fail>();
    read = body.object(kFailFields, [&](std::size_t i) {
      return read_fail_field(body, i, fail);
    }) && check_fail(body, fail);
  }
  if (!read || !body.finish()) return std::unexpected(body.problem());
  ref_of(command).job = *id;
  if (const auto refusal = command::validate(command)) return std::unexpected(problem_of(*refusal));
  return exchange;
}

Outcome settle_many(const Input& input, Settle kind) {
  auto exchange = std::make_unique<SettleMany>(input.inbox, kind);
  Body body(input.request.body);
  bool given = false;
  const bool read = body.object(kListBody, [&](std::size_t) {
    given = true;
    return read_settles(body, "jobs", kind, input.options.max_payload_bytes, exchange->commands,
                        exchange->items);
  });
  if (!read || !body.finish() || (!given && !body.refuse_missing("jobs")))
    return std::unexpected(body.problem());
  return exchange;
}

}  // namespace

NamedJob NamedJob::from(std::string_view text) {
  NamedJob job;
  if (const auto id = base::JobId::parse(text); id && !id->is_nil())
    job.id = *id;
  else
    job.odd = shown(text);
  return job;
}

void NamedJob::write(base::json::Writer& json) const {
  if (id.is_nil())
    json.string(odd);
  else
    json.id(id);
}

bool read_lease(Body& body, std::uint64_t& out) {
  std::string_view text;
  if (!body.text(text)) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || out == 0) out = kNobodysLease;
  return true;
}

bool read_settles(Body& body, std::string_view name, Settle kind, std::size_t max_payload_bytes,
                  std::vector<command::Command>& commands, std::vector<SettleItem>& items) {
  return body.array(kSettlesPerRequest, [&](std::size_t i) {
    body.at_item(name, i);
    body.at_field({});
    SettleItem item;
    command::Command command;
    std::optional<Problem> problem;
    const bool read = kind == Settle::ack
                          ? read_ack_item(body, max_payload_bytes, command.emplace<command::Ack>(),
                                          item.job, problem)
                          : read_fail_item(body, command.emplace<command::Fail>(), item.job);
    if (!read) return false;
    if (item.job.id.is_nil() && item.job.odd.empty()) return body.refuse_missing("job_id");
    ref_of(command).job = item.job.id;
    if (item.job.id.is_nil())
      problem = unknown_job();
    else if (const auto refusal = command::validate(command); refusal && !problem)
      problem = problem_of(*refusal);
    if (problem) {
      item.problem = std::make_unique<Problem>(*std::move(problem));
    } else {
      item.reply = commands.size();
      commands.push_back(std::move(command));
    }
    items.push_back(std::move(item));
    body.at_top();
    return true;
  });
}

void write_settles(base::json::Writer& json, Settle kind, const std::vector<SettleItem>& items,
                   const std::vector<command::Reply>& replies) {
  json.begin_array();
  for (const auto& item : items) {
    json.begin_object();
    json.member("job_id");
    item.job.write(json);
    const command::Reply* reply = item.problem ? nullptr : &replies[item.reply];
    if (reply == nullptr)
      write_refused(json, *item.problem);
    else if (const auto* settled = std::get_if<command::Settled>(reply))
      write_settled(json, kind, *settled);
    else if (const auto* refusal = std::get_if<command::Refusal>(reply))
      write_refused(json, problem_of(*refusal));
    json.end_object();
  }
  json.end_array();
}

Outcome ack(const Input& input) { return settle_one(input, Settle::ack); }
Outcome fail(const Input& input) { return settle_one(input, Settle::fail); }
Outcome ack_many(const Input& input) { return settle_many(input, Settle::ack); }
Outcome fail_many(const Input& input) { return settle_many(input, Settle::fail); }

}  // namespace jobbie::face::native
