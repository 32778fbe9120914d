// POST /api/v1/queues/{queue}/… and DELETE: actions on a queue, and its settings. Groups likewise.
#include "face/native/manage.hpp"
#include "face/native/words.hpp"
#include "model/limits.hpp"

namespace jobbie::face::native {
namespace {

using base::Blob;
using base::json::Writer;
using command::GroupAction;
using command::QueueAction;

constexpr Fields kConcurrencyFields(std::to_array<std::string_view>({"max", "per"}));
constexpr Fields kThrottleFields(std::to_array<std::string_view>({"rate", "period", "per"}));
constexpr Fields kRetentionFields(std::to_array<std::string_view>({"completed", "dead",
                                                                   "cancelled"}));
constexpr Fields kLeaseFields(std::to_array<std::string_view>({"duration"}));
constexpr Fields kFairnessFields(std::to_array<std::string_view>({"fairness"}));
constexpr Fields kCancelGroupFields(std::to_array<std::string_view>({"include_active"}));

/// The first member may be null, which is a value: the setting goes.
constexpr std::uint64_t kFirstMayBeNull = 1;

Outcome act_on_queue(const Input& input, QueueAction action, const Told& told) {
  if (auto problem = refuse_details(input)) return std::unexpected(*std::move(problem));
  return act(input, command::QueueCommand{.queue = Blob(input.id), .action = action}, told);
}

Outcome act_on_group(const Input& input, GroupAction action, const Told& told) {
  if (auto problem = refuse_details(input)) return std::unexpected(*std::move(problem));
  return act(input, command::GroupCommand{.group = Blob(input.id), .action = action}, told);
}

/// The beginning of an answer that tells a setting.
std::unique_ptr<Acted> setting_of(const Input& input) {
  auto exchange = std::make_unique<Acted>(input.inbox, 200, false);
  Writer json(exchange->text);
  json.begin_object();
  json.member("queue").string(input.id);
  exchange->text.push_back(',');
  return exchange;
}

/// The queue's concurrency or throttle goes: `?per=` names the key of the keyed one.
template <typename Command>
Outcome remove_limit(const Input& input, std::string_view name) {
  const auto given = Parameters::read(input.request.query, {"per"});
  if (!given) return std::unexpected(given.error());
  Command command;
  command.queue = Blob(input.id);
  command.per = Blob(given->text("per"));
  auto exchange = setting_of(input);
  Writer(exchange->text).member(name).null();
  return call_with(std::move(exchange), std::move(command));
}

void write_per_member(Writer& json, const Blob& per) {
  if (per) json.member("per").string(per.view());
  json.end_object();
}

/// A whole number from 1 on, or null for none; `max` is a bound of the model.
bool read_limit(Body& body, std::int64_t max, std::optional<std::uint32_t>& out) {
  if (body.reader().peek() == base::json::Kind::null) return body.reader().null();
  std::int64_t wide = 0;
  if (!body.integer(wide, 1, max)) return false;
  out = static_cast<std::uint32_t>(wide);
  return true;
}

}  // namespace

Outcome queue_pause(const Input& input) {
  return act_on_queue(input, QueueAction::pause,
                      {.subject = "queue", .name = input.id, .status = "paused"});
}

Outcome queue_resume(const Input& input) {
  return act_on_queue(input, QueueAction::resume,
                      {.subject = "queue", .name = input.id, .status = "resumed"});
}

Outcome queue_drain(const Input& input) {
  return act_on_queue(input, QueueAction::drain,
                      {.subject = "queue", .name = input.id, .status = "draining", .code = 202});
}

Outcome queue_clear(const Input& input) {
  return act_on_queue(
      input, QueueAction::clear,
      {.subject = "queue", .name = input.id, .status = "cleared", .affected = true});
}

Outcome queue_delete(const Input& input) {
  const auto given = Parameters::read(input.request.query, {"confirm"});
  if (!given) return std::unexpected(given.error());
  bool confirmed = false;
  if (auto problem = given->boolean("confirm", confirmed))
    return std::unexpected(*std::move(problem));
  if (!confirmed)
    return std::unexpected(
        Problem{.status = 422,
                .code = "confirmation_required",
                .detail = "This deletes the queue, its settings and all its jobs, ended ones too. "
                          "Add ?confirm=true if that is meant.",
                .field = "confirm"});
  return act(input, command::QueueCommand{.queue = Blob(input.id), .action = QueueAction::destroy},
             {.subject = "queue", .name = input.id, .status = "deleted", .affected = true});
}

Outcome queue_concurrency(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  command::SetConcurrency command{.queue = Blob(input.id)};
  bool given = false;
  Body body(input.request.body);
  const bool read = body.object(
      kConcurrencyFields,
      [&](std::size_t i) {
        given = given || i == 0;
        return i == 0 ? read_limit(body, std::numeric_limits<std::uint32_t>::max(), command.max)
                      : body.text(command.per);
      },
      kFirstMayBeNull);
  if (!read || !body.finish() || (!given && !body.refuse_missing("max")))
    return std::unexpected(body.problem());
  auto exchange = setting_of(input);
  Writer json(exchange->text);
  json.member("concurrency");
  if (command.max) {
    json.begin_object().member("max").number(*command.max);
    write_per_member(json, command.per);
  } else {
    json.null();
  }
  return call_with(std::move(exchange), std::move(command));
}

Outcome queue_throttle(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  command::SetThrottle command{.queue = Blob(input.id)};
  bool given = false;
  bool period = false;
  Body body(input.request.body);
  const bool read = body.object(
      kThrottleFields,
      [&](std::size_t i) {
        given = given || i == 0;
        period = period || i == 1;
        if (i == 0) return read_limit(body, model::limits::kRate, command.rate);
        return i == 1 ? body.duration(command.period) : body.text(command.per);
      },
      kFirstMayBeNull);
  if (!read || !body.finish() || (!given && !body.refuse_missing("rate")) ||
      (command.rate && !period && !body.refuse_missing("period")))
    return std::unexpected(body.problem());
  auto exchange = setting_of(input);
  Writer json(exchange->text);
  json.member("throttle");
  if (command.rate) {
    json.begin_object().member("rate").number(*command.rate);
    json.member("period").plain(base::format_duration(command.period));
    write_per_member(json, command.per);
  } else {
    json.null();
  }
  return call_with(std::move(exchange), std::move(command));
}

Outcome queue_concurrency_delete(const Input& input) {
  return remove_limit<command::SetConcurrency>(input, "concurrency");
}

Outcome queue_throttle_delete(const Input& input) {
  return remove_limit<command::SetThrottle>(input, "throttle");
}

Outcome queue_retention(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  command::SetRetention command{.queue = Blob(input.id)};
  const std::array kept = {&command.completed, &command.dead, &command.cancelled};
  Body body(input.request.body);
  const bool read = body.object(kRetentionFields,
                                [&](std::size_t i) { return body.duration(kept[i]->emplace()); });
  if (!read || !body.finish()) return std::unexpected(body.problem());
  if (!command.completed && !command.dead && !command.cancelled)
    return std::unexpected(Problem{.status = 422,
                                   .code = "missing_field",
                                   .detail = "One of completed, dead and cancelled must be given.",
                                   .field = "completed"});
  auto exchange = setting_of(input);
  Writer json(exchange->text);
  json.member("retention").begin_object();
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (*kept[i]) json.member(kRetentionFields.name(i)).plain(base::format_duration(**kept[i]));
  json.end_object();
  return call_with(std::move(exchange), command);
}

Outcome queue_lease(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  command::SetLease command{.queue = Blob(input.id)};
  bool given = false;
  Body body(input.request.body);
  const bool read = body.object(
      kLeaseFields,
      [&](std::size_t) {
        given = true;
        return body.reader().peek() == base::json::Kind::null
                   ? body.reader().null()
                   : body.positive_duration(command.lease);
      },
      kFirstMayBeNull);
  if (!read || !body.finish() || (!given && !body.refuse_missing("duration")))
    return std::unexpected(body.problem());
  auto exchange = setting_of(input);
  const auto lease = command.lease.ms != 0 ? command.lease : model::limits::kDefaultLease;
  Writer(exchange->text)
      .member("lease")
      .begin_object()
      .member("duration")
      .seconds(lease)
      .end_object();
  return call_with(std::move(exchange), command);
}

Outcome queue_fairness(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  command::SetFairness command{.queue = Blob(input.id)};
  bool given = false;
  Body body(input.request.body);
  const bool read = body.object(kFairnessFields, [&](std::size_t) {
    given = true;
    return body.choice(command.fairness, kFairnessNames);
  });
  if (!read || !body.finish() || (!given && !body.refuse_missing("fairness")))
    return std::unexpected(body.problem());
  auto exchange = setting_of(input);
  Writer(exchange->text).member("fairness").plain(word(kFairnessNames, command.fairness));
  return call_with(std::move(exchange), command);
}

Outcome group_pause(const Input& input) {
  return act_on_group(input, GroupAction::pause,
                      {.subject = "group", .name = input.id, .status = "paused"});
}

Outcome group_resume(const Input& input) {
  return act_on_group(input, GroupAction::resume,
                      {.subject = "group", .name = input.id, .status = "resumed"});
}

Outcome group_retry_failed(const Input& input) {
  return act_on_group(
      input, GroupAction::retry_failed,
      {.subject = "group", .name = input.id, .status = "retried", .affected = true});
}

Outcome group_cancel(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  command::GroupCommand command{.group = Blob(input.id), .action = GroupAction::cancel};
  Body body(input.request.body);
  if (!input.request.body.empty() && !(body.object(kCancelGroupFields, [&](std::size_t) {
        return body.boolean(command.include_active);
      }) && body.finish()))
    return std::unexpected(body.problem());
  return act(input, command,
             {.subject = "group", .name = input.id, .status = "cancelled", .affected = true});
}

}  // namespace jobbie::face::native
