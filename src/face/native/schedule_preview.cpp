// GET /api/v1/schedules/{id}/preview and POST /api/v1/schedules/preview.
#include "face/native/schedule_preview.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "base/rfc3339.hpp"
#include "face/native/manage.hpp"
#include "face/native/schedule_reader.hpp"
#include "model/cron.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;

constexpr std::size_t kRunsInRow = 5;
constexpr std::size_t kRunsInPreview = 10;
constexpr std::size_t kMostRunsInPreview = 100;

constexpr Fields kPreviewFields(std::to_array<std::string_view>({"cron", "timezone", "count",
                                                                 "after"}));

/// What a wall clock in the zone shows: `2026-03-29T03:00:00+02:00`.
std::string local_text(const model::ZoneRules& zone, base::Instant at) {
  const auto offset = zone.offset_at(at);
  auto text = base::format_rfc3339({zone.to_local(at).s * 1000});
  const auto minutes = std::abs(offset) / 60;
  return fmt::format("{}{}{:02}:{:02}", text.substr(0, text.find('.')), offset < 0 ? '-' : '+',
                     minutes / 60, minutes % 60);
}

/// How a change of the zone's offset touched the run: its local time is skipped by the change (it
/// runs at the jump) or occurs twice (it runs at the first). Empty: not at all.
std::string_view zone_change(const model::CronExpr& cron, const model::ZoneRules& zone,
                             base::Instant at) {
  const auto local = zone.to_local(at);
  if (!cron.matches(local)) return "skipped";
  return zone.from_local(local).kind == model::LocalMapping::Kind::ambiguous ? "repeated" : "";
}

void write_preview(Writer& json, const model::CronExpr& cron, const model::ZoneRules& zone,
                   base::Instant after, std::size_t count) {
  json.begin_object();
  json.member("cron").string(cron.text());
  json.member("timezone").string(zone.name);
  json.member("runs").begin_array();
  for (const auto at : cron.next_runs(after, zone, count)) {
    json.begin_object();
    json.member("at").instant(at);
    json.member("local").plain(local_text(zone, at));
    const auto change = zone_change(cron, zone, at);
    json.member("zone_change");
    if (change.empty())
      json.null();
    else
      json.plain(change);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

class PreviewExchange final : public Exchange {
 public:
  PreviewExchange(call::Inbox& inbox, std::string_view asked, std::size_t count)
      : Exchange(inbox), asked_(shown(asked)), count_(count) {}

 private:
  void render(Answer& out) const override {
    const auto* page = std::get_if<call::SchedulePage>(&answer);
    if (page == nullptr) return face::write(Problem{}, out);
    if (page->rows.empty() || !may_show(page->rows.front().spec.job.queue))
      return face::write(not_found("schedule", asked_), out);
    const auto& spec = page->rows.front().spec;
    const auto cron = model::CronExpr::parse(spec.cron.view());
    if (!cron) return face::write(Problem{}, out);
    Writer json(out.body);
    write_preview(json, *cron, spec.zone, page->now, count_);
  }

  std::string asked_;
  std::size_t count_;
};

/// What is to be previewed, as the request tells it.
struct Preview {
  base::Blob cron;
  base::Blob zone;
  std::int64_t count = kRunsInPreview;
  base::Instant after;
};

bool read_preview(Body& body, Preview& out) {
  const bool read = body.object(kPreviewFields, [&](std::size_t i) {
    switch (i) {
      case 0:
        return body.text(out.cron);
      case 1:
        return body.text(out.zone);
      case 2:
        return body.integer(out.count, 1, kMostRunsInPreview);
      default:
        return body.instant(out.after);
    }
  });
  return read && body.finish() && (!out.cron.empty() || body.refuse_missing("cron"));
}

}  // namespace

void write_next_runs(Writer& json, const model::ScheduleRecord& schedule, base::Instant now) {
  json.member("next_runs").begin_array();
  const auto cron = model::CronExpr::parse(schedule.spec.cron.view());
  if (cron && !schedule.spec.paused)
    for (const auto at : cron->next_runs(now, schedule.spec.zone, kRunsInRow)) json.instant(at);
  json.end_array();
}

Outcome schedule_preview(const Input& input) {
  const auto id = base::ScheduleId::parse(input.id);
  if (!id || id->is_nil()) return std::unexpected(not_found("schedule", input.id));
  const auto given = Parameters::read(input.request.query, {"count"});
  if (!given) return std::unexpected(given.error());
  std::uint64_t count = kRunsInPreview;
  if (auto problem = given->integer("count", 1, kMostRunsInPreview, count))
    return std::unexpected(*std::move(problem));
  auto exchange = std::make_unique<PreviewExchange>(input.inbox, input.id, count);
  exchange->query = call::SchedulesQuery{.after = {}, .limit = 1, .only = *id};
  return exchange;
}

Outcome preview(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  Preview wanted;
  Body body(input.request.body);
  if (!read_preview(body, wanted)) return std::unexpected(body.problem());
  const auto cron = model::CronExpr::parse(wanted.cron.view());
  if (!cron)
    return std::unexpected(Problem{
        .status = 422, .code = "invalid", .detail = cron.error().message + ".", .field = "cron"});
  const auto after = wanted.after.ms != 0 ? wanted.after : input.service.now();
  const auto zone = zone_rules(wanted.zone ? wanted.zone.view() : "UTC", after);
  if (!zone) return std::unexpected(zone.error());
  auto exchange = std::make_unique<ReadyAnswer>(input.inbox);
  Writer json(exchange->ready.body);
  write_preview(json, *cron, *zone, after, static_cast<std::size_t>(wanted.count));
  return exchange;
}

}  // namespace jobbie::face::native
