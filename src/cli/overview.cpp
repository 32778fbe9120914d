// How things are: status, workers, stats, errors.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/pages.hpp"
#include "cli/print.hpp"
#include "cli/times.hpp"
#include "client/url.hpp"

namespace jobbie::cli {
namespace {

/// How long something has been there.
std::string age(const std::string& since) {
  const std::string text = ago(since);
  return text.ends_with(" ago") ? text.substr(0, text.size() - 4) : "0s";
}

struct Totals {
  std::int64_t queues = 0, paused = 0, pending = 0, active = 0, retrying = 0, dead = 0,
               scheduled = 0;
  double enqueued = 0, completed = 0, failed = 0;
};

void add_queue(Totals& totals, const client::Json& queue) {
  ++totals.queues;
  totals.paused += queue["paused"].boolean() ? 1 : 0;
  totals.pending += queue["pending"].integer();
  totals.active += queue["active"].integer();
  totals.retrying += queue["retrying"].integer();
  totals.scheduled += queue["scheduled"].integer();
  totals.dead += queue["dead"].integer();
  totals.enqueued += queue["rates"]["enqueued"].number();
  totals.completed += queue["rates"]["completed"].number();
  totals.failed += queue["rates"]["failed"].number();
}

int status(Session& session) {
  const auto cluster = session.get("/api/v1/cluster/status");
  if (!cluster) return session.fail(cluster.error());
  Totals totals;
  std::string rows;
  std::string cursor;
  do {
    const auto page = session.get("/api/v1/queues" +
                                  (cursor.empty() ? "" : "?cursor=" + client::encoded(cursor)));
    if (!page) return session.fail(page.error());
    for (const auto& queue : (*page)["queues"].items()) {
      add_queue(totals, queue);
      rows += (rows.empty() ? "" : ",") + std::string(queue.raw());
    }
    cursor = (*page)["has_more"].boolean() ? (*page)["cursor"].text() : "";
  } while (!cursor.empty());
  if (session.json()) {
    print_json(fmt::format("{{\"cluster\":{},\"queues\":[{}]}}", cluster->raw(), rows));
    return kDone;
  }
  Facts facts;
  const std::string role = (*cluster)["role"].text();
  facts.add("server",
            fmt::format("{}, {} node{}, up {}", role, (*cluster)["nodes"].items().size(),
                        (*cluster)["nodes"].items().size() == 1 ? "" : "s",
                        age((*cluster)["started_at"].text())),
            role == "leader" ? Style::good : Style::plain);
  facts.add("queues",
            fmt::format("{}{}", count(totals.queues),
                        totals.paused > 0 ? fmt::format(", {} paused", totals.paused) : ""));
  facts.add("pending", count(totals.pending));
  facts.add("active", count(totals.active), totals.active > 0 ? Style::good : Style::plain);
  facts.add("scheduled", count(totals.scheduled));
  facts.add("retrying", count(totals.retrying), totals.retrying > 0 ? Style::warn : Style::plain);
  facts.add("dead", count(totals.dead), totals.dead > 0 ? Style::bad : Style::plain);
  facts.add("rates",
            fmt::format("{}/s enqueued, {}/s completed, {}/s failed", rate(totals.enqueued),
                        rate(totals.completed), rate(totals.failed)));
  facts.print(session);
  if ((*cluster)["disk_full"].boolean()) session.note("the disk is full");
  if ((*cluster)["memory_full"].boolean()) session.note("the memory is full: new jobs are refused");
  return kDone;
}

int list_workers(Session& session, const std::string& glob) {
  Table table({{.name = "WORKER", .whole = true},
               {"HOST"},
               {"ACTIVE", true},
               {"SEEN", true},
               {"STARTED", true},
               {"STATUS"},
               {"QUEUES"}});
  const std::string query = glob.empty() ? "" : "?glob=" + client::encoded(glob);
  const auto all =
      each_page(session, "/api/v1/workers" + query, "workers", [&](const client::Json& w) {
        std::string queues;
        for (const auto& queue : w["queues"].items())
          queues += (queues.empty() ? "" : " ") + queue.text();
        const std::string status = w["silent"].boolean()     ? "silent"
                                   : w["draining"].boolean() ? "draining"
                                                             : "";
        table.add({{w["id"].text()},
                   {w["hostname"].text("–")},
                   {count(w["active"].integer())},
                   {ago(w["last_heartbeat"].text())},
                   {ago(w["started_at"].text())},
                   {status, Style::warn},
                   {queues}});
      });
  if (!all) return session.fail(all.error());
  if (session.json()) return kDone;
  if (table.empty() && !glob.empty()) {
    session.note("no worker matches " + glob);
  } else if (table.empty()) {
    session.note("No workers have been heard of. Start one: jobbie work QUEUE -- COMMAND");
  } else {
    table.print(session);
  }
  return kDone;
}

std::string newest(const client::Json& column) {
  for (auto at = column.items().rbegin(); at != column.items().rend(); ++at)
    if (!at->is_null()) return length(at->integer());
  return "–";
}

int stats(Session& session, const std::string& queue, const std::string& since_text, bool minutes) {
  const auto since = time_argument(since_text, "--since");
  if (!since) return session.fail(since.error());
  std::string target = fmt::format("/api/v1/stats?resolution={}&since={}",
                                   minutes ? "minute" : "second", client::encoded(*since));
  if (!queue.empty()) target += "&queue=" + client::encoded(queue);
  const auto answer = session.get(target);
  if (!answer) return session.fail(answer.error());
  if (session.json()) {
    print_json(answer->raw());
    return kDone;
  }
  const auto& s = *answer;
  Table table({{"WHAT"}, {"TOTAL", true}, {"PER SECOND", true}, {"BUSIEST STEP", true}});
  const double seconds =
      s["step_ms"].number(1000) / 1000 * static_cast<double>(s["points"].integer(1));
  for (const char* name : {"enqueued", "started", "completed", "failed", "dead", "cancelled"}) {
    std::int64_t sum = 0;
    std::int64_t most = 0;
    for (const auto& n : s[name].items()) {
      sum += n.integer();
      most = std::max(most, n.integer());
    }
    table.add({{name}, {count(sum)}, {rate(static_cast<double>(sum) / seconds)}, {count(most)}});
  }
  table.print(session);
  fmt::print("\nlatest wait  p50 {}  p95 {}  p99 {}\nlatest run   p50 {}  p95 {}  p99 {}\n",
             newest(s["wait_ms"]["p50"]), newest(s["wait_ms"]["p95"]), newest(s["wait_ms"]["p99"]),
             newest(s["run_ms"]["p50"]), newest(s["run_ms"]["p95"]), newest(s["run_ms"]["p99"]));
  session.note(fmt::format("{} of {}, since {}", minutes ? "by the minute" : "by the second",
                           queue.empty() ? "all queues" : queue, s["since"].text()));
  return kDone;
}

int errors(Session& session, const std::string& queue, std::int64_t limit) {
  std::string target = fmt::format("/api/v1/errors?limit={}", limit);
  if (!queue.empty()) target += "&queue=" + client::encoded(queue);
  const auto answer = session.get(target);
  if (!answer) return session.fail(answer.error());
  if (session.json()) {
    print_ndjson((*answer)["groups"]);
    return kDone;
  }
  Table table({{.name = "FINGERPRINT", .whole = true},
               {"QUEUE"},
               {"COUNT", true},
               {"DEAD", true},
               {"LAST", true},
               {"ERROR"}});
  for (const auto& group : (*answer)["groups"].items())
    table.add(
        {{group["fingerprint"].text()},
         {group["queue"].text()},
         {count(group["count"].integer())},
         {count(group["dead"].integer()), group["dead"].integer() > 0 ? Style::bad : Style::dim},
         {ago(group["last_seen"].text())},
         {group["error"].text()}});
  if (table.empty()) {
    session.note("no dead or retrying jobs");
  } else {
    table.print(session);
  }
  if (!(*answer)["complete"].boolean(true)) session.note("there are more than were looked at");
  return kDone;
}

void add_stats(Commands& commands) {
  struct Arguments {
    std::string queue, since = "15m";
    bool minutes = false;
  };
  auto a = std::make_shared<Arguments>();
  CLI::App* c = commands.add(commands.app(), "stats", "Show rates and latencies",
                             "  jobbie stats\n  jobbie stats emails.send --since 24h --minutes");
  c->add_option("queue", a->queue, "One queue");
  c->add_option("--since", a->since, "From then on (15m)");
  c->add_flag("--minutes", a->minutes, "By the minute: reaches back 72 hours");
  commands.on(c, [a](Session& session) { return stats(session, a->queue, a->since, a->minutes); });
}

}  // namespace

void add_overview_commands(Commands& commands) {
  CLI::App* s = commands.add(commands.app(), "status", "Show the server and all queues in short",
                             "  jobbie status\n  jobbie status --output json | jq .cluster.role");
  commands.on(s, status);
  auto glob = std::make_shared<std::string>();
  CLI::App* workers = commands.add(commands.app(), "workers", "List workers", "  jobbie workers");
  workers->add_option("pattern", *glob, "Only those whose id matches");
  commands.on(workers, [glob](Session& session) { return list_workers(session, *glob); });
  add_stats(commands);
  auto queue = std::make_shared<std::string>();
  auto limit = std::make_shared<std::int64_t>(100);
  CLI::App* e = commands.add(commands.app(), "errors", "Group the errors of dead and retrying jobs",
                             "  jobbie errors\n  jobbie errors --queue emails.send --output json");
  e->add_option("--queue", *queue, "One queue");
  e->add_option("--limit", *limit, "Most groups")->check(CLI::Range(1, 1000));
  commands.on(e, [queue, limit](Session& session) { return errors(session, *queue, *limit); });
}

}  // namespace jobbie::cli
