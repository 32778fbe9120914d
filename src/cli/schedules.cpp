// Schedules: list, show, create, update, delete, run, pause, resume, preview.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json.hpp"
#include "cli/commands.hpp"
#include "cli/pages.hpp"
#include "cli/print.hpp"
#include "cli/times.hpp"
#include "client/url.hpp"

namespace jobbie::cli {
namespace {

struct ScheduleArguments {
  std::string id, name, queue, cron, timezone, payload, catch_up, unique_key, priority, max_retries,
      group;
  std::vector<std::string> tags;
  bool paused = false;
};

std::string schedule_path(const std::string& id) {
  return "/api/v1/schedules/" + client::encoded(id);
}

/// Schedules go by id; a name does as well.
client::Result<std::string> schedule_id(Session& session, const std::string& text) {
  if (text.starts_with("sched_")) return text;
  std::string cursor;
  do {
    const auto page = session.get("/api/v1/schedules" +
                                  (cursor.empty() ? "" : "?cursor=" + client::encoded(cursor)));
    if (!page) return std::unexpected(page.error());
    for (const auto& each : (*page)["schedules"].items())
      if (each["name"].text() == text) return each["id"].text();
    cursor = (*page)["has_more"].boolean() ? (*page)["cursor"].text() : "";
  } while (!cursor.empty());
  return std::unexpected(client::Error{.failure = client::Failure::refused,
                                       .status = 404,
                                       .code = "not_found",
                                       .message = "there is no schedule \"" + text + "\"",
                                       .hint = "`jobbie schedules` lists them."});
}

int list_schedules(Session& session) {
  Table table({kIdColumn,
               {"NAME"},
               {"CRON"},
               {"ZONE"},
               {"QUEUE"},
               {"NEXT", true},
               {"LAST", true},
               {"RUNS", true},
               {"STATUS"}});
  const auto all = each_page(session, "/api/v1/schedules", "schedules", [&](const client::Json& s) {
    table.add({{s["id"].text()},
               {s["name"].text()},
               {s["cron"].text()},
               {s["timezone"].text()},
               {s["queue"].text()},
               {s["next_run"].is_null() ? "–" : ago(s["next_run"].text())},
               {s["last_run"].is_null() ? "never" : ago(s["last_run"].text())},
               {count(s["runs"].integer())},
               {s["paused"].boolean() ? "paused" : "", Style::warn}});
  });
  if (!all) return session.fail(all.error());
  if (session.json()) return kDone;
  if (table.empty()) {
    session.note(
        "There are no schedules. Make one: jobbie schedules create daily --queue reports --cron '0 "
        "9 * * *'");
  } else {
    table.print(session);
  }
  return kDone;
}

void print_schedule(Session& session, const client::Document& schedule) {
  if (session.json()) {
    print_json(schedule.raw());
    return;
  }
  Facts facts;
  for (const char* name : {"id", "name", "cron", "timezone", "queue", "payload", "catch_up",
                           "paused", "next_run", "last_run", "last_job_id", "runs", "unique_key"})
    facts.add_if(name, schedule[name]);
  for (const auto& run : schedule["next_runs"].items()) facts.add("runs at", run.text());
  facts.print(session);
}

/// Sets what was given in `body`, an object.
client::Result<std::string> with_arguments(std::string body, const ScheduleArguments& a) {
  const auto set = [&](const char* name, const std::string& json) {
    if (!json.empty()) body = base::json::with_member(body, name, json).value_or(body);
  };
  const auto text = [&](const char* name, const std::string& value) {
    if (!value.empty()) set(name, client::quoted(value));
  };
  text("name", a.name);
  text("queue", a.queue);
  text("cron", a.cron);
  text("timezone", a.timezone);
  text("catch_up", a.catch_up);
  text("unique_key", a.unique_key);
  text("group", a.group);
  const bool number = a.priority.find_first_not_of("-0123456789") == std::string::npos;
  set("priority", number ? a.priority : client::quoted(a.priority));
  set("max_retries", a.max_retries);
  if (a.paused) set("paused", "true");
  if (!a.payload.empty()) {
    const auto payload = json_argument(a.payload, "payload");
    if (!payload) return std::unexpected(payload.error());
    set("payload", *payload);
  }
  if (!a.tags.empty()) {
    const auto tags = tags_argument(a.tags);
    if (!tags) return std::unexpected(tags.error());
    set("tags", *tags);
  }
  return body;
}

int create_schedule(Session& session, const ScheduleArguments& a) {
  const auto body = with_arguments("{}", a);
  if (!body) return session.fail(body.error());
  const auto made = session.post("/api/v1/schedules", *body);
  if (!made) return session.fail(made.error());
  print_schedule(session, *made);
  return kDone;
}

/// What is not named stays.
int update_schedule(Session& session, const ScheduleArguments& a) {
  const auto id = schedule_id(session, a.id);
  if (!id) return session.fail(id.error());
  const auto body = with_arguments("{}", a);
  if (!body) return session.fail(body.error());
  const auto made = session.call(
      {.method = "PATCH", .target = schedule_path(*id), .body = *body, .repeatable = true});
  if (!made) return session.fail(made.error());
  print_schedule(session, *made);
  return kDone;
}

void print_runs(Session& session, const client::Document& preview) {
  if (session.json()) {
    print_ndjson(preview["runs"]);
    return;
  }
  Table table({{"LOCAL"}, {"UTC"}, {"IN"}, {"ZONE CHANGE"}});
  for (const auto& run : preview["runs"].items())
    table.add({{run["local"].text()},
               {run["at"].text()},
               {ago(run["at"].text())},
               {run["zone_change"].text(), Style::warn}});
  table.print(session);
}

int preview_schedule(Session& session, const ScheduleArguments& a, std::int64_t runs) {
  client::Result<client::Document> answer;
  if (!a.cron.empty()) {
    Body body;
    body.text("cron", a.cron).text("timezone", a.timezone).raw("count", std::to_string(runs));
    answer = session.post("/api/v1/schedules/preview", body.str());
  } else {
    if (a.id.empty()) return session.usage("which one? Give a schedule, or --cron");
    const auto id = schedule_id(session, a.id);
    if (!id) return session.fail(id.error());
    answer = session.get(fmt::format("{}/preview?count={}", schedule_path(*id), runs));
  }
  if (!answer) return session.fail(answer.error());
  print_runs(session, *answer);
  return kDone;
}

void declare_schedule(CLI::App* c, ScheduleArguments& a) {
  c->add_option("--queue", a.queue, "Queue of its jobs");
  c->add_option("--cron", a.cron, "5 fields, 6 with seconds, or @daily and the like");
  c->add_option("--timezone", a.timezone, "IANA name (UTC)");
  c->add_option("--payload", a.payload, "JSON, @FILE or -");
  c->add_option("--catch-up", a.catch_up,
                "Runs missed while the server was down: skip, one or all");
  c->add_option("--unique-key", a.unique_key, "One live job for each key");
  c->add_option("--priority", a.priority, "critical, high, normal or a number");
  c->add_option("--max-retries", a.max_retries, "Most attempts");
  c->add_option("--group", a.group, "Group");
  c->add_option("--tag", a.tags, "NAME=TEXT or NAME:=JSON")->take_all()->allow_extra_args(false);
}

void add_schedule_action(Commands& commands, CLI::App& parent, const std::string& name,
                         const std::string& description, const std::string& method,
                         const std::string& action, const std::string& done) {
  auto text = std::make_shared<std::string>();
  CLI::App* c = commands.add(parent, name, description,
                             fmt::format("  jobbie schedules {} daily-report", name));
  c->add_option("schedule", *text, "Id or name")->required();
  if (method == "DELETE") commands.add_yes(c);
  commands.on(c, [=](Session& session) {
    const auto id = schedule_id(session, *text);
    if (!id) return session.fail(id.error());
    if (method == "DELETE" && !session.confirm("Delete the schedule " + *text + "? Its jobs stay."))
      return kDeclined;
    const auto answer = session.call({.method = method, .target = schedule_path(*id) + action});
    if (!answer) return session.fail(answer.error());
    if (session.json()) {
      print_json(answer->raw());
    } else {
      fmt::print("{}\n", done.empty() ? (*answer)["job_id"].text() : done);
    }
    return kDone;
  });
}

}  // namespace

void add_schedule_commands(Commands& commands) {
  CLI::App* c =
      commands.add(commands.app(), "schedules", "List schedules, and work with them",
                   "  jobbie schedules\n  jobbie schedules create daily-report --queue reports "
                   "--cron '0 9 * * *' --timezone America/New_York");
  commands.on(c, list_schedules);
  commands.on(commands.add(*c, "list", "List schedules", "  jobbie schedules list"),
              list_schedules);
  auto shown = std::make_shared<std::string>();
  CLI::App* show =
      commands.add(*c, "show", "Show a schedule", "  jobbie schedules show daily-report");
  show->add_option("schedule", *shown, "Id or name")->required();
  commands.on(show, [shown](Session& session) {
    const auto id = schedule_id(session, *shown);
    if (!id) return session.fail(id.error());
    const auto schedule = session.get(schedule_path(*id));
    if (!schedule) return session.fail(schedule.error());
    print_schedule(session, *schedule);
    return kDone;
  });
  auto made = std::make_shared<ScheduleArguments>();
  CLI::App* create =
      commands.add(*c, "create", "Make a schedule",
                   "  jobbie schedules create daily-report --queue reports --cron '0 9 * * *'");
  create->add_option("name", made->name, "Name")->required();
  declare_schedule(create, *made);
  create->add_flag("--paused", made->paused, "Not running yet");
  commands.on(create, [made](Session& session) { return create_schedule(session, *made); });
  auto changed = std::make_shared<ScheduleArguments>();
  CLI::App* update = commands.add(*c, "update", "Change a schedule; what is not named stays",
                                  "  jobbie schedules update daily-report --cron '0 10 * * *'");
  update->add_option("schedule", changed->id, "Id or name")->required();
  update->add_option("--name", changed->name, "Another name");
  declare_schedule(update, *changed);
  commands.on(update, [changed](Session& session) { return update_schedule(session, *changed); });
  add_schedule_action(commands, *c, "delete", "Delete a schedule; its jobs stay", "DELETE", "",
                      "deleted");
  add_schedule_action(commands, *c, "run", "Enqueue its job now", "POST", "/run", "");
  add_schedule_action(commands, *c, "pause", "Pause a schedule", "POST", "/pause", "paused");
  add_schedule_action(commands, *c, "resume", "Resume a schedule", "POST", "/resume", "resumed");
  auto asked = std::make_shared<ScheduleArguments>();
  auto runs = std::make_shared<std::int64_t>(10);
  CLI::App* preview =
      commands.add(*c, "preview", "Show the next runs of a schedule or of a cron line",
                   "  jobbie schedules preview daily-report\n"
                   "  jobbie schedules preview --cron '30 2 * * *' --timezone Europe/Berlin");
  preview->add_option("schedule", asked->id, "Id or name");
  preview->add_option("--cron", asked->cron, "A cron line instead");
  preview->add_option("--timezone", asked->timezone, "IANA name (UTC)");
  preview->add_option("--count", *runs, "How many")->check(CLI::Range(1, 100));
  commands.on(preview,
              [asked, runs](Session& session) { return preview_schedule(session, *asked, *runs); });
}

}  // namespace jobbie::cli
