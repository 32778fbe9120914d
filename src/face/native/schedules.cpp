// /api/v1/schedules: cron schedules, made, changed, run and looked at.
#include "face/native/manage.hpp"
#include "face/native/schedule_preview.hpp"
#include "face/native/schedule_reader.hpp"
#include "face/native/words.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;
using command::ScheduleAction;

/// Everything but the bracket that closes the object.
void write_schedule_members(Writer& json, const model::ScheduleRecord& schedule) {
  const auto& spec = schedule.spec;
  json.begin_object();
  json.member("id").id(schedule.id);
  json.member("name").string(spec.name.view());
  json.member("cron").string(spec.cron.view());
  json.member("timezone").string(spec.zone.name);
  json.member("catch_up").plain(word(kCatchUpNames, spec.catch_up));
  json.member("paused").boolean(spec.paused);
  json.member("queue").string(spec.job.queue.view());
  write_json(json, "payload", spec.job.payload);
  json.member("priority");
  write_priority(json, spec.job.priority);
  json.member("tags").raw(spec.job.tags ? spec.job.tags.view() : "{}");
  write_policy(json, spec.job);
  write_duration(json, "lease_duration", spec.job.lease);
  json.member("created_at").instant(schedule.id.ulid.time());
  write_instant(json, "last_run", schedule.last_run);
  write_instant(json, "next_run", schedule.next_run);
  write_id(json, "last_job_id", schedule.last_job);
  json.member("runs").number(schedule.runs);
}

void write_schedule(Writer& json, const model::ScheduleRecord& schedule, base::Instant /*now*/) {
  write_schedule_members(json, schedule);
  json.end_object();
}

constexpr Shape<model::ScheduleRecord> kScheduleShape{
    .list = "schedules",
    .what = "schedule",
    .write = write_schedule,
    .name = [](const model::ScheduleRecord& schedule) { return schedule.id.text(); },
    .queue = [](const model::ScheduleRecord& schedule) -> const base::Blob& {
      return schedule.spec.job.queue;
    }};

/// The answer to whatever changes a schedule: the schedule as it is now, with its next runs.
class ScheduleExchange final : public Exchange {
 public:
  ScheduleExchange(call::Inbox& inbox, int code) : Exchange(inbox), code_(code) {}

 private:
  void render(Answer& out) const override {
    const auto* reply = reply_as<command::ScheduleReply>(replies[0], out);
    if (reply == nullptr) return;
    out.status = code_;
    Writer json(out.body);
    write_schedule_members(json, reply->schedule);
    json.member("next_runs").begin_array();
    for (const auto at : reply->next_runs) json.instant(at);
    json.end_array();
    json.end_object();
  }

  int code_;
};

/// Run-now and removal tell only what they did.
class ScheduleActed final : public Exchange {
 public:
  ScheduleActed(call::Inbox& inbox, std::string_view status) : Exchange(inbox), status_(status) {}

 private:
  void render(Answer& out) const override {
    const auto* reply = reply_as<command::ScheduleReply>(replies[0], out);
    if (reply == nullptr) return;
    Writer json(out.body);
    json.begin_object();
    json.member("schedule_id").id(reply->schedule.id);
    json.member("status").plain(status_);
    if (!reply->job.is_nil()) json.member("job_id").id(reply->job);
    json.end_object();
  }

  std::string_view status_;
};

std::expected<base::ScheduleId, Problem> schedule_in(const Input& input) {
  const auto id = base::ScheduleId::parse(input.id);
  if (!id || id->is_nil()) return std::unexpected(not_found("schedule", input.id));
  return *id;
}

std::expected<model::ScheduleSpec, Problem> read_spec(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  model::ScheduleSpec spec;
  Body body(input.request.body);
  ScheduleReader reader(body, input.options.max_payload_bytes);
  if (!reader.read(spec, input.service.now()) || !body.finish())
    return std::unexpected(body.problem());
  return spec;
}

Outcome show_schedule(const Input& input, base::ScheduleId id) {
  static constexpr Shape<model::ScheduleRecord> kWithRuns{
      .list = "schedules",
      .what = "schedule",
      .write =
          [](Writer& json, const model::ScheduleRecord& record, base::Instant now) {
            write_schedule_members(json, record);
            write_next_runs(json, record, now);
            json.end_object();
          },
      .name = kScheduleShape.name,
      .queue = kScheduleShape.queue};
  auto exchange =
      std::make_unique<OneExchange<model::ScheduleRecord>>(input.inbox, kWithRuns, input.id);
  exchange->query = call::SchedulesQuery{.after = {}, .limit = 1, .only = id};
  return exchange;
}

Outcome act_on_schedule(const Input& input, ScheduleAction action,
                        std::unique_ptr<Exchange> exchange) {
  const auto id = schedule_in(input);
  if (!id) return std::unexpected(id.error());
  if (auto problem = refuse_details(input)) return std::unexpected(*std::move(problem));
  return call_with(std::move(exchange),
                   command::ScheduleCommand{.schedule = *id, .action = action});
}

}  // namespace

Outcome schedules(const Input& input) {
  const auto given = Parameters::read(input.request.query, {"cursor", "limit"});
  if (!given) return std::unexpected(given.error());
  std::string after;
  if (auto problem = given->cursor(kScheduleShape.list, after))
    return std::unexpected(*std::move(problem));
  std::uint64_t limit = kMostRows;
  if (auto problem = given->integer("limit", 1, kMostRows, limit))
    return std::unexpected(*std::move(problem));
  call::SchedulesQuery query{.after = {}, .limit = limit, .only = {}};
  if (!after.empty()) {
    const auto id = base::ScheduleId::parse(after);
    if (!id) return std::unexpected(bad_cursor());
    query.after = *id;
  }
  auto exchange =
      std::make_unique<ListExchange<model::ScheduleRecord>>(input.inbox, kScheduleShape);
  exchange->query = query;
  return exchange;
}

Outcome schedule(const Input& input) {
  const auto id = schedule_in(input);
  if (!id) return std::unexpected(id.error());
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  return show_schedule(input, *id);
}

Outcome schedule_create(const Input& input) {
  auto spec = read_spec(input);
  if (!spec) return std::unexpected(spec.error());
  return call_with(std::make_unique<ScheduleExchange>(input.inbox, 201),
                   command::CreateSchedule{*std::move(spec)});
}

Outcome schedule_update(const Input& input) {
  const auto id = schedule_in(input);
  if (!id) return std::unexpected(id.error());
  auto spec = read_spec(input);
  if (!spec) return std::unexpected(spec.error());
  return call_with(std::make_unique<ScheduleExchange>(input.inbox, 200),
                   command::UpdateSchedule{.schedule = *id, .spec = *std::move(spec)});
}

Outcome schedule_patch(const Input& input) {
  const auto id = schedule_in(input);
  if (!id) return std::unexpected(id.error());
  command::UpdateSchedule update{.schedule = *id, .spec = {}};
  Body body(input.request.body);
  ScheduleReader reader(body, input.options.max_payload_bytes);
  if (!reader.read_part(update.spec, update.fields, input.service.now()) || !body.finish())
    return std::unexpected(body.problem());
  if (update.fields == 0) return show_schedule(input, *id);  // nothing is to change
  return call_with(std::make_unique<ScheduleExchange>(input.inbox, 200), std::move(update));
}

Outcome schedule_pause(const Input& input) {
  return act_on_schedule(input, ScheduleAction::pause,
                         std::make_unique<ScheduleExchange>(input.inbox, 200));
}

Outcome schedule_resume(const Input& input) {
  return act_on_schedule(input, ScheduleAction::resume,
                         std::make_unique<ScheduleExchange>(input.inbox, 200));
}

Outcome schedule_run(const Input& input) {
  return act_on_schedule(input, ScheduleAction::run_now,
                         std::make_unique<ScheduleActed>(input.inbox, "enqueued"));
}

Outcome schedule_delete(const Input& input) {
  return act_on_schedule(input, ScheduleAction::remove,
                         std::make_unique<ScheduleActed>(input.inbox, "deleted"));
}

}  // namespace jobbie::face::native
