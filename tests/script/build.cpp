// Commands on queues, groups, schedules, zones and workers, read from lines.
#include "script/build.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "model/schedule_fields.hpp"
#include "script/build_job.hpp"

namespace jobbie::script {
namespace {

using base::Blob;

std::optional<std::uint32_t> maybe_number(const Line& line, const std::string& key) {
  if (!line.has(key)) return std::nullopt;
  return line.number_of<std::uint32_t>(key, 0);
}

std::optional<command::Command> build_queue_setting(const Line& line, const std::string& what,
                                                    const Blob& queue) {
  if (what == "concurrency")
    return command::SetConcurrency{
        .queue = queue, .max = maybe_number(line, "max"), .per = line.text_blob("per")};
  if (what == "throttle")
    return command::SetThrottle{.queue = queue,
                                .rate = maybe_number(line, "rate"),
                                .period = line.duration("period"),
                                .per = line.text_blob("per")};
  if (what == "retention")
    return command::SetRetention{.queue = queue,
                                 .completed = line.maybe_duration("completed"),
                                 .dead = line.maybe_duration("dead"),
                                 .cancelled = line.maybe_duration("cancelled")};
  if (what == "lease")
    return command::SetLease{.queue = queue, .lease = line.to_duration(line.word(3, "the lease"))};
  if (what == "fairness")
    return command::SetFairness{
        .queue = queue,
        .fairness = read_enum<model::Fairness>(line, line.word(3, "priority or group"),
                                               {"priority", "group"})};
  return std::nullopt;
}

command::Command build_queue(const Line& line) {
  const auto& what = line.word(1, "what to do with the queue");
  const Blob queue = word_blob(line.word(2, "the queue"));
  auto out = build_queue_setting(line, what, queue);
  if (!out)
    out = command::QueueCommand{.queue = queue,
                                .action = read_enum<command::QueueAction>(
                                    line, what, {"pause", "resume", "drain", "clear", "destroy"})};
  line.expect_all_read(what == "lease" || what == "fairness" ? 4 : 3);
  return *out;
}

command::Command build_group(const Line& line) {
  command::GroupCommand out{
      .group = word_blob(line.word(2, "the group")),
      .action = read_enum<command::GroupAction>(line, line.word(1, "what to do with the group"),
                                                {"pause", "resume", "retry", "cancel"}),
      .include_active = line.flag("include_active", true)};
  line.expect_all_read(3);
  return out;
}

model::ScheduleSpec read_schedule(const Line& line, const Names& names, base::Instant now) {
  model::ScheduleSpec spec;
  spec.name = Blob(line.text("name", line.word(2, "the schedule")));
  spec.cron = line.text_blob("cron");
  spec.zone = names.zone(line, line.text("zone", "UTC"));
  if (line.has("catch_up"))
    spec.catch_up = read_enum<model::CatchUp>(line, line.text("catch_up"), {"skip", "one", "all"});
  spec.paused = line.flag("paused", false);
  spec.job = read_job_spec(line, names, now);
  return spec;
}

/// Which fields the options of a line give.
std::uint64_t given_fields(const Line& line) {
  using model::ScheduleField;
  static const std::pair<const char*, ScheduleField> kOptions[] = {
      {"name", ScheduleField::name},
      {"cron", ScheduleField::cron},
      {"zone", ScheduleField::zone},
      {"catch_up", ScheduleField::catch_up},
      {"paused", ScheduleField::paused},
      {"queue", ScheduleField::queue},
      {"payload", ScheduleField::payload},
      {"priority", ScheduleField::priority},
      {"max_retries", ScheduleField::max_retries},
      {"unique", ScheduleField::unique_key},
      {"unique_period", ScheduleField::unique_period},
      {"unique_until", ScheduleField::unique_until},
      {"group", ScheduleField::group}};
  std::uint64_t fields = 0;
  for (const auto& [option, field] : kOptions)
    if (line.has(option)) fields |= model::bit_of(field);
  if (fields == 0) line.fail("nothing is to change");
  return fields;
}

command::Command build_schedule(const Line& line, const Names& names, base::Instant now) {
  const auto& what = line.word(1, "what to do with the schedule");
  const auto& name = line.word(2, "the schedule");
  command::Command out;
  if (what == "create") {
    out = command::CreateSchedule{.spec = read_schedule(line, names, now)};
  } else if (what == "update") {
    out = command::UpdateSchedule{.schedule = names.schedule(line, name),
                                  .spec = read_schedule(line, names, now)};
  } else if (what == "change") {
    out = command::UpdateSchedule{.schedule = names.schedule(line, name),
                                  .spec = read_schedule(line, names, now),
                                  .fields = given_fields(line)};
  } else {
    out = command::ScheduleCommand{.schedule = names.schedule(line, name),
                                   .action = read_enum<command::ScheduleAction>(
                                       line, what, {"pause", "resume", "run", "remove"})};
  }
  line.expect_all_read(3);
  return out;
}

command::Command build_worker(const Line& line) {
  const auto& what = line.word(1, "register or remove");
  const Blob id = word_blob(line.word(2, "the worker"));
  command::Command out;
  if (what == "remove") {
    out = command::RemoveWorker{.worker = id};
  } else if (what == "register") {
    out = command::RegisterWorker{
        .worker = {.id = id,
                   .hostname = line.text_blob("hostname"),
                   .name = line.text_blob("name"),
                   .queues = line.blobs("queues"),
                   .roles = line.blobs("roles"),
                   .tags = line.blobs("tags"),
                   .concurrency = line.number_of<std::uint32_t>("concurrency", 0),
                   .cores = line.number_of<std::uint32_t>("cores", 0),
                   .ram_mb = line.number_of<std::uint32_t>("ram_mb", 0),
                   .draining = line.flag("draining", false)}};
  } else {
    line.fail("register or remove, not " + what);
  }
  line.expect_all_read(3);
  return out;
}

/// `bulk ACTION jobs=A,B to=QUEUE priority=N`: a step that belongs to no operation.
command::Command build_bulk(const Line& line, const Names& names) {
  static constexpr std::array<std::string_view, 6> kActions = {
      "retry", "delete", "cancel", "move", "requeue", "change_priority"};
  const auto& what = line.word(1, "the action");
  const auto found = std::find(kActions.begin(), kActions.end(), what);
  if (found == kActions.end()) line.fail("no such action: " + what);
  command::BulkStep out;
  out.action = static_cast<model::BulkAction>(found - kActions.begin());
  out.queue = line.text_blob("to");
  out.priority = line.number_of<std::int32_t>("priority", model::kNormal);
  for (const auto& name : line.list("jobs")) out.jobs.push_back(names.job(line, name));
  line.expect_all_read(2);
  return out;
}

/// `restrict N QUEUE… key=NUMBER`: the commands behind it in the entry are of a restricted key.
command::Command build_restrict(const Line& line) {
  command::Restrict out;
  out.commands = static_cast<std::uint32_t>(std::stoul(line.word(1, "how many commands")));
  for (std::size_t i = 2; i < line.words.size(); ++i)
    out.queues.push_back(word_blob(line.words[i]));
  if (const auto number = line.number_of<std::uint32_t>("key", 0); number != 0)
    out.key = base::KeyId{base::Ulid::make(kBase, number, 0)};
  line.expect_all_read(line.words.size());
  return out;
}

command::Command build_limits(const Line& line) {
  command::SetLimits out;
  out.queues = line.number_of<std::uint32_t>("queues", out.queues);
  out.queues_per_key = line.number_of<std::uint32_t>("queues_per_key", out.queues_per_key);
  out.idempotency_keys_per_key =
      line.number_of<std::uint32_t>("idempotency_keys_per_key", out.idempotency_keys_per_key);
  line.expect_all_read(1);
  return out;
}

command::Command build_forget(const Line& line) {
  command::ForgetQueues out;
  for (std::size_t i = 1; i < line.words.size(); ++i)
    out.queues.push_back(word_blob(line.words[i]));
  line.expect_all_read(line.words.size());
  return out;
}

}  // namespace

command::Command build_command(const Line& line, const Names& names, base::Instant now) {
  const auto& verb = line.word(0, "a command");
  if (auto on_job = build_job_command(line, names, now)) return *on_job;
  if (verb == "queue") return build_queue(line);
  if (verb == "group") return build_group(line);
  if (verb == "schedule") return build_schedule(line, names, now);
  if (verb == "worker") return build_worker(line);
  if (verb == "update_zone") {
    command::UpdateZone out{.zone = names.zone(line, line.word(1, "the zone"))};
    line.expect_all_read(2);
    return out;
  }
  if (verb == "bulk") return build_bulk(line, names);
  if (verb == "restrict") return build_restrict(line);
  if (verb == "limits") return build_limits(line);
  if (verb == "forget") return build_forget(line);
  if (verb == "resume") {
    command::Resume out{.lost = line.to_duration(line.word(1, "how long nobody led"))};
    line.expect_all_read(2);
    return out;
  }
  if (verb == "tick") {
    line.expect_all_read(1);
    return command::Tick{};
  }
  line.fail("unknown command: " + verb);
}

}  // namespace jobbie::script
