// API keys: list, create, revoke.
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

std::string joined(const client::Json& list) {
  std::string out;
  for (const auto& each : list.items()) out += (out.empty() ? "" : ",") + each.text();
  return out;
}

int list_keys(Session& session) {
  Table table({kIdColumn, {"NAME"}, {"ENDS IN"}, {"SCOPES"}, {"CREATED", true}, {"QUEUES"}});
  const auto all = each_page(session, "/api/v1/keys", "keys", [&](const client::Json& key) {
    table.add({{key["id"].text()},
               {key["name"].text()},
               {key["last_four"].text()},
               {joined(key["scopes"])},
               {ago(key["created_at"].text())},
               {joined(key["queues"])}});
  });
  if (!all) return session.fail(all.error());
  if (!session.json() && table.empty()) session.note("there are no keys");
  if (!session.json() && !table.empty()) table.print(session);
  return kDone;
}

int create_key(Session& session, const std::string& name, const std::vector<std::string>& scopes,
               const std::vector<std::string>& queues) {
  Body body;
  body.text("name", name).texts("scopes", scopes).texts("queues", queues);
  const auto made = session.post("/api/v1/keys", body.str());
  if (!made) return session.fail(made.error());
  if (session.json()) {
    print_json(made->raw());
    return kDone;
  }
  fmt::print("{}\n", (*made)["secret"].text());
  session.note(
      "This is the only time that the key is shown. Keep it in a file, and use it with\n"
      "JOBBIE_TOKEN_FILE or --token-file.");
  return kDone;
}

}  // namespace

void add_key_commands(Commands& commands) {
  CLI::App* c =
      commands.add(commands.app(), "keys", "List API keys, and work with them",
                   "  jobbie keys\n  jobbie keys create mailer --scope produce --queue 'emails.*'");
  commands.on(c, list_keys);
  commands.on(commands.add(*c, "list", "List keys", "  jobbie keys list"), list_keys);
  struct Arguments {
    std::string name, id;
    std::vector<std::string> scopes, queues;
  };
  auto a = std::make_shared<Arguments>();
  CLI::App* create = commands.add(*c, "create", "Make a key and print it once",
                                  "  jobbie keys create mailer --scope produce --queue 'emails.*'\n"
                                  "  jobbie keys create ops --scope manage,work > ops.key");
  create->add_option("name", a->name, "Name")->required();
  create->add_option("--scope", a->scopes, "produce, work, manage or admin; several with commas")
      ->required()
      ->take_all()
      ->allow_extra_args(false)
      ->delimiter(',');
  create->add_option("--queue", a->queues, "Only these queues or patterns")
      ->take_all()
      ->allow_extra_args(false);
  commands.on(create,
              [a](Session& session) { return create_key(session, a->name, a->scopes, a->queues); });
  CLI::App* revoke =
      commands.add(*c, "revoke", "Make a key worthless", "  jobbie keys revoke key_01…");
  revoke->add_option("key-id", a->id, "Key")->required();
  commands.add_yes(revoke);
  commands.on(revoke, [a](Session& session) {
    if (!session.confirm("Revoke " + a->id + "? Whoever uses it is refused from now on."))
      return kDeclined;
    const auto answer =
        session.call({.method = "DELETE", .target = "/api/v1/keys/" + client::encoded(a->id)});
    if (!answer) return session.fail(answer.error());
    fmt::print("{}\n", session.json() ? json_text(answer->raw()) : "revoked");
    return kDone;
  });
}

}  // namespace jobbie::cli
