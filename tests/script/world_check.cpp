// What must hold in every script, and the `show` lines.
#include <fmt/format.h>

#include "script/print.hpp"
#include "script/world.hpp"

namespace jobbie::script {

void World::check_outcome(const Line& line, const command::Entry& entry,
                          const engine::Outcome& outcome) {
  if (const auto fault = engine().audit(); !fault.empty()) line.fail("audit: " + fault);
  if (engine().now() < entry.now) line.fail("the log's time is behind the entry's");
  for (const auto& event : outcome.events) {
    if (event.at != engine().now())
      line.fail(fmt::format("event {} is not at the log's time", command::to_string(event.type)));
  }
  for (const auto& reply : outcome.replies) {
    const auto* claimed = std::get_if<command::Claimed>(&reply);
    if (claimed == nullptr) continue;
    for (const auto& job : claimed->jobs) check_claimed(line, job);
  }
}

/// What the worker is told agrees with the job, unless the same entry went on with it.
void World::check_claimed(const Line& line, const command::ClaimedJob& claimed) {
  const auto job = find_job(claimed.job);
  if (!job || job->state != model::State::active || job->lease != claimed.lease) return;
  const auto& spec = job->spec;
  const command::ClaimedJob expected{.job = job->id,
                                     .queue = spec.queue,
                                     .payload = spec.payload,
                                     .tags = spec.tags,
                                     .checkpoint = job->checkpoint,
                                     .group = spec.group,
                                     .traceparent = spec.traceparent,
                                     .priority = spec.priority,
                                     .attempt = job->attempt,
                                     .max_retries = spec.max_retries,
                                     .lease = job->lease,
                                     .lease_duration = job->lease_duration,
                                     .lease_expires_at = job->lease_expires_at,
                                     .max_runtime = spec.max_runtime,
                                     .batch = job->batch};
  if (!(claimed == expected)) line.fail("the claim does not say what the job says");
}

std::string World::show(const Line& line) {
  const auto& what = line.word(1, "what to show");
  if (what == "next_deadline") return names_.show(engine().next_deadline()) + "\n";
  if (what == "now") return names_.show(engine().now()) + "\n";
  if (what == "live") return fmt::format("{} live jobs\n", engine().live_jobs());
  std::string out;
  for (std::size_t i = 2; i < line.words.size(); ++i) out += show_record(line, what, line.words[i]);
  if (line.words.size() < 3) line.fail("show what?");
  return out;
}

std::string World::show_record(const Line& line, const std::string& what, const std::string& name) {
  if (what == "job" || what == "errors") {
    const auto job = find_job(names_.job(line, name));
    if (!job) return name + " not found\n";
    return what == "job" ? print(*job, names_) : print_errors(*job, names_);
  }
  if (what == "why") return print(engine().why(names_.job(line, name)), name, names_);
  if (what == "batch") {
    const auto batch = find_batch(line, names_.batch(line, name));
    return batch ? print(*batch, names_) : name + " not found\n";
  }
  if (what == "queue" || what == "totals") {
    const auto queue = engine().queue(name);
    if (!queue) return name + " not found\n";
    return what == "queue" ? print(*queue, names_) : print_totals(*queue);
  }
  if (what == "schedule") {
    const auto id = names_.schedule(line, name);
    for (const auto& schedule : engine().schedules()) {
      if (schedule.id == id) return print(schedule, names_);
    }
    return name + " not found\n";
  }
  if (what == "group") {
    for (const auto& group : engine().groups()) {
      if (group.name.view() == name) return print(group);
    }
    return name + " not found\n";
  }
  if (what == "worker") {
    for (const auto& worker : engine().workers()) {
      if (worker.spec.id.view() == name) return print(worker, names_);
    }
    return name + " not found\n";
  }
  line.fail("cannot show " + what);
}

}  // namespace jobbie::script
