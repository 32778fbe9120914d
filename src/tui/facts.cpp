// Reads JSON; what is missing is shown as nothing.
#include "tui/facts.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/rfc3339.hpp"
#include "tui/screen.hpp"

namespace jobbie::tui {
namespace {

using client::Json;

std::int64_t since(const Json& at) {
  const auto instant = base::parse_rfc3339(at.text());
  return instant ? std::max<std::int64_t>(0, now_ms() - instant->ms) : -1;
}

void add_fact(std::vector<std::string>& lines, const char* name, const Json& value) {
  if (value.is_null() || value.raw() == "[]" || value.raw() == "{}" || value.raw() == "false")
    return;
  lines.push_back(fmt::format("{:<9} {}", name, harmless(value.text(value.raw()))));
}

}  // namespace

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string harmless(const std::string& text) {
  std::string out = text;
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') c = ' ';
  return out;
}

QueueRow queue_row(const Json& q) {
  return {.name = harmless(q["name"].text()),
          .pending = q["pending"].integer(),
          .active = q["active"].integer(),
          .scheduled = q["scheduled"].integer(),
          .retrying = q["retrying"].integer(),
          .dead = q["dead"].integer(),
          .enqueued = q["rates"]["enqueued"].number(),
          .completed = q["rates"]["completed"].number(),
          .oldest_ms = q["oldest_pending_age_ms"].integer(-1),
          .status = q["draining"].boolean() ? "draining"
                    : q["paused"].boolean() ? "paused"
                                            : ""};
}

WorkerRow worker_row(const Json& w) {
  std::string queues;
  for (const Json& queue : w["queues"].items())
    queues += (queues.empty() ? "" : " ") + queue.text();
  return {.id = harmless(w["id"].text()),
          .host = harmless(w["hostname"].text()),
          .queues = harmless(queues),
          .status = w["silent"].boolean()     ? "silent"
                    : w["draining"].boolean() ? "draining"
                                              : "",
          .active = w["active"].integer(),
          .seen_ms = since(w["last_heartbeat"])};
}

JobRow job_row(const Json& j) {
  std::string detail = j["last_error"].text();
  if (detail.empty() && !j["progress"].is_null()) detail = j["progress"].raw();
  if (detail.empty()) detail = j["payload"].raw().substr(0, 200);
  return {.id = j["id"].text(),
          .queue = harmless(j["queue"].text()),
          .state = j["cancel_requested"].boolean() && j["state"].text() == "active"
                       ? "stopping"
                       : j["state"].text(),
          .attempt = j["attempt"].text() + "/" + j["max_retries"].text(),
          .detail = harmless(detail),
          .age_ms = since(j["created_at"])};
}

EventRow event_row(const Json& e) {
  std::string detail;
  for (const char* name : {"error", "reason", "worker_id", "group", "schedule"})
    if (detail.empty()) detail = e[name].text();
  const std::string at = e["at"].text();
  return {.at = at.size() >= 23 ? at.substr(11, 12) : at,
          .type = e["type"].text(),
          .job_id = e["job_id"].text(),
          .queue = harmless(e["queue"].text()),
          .detail = harmless(detail)};
}

std::vector<std::string> job_lines(const Json& j) {
  std::vector<std::string> lines = {
      fmt::format("{}  {}", j["id"].text(), j["state"].text()),
      fmt::format("queue     {}   attempt {} of {}   priority {}", harmless(j["queue"].text()),
                  j["attempt"].text(), j["max_retries"].text(), j["priority"].text())};
  if (j["worker"].is_object())
    lines.push_back(fmt::format("worker    {} {}", harmless(j["worker"]["id"].text()),
                                harmless(j["worker"]["hostname"].text())));
  for (const char* name : {"created", "scheduled", "started", "ended"})
    if (const Json& at = j[std::string(name) + "_at"]; !at.is_null())
      lines.push_back(fmt::format("{:<9} {}  {} ago", name, at.text(), short_length(since(at))));
  add_fact(lines, "next try", j["next_attempt_at"]);
  add_fact(lines, "reason", j["end_reason"]);
  add_fact(lines, "group", j["group"]);
  add_fact(lines, "batch", j["batch_id"]);
  add_fact(lines, "tags", j["tags"]);
  add_fact(lines, "progress", j["progress"]);
  add_fact(lines, "payload", j["payload"]);
  add_fact(lines, "result", j["result"]);
  add_fact(lines, "checkpt", j["checkpoint"]);
  for (const Json& error : j["errors"].items())
    lines.push_back(fmt::format("error     attempt {}: {}", error["attempt"].text(),
                                harmless(error["error"].text())));
  for (const Json& event : j["timeline"].items())
    lines.push_back(fmt::format("          {}  {} {}", event["at"].text(), event["event"].text(),
                                harmless(event["worker_id"].text())));
  return lines;
}

std::string cluster_text(const Json& status) {
  const auto nodes = status["nodes"].items().size();
  return fmt::format("{}, {} node{}, up {}{}", status["role"].text(), nodes, nodes == 1 ? "" : "s",
                     short_length(since(status["started_at"])),
                     status["disk_full"].boolean()     ? ", DISK FULL"
                     : status["memory_full"].boolean() ? ", MEMORY FULL"
                                                       : "");
}

std::string latest(const Json& column) {
  for (auto at = column.items().rbegin(); at != column.items().rend(); ++at)
    if (!at->is_null()) return short_length(at->integer());
  return "";
}

}  // namespace jobbie::tui
