// Queues: list, show, pause, resume, clear, drain, destroy, and their settings.
#include <memory>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/duration.hpp"
#include "cli/commands.hpp"
#include "cli/pages.hpp"
#include "cli/print.hpp"
#include "cli/progress.hpp"
#include "cli/times.hpp"
#include "client/url.hpp"

namespace jobbie::cli {
namespace {

constexpr std::chrono::milliseconds kDrainLook{200};

std::string queue_path(const std::string& queue) {
  return "/api/v1/queues/" + client::encoded(queue);
}

int list_queues(Session& session, const std::string& glob) {
  Table table({{"QUEUE"},
               {"PENDING", true},
               {"ACTIVE", true},
               {"SCHEDULED", true},
               {"WAITING", true},
               {"RETRYING", true},
               {"DEAD", true},
               {"COMPLETED", true},
               {"DONE/S", true},
               {"OLDEST", true},
               {"STATUS"}});
  const std::string query = glob.empty() ? "" : "?glob=" + client::encoded(glob);
  const auto all =
      each_page(session, "/api/v1/queues" + query, "queues", [&](const client::Json& q) {
        const auto cell = [&](const char* name, Style style = Style::plain) {
          return Cell{count(q[name].integer()), q[name].integer() > 0 ? style : Style::dim};
        };
        const auto age = q["oldest_pending_age_ms"];
        const bool paused = q["paused"].boolean();
        const std::string status = q["draining"].boolean()   ? "draining"
                                   : paused                  ? "paused"
                                   : q["clearing"].boolean() ? "clearing"
                                                             : "";
        table.add({{q["name"].text()},
                   cell("pending"),
                   cell("active", Style::good),
                   cell("scheduled"),
                   cell("waiting"),
                   cell("retrying", Style::warn),
                   cell("dead", Style::bad),
                   cell("completed"),
                   {rate(q["rates"]["completed"].number())},
                   {age.is_null() ? "–" : length(age.integer())},
                   {status, Style::warn}});
      });
  if (!all) return session.fail(all.error());
  if (session.json()) return kDone;
  if (table.empty() && !glob.empty()) {
    session.note("no queue matches " + glob);
  } else if (table.empty()) {
    session.note(
        "There are no queues yet. A queue begins with its first job: jobbie enqueue test '{}'");
  } else {
    table.print(session);
  }
  return kDone;
}

int show_queue(Session& session, const std::string& name) {
  const auto queue = session.get(queue_path(name));
  if (!queue) return session.fail(queue.error());
  if (session.json()) {
    fmt::print("{}\n", queue->raw());
  } else {
    fmt::print("{}\n", indented(queue->root()));
  }
  return kDone;
}

/// Pause, resume and settings: the answer is short.
int change_queue(Session& session, const std::string& target, const std::string& done,
                 const std::string& body = {}, const std::string& method = "POST") {
  const auto answer = session.call({.method = method, .target = target, .body = body});
  if (!answer) return session.fail(answer.error());
  fmt::print("{}\n", session.json() ? std::string(answer->raw()) : done);
  return kDone;
}

int clear_queue(Session& session, const std::string& name, bool dry_run) {
  std::int64_t jobs = 0;
  if (dry_run || session.must_ask()) {
    const auto queue = session.get(queue_path(name));
    if (!queue) return session.fail(queue.error());
    for (const char* state : {"pending", "scheduled", "waiting", "retrying"})
      jobs += (*queue)[state].integer();
    if (dry_run) {
      if (session.json()) {
        fmt::print("{{\"queue\":{},\"affected\":{},\"dry_run\":true}}\n", client::quoted(name),
                   jobs);
      } else {
        fmt::print("{} would be deleted\n", job_count(jobs));
      }
      return kDone;
    }
    if (!session.confirm(fmt::format("Delete {} of {}, all that neither run nor have ended?",
                                     job_count(jobs), name)))
      return kDeclined;
  }
  const auto answer = session.post(queue_path(name) + "/clear");
  if (!answer) return session.fail(answer.error());
  if (session.json()) {
    fmt::print("{}\n", answer->raw());
  } else {
    fmt::print("{} deleted\n", job_count((*answer)["affected"].integer()));
  }
  return kDone;
}

/// Pauses and waits until nothing runs any more.
int drain_queue(Session& session, const std::string& name, const std::string& at_most,
                bool no_wait) {
  std::int64_t limit_ms = -1;
  if (!at_most.empty()) {
    const auto parsed = base::parse_duration(with_unit(at_most));
    if (!parsed) return session.usage("--wait is a duration such as 5m");
    limit_ms = parsed->ms;
  }
  auto answer = session.post(queue_path(name) + "/drain");
  if (!answer) return session.fail(answer.error());
  if (no_wait) {
    fmt::print("{}\n", session.json() ? std::string(answer->raw()) : "draining");
    return kDone;
  }
  const auto began = std::chrono::steady_clock::now();
  std::int64_t most = 0;
  std::optional<Progress> bar;
  Reconnect reconnect(true);
  while (true) {
    auto queue = session.get(queue_path(name));
    if (!queue) {
      if (reconnect.again(&queue.error())) continue;
      return session.fail(queue.error());
    }
    reconnect.reached();
    const std::int64_t active = (*queue)["active"].integer();
    if (!bar) {
      most = active;
      bar.emplace(session, "draining " + name, most);
    }
    if (active == 0) {
      bar->finish();
      fmt::print("{}\n", session.json() ? std::string(queue->raw()) : "drained");
      return kDone;
    }
    if (!(*queue)["draining"].boolean()) {
      bar->finish();
      session.note("somebody resumed the queue");
      return kConflict;
    }
    bar->at(std::max<std::int64_t>(0, most - active));
    if (limit_ms >= 0 &&
        std::chrono::steady_clock::now() - began > std::chrono::milliseconds(limit_ms)) {
      bar->finish();
      session.note(fmt::format("{} still running; the queue stays paused", job_count(active)));
      return kFailed;
    }
    std::this_thread::sleep_for(kDrainLook);
  }
}

int destroy_queue(Session& session, const std::string& name, bool confirmed) {
  if (!confirmed)
    return session.usage(
        fmt::format("destroying {} deletes the queue and all its jobs; say so: "
                    "jobbie destroy {} --confirm",
                    name, name));
  return change_queue(session, queue_path(name) + "?confirm=true", "destroyed", "", "DELETE");
}

CLI::App* add_for_queue(Commands& commands, const std::string& name, const std::string& description,
                        const std::string& examples,
                        const std::function<int(Session&, const std::string&)>& action) {
  auto queue = std::make_shared<std::string>();
  CLI::App* c = commands.add(commands.app(), name, description, examples);
  c->add_option("queue", *queue, "Queue")->required();
  commands.on(c, [queue, action](Session& session) { return action(session, *queue); });
  return c;
}

/// `jobbie limit QUEUE …`: concurrency, throttle, lease, retention, fairness.
void add_limits(Commands& commands) {
  struct Arguments {
    std::string concurrency, throttle, per, lease, completed, dead, cancelled, fairness;
  };
  auto a = std::make_shared<Arguments>();
  CLI::App* c = add_for_queue(
      commands, "limit", "Change the limits and other settings of a queue",
      "  jobbie limit payments --concurrency 3\n"
      "  jobbie limit emails.send --throttle 100/1m --per tags.tenant\n"
      "  jobbie limit emails.send --throttle none\n"
      "  jobbie limit reports --lease 10m --keep-completed 1d",
      [a](Session& session, const std::string& queue) {
        const std::string path = queue_path(queue);
        int done = 0;
        const auto set = [&](const std::string& what, const Body& body, bool none = false) {
          ++done;
          return change_queue(session, path + "/" + what, what + (none ? " removed" : " set"),
                              body.str());
        };
        Body body;
        if (!a->concurrency.empty()) {
          body.raw("max", a->concurrency == "none" ? "null" : client::quoted(a->concurrency));
          if (a->concurrency.find_first_not_of("0123456789") == std::string::npos)
            body = Body().raw("max", a->concurrency);
          if (const int code =
                  set("concurrency", body.text("per", a->per), a->concurrency == "none");
              code != kDone)
            return code;
        }
        if (a->throttle == "none") {
          ++done;
          const std::string query = a->per.empty() ? "" : "?per=" + client::encoded(a->per);
          if (const int code = change_queue(session, path + "/throttle" + query, "throttle removed",
                                            "", "DELETE");
              code != kDone)
            return code;
        } else if (!a->throttle.empty()) {
          const auto slash = a->throttle.find('/');
          if (slash == std::string::npos)
            return session.usage("--throttle is RATE/PERIOD, such as 100/1m, or none");
          Body throttle;
          throttle.number_or_text("rate", a->throttle.substr(0, slash));
          throttle.duration("period", a->throttle.substr(slash + 1)).text("per", a->per);
          if (const int code = set("throttle", throttle); code != kDone) return code;
        }
        if (!a->lease.empty()) {
          const bool none = a->lease == "none";
          const Body lease =
              none ? Body().raw("duration", "null") : Body().duration("duration", a->lease);
          if (const int code = set("lease", lease, none); code != kDone) return code;
        }
        Body keep;
        keep.duration("completed", a->completed).duration("dead", a->dead);
        keep.duration("cancelled", a->cancelled);
        if (!keep.empty())
          if (const int code = set("retention", keep); code != kDone) return code;
        if (!a->fairness.empty())
          if (const int code = set("fairness", Body().text("fairness", a->fairness)); code != kDone)
            return code;
        return done > 0 ? kDone : session.usage("say what to change: jobbie limit --help");
      });
  c->add_option("--concurrency", a->concurrency, "Most active jobs, or none");
  c->add_option("--throttle", a->throttle, "Most claims in a period: 100/1m, or none");
  c->add_option("--per", a->per, "For each value of group or tags.NAME");
  c->add_option("--lease", a->lease, "Of claims that ask for none; none: 60s again");
  c->add_option("--keep-completed", a->completed, "How long completed jobs are kept");
  c->add_option("--keep-dead", a->dead, "How long dead jobs are kept");
  c->add_option("--keep-cancelled", a->cancelled, "How long cancelled jobs are kept");
  c->add_option("--fairness", a->fairness, "priority or group");
}

}  // namespace

void add_queue_commands(Commands& commands) {
  auto glob = std::make_shared<std::string>();
  CLI::App* list = commands.add(commands.app(), "queues", "List queues with their counts",
                                "  jobbie queues\n  jobbie queues 'emails.*' --output json");
  list->add_option("pattern", *glob, "Only those that match (* any run, ? one)");
  commands.on(list, [glob](Session& session) { return list_queues(session, *glob); });
  add_for_queue(commands, "queue", "Show everything about a queue", "  jobbie queue emails.send",
                show_queue);
  add_for_queue(commands, "pause", "Give out no more jobs of a queue", "  jobbie pause emails.send",
                [](Session& session, const std::string& queue) {
                  return change_queue(session, queue_path(queue) + "/pause", "paused");
                });
  add_for_queue(commands, "resume", "Give out its jobs again", "  jobbie resume emails.send",
                [](Session& session, const std::string& queue) {
                  return change_queue(session, queue_path(queue) + "/resume", "resumed");
                });
  auto dry_run = std::make_shared<bool>(false);
  CLI::App* clear =
      add_for_queue(commands, "clear", "Delete all jobs of a queue that neither run nor have ended",
                    "  jobbie clear emails.send --dry-run\n  jobbie clear emails.send --yes",
                    [dry_run](Session& session, const std::string& queue) {
                      return clear_queue(session, queue, *dry_run);
                    });
  clear->add_flag("--dry-run", *dry_run, "Only count");
  commands.add_yes(clear);
  auto at_most = std::make_shared<std::string>();
  auto no_wait = std::make_shared<bool>(false);
  CLI::App* drain =
      add_for_queue(commands, "drain", "Pause a queue and wait until nothing of it runs",
                    "  jobbie drain emails.send\n  jobbie drain emails.send --wait 5m",
                    [at_most, no_wait](Session& session, const std::string& queue) {
                      return drain_queue(session, queue, *at_most, *no_wait);
                    });
  drain->add_option("--wait", *at_most, "Give up waiting after this time (the pause stays)");
  drain->add_flag("--no-wait", *no_wait, "Return at once");
  auto confirmed = std::make_shared<bool>(false);
  CLI::App* destroy = add_for_queue(commands, "destroy", "Delete a queue and all its jobs",
                                    "  jobbie destroy old.queue --confirm",
                                    [confirmed](Session& session, const std::string& queue) {
                                      return destroy_queue(session, queue, *confirmed);
                                    });
  destroy->add_flag("--confirm", *confirmed, "Yes, all of it");
  add_limits(commands);
}

}  // namespace jobbie::cli
