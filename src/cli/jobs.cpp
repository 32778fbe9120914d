// One job at a time: enqueue, inspect, why, retry, requeue, cancel, move, priority, delete.
#include <algorithm>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/print.hpp"
#include "cli/progress.hpp"
#include "cli/times.hpp"
#include "client/url.hpp"

namespace jobbie::cli {
namespace {

using client::encoded;

constexpr std::size_t kLinesARequest = 1000;

struct EnqueueArguments {
  std::string queue;
  std::string payload = "{}";
  std::string priority, delay, at, unique_key, unique_period, group, lease, expire, timeout,
      backoff;
  std::string max_retries;
  std::vector<std::string> tags, after, set;
  bool lines = false;
};

/// All that an enqueue says but for the payload.
client::Result<Body> body_of(const EnqueueArguments& a) {
  Body body;
  body.text("queue", a.queue).number_or_text("priority", a.priority);
  body.number_or_text("max_retries", a.max_retries);
  if (!a.delay.empty() && !a.at.empty())
    return std::unexpected(bad_argument("--delay and --at exclude one another"));
  const auto later = later_argument(a.at, "--at");
  if (!later) return std::unexpected(later.error());
  body.duration("delay", a.delay.empty() ? later->delay : a.delay);
  body.text("scheduled_at", later->at).text("unique_key", a.unique_key);
  body.duration("unique_period", a.unique_period).text("group", a.group);
  body.duration("lease_duration", a.lease).duration("expire_after", a.expire);
  body.duration("timeout", a.timeout);
  body.text("retry_backoff", a.backoff).texts("depends_on", a.after);
  if (!a.tags.empty()) {
    const auto tags = tags_argument(a.tags);
    if (!tags) return std::unexpected(tags.error());
    body.raw("tags", *tags);
  }
  for (const auto& pair : a.set) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos || !client::is_json(pair.substr(equals + 1)))
      return std::unexpected(bad_argument("--set: \"" + pair + "\" is not FIELD=JSON"));
    body.raw(pair.substr(0, equals), pair.substr(equals + 1));
  }
  return body;
}

struct SentLines {
  std::int64_t made = 0, there = 0;  ///< those that met a unique key which is held
};

std::string told(const SentLines& sent) {
  std::string out = job_count(sent.made) + " enqueued";
  if (sent.there > 0)
    out += ", " + count(sent.there) + (sent.there == 1 ? " was" : " were") + " there already";
  return out;
}

int send_lines(Session& session, const std::vector<std::string>& jobs, SentLines& sent) {
  std::string body = "{\"jobs\":[";
  for (const auto& job : jobs) body += (body.back() == '[' ? "" : ",") + job;
  auto answer = session.call({.method = "POST",
                              .target = "/api/v1/enqueue/batch",
                              .body = body + "]}",
                              .headers = {{"Idempotency-Key", client::new_idempotency_key()}}});
  if (!answer) {
    session.note(told(sent) + " before that");
    return session.fail(answer.error());
  }
  const auto& ids = (*answer)["job_ids"].items();
  std::vector<bool> there(ids.size(), false);
  for (const auto& position : (*answer)["duplicates"].items())
    if (const auto at = static_cast<std::size_t>(position.integer()); at < there.size())
      there[at] = true;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (session.json()) {
      fmt::print("{{\"job_id\":{}{},\"unique_existing\":{}}}\n", ids[i].raw(),
                 there[i] ? ",\"status\":\"duplicate\"" : "", there[i] ? "true" : "false");
    } else {
      fmt::print("{}\n", ids[i].text());
    }
    ++(there[i] ? sent.there : sent.made);
  }
  return kDone;
}

/// Each line of standard input is the payload of one job.
int enqueue_lines(Session& session, const Body& body) {
  std::vector<std::string> jobs;
  SentLines sent;
  std::string line;
  for (std::size_t number = 1; std::getline(std::cin, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (!client::is_json(line)) {
      session.note(told(sent) + " before that");
      return session.usage(fmt::format("line {} of standard input is not JSON", number));
    }
    Body job = body;
    jobs.push_back(job.raw("payload", line).str());
    if (jobs.size() < kLinesARequest) continue;
    if (const int code = send_lines(session, jobs, sent); code != kDone) return code;
    jobs.clear();
  }
  if (!jobs.empty())
    if (const int code = send_lines(session, jobs, sent); code != kDone) return code;
  session.note(told(sent));
  return kDone;
}

int enqueue(Session& session, const EnqueueArguments& a) {
  auto body = body_of(a);
  if (!body) return session.fail(body.error());
  if (a.lines) return enqueue_lines(session, *body);
  const auto payload = json_argument(a.payload, "payload");
  if (!payload) return session.fail(payload.error());
  body->raw("payload", *payload);
  auto answer = session.call({.method = "POST",
                              .target = "/api/v1/enqueue",
                              .body = body->str(),
                              .headers = {{"Idempotency-Key", client::new_idempotency_key()}}});
  if (!answer) return session.fail(answer.error());
  if (session.json()) {
    print_json(answer->raw());
    return kDone;
  }
  fmt::print("{}\n", (*answer)["job_id"].text());
  const std::string status = (*answer)["status"].text();
  if (status == "duplicate")
    session.note("a live job holds this unique key; nothing was enqueued, this is its id");
  if (status == "waiting" || status == "scheduled") session.note(status);
  return kDone;
}

void print_errors(const client::Json& errors) {
  if (errors.items().empty()) return;
  fmt::print("\nErrors:\n");
  for (const auto& error : errors.items()) {
    fmt::print("  attempt {}, {}: {}\n", error["attempt"].text(), ago(error["at"].text()),
               printable(error["error"].text()));
    const std::string trace = error["backtrace"].text();
    if (!trace.empty()) fmt::print("    {}\n", printable(trace));
  }
}

void print_job(const Session& session, const client::Document& job) {
  Facts facts;
  const std::string state = job["state"].text();
  facts.add("id", job["id"].text(), Style::bold);
  facts.add("queue", job["queue"].text());
  facts.add("state", state, style_of_state(state));
  facts.add("attempt", job["attempt"].text() + " of " + job["max_retries"].text());
  facts.add("priority", job["priority"].text());
  facts.add("created", job["created_at"].text() + "  " + ago(job["created_at"].text()));
  for (const char* name : {"scheduled_at", "next_attempt_at", "started_at", "ended_at", "expire_at",
                           "lease_expires_at"})
    if (!job[name].is_null()) facts.add(name, job[name].text() + "  " + ago(job[name].text()));
  for (const char* name : {"end_reason", "cancel_requested", "unique_key", "group", "batch_id",
                           "schedule_id", "depends_on", "waiting_on", "tags", "roles",
                           "required_tags", "target_worker", "max_runtime", "timeout", "progress"})
    facts.add_if(name, job[name]);
  if (job["worker"].is_object())
    facts.add("worker", job["worker"]["id"].text() + " on " + job["worker"]["hostname"].text("–"));
  facts.print(session);
  for (const char* name : {"payload", "result", "checkpoint"})
    if (!job[name].is_null()) fmt::print("\n{}: {}\n", name, indented(job[name]));
  print_errors(job["errors"]);
  if (!job["timeline"].items().empty()) {
    fmt::print("\nTimeline:\n");
    for (const auto& event : job["timeline"].items()) {
      std::string what = event["event"].text();
      std::replace(what.begin(), what.end(), '_', ' ');
      fmt::print("  {}  {}{}\n", event["at"].text(), printable(what),
                 event["detail"].is_null() ? "" : ": " + printable(event["detail"].text()));
    }
  }
}

std::string path_of(const std::string& id) { return "/api/v1/jobs/" + encoded(id); }

int show_answer(Session& session, const client::Result<client::Document>& answer,
                const std::string& done) {
  if (!answer) return session.fail(answer.error());
  if (session.json()) {
    print_json(answer->raw());
  } else {
    fmt::print("{}\n", done.empty() ? (*answer)["status"].text() : done);
  }
  return kDone;
}

int delete_job(Session& session, const std::string& id) {
  if (session.must_ask()) {
    const auto job = session.get(path_of(id));
    if (!job) return session.fail(job.error());
    if (!session.confirm(fmt::format("Delete the {} job {} of {}?", (*job)["state"].text(), id,
                                     (*job)["queue"].text())))
      return kDeclined;
  }
  const auto answer = session.call({.method = "DELETE", .target = path_of(id)});
  return show_answer(session, answer, "deleted");
}

int why(Session& session, const std::string& id) {
  const auto answer = session.get(path_of(id) + "/why");
  if (!answer) return session.fail(answer.error());
  if (session.json()) {
    print_json(answer->raw());
    return kDone;
  }
  const std::string state = (*answer)["state"].text();
  fmt::print("{} is {}\n", printable(id), state);
  for (const auto& reason : (*answer)["reasons"].items()) {
    fmt::print("  {}: {}", printable(reason["code"].text()), printable(reason["detail"].text()));
    if (!reason["until"].is_null()) fmt::print(" ({})", ago(reason["until"].text()));
    if (!reason["jobs"].items().empty()) fmt::print(" {}", reason["jobs"].raw());
    fmt::print("\n");
  }
  if ((*answer)["reasons"].items().empty() && state == "pending") fmt::print("  it is next\n");
  return kDone;
}

void add_enqueue(Commands& commands) {
  auto a = std::make_shared<EnqueueArguments>();
  CLI::App* c =
      commands.add(commands.app(), "enqueue", "Enqueue a job",
                   "  jobbie enqueue emails.send '{\"to\": \"user@example.com\"}'\n"
                   "  jobbie enqueue reports @report.json --delay 10m --unique-key daily\n"
                   "  jobbie enqueue reports --at 2026-12-24 --tag tenant=acme-corp\n"
                   "  cat payloads.ndjson | jobbie enqueue emails.send --lines");
  c->add_option("queue", a->queue, "Queue")->required();
  c->add_option("payload", a->payload, "JSON, @FILE, or - for standard input");
  c->add_option("--priority", a->priority, "critical, high, normal or a number (lower first)");
  c->add_option("--max-retries", a->max_retries, "Most attempts");
  c->add_option("--backoff", a->backoff, "none, fixed, linear or exponential");
  c->add_option("--delay", a->delay, "Not before this much time has passed (10m)");
  c->add_option("--at", a->at, "Not before this time, or as --delay");
  c->add_option("--expire-after", a->expire, "Dead unless completed by then");
  c->add_option("--lease", a->lease, "How long a claim lasts without a heartbeat");
  c->add_option("--job-timeout", a->timeout, "Of one attempt");
  c->add_option("--unique-key", a->unique_key, "One live job for each key");
  c->add_option("--unique-period", a->unique_period, "The key is free after this time");
  c->add_option("--group", a->group, "Group");
  c->add_option("--tag", a->tags, "NAME=TEXT or NAME:=JSON")->take_all()->allow_extra_args(false);
  c->add_option("--after", a->after, "Id of a job that must end first")
      ->take_all()
      ->allow_extra_args(false);
  c->add_option("--set", a->set, "Any other field, FIELD=JSON")
      ->take_all()
      ->allow_extra_args(false);
  c->add_flag("--lines", a->lines, "Each line of standard input is a payload");
  commands.on(c, [a](Session& session) { return enqueue(session, *a); });
}

CLI::App* add_for_job(Commands& commands, const std::string& name, const std::string& description,
                      const std::string& examples,
                      const std::function<int(Session&, const std::string&)>& action) {
  auto id = std::make_shared<std::string>();
  CLI::App* c = commands.add(commands.app(), name, description, examples);
  c->add_option("job-id", *id, "Job")->required();
  commands.on(c, [id, action](Session& session) { return action(session, *id); });
  return c;
}

void add_move(Commands& commands) {
  struct Arguments {
    std::string queue;
    bool keep_attempts = false, keep_priority = false;
  };
  auto a = std::make_shared<Arguments>();
  CLI::App* c = add_for_job(
      commands, "move", "Move a job to another queue", "  jobbie move job_01… emails.legacy",
      [a](Session& session, const std::string& id) {
        Body body;
        body.text("queue", a->queue);
        if (a->keep_attempts) body.raw("reset_attempts", "false");
        if (a->keep_priority) body.raw("keep_priority", "true");
        return show_answer(session, session.post(path_of(id) + "/move", body.str()),
                           "moved to " + a->queue);
      });
  c->add_option("target-queue", a->queue, "Queue")->required();
  c->add_flag("--keep-attempts", a->keep_attempts, "Go on counting attempts");
  c->add_flag("--keep-priority", a->keep_priority, "Instead of normal");
}

}  // namespace

void add_job_commands(Commands& commands) {
  add_enqueue(commands);
  add_for_job(commands, "inspect", "Show everything about a job", "  jobbie inspect job_01…",
              [](Session& session, const std::string& id) {
                const auto job = session.get(path_of(id));
                if (!job) return session.fail(job.error());
                if (session.json()) {
                  print_json(job->raw());
                } else {
                  print_job(session, *job);
                }
                return kDone;
              });
  add_for_job(commands, "why", "Say why a job is not running", "  jobbie why job_01…", why);
  auto payload = std::make_shared<std::string>();
  CLI::App* retry = add_for_job(
      commands, "retry", "Start an ended job anew, attempts from 0",
      "  jobbie retry job_01…\n  jobbie retry job_01… --payload '{\"to\": \"right@example.com\"}'",
      [payload](Session& session, const std::string& id) {
        Body body;
        if (!payload->empty()) {
          const auto json = json_argument(*payload, "payload");
          if (!json) return session.fail(json.error());
          body.raw("payload", *json);
        }
        return show_answer(session, session.post(path_of(id) + "/retry", body.str()), "");
      });
  retry->add_option("--payload", *payload, "Another payload: JSON, @FILE or -");
  add_for_job(commands, "requeue", "Give a dead job one more attempt", "  jobbie requeue job_01…",
              [](Session& session, const std::string& id) {
                return show_answer(session, session.post(path_of(id) + "/requeue"), "");
              });
  add_for_job(commands, "cancel", "Cancel a job; an active one is asked to stop",
              "  jobbie cancel job_01…", [](Session& session, const std::string& id) {
                return show_answer(session, session.post(path_of(id) + "/cancel"), "");
              });
  add_move(commands);
  auto priority = std::make_shared<std::string>();
  CLI::App* change = add_for_job(
      commands, "priority", "Change the priority of a job", "  jobbie priority job_01… critical",
      [priority](Session& session, const std::string& id) {
        Body body;
        body.number_or_text("priority", *priority);
        return show_answer(session, session.post(path_of(id) + "/priority", body.str()),
                           "priority " + *priority);
      });
  change->add_option("priority", *priority, "critical, high, normal or a number")->required();
  commands.add_yes(add_for_job(commands, "delete", "Delete a job, whatever its state",
                               "  jobbie delete job_01…", delete_job));
}

}  // namespace jobbie::cli
