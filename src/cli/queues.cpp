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
    print_json(queue->raw());
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
  fmt::print("{}\n", session.json() ? json_text(answer->raw()) : done);
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
    print_json(answer->raw());
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
    fmt::print("{}\n", session.json() ? json_text(answer->raw()) : "draining");
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
      fmt::print("{}\n", session.json() ? json_text(queue->raw()) : "drained");
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

struct LimitArguments {
  std::string concurrency, throttle, per, lease, completed, dead, cancelled, fairness;
};

/// One request of `jobbie limit`.
struct LimitChange {
  std::string what, target, body, done, method = "POST";
};

/// The name of a flag whose value cannot be meant, and what it takes; nothing if all can.
std::string refused_limit(const LimitArguments& a) {
  const auto whole = [](const std::string& text) {
    return !text.empty() && text[0] != '0' &&
           text.find_first_not_of("0123456789") == std::string::npos;
  };
  const auto period = [](const std::string& text) {
    return base::parse_duration(with_unit(text)).has_value();
  };
  const auto slash = std::min(a.throttle.find('/'), a.throttle.size());
  if (!a.concurrency.empty() && a.concurrency != "none" && !whole(a.concurrency))
    return "--concurrency is a whole number from 1 on, or none";
  if (!a.throttle.empty() && a.throttle != "none" &&
      (slash == a.throttle.size() || !whole(a.throttle.substr(0, slash)) ||
       !period(a.throttle.substr(slash + 1))))
    return "--throttle is RATE/PERIOD, such as 100/1m, or none";
  if (!a.lease.empty() && a.lease != "none" && !period(a.lease))
    return "--lease is a duration such as 10m, or none";
  for (const auto& [flag, value] : {std::pair{"--keep-completed", &a.completed},
                                    {"--keep-dead", &a.dead},
                                    {"--keep-cancelled", &a.cancelled}})
    if (!value->empty() && !period(*value)) return std::string(flag) + " is a duration such as 1d";
  return {};
}

std::vector<LimitChange> limit_changes(const LimitArguments& a, const std::string& path) {
  std::vector<LimitChange> changes;
  const auto set = [&](const std::string& what, const Body& body, bool none = false) {
    changes.push_back({.what = what,
                       .target = path + "/" + what,
                       .body = body.str(),
                       .done = what + (none ? " removed" : " set")});
  };
  if (!a.concurrency.empty()) {
    const bool none = a.concurrency == "none";
    set("concurrency", Body().raw("max", none ? "null" : a.concurrency).text("per", a.per), none);
  }
  if (a.throttle == "none") {
    const std::string query = a.per.empty() ? "" : "?per=" + client::encoded(a.per);
    changes.push_back({.what = "throttle",
                       .target = path + "/throttle" + query,
                       .body = "",
                       .done = "throttle removed",
                       .method = "DELETE"});
  } else if (!a.throttle.empty()) {
    const auto slash = a.throttle.find('/');
    set("throttle", Body()
                        .raw("rate", a.throttle.substr(0, slash))
                        .duration("period", a.throttle.substr(slash + 1))
                        .text("per", a.per));
  }
  if (!a.lease.empty()) {
    const bool none = a.lease == "none";
    set("lease", none ? Body().raw("duration", "null") : Body().duration("duration", a.lease),
        none);
  }
  Body keep;
  keep.duration("completed", a.completed).duration("dead", a.dead);
  keep.duration("cancelled", a.cancelled);
  if (!keep.empty()) set("retention", keep);
  if (!a.fairness.empty()) set("fairness", Body().text("fairness", a.fairness));
  return changes;
}

/// Nothing is changed unless every value can be meant; the server may still refuse one midway.
int change_limits(Session& session, const LimitArguments& a, const std::string& queue) {
  if (const auto refused = refused_limit(a); !refused.empty()) return session.usage(refused);
  const auto changes = limit_changes(a, queue_path(queue));
  if (changes.empty()) return session.usage("say what to change: jobbie limit --help");
  std::string done;
  for (const auto& change : changes) {
    const int code = change_queue(session, change.target, change.done, change.body, change.method);
    if (code != kDone && done.empty()) return code;
    if (code != kDone) {
      session.note(fmt::format("{} was not changed, nor what follows it; changed before: {}",
                               change.what, done));
      return kPartly;
    }
    done += (done.empty() ? "" : ", ") + change.what;
  }
  return kDone;
}

/// `jobbie limit QUEUE …`: concurrency, throttle, lease, retention, fairness.
void add_limits(Commands& commands) {
  auto a = std::make_shared<LimitArguments>();
  CLI::App* c = add_for_queue(commands, "limit", "Change the limits and other settings of a queue",
                              "  jobbie limit payments --concurrency 3\n"
                              "  jobbie limit emails.send --throttle 100/1m --per tags.tenant\n"
                              "  jobbie limit emails.send --throttle none\n"
                              "  jobbie limit reports --lease 10m --keep-completed 1d",
                              [a](Session& session, const std::string& queue) {
                                return change_limits(session, *a, queue);
                              });
  c->add_option("--concurrency", a->concurrency, "Most active jobs, or none");
  c->add_option("--throttle", a->throttle, "Most claims in a period: 100/1m, or none");
  c->add_option("--per", a->per, "For each value of group or tags.NAME");
  c->add_option("--lease", a->lease, "Of claims that ask for none; none: 60s again");
  c->add_option("--keep-completed", a->completed, "How long completed jobs are kept");
  c->add_option("--keep-dead", a->dead, "How long dead jobs are kept");
  c->add_option("--keep-cancelled", a->cancelled, "How long cancelled jobs are kept");
  c->add_option("--fairness", a->fairness, "priority or group")
      ->check(CLI::IsMember({"priority", "group"}));
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
