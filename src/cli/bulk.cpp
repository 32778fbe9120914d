// `bulk`: one action on many jobs, from a pipe or by a filter.
#include <iostream>
#include <memory>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/filters.hpp"
#include "cli/ids.hpp"
#include "cli/pages.hpp"
#include "cli/print.hpp"
#include "cli/progress.hpp"
#include "cli/times.hpp"
#include "client/url.hpp"

namespace jobbie::cli {
namespace {

constexpr std::size_t kIdsARequest = 10'000;
constexpr std::chrono::milliseconds kBulkLook{300};

struct BulkArguments {
  std::string action;
  std::string target;    ///< of move
  std::string priority;  ///< of change_priority
  Filters filters;
  bool all = false, dry_run = false, detach = false;
};

struct Tally {
  std::int64_t affected = 0, skipped = 0, errors = 0;
  std::string first_errors;
  void add(const client::Document& answer) {
    affected += answer["affected"].integer();
    skipped += answer["skipped"].integer();
    errors += answer["errors"].integer();
    for (const auto& error : answer["first_errors"].items())
      first_errors += (first_errors.empty() ? "" : ",") + std::string(error.raw());
  }
};

Body bulk_body(const BulkArguments& a, bool dry_run) {
  Body body;
  body.text("action", a.action).text("move_to_queue", a.target);
  body.number_or_text("priority", a.priority);
  if (dry_run) body.raw("dry_run", "true");
  return body;
}

int report_bulk(Session& session, const BulkArguments& a, const Tally& tally) {
  if (session.json()) {
    fmt::print(
        "{{\"action\":\"{}\",\"affected\":{},\"skipped\":{},\"errors\":{},\"dry_run\":{},"
        "\"first_errors\":[{}]}}\n",
        a.action, tally.affected, tally.skipped, tally.errors, a.dry_run, tally.first_errors);
  } else {
    fmt::print("{} {}", a.dry_run ? "would affect" : "affected", job_count(tally.affected));
    if (tally.skipped > 0) fmt::print(", skipped {} in another state", count(tally.skipped));
    if (tally.errors > 0) fmt::print(", {} errors", count(tally.errors));
    fmt::print("\n");
    if (const auto list = client::Document::parse("[" + tally.first_errors + "]"))
      for (const auto& error : list->root().items())
        session.note(error["job_id"].text() + ": " + printable(error["detail"].text()));
  }
  return tally.errors > 0 ? kPartly : kDone;
}

/// Follows an operation that the server works off by itself.
int follow_bulk(Session& session, BulkArguments a, const std::string& id) {
  const std::string path = "/api/v1/bulk/" + client::encoded(id);
  std::optional<Progress> bar;
  Reconnect reconnect;
  while (true) {
    const auto state = session.get(path);
    if (!state) {
      if (reconnect.again(&state.error())) continue;
      return session.fail(state.error());
    }
    reconnect.reached();
    a.action = (*state)["action"].text(a.action);
    const std::string status = (*state)["status"].text();
    if (!bar) bar.emplace(session, a.action, (*state)["estimated_total"].integer());
    bar->at((*state)["processed"].integer());
    if (status == "processing" || status == "pending") {
      std::this_thread::sleep_for(kBulkLook);
      continue;
    }
    bar->finish();
    Tally tally;
    tally.add(*state);
    const int code = report_bulk(session, a, tally);
    if (status == "completed") return code;
    session.note("the operation was " + status + ": " + (*state)["reason"].text("by request"));
    return kPartly;
  }
}

int bulk_by_filter(Session& session, const BulkArguments& a, const std::string& filter) {
  if (filter == "{}" && !a.all)
    return session.usage("this filter matches every job there is; say --all if you mean that");
  if (a.dry_run || session.must_ask()) {
    const auto would =
        session.post("/api/v1/jobs/bulk", bulk_body(a, true).raw("filter", filter).str());
    if (!would) return session.fail(would.error());
    Tally tally;
    tally.add(*would);
    BulkArguments shown = a;
    shown.dry_run = true;
    if (a.dry_run) return report_bulk(session, shown, tally);
    if (!session.confirm(fmt::format("{} {}?", a.action, job_count(tally.affected))))
      return kDeclined;
  }
  const auto answer = session.call({.method = "POST",
                                    .target = "/api/v1/jobs/bulk",
                                    .body = bulk_body(a, false).raw("filter", filter).str(),
                                    .timeout = std::chrono::minutes(5)});
  if (!answer) return session.fail(answer.error());
  const std::string id = (*answer)["bulk_operation_id"].text();
  if (!id.empty() && (*answer)["status"].text() == "processing") {
    if (!a.detach) return follow_bulk(session, a, id);
    fmt::print("{}\n", session.json() ? json_text(answer->raw()) : id);
    return kDone;
  }
  Tally tally;
  tally.add(*answer);
  return report_bulk(session, a, tally);
}

int bulk_by_ids(Session& session, const BulkArguments& a) {
  // All of the list is read before anything is done: half a list would be a surprise.
  const auto ids = read_ids(std::cin);
  if (!ids) return session.fail(ids.error());
  Tally tally;
  {
    Progress bar(session, a.action, static_cast<std::int64_t>(ids->size()));
    for (std::size_t begin = 0; begin < ids->size(); begin += kIdsARequest) {
      const std::size_t end = std::min(begin + kIdsARequest, ids->size());
      Body body = bulk_body(a, a.dry_run);
      body.texts("job_ids", {ids->begin() + static_cast<std::ptrdiff_t>(begin),
                             ids->begin() + static_cast<std::ptrdiff_t>(end)});
      const auto answer = session.call({.method = "POST",
                                        .target = "/api/v1/jobs/bulk",
                                        .body = body.str(),
                                        .timeout = std::chrono::minutes(5)});
      if (!answer) {
        bar.finish();
        if (begin > 0) session.note(fmt::format("{} done before that", job_count(tally.affected)));
        return session.fail(answer.error());
      }
      tally.add(*answer);
      bar.at(static_cast<std::int64_t>(end));
    }
  }
  if (ids->empty()) session.note("no jobs on standard input");
  return report_bulk(session, a, tally);
}

int bulk(Session& session, const BulkArguments& a) {
  const auto filter = filter_json(a.filters);
  if (!filter) return session.fail(filter.error());
  if (*filter != "{}" || !a.filters.filter.empty() || a.all)
    return bulk_by_filter(session, a, *filter);
  if (session.in_is_terminal())
    return session.usage("which jobs? Pipe a search into it, or give --filter or its flags");
  return bulk_by_ids(session, a);
}

void add_bulk_action(Commands& commands, CLI::App& parent, const std::string& name,
                     const std::string& action, const std::string& description,
                     const std::string& examples) {
  auto a = std::make_shared<BulkArguments>();
  a->action = action;
  CLI::App* c = commands.add(parent, name, description, examples);
  if (action == "move") c->add_option("target-queue", a->target, "Queue")->required();
  if (action == "change_priority")
    c->add_option("new-priority", a->priority, "critical, high, normal or a number")->required();
  add_filters(c, a->filters);
  c->add_flag("--all", a->all, "Every job there is");
  c->add_flag("--dry-run", a->dry_run, "Only say what would happen");
  c->add_flag("--detach", a->detach, "Do not wait for a long operation");
  commands.add_yes(c);
  commands.on(c, [a](Session& session) { return bulk(session, *a); });
}

int list_operations(Session& session) {
  Table table({kIdColumn, {"ACTION"}, {"STATUS"}, {"DONE", true}, {"OF", true}, {"STARTED", true}});
  const auto all =
      each_page(session, "/api/v1/bulk", "bulk_operations", [&](const client::Json& each) {
        table.add({{each["bulk_operation_id"].text()},
                   {each["action"].text()},
                   {each["status"].text()},
                   {count(each["processed"].integer())},
                   {count(each["estimated_total"].integer())},
                   {ago(each["created_at"].text())}});
      });
  if (!all) return session.fail(all.error());
  if (!session.json()) table.print(session);
  return kDone;
}

}  // namespace

void add_bulk_commands(Commands& commands) {
  CLI::App* c = commands.add(
      commands.app(), "bulk", "Do something with many jobs",
      "  jobbie search --queue emails.send --state dead | jobbie bulk retry\n"
      "  jobbie search --queue old.queue --state pending | jobbie bulk move new.queue\n"
      "  jobbie bulk retry --filter '{\"queue\":\"emails.send\",\"state\":[\"dead\"]}'\n"
      "  jobbie bulk delete --state completed --created-before 7d --dry-run");
  c->require_subcommand(1);
  add_bulk_action(
      commands, *c, "retry", "retry", "Start ended jobs anew",
      "  jobbie search --state dead | jobbie bulk retry\n"
      "  jobbie bulk retry --filter '{\"queue\":\"emails.send\",\"state\":[\"dead\"]}'");
  add_bulk_action(commands, *c, "requeue", "requeue", "Give dead jobs one more attempt",
                  "  jobbie bulk requeue --queue emails.send --state dead");
  add_bulk_action(commands, *c, "cancel", "cancel", "Cancel jobs that have not ended",
                  "  jobbie bulk cancel --tag tenant=acme-corp --state pending");
  add_bulk_action(commands, *c, "move", "move", "Move jobs to another queue",
                  "  jobbie search --queue old.queue --state pending | jobbie bulk move new.queue");
  add_bulk_action(commands, *c, "change-priority", "change_priority", "Change the priority of jobs",
                  "  jobbie bulk change-priority critical --tag tenant=acme-corp --state pending");
  add_bulk_action(commands, *c, "delete", "delete", "Delete jobs",
                  "  jobbie search --payload-jq '.legacy == true' | jobbie bulk delete");
  CLI::App* list =
      commands.add(*c, "list", "Long operations that run or ran", "  jobbie bulk list");
  commands.on(list, list_operations);
  auto id = std::make_shared<std::string>();
  CLI::App* wait =
      commands.add(*c, "wait", "Follow a long operation", "  jobbie bulk wait bulk_01…");
  wait->add_option("bulk-id", *id, "Operation")->required();
  commands.on(wait,
              [id](Session& session) { return follow_bulk(session, {.action = "bulk"}, *id); });
  auto stopped = std::make_shared<std::string>();
  CLI::App* stop = commands.add(*c, "stop", "Stop a long operation; what is done stays done",
                                "  jobbie bulk stop bulk_01…");
  stop->add_option("bulk-id", *stopped, "Operation")->required();
  commands.on(stop, [stopped](Session& session) {
    const auto answer =
        session.call({.method = "DELETE", .target = "/api/v1/bulk/" + client::encoded(*stopped)});
    if (!answer) return session.fail(answer.error());
    fmt::print("{}\n", session.json() ? json_text(answer->raw()) : "stopped");
    return kDone;
  });
}

}  // namespace jobbie::cli
