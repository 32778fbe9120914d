// GET /api/v1/queues and /api/v1/queues/{queue}, GET /api/v1/groups.
#include "face/native/manage.hpp"
#include "face/native/rates.hpp"
#include "face/native/words.hpp"
#include "model/limits.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;

void write_per(Writer& json, const base::Blob& per) {
  if (per) json.member("per").string(per.view());
  json.end_object();
}

void write_concurrency(Writer& json, std::string_view name,
                       const std::optional<model::ConcurrencyLimit>& limit) {
  json.member(name);
  if (!limit) {
    json.null();
    return;
  }
  json.begin_object();
  json.member("max").number(limit->max);
  write_per(json, limit->per);
}

void write_throttle(Writer& json, std::string_view name,
                    const std::optional<model::Throttle>& throttle) {
  json.member(name);
  if (!throttle) {
    json.null();
    return;
  }
  json.begin_object();
  json.member("rate").number(throttle->rate);
  json.member("period").plain(base::format_duration(throttle->period));
  write_per(json, throttle->per);
}

void write_settings(Writer& json, const model::QueueSettings& settings) {
  json.member("limits").begin_object();
  write_concurrency(json, "concurrency", settings.concurrency);
  write_concurrency(json, "concurrency_per", settings.concurrency_per);
  write_throttle(json, "throttle", settings.throttle);
  write_throttle(json, "throttle_per", settings.throttle_per);
  json.end_object();
  json.member("retention").begin_object();
  json.member("completed").plain(base::format_duration(settings.retention.completed));
  json.member("dead").plain(base::format_duration(settings.retention.dead));
  json.member("cancelled").plain(base::format_duration(settings.retention.cancelled));
  json.end_object();
  const auto lease = settings.lease.ms != 0 ? settings.lease : model::limits::kDefaultLease;
  json.member("lease").begin_object().member("duration").seconds(lease).end_object();
  json.member("fairness").plain(word(kFairnessNames, settings.fairness));
}

void write_totals(Writer& json, const model::QueueTotals& totals) {
  json.member("totals").begin_object();
  json.member("enqueued").number(totals.enqueued);
  json.member("started").number(totals.started);
  json.member("completed").number(totals.completed);
  json.member("failed").number(totals.failed);
  json.member("dead").number(totals.dead);
  json.member("cancelled").number(totals.cancelled);
  json.member("leases_expired").number(totals.leases_expired);
  json.end_object();
}

template <std::size_t N>
void write_counts(Writer& json, const std::array<std::uint64_t, model::kStates>& counts,
                  const std::array<model::State, N>& states) {
  for (const auto state : states)
    json.member(model::to_string(state)).number(counts[static_cast<std::size_t>(state)]);
}

void write_queue(Writer& json, const call::QueueRow& view, base::Instant now) {
  using enum model::State;
  static constexpr std::array kShown = {pending, scheduled, waiting, retrying,
                                        active,  completed, dead,    cancelled};
  const auto& settings = view.record.settings;
  json.begin_object();
  json.member("name").string(view.record.name.view());
  json.member("paused").boolean(settings.paused);
  json.member("draining").boolean(settings.draining);
  json.member("clearing").boolean(view.clearing);
  write_counts(json, view.counts, kShown);
  json.member("oldest_pending_age_ms");
  if (view.oldest_pending.ms != 0)
    json.number(std::max<std::int64_t>((now - view.oldest_pending).ms, 0));
  else
    json.null();
  json.member("rates");
  write_rates(json, view.rates);
  json.member("unique_locks").number(view.unique_locks);
  write_settings(json, settings);
  write_totals(json, view.record.totals);
  json.member("created_at").instant(view.record.created_at);
  json.end_object();
}

void write_group(Writer& json, const model::GroupView& group, base::Instant /*now*/) {
  using enum model::State;
  static constexpr std::array kLive = {pending, scheduled, waiting, retrying, active};
  json.begin_object();
  json.member("name").string(group.name.view());
  json.member("paused").boolean(group.paused);
  write_counts(json, group.counts, kLive);
  json.end_object();
}

constexpr Shape<call::QueueRow> kQueueShape{
    .list = "queues",
    .what = "queue",
    .write = write_queue,
    .name = [](const call::QueueRow& view) { return std::string(view.record.name.view()); }};

constexpr Shape<model::GroupView> kGroupShape{
    .list = "groups",
    .what = "group",
    .write = write_group,
    .name = [](const model::GroupView& group) { return std::string(group.name.view()); }};

}  // namespace

Outcome queues(const Input& input) {
  auto page = read_page(input, kQueueShape.list);
  if (!page) return std::unexpected(page.error());
  auto exchange = std::make_unique<ListExchange<call::QueueRow>>(input.inbox, kQueueShape);
  exchange->query = call::QueuesQuery{.page = *std::move(page), .only = {}};
  return exchange;
}

Outcome queue(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  auto exchange = std::make_unique<OneExchange<call::QueueRow>>(input.inbox, kQueueShape, input.id);
  exchange->query = call::QueuesQuery{.page = {}, .only = std::string(input.id)};
  return exchange;
}

Outcome groups(const Input& input) {
  auto page = read_page(input, kGroupShape.list);
  if (!page) return std::unexpected(page.error());
  auto exchange = std::make_unique<ListExchange<model::GroupView>>(input.inbox, kGroupShape);
  exchange->query = call::GroupsQuery{*std::move(page)};
  return exchange;
}

}  // namespace jobbie::face::native
