// What happens, as it happens: `events` and `top`.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/print.hpp"
#include "client/url.hpp"
#include "tui/top.hpp"

namespace jobbie::cli {
namespace {

struct EventArguments {
  std::string queue, types, job_id, since;
  std::int64_t count = 0;
};

void print_event(const Session& session, const client::Event& event, const client::Json& data) {
  if (session.json()) {
    print_json(data.raw());
  } else {
    std::string detail;
    for (const auto& [name, value] : data.members())
      if (name != "type" && name != "at" && name != "job_id" && name != "queue" && !value.is_null())
        detail += "  " + name + "=" + value.text(value.raw());
    fmt::print(
        "{}  {}  {}  {}{}\n", data["at"].text(),
        styled(session, {fmt::format("{:<16}", printable(event.type)), style_of_state(event.type)}),
        data["job_id"].text("–"), printable(data["queue"].text("–")), printable(detail));
  }
  std::fflush(stdout);
}

int follow_events(Session& session, const EventArguments& a) {
  auto opened = session.patient_client();
  if (!opened) return session.fail(opened.error());
  std::string target = "/api/v1/events";
  char mark = '?';
  const auto parameter = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    target += mark + std::string(name) + "=" + client::encoded(value);
    mark = '&';
  };
  parameter("queue", a.queue);
  parameter("types", a.types);
  parameter("job_id", a.job_id);
  std::string last = a.since;
  std::int64_t seen = 0;
  // A server that was restarted answers again; the stream goes on where it was.
  Reconnect reconnect;
  while (true) {
    client::Request request{.target = target};
    if (!last.empty()) request.headers.emplace_back("Last-Event-ID", last);
    const auto ended = opened->stream(
        request,
        [&](const client::Event& event) {
          if (!event.id.empty()) last = event.id;
          if (const auto data = client::Document::parse(event.data))
            print_event(session, event, data->root());
          return a.count == 0 || ++seen < a.count;
        },
        [&] { reconnect.reached(); });
    if (a.count > 0 && seen >= a.count) return kDone;
    if (!reconnect.again(ended ? nullptr : &ended.error())) return session.fail(ended.error());
  }
}

/// What `top --once` shows, as the server tells it.
int print_top_json(Session& session) {
  std::string out;
  for (const auto& [name, target] : {std::pair{"cluster", "/api/v1/cluster/status"},
                                     {"queues", "/api/v1/queues?limit=1000"},
                                     {"workers", "/api/v1/workers?limit=1000"},
                                     {"stats", "/api/v1/stats?resolution=second"}}) {
    const auto answer = session.get(target);
    if (!answer) return session.fail(answer.error());
    const auto& list = (*answer)[name];
    out += fmt::format("{}\"{}\":{}", out.empty() ? "{" : ",", name,
                       list.is_array() ? list.raw() : answer->raw());
  }
  print_json(out + "}");
  return kDone;
}

}  // namespace

void add_watch_commands(Commands& commands) {
  auto a = std::make_shared<EventArguments>();
  CLI::App* c =
      commands.add(commands.app(), "events", "Watch what happens",
                   "  jobbie events\n  jobbie events --queue 'emails.*' --types completed,dead\n"
                   "  jobbie events --output json | jq -r .job_id");
  c->add_option("--queue", a->queue, "Queue or pattern");
  c->add_option("--types", a->types, "Kinds of events, with commas between");
  c->add_option("--job", a->job_id, "One job");
  c->add_option("--since", a->since, "Go on behind this event id");
  c->add_option("--count", a->count, "End after so many")->check(CLI::Range(1, 1'000'000'000));
  commands.on(c, [a](Session& session) { return follow_events(session, *a); });

  auto once = std::make_shared<bool>(false);
  CLI::App* top =
      commands.add(commands.app(), "top", "Watch queues, workers and jobs live",
                   "  jobbie top\n  jobbie top --once\n  jobbie top --once --output json\n"
                   "Keys: Tab or 1-4 view, arrows move, Enter opens, / filters, : commands, "
                   "? help, q quits");
  top->add_flag("--once", *once, "Print it once as text and end");
  commands.on(top, [once](Session& session) {
    if (session.json()) return print_top_json(session);
    auto client = session.patient_client();
    if (!client) return session.fail(client.error());
    const bool screen = !*once && session.out_is_terminal() && session.in_is_terminal();
    const auto shown = tui::top(
        *client,
        {.once = !screen, .color = session.color(), .columns = screen ? 0 : session.width()});
    return shown ? kDone : session.fail(shown.error());
  });
}

}  // namespace jobbie::cli
