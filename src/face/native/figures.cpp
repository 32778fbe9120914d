// GET /api/v1/stats: time series in columns, as charts take them.
#include <array>

#include "base/json_writer.hpp"
#include "face/native/endpoints.hpp"
#include "face/parameters.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;
using stats::Point;

constexpr std::array<std::string_view, 2> kResolutions = {"second", "minute"};

struct CountColumn {
  std::string_view name;
  std::uint32_t Point::*count;
};
constexpr std::array kCounts = {
    CountColumn{"enqueued", &Point::enqueued},   CountColumn{"started", &Point::started},
    CountColumn{"completed", &Point::completed}, CountColumn{"failed", &Point::failed},
    CountColumn{"dead", &Point::dead},           CountColumn{"cancelled", &Point::cancelled}};

struct QuantileColumn {
  std::string_view name;
  std::uint8_t stats::Quantiles::*bucket;
};
constexpr std::array kQuantiles = {
    QuantileColumn{"p50", &stats::Quantiles::p50}, QuantileColumn{"p95", &stats::Quantiles::p95},
    QuantileColumn{"p99", &stats::Quantiles::p99}, QuantileColumn{"max", &stats::Quantiles::max}};

class StatsAnswer final : public Exchange {
 public:
  StatsAnswer(call::Inbox& inbox, const call::StatsQuery& asked) : Exchange(inbox), asked_(asked) {
    query = asked;
  }

 private:
  void render(Answer& out) const override {
    const auto* curve = std::get_if<stats::Curve>(&answer);
    if (curve == nullptr) return write(Problem{}, out);
    Writer json(out.body);
    json.begin_object();
    json.member("queue");
    if (asked_.queue.empty())
      json.null();
    else
      json.string(asked_.queue.view());
    json.member("resolution").plain(kResolutions[static_cast<std::size_t>(asked_.resolution)]);
    json.member("step_ms").number(curve->step.ms);
    json.member("since").instant(curve->since);
    json.member("until").instant(curve->until);
    json.member("shared").boolean(curve->shared);
    json.member("points").number((curve->until - curve->since).ms / curve->step.ms + 1);
    for (const auto& column : kCounts) {
      json.member(column.name).begin_array();
      fill(json, *curve,
           [&](const Point* point) { json.number(point == nullptr ? 0U : point->*column.count); });
      json.end_array();
    }
    write_quantiles(json, *curve, "wait_ms", &Point::wait);
    write_quantiles(json, *curve, "run_ms", &Point::run);
    json.end_object();
  }

  /// Calls `write` for every step, with null where nothing happened.
  template <typename Write>
  static void fill(Writer&, const stats::Curve& curve, Write&& write) {
    auto point = curve.points.begin();
    const auto last = curve.until.ms / curve.step.ms;
    for (auto tick = curve.since.ms / curve.step.ms; tick <= last; ++tick) {
      const bool there = point != curve.points.end() && point->tick == tick;
      write(there ? &*point : nullptr);
      if (there) ++point;
    }
  }

  static void write_quantiles(Writer& json, const stats::Curve& curve, std::string_view name,
                              stats::Quantiles Point::*quantiles) {
    json.member(name).begin_object();
    for (const auto& column : kQuantiles) {
      json.member(column.name).begin_array();
      fill(json, curve, [&](const Point* point) {
        const auto bucket = point == nullptr ? stats::kNoBucket : point->*quantiles.*column.bucket;
        if (bucket == stats::kNoBucket)
          json.null();
        else
          json.number(stats::value_of(bucket));
      });
      json.end_array();
    }
    json.end_object();
  }

  call::StatsQuery asked_;
};

}  // namespace

Outcome stats(const Input& input) {
  const auto parameters =
      Parameters::read(input.request.query, {"queue", "resolution", "since", "until"});
  if (!parameters) return std::unexpected(parameters.error());
  call::StatsQuery query;
  const auto queue = parameters->text("queue");
  if (auto problem = check_queue(queue, false)) return std::unexpected(*std::move(problem));
  query.queue = base::Blob(queue);
  std::size_t resolution = 0;
  if (auto problem = parameters->choice("resolution", kResolutions, resolution))
    return std::unexpected(*std::move(problem));
  query.resolution = static_cast<jobbie::stats::Resolution>(resolution);
  if (auto problem = parameters->instant("since", query.since))
    return std::unexpected(*std::move(problem));
  if (auto problem = parameters->instant("until", query.until))
    return std::unexpected(*std::move(problem));
  if (query.until < query.since)
    return std::unexpected(bad_parameter("until", "must not be before since"));
  return std::make_unique<StatsAnswer>(input.inbox, query);
}

}  // namespace jobbie::face::native
