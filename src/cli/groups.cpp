// Jobs that belong together: groups and batches.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/pages.hpp"
#include "cli/print.hpp"
#include "client/url.hpp"

namespace jobbie::cli {
namespace {

int list_groups(Session& session) {
  Table table({{"GROUP"},
               {"PENDING", true},
               {"ACTIVE", true},
               {"SCHEDULED", true},
               {"WAITING", true},
               {"RETRYING", true},
               {"STATUS"}});
  const auto all = each_page(session, "/api/v1/groups", "groups", [&](const client::Json& g) {
    table.add({{g["name"].text()},
               {count(g["pending"].integer())},
               {count(g["active"].integer())},
               {count(g["scheduled"].integer())},
               {count(g["waiting"].integer())},
               {count(g["retrying"].integer())},
               {g["paused"].boolean() ? "paused" : "", Style::warn}});
  });
  if (!all) return session.fail(all.error());
  if (!session.json() && table.empty()) session.note("no group has live jobs");
  if (!session.json() && !table.empty()) table.print(session);
  return kDone;
}

void add_group_action(Commands& commands, CLI::App& parent, const std::string& name,
                      const std::string& description, const std::string& question) {
  auto group = std::make_shared<std::string>();
  auto keep_active = std::make_shared<bool>(false);
  CLI::App* c =
      commands.add(parent, name, description, fmt::format("  jobbie groups {} acme", name));
  c->add_option("group", *group, "Group")->required();
  if (!question.empty()) commands.add_yes(c);
  if (name == "cancel") c->add_flag("--keep-active", *keep_active, "Leave running jobs alone");
  commands.on(c, [=](Session& session) {
    if (!question.empty() && !session.confirm(fmt::format("{} {}?", question, *group)))
      return kDeclined;
    const auto answer =
        session.post(fmt::format("/api/v1/groups/{}/{}", client::encoded(*group), name),
                     *keep_active ? R"({"include_active":false})" : "");
    if (!answer) return session.fail(answer.error());
    if (session.json()) {
      print_json(answer->raw());
    } else if ((*answer)["affected"].is_null()) {
      fmt::print("{}\n", (*answer)["status"].text());
    } else {
      fmt::print("{}\n", job_count((*answer)["affected"].integer()));
    }
    return kDone;
  });
}

int list_batches(Session& session, const std::string& status) {
  Table table({kIdColumn,
               {"STATUS"},
               {"TOTAL", true},
               {"DONE", true},
               {"FAILED", true},
               {"PENDING", true},
               {"CREATED", true},
               {"CALLBACK"}});
  const std::string query = status.empty() ? "" : "?status=" + client::encoded(status);
  const auto all =
      each_page(session, "/api/v1/batches" + query, "batches", [&](const client::Json& b) {
        table.add(
            {{b["id"].text()},
             {b["status"].text()},
             {count(b["total"].integer())},
             {count(b["succeeded"].integer())},
             {count(b["failed"].integer()), b["failed"].integer() > 0 ? Style::bad : Style::dim},
             {count(b["pending"].integer())},
             {ago(b["created_at"].text())},
             {b["callback_queue"].text()}});
      });
  if (!all) return session.fail(all.error());
  if (!session.json() && table.empty()) session.note("there are no batches");
  if (!session.json() && !table.empty()) table.print(session);
  return kDone;
}

}  // namespace

void add_group_commands(Commands& commands) {
  CLI::App* g = commands.add(commands.app(), "groups", "List groups of jobs, and work with them",
                             "  jobbie groups\n  jobbie groups pause acme");
  commands.on(g, list_groups);
  commands.on(commands.add(*g, "list", "List groups", "  jobbie groups list"), list_groups);
  add_group_action(commands, *g, "pause", "Give out no more jobs of a group", "");
  add_group_action(commands, *g, "resume", "Give them out again", "");
  add_group_action(commands, *g, "retry-failed", "Retry its dead jobs", "");
  add_group_action(commands, *g, "cancel", "Cancel its jobs", "Cancel all jobs of the group");

  auto status = std::make_shared<std::string>();
  CLI::App* b = commands.add(commands.app(), "batches", "List batches, or show one",
                             "  jobbie batches --status pending\n  jobbie batches show batch_01…");
  b->add_option("--status", *status, "pending or finished")
      ->check(CLI::IsMember({"pending", "finished"}));
  commands.on(b, [status](Session& session) { return list_batches(session, *status); });
  auto id = std::make_shared<std::string>();
  CLI::App* show = commands.add(*b, "show", "Show a batch", "  jobbie batches show batch_01…");
  show->add_option("batch-id", *id, "Batch")->required();
  commands.on(show, [id](Session& session) {
    const auto batch = session.get("/api/v1/batches/" + client::encoded(*id));
    if (!batch) return session.fail(batch.error());
    fmt::print("{}\n", session.json() ? json_text(batch->raw()) : indented(batch->root()));
    return kDone;
  });
}

}  // namespace jobbie::cli
