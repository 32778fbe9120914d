// The nodes of a cluster: how they stand, and what changes them.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/print.hpp"
#include "cli/times.hpp"
#include "client/url.hpp"

namespace jobbie::cli {
namespace {

Style role_style(const std::string& role) {
  if (role == "leader") return Style::good;
  return role == "learner" ? Style::warn : Style::plain;
}

void print_nodes(Session& session, const client::Document& status) {
  Table table({{"NODE"},
               {"ROLE"},
               {"ADDRESS"},
               {"STATE"},
               {"LOG", true},
               {"LAG", true},
               {"ROUND TRIP", true}});
  for (const auto& node : status["nodes"].items()) {
    const bool connected = node["connected"].boolean();
    const bool self = node["self"].boolean();
    const auto matched = node["matched_index"];
    const auto lag = node["lag"];
    const auto trip = node["round_trip_ms"];
    table.add({{node["name"].text() + (self ? " *" : "")},
               {node["role"].text(), role_style(node["role"].text())},
               {node["address"].text()},
               {connected ? node["state"].text(self ? "here" : "connected") : "away",
                connected ? Style::plain : Style::bad},
               {matched.is_null() ? "–" : count(matched.integer())},
               {lag.is_null() ? "–" : count(lag.integer())},
               {trip.is_null() ? "–" : fmt::format("{:.2f} ms", trip.number())}});
  }
  table.print(session);
}

/// A clock that the server warns of as well.
void print_clock(Session& session, const client::Document& status) {
  constexpr std::int64_t kOffMs = 60'000;
  const auto off = status["clock_offset_ms"].integer();
  if (std::abs(off) < kOffMs) return;
  const auto text = fmt::format("the clock of {} is {} {} the log's time", status["node"].text(),
                                length(std::abs(off)), off > 0 ? "ahead of" : "behind");
  fmt::print("{}\n", styled(session, {text, Style::warn}));
}

int cluster_status(Session& session) {
  const auto status = session.get("/api/v1/cluster/status");
  if (!status) return session.fail(status.error());
  if (session.json()) {
    print_json(status->raw());
    return kDone;
  }
  const auto& s = *status;
  if (!s["nodes"].items().empty()) print_nodes(session, s);
  fmt::print(
      "\nterm {}, log applied to {}, stored to {}, durable to {}; live jobs: {}, waiting "
      "fetches: {}\n",
      s["term"].text(), count(s["applied_index"].integer()), count(s["stored_index"].integer()),
      count(s["durable_index"].integer()), count(s["live_jobs"].integer()),
      count(s["waiting_fetches"].integer()));
  const std::string role = s["role"].text();
  if (role == "forming")
    fmt::print("{}\n",
               styled(session, {"this node waits for the others, or to be taken in", Style::warn}));
  else if (role == "removed")
    fmt::print("{}\n", styled(session, {"this node was removed from the cluster", Style::bad}));
  else if (s["leader"].is_null())
    fmt::print("{}\n", styled(session, {"there is no leader", Style::bad}));
  else if (!s["healthy"].boolean())
    fmt::print("{}\n", styled(session, {"no majority of the nodes can be reached", Style::bad}));
  print_clock(session, s);
  if (s["disk_full"].boolean())
    fmt::print("{}\n", styled(session, {"the disk is full", Style::bad}));
  if (s["memory_full"].boolean())
    fmt::print("{}\n", styled(session, {"the memory is full: new jobs are refused", Style::bad}));
  return kDone;
}

int told(Session& session, const client::Result<client::Document>& answer,
         const std::string& done) {
  if (!answer) return session.fail(answer.error());
  if (session.json())
    print_json(answer->raw());
  else
    fmt::print("{}\n", done);
  return kDone;
}

int transfer(Session& session, const std::string& to) {
  const std::string body = to.empty() ? "{}" : fmt::format("{{\"to\":{}}}", client::quoted(to));
  return told(session, session.post("/api/v1/cluster/transfer", body),
              to.empty() ? "another node leads" : to + " leads");
}

int add_node(Session& session, const std::string& address) {
  const std::string body = fmt::format("{{\"address\":{}}}", client::quoted(address));
  return told(session, session.post("/api/v1/cluster/nodes", body),
              address + " belongs to the cluster; it votes when it has caught up");
}

int remove_node(Session& session, const std::string& name) {
  if (!session.confirm(fmt::format("Remove {} from the cluster for good?", name))) return kDeclined;
  client::Request request;
  request.method = "DELETE";
  request.target = "/api/v1/cluster/nodes/" + client::encoded(name);
  return told(session, session.call(std::move(request)), name + " removed");
}

}  // namespace

void add_cluster_commands(Commands& commands) {
  CLI::App* cluster =
      commands.add(commands.app(), "cluster", "The nodes of the cluster",
                   "  jobbie cluster status\n  jobbie cluster transfer --to jobbie-1\n"
                   "  jobbie cluster add jobbie-3:9400\n  jobbie cluster remove jobbie-0\n"
                   "  jobbie cluster recover --data-dir /var/lib/jobbie --yes");
  cluster->require_subcommand(1);
  commands.on(commands.add(*cluster, "status", "Show nodes, roles and replication lag",
                           "  jobbie cluster status"),
              cluster_status);
  auto to = std::make_shared<std::string>();
  CLI::App* t = commands.add(*cluster, "transfer", "Hand leadership to another node",
                             "  jobbie cluster transfer\n  jobbie cluster transfer --to jobbie-1");
  t->add_option("--to", *to, "The node; without it whoever is best prepared");
  commands.on(t, [to](Session& session) { return transfer(session, *to); });
  auto address = std::make_shared<std::string>();
  CLI::App* a = commands.add(*cluster, "add", "Take a node in that was started empty",
                             "  jobbie cluster add jobbie-3:9400");
  a->add_option("address", *address, "HOST:PORT of its cluster port")->required();
  commands.on(a, [address](Session& session) { return add_node(session, *address); });
  auto name = std::make_shared<std::string>();
  CLI::App* r = commands.add(*cluster, "remove", "Remove a node for good",
                             "  jobbie cluster remove jobbie-0 --yes");
  r->add_option("node", *name, "Its name")->required();
  commands.add_yes(r);
  commands.on(r, [name](Session& session) { return remove_node(session, *name); });
  commands.on(commands.add(*cluster, "snapshot", "Make a copy of the state for nodes that lag",
                           "  jobbie cluster snapshot"),
              [](Session& session) {
                return told(session, session.post("/api/v1/cluster/snapshot"), "made");
              });
}

}  // namespace jobbie::cli
