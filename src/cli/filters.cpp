// One flag for each field of a search.
#include "cli/filters.hpp"

#include <array>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json.hpp"
#include "cli/times.hpp"

namespace jobbie::cli {
namespace {

constexpr std::array<const char*, 6> kStems = {"created",   "scheduled", "started",
                                               "completed", "failed",    "expire"};

}  // namespace

void add_filters(CLI::App* c, Filters& f) {
  constexpr const char* kGroup = "Filters";
  const auto option = [&](const char* flag, auto& target, const char* description) {
    return c->add_option(flag, target, description)->group(kGroup);
  };
  option("--queue", f.queue, "Queue, or a pattern with * and ?");
  option("--state", f.states, "State; several with commas, or the flag several times")
      ->take_all()
      ->allow_extra_args(false)
      ->delimiter(',');
  option("--tag", f.tags, "NAME=TEXT or NAME:=JSON; all must hold")
      ->take_all()
      ->allow_extra_args(false);
  option("--priority", f.priority, "critical, high, normal or a number");
  option("--payload-contains", f.payload_contains, "Text in the payload");
  option("--payload-jq", f.payload_jq, "Expression on the payload: '.amount > 100'");
  option("--error-contains", f.error_contains, "Text in an error");
  option("--error-group", f.error_group, "Of this group of errors: a fingerprint of jobbie errors");
  c->add_flag("--has-errors", f.has_errors, "With errors")->group(kGroup);
  c->add_flag("--no-errors", f.no_errors, "Without errors")->group(kGroup);
  option("--worker", f.worker, "Last run by this worker");
  option("--batch", f.batch, "Of this batch");
  option("--schedule", f.schedule, "Of this schedule");
  option("--group", f.group, "Of this group");
  option("--unique-key", f.unique_key, "With this key");
  option("--attempt-min", f.attempt_min, "At least so many attempts");
  option("--attempt-max", f.attempt_max, "At most so many attempts");
  option("--id-prefix", f.id_prefix, "Id begins so");
  for (std::size_t i = 0; i < kStems.size(); ++i) {
    const std::string flag = fmt::format("--{}", kStems[i]);
    option((flag + "-after").c_str(), f.after[i], "Time, date, or duration ago (2h)");
    option((flag + "-before").c_str(), f.before[i], "likewise");
  }
  option("--filter", f.filter, "All filters at once, as the JSON of the API");
}

client::Result<std::string> filter_json(const Filters& f) {
  Body body;
  body.text("queue", f.queue).texts("state", f.states).number_or_text("priority", f.priority);
  if (!f.tags.empty()) {
    const auto tags = tags_argument(f.tags);
    if (!tags) return std::unexpected(tags.error());
    body.raw("tags", *tags);
  }
  body.text("payload_contains", f.payload_contains).text("payload_jq", f.payload_jq);
  body.text("error_contains", f.error_contains).text("error_group", f.error_group);
  body.text("worker_id", f.worker);
  body.text("batch_id", f.batch).text("schedule_id", f.schedule).text("group", f.group);
  body.text("unique_key", f.unique_key).text("job_id_prefix", f.id_prefix);
  body.number_or_text("attempt_min", f.attempt_min).number_or_text("attempt_max", f.attempt_max);
  if (f.has_errors && f.no_errors)
    return std::unexpected(bad_argument("--has-errors and --no-errors exclude each other"));
  if (f.has_errors || f.no_errors) body.raw("has_errors", f.has_errors ? "true" : "false");
  for (std::size_t i = 0; i < kStems.size(); ++i) {
    for (const bool after : {true, false}) {
      const std::string end = after ? "after" : "before";
      const auto at =
          time_argument(after ? f.after[i] : f.before[i], fmt::format("--{}-{}", kStems[i], end));
      if (!at) return std::unexpected(at.error());
      body.text(fmt::format("{}_{}", kStems[i], end), *at);
    }
  }
  if (f.filter.empty()) return body.str();
  if (!body.empty())
    return std::unexpected(bad_argument("--filter and the single filters exclude each other"));
  auto json = json_argument(f.filter, "filter");
  if (json && !base::json::is_object(*json))
    return std::unexpected(bad_argument("--filter must be a JSON object"));
  return json;
}

}  // namespace jobbie::cli
