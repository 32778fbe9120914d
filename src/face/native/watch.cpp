// GET /api/v1/events: which events a client wants to see.
#include "face/native/watch.hpp"

#include <memory>
#include <utility>

#include "base/glob.hpp"
#include "call/gate.hpp"
#include "face/native/endpoints.hpp"
#include "face/native/sse.hpp"
#include "face/parameters.hpp"

namespace jobbie::face::native {
namespace {

std::optional<command::EventType> type_named(std::string_view name) {
  for (std::size_t i = 0; i < command::kEventTypes; ++i) {
    const auto type = static_cast<command::EventType>(i);
    if (name == command::to_string(type)) return type;
  }
  return std::nullopt;
}

std::optional<Problem> read_types(std::string_view list, std::uint64_t& out) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    const auto name = http::trim(list.substr(0, comma));
    const auto type = type_named(name);
    if (!type)
      return bad_parameter("types",
                           "has \"" + std::string(shown(name)) + "\", which is no type of event");
    out |= std::uint64_t{1} << static_cast<unsigned>(*type);
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
  }
  return std::nullopt;
}

}  // namespace

bool EventWatch::wants(const command::Event& event) const {
  if (types != 0 && (types >> static_cast<unsigned>(event.type) & 1) == 0) return false;
  if (!job.is_nil() && event.job != job) return false;
  if (!call::may_see(principal, event.queue.view())) return false;
  return queue.empty() || base::glob_match(queue, event.queue.view());
}

std::expected<EventWatch, Problem> read_event_watch(const http::Request& request) {
  const auto parameters =
      Parameters::read(request.query, {"queue", "types", "job_id", "last_event_id"});
  if (!parameters) return std::unexpected(parameters.error());
  EventWatch watch;
  watch.queue = parameters->text("queue");
  if (auto problem = check_queue(watch.queue, true)) return std::unexpected(*std::move(problem));
  if (auto problem = read_types(parameters->text("types"), watch.types))
    return std::unexpected(*std::move(problem));
  if (const auto text = parameters->text("job_id"); !text.empty()) {
    const auto job = base::JobId::parse(text);
    if (!job || job->is_nil())
      return std::unexpected(bad_parameter("job_id", "must be the id of a job"));
    watch.job = *job;
  }
  if (const auto text = parameters->text("last_event_id"); !text.empty()) {
    watch.after = parse_position(text);
    if (!watch.after)
      return std::unexpected(bad_parameter("last_event_id", "must be the id of an event"));
  }
  // The header comes from a browser that was connected before, and so goes before the address. One
  // that is no place of ours was given by something else at this address: that history is gone.
  if (const auto header = request.header("last-event-id"); !header.empty()) {
    watch.after = parse_position(header);
    watch.lost = !watch.after;
  }
  return watch;
}

Outcome events(const Input& input) {
  auto watch = read_event_watch(input.request);
  if (!watch) return std::unexpected(std::move(watch).error());
  return std::make_unique<EventWatch>(*std::move(watch));
}

}  // namespace jobbie::face::native
