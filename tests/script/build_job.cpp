// Commands on jobs, read from lines.
#include "script/build_job.hpp"

#include <cmath>
#include <cstdlib>

#include "model/limits.hpp"

namespace jobbie::script {
namespace {

using base::Blob;

void read_retry_policy(const Line& line, model::JobSpec& spec) {
  spec.max_retries = line.number_of<std::uint32_t>("max_retries", spec.max_retries);
  if (line.has("backoff"))
    spec.retry.backoff = read_enum<model::Backoff>(line, line.text("backoff"),
                                                   {"none", "fixed", "linear", "exponential"});
  spec.retry.base = line.duration("retry_base", spec.retry.base);
  spec.retry.max = line.duration("retry_max", spec.retry.max);
  if (line.has("jitter"))
    spec.retry.jitter = static_cast<std::uint32_t>(std::llround(
        std::strtod(line.text("jitter").c_str(), nullptr) * model::limits::kJitterUnit));
}

void read_unique(const Line& line, model::JobSpec& spec) {
  spec.unique.key = line.text_blob("unique");
  spec.unique.period = line.duration("unique_period");
  if (line.has("unique_until"))
    spec.unique.until =
        read_enum<model::UniqueUntil>(line, line.text("unique_until"), {"start", "end", "period"});
}

/// `depends_on=a,#0`: a name, or with # a position in the same request.
void read_dependencies(const Line& line, const Names& names, model::JobSpec& spec) {
  for (const auto& part : line.list("depends_on")) {
    if (part.starts_with("#")) {
      spec.depends_on_index.push_back(static_cast<std::uint32_t>(
          line.to_number(part.substr(1), 0, std::numeric_limits<std::uint32_t>::max())));
    } else {
      spec.depends_on.push_back(names.job(line, part));
    }
  }
  if (line.has("on_failure"))
    spec.on_failure = read_enum<model::OnFailure>(line, line.text("on_failure"), {"cancel", "run"});
}

command::Idempotency read_idempotency(const Line& line) {
  return {.key = line.text_blob("key"),
          .fingerprint = line.number_of<std::uint64_t>("fingerprint", 0)};
}

command::Command build_enqueue(const Line& line, const Names& names, base::Instant now) {
  static_cast<void>(line.word(1, "the job's name"));
  command::Enqueue out{.job = read_job_spec(line, names, now),
                       .idempotency = read_idempotency(line)};
  line.expect_all_read(2);
  return out;
}

command::Command build_enqueue_many(const Line& line, const Names& names, base::Instant now) {
  command::EnqueueMany out{.idempotency = read_idempotency(line)};
  if (line.has("batch"))
    out.batch = command::BatchSpec{.callback_queue = line.text_blob("callback"),
                                   .callback_payload = line.json_blob("callback_payload")};
  line.expect_all_read(1);
  for (const auto& child : line.children) {
    out.jobs.push_back(read_job_spec(child, names, now));
    child.expect_all_read(1);
  }
  return out;
}

command::Command build_claim(const Line& line) {
  command::Claim out{.worker = word_blob(line.word(1, "the worker, or -")),
                     .hostname = line.text_blob("hostname"),
                     .count = line.number_of<std::uint32_t>("count", 1),
                     .lease = line.duration("lease"),
                     .roles = line.blobs("roles"),
                     .tags = line.blobs("tags"),
                     .max_bytes = line.number_of<std::uint64_t>("max_bytes", 0)};
  for (std::size_t i = 2; i < line.words.size(); ++i) out.queues.emplace_back(line.words[i]);
  line.expect_all_read(line.words.size());
  return out;
}

command::LeaseRef read_lease_ref(const Line& line, const Names& names, const std::string& job) {
  return {.job = names.job(line, job),
          .lease = line.number_of<std::uint64_t>("lease", 0),
          .worker = line.text_blob("worker")};
}

command::Command build_ack(const Line& line, const Names& names) {
  command::Ack out{.ref = read_lease_ref(line, names, line.word(1, "the job")),
                   .result = line.json_blob("result")};
  line.expect_all_read(2);
  return out;
}

command::Command build_log(const Line& line, const Names& names) {
  command::AppendLogs out{.ref = read_lease_ref(line, names, line.word(1, "the job")), .lines = {}};
  for (const auto& message : line.blobs("lines"))
    out.lines.push_back({.at = {}, .level = model::LogLevel::info, .message = message});
  line.expect_all_read(2);
  return out;
}

command::Command build_fail(const Line& line, const Names& names) {
  command::Fail out{.ref = read_lease_ref(line, names, line.word(1, "the job")),
                    .error = line.text_blob("error"),
                    .backtrace = line.text_blob("backtrace"),
                    .no_retry = line.flag("no_retry", false),
                    .retry_in = line.maybe_duration("retry_in")};
  line.expect_all_read(2);
  return out;
}

command::Beat read_beat(const Line& line, const Names& names, const std::string& job) {
  return {.ref = read_lease_ref(line, names, job),
          .progress = line.json_blob("progress"),
          .checkpoint = line.json_blob("checkpoint")};
}

command::Command build_heartbeat(const Line& line, const Names& names) {
  command::Heartbeat out{.worker = word_blob(line.word(1, "the worker, or -"))};
  if (line.words.size() > 2) out.beats.push_back(read_beat(line, names, line.words[2]));
  line.expect_all_read(3);
  for (const auto& child : line.children) {
    out.beats.push_back(read_beat(child, names, child.word(0, "the job")));
    child.expect_all_read(1);
  }
  return out;
}

command::Command build_move(const Line& line, const Names& names) {
  command::Move out{.job = names.job(line, line.word(1, "the job")),
                    .queue = word_blob(line.word(2, "the other queue")),
                    .reset_attempts = line.flag("reset_attempts", true),
                    .keep_priority = line.flag("keep_priority", false)};
  line.expect_all_read(3);
  return out;
}

/// Verbs that take a job and little else.
std::optional<command::Command> build_action(const Line& line, const Names& names) {
  const auto& verb = line.words.front();
  const auto job = [&] { return names.job(line, line.word(1, "the job")); };
  std::optional<command::Command> out;
  if (verb == "cancel") out = command::Cancel{.job = job()};
  if (verb == "retry") out = command::Retry{.job = job(), .payload = line.json_blob("payload")};
  if (verb == "requeue") out = command::Requeue{.job = job()};
  if (verb == "delete") out = command::Delete{.job = job()};
  if (verb == "set_priority") {
    const auto priority =
        line.to_number(line.word(2, "the priority"), std::numeric_limits<std::int32_t>::min(),
                       std::numeric_limits<std::int32_t>::max());
    out = command::SetPriority{.job = job(), .priority = static_cast<std::int32_t>(priority)};
  }
  if (out) line.expect_all_read(verb == "set_priority" ? 3 : 2);
  return out;
}

}  // namespace

base::Blob word_blob(const std::string& word) { return base::Blob(word == "-" ? "" : word); }

model::JobSpec read_job_spec(const Line& line, const Names& names, base::Instant now) {
  model::JobSpec spec;
  spec.queue = Blob(line.text("queue", kQueue));
  spec.payload = line.json_blob("payload");
  if (!line.has("payload")) spec.payload = Blob("{}");
  spec.priority = line.number_of<std::int32_t>("priority", spec.priority);
  read_retry_policy(line, spec);
  if (line.has("scheduled_at"))
    spec.scheduled_at = names.instant(line, line.text("scheduled_at"), now);
  spec.delay = line.duration("delay");
  spec.expire_after = line.duration("expire_after");
  spec.lease = line.duration("lease");
  spec.max_runtime = line.duration("max_runtime");
  spec.timeout = line.duration("timeout");
  read_unique(line, spec);
  spec.tags = line.json_blob("tags");
  spec.group = line.text_blob("group");
  spec.requires_ = {.roles = line.blobs("needs_roles"),
                    .tags = line.blobs("needs_tags"),
                    .target_worker = line.text_blob("target")};
  read_dependencies(line, names, spec);
  spec.traceparent = line.text_blob("traceparent");
  return spec;
}

std::optional<command::Command> build_job_command(const Line& line, const Names& names,
                                                  base::Instant now) {
  const auto& verb = line.words.front();
  if (verb == "enqueue") return build_enqueue(line, names, now);
  if (verb == "enqueue_many") return build_enqueue_many(line, names, now);
  if (verb == "claim") return build_claim(line);
  if (verb == "ack") return build_ack(line, names);
  if (verb == "log") return build_log(line, names);
  if (verb == "fail") return build_fail(line, names);
  if (verb == "heartbeat") return build_heartbeat(line, names);
  if (verb == "move") return build_move(line, names);
  return build_action(line, names);
}

}  // namespace jobbie::script
