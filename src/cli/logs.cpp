// `logs`: what a job's worker wrote, and what it goes on writing.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/print.hpp"
#include "client/url.hpp"

namespace jobbie::cli {
namespace {

constexpr int kLogPage = 1000;

void print_line(const Session& session, const client::Json& line) {
  if (session.json()) {
    print_json(line.raw());
  } else {
    const std::string level = line["level"].text();
    const Style style = level == "error"     ? Style::bad
                        : level == "warning" ? Style::warn
                        : level == "debug"   ? Style::dim
                                             : Style::plain;
    fmt::print("{}  {:<7}  {}\n", line["at"].text(), printable(level),
               styled(session, {printable(line["message"].text()), style}));
  }
}

int follow_logs(Session& session, const std::string& path, std::int64_t offset) {
  auto opened = session.patient_client();
  if (!opened) return session.fail(opened.error());
  Reconnect reconnect(true);
  while (true) {
    bool ended = false;
    const auto stream = opened->stream(
        {.target = fmt::format("{}?follow=true&offset={}", path, offset)},
        [&](const client::Event& event) {
          const auto data = client::Document::parse(event.data);
          if (!data) return true;
          if (event.type == "end") {
            ended = true;
            session.note("the job is " + (*data)["state"].text());
            return false;
          }
          if (event.type != "log") return true;
          offset = (*data)["number"].integer(offset);
          print_line(session, data->root());
          std::fflush(stdout);
          return true;
        },
        [&] { reconnect.reached(); });
    if (ended) return kDone;
    if (!reconnect.again(stream ? nullptr : &stream.error())) return session.fail(stream.error());
  }
}

int show_logs(Session& session, const std::string& id, bool follow, std::int64_t tail) {
  const std::string path = "/api/v1/jobs/" + client::encoded(id) + "/logs";
  std::int64_t offset = 0;
  if (tail > 0) {
    const auto total = session.get(path + "?limit=1");
    if (!total) return session.fail(total.error());
    offset = std::max<std::int64_t>(0, (*total)["total"].integer() - tail);
  }
  while (true) {
    const auto page = session.get(fmt::format("{}?offset={}&limit={}", path, offset, kLogPage));
    if (!page) return session.fail(page.error());
    for (const auto& line : (*page)["lines"].items()) print_line(session, line);
    offset = (*page)["next_offset"].integer(offset);
    if ((*page)["has_more"].boolean()) continue;
    if (const auto dropped = (*page)["dropped"].integer(); dropped > 0 && tail == 0)
      session.note(fmt::format("{} older lines are gone", count(dropped)));
    break;
  }
  std::fflush(stdout);
  return follow ? follow_logs(session, path, offset) : kDone;
}

}  // namespace

void add_log_commands(Commands& commands) {
  struct Arguments {
    std::string id;
    bool follow = false;
    std::int64_t tail = 0;
  };
  auto a = std::make_shared<Arguments>();
  CLI::App* c = commands.add(commands.app(), "logs", "Show the log of a job",
                             "  jobbie logs job_01…\n  jobbie logs -f job_01… --tail 20");
  c->add_option("job-id", a->id, "Job")->required();
  c->add_flag("-f,--follow", a->follow, "Go on until the job has ended");
  c->add_option("--tail", a->tail, "Only so many of the latest lines")
      ->check(CLI::Range(1, 10'000));
  commands.on(c, [a](Session& session) { return show_logs(session, a->id, a->follow, a->tail); });
}

}  // namespace jobbie::cli
