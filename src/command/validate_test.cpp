// The stateless rules: for each, values that just pass and values that just do not.
#include "command/validate.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "model/limits.hpp"
#include "model/schedule_fields.hpp"
#include "tests/support/golden_values.hpp"
#include "tests/support/random_command.hpp"

namespace jobbie::command {
namespace {

namespace golden = testing::golden;
namespace limits = model::limits;
using base::Duration;
using golden::text;
using model::JobSpec;

/// A command and the field that is at fault; an empty field: it passes.
struct Case {
  std::string what;
  Command command;
  std::string field;
};

void expect_all(const std::vector<Case>& cases) {
  for (const auto& test : cases) {
    const auto refused = validate(test.command);
    EXPECT_EQ(refused ? refused->field : "", test.field) << test.what;
    if (!refused) continue;
    EXPECT_EQ(refused->code, Refused::invalid) << test.what;
    EXPECT_TRUE(refused->message.size() > 10 && refused->message.ends_with("."))
        << refused->message;
  }
}

base::Blob letters(std::size_t count) { return base::Blob(std::string(count, 'a')); }

/// A JSON object of exactly `size` bytes.
base::Blob object(std::size_t size) {
  return base::Blob(R"({"a":")" + std::string(size - 8, 'x') + R"("})");
}

/// An enqueue of a plain job after `change`.
Enqueue job(const std::function<void(JobSpec&)>& change) {
  Enqueue enqueue{.job = golden::plain_job()};
  change(enqueue.job);
  return enqueue;
}

TEST(Validate, QueueAndPayload) {
  const auto queue = [](std::string_view name) {
    return job([&](JobSpec& j) { j.queue = text(name); });
  };
  const auto payload = [](base::Blob value) {
    return job([&](JobSpec& j) { j.payload = std::move(value); });
  };
  expect_all({
      {"plain", Enqueue{.job = golden::plain_job()}, ""},
      {"every character", queue("AZaz09._-:/"), ""},
      {"no queue", queue(""), "queue"},
      {"longest queue", queue(letters(128).view()), ""},
      {"queue too long", queue(letters(129).view()), "queue"},
      {"space", queue("a b"), "queue"},
      {"glob", queue("a*"), "queue"},
      {"not ASCII", queue("caf\xc3\xa9"), "queue"},
      {"zero byte", queue(std::string_view("a\0b", 3)), "queue"},
      {"no payload", payload({}), "payload"},
      {"largest payload", payload(letters(limits::kPayload)), ""},
      {"payload too large", payload(letters(limits::kPayload + 1)), "payload"},
      {"JSON is not checked", payload(text("{")), ""},
  });
}

TEST(Validate, RetryPolicy) {
  const auto with = [](auto change) { return job(change); };
  expect_all({
      {"retries", with([](JobSpec& j) { j.max_retries = limits::kMaxAttempts; }), ""},
      {"retries", with([](JobSpec& j) { j.max_retries = limits::kMaxAttempts + 1; }),
       "max_retries"},
      {"zero retries", with([](JobSpec& j) { j.max_retries = 0; }), ""},
      {"base", with([](JobSpec& j) { j.retry.base = base::kMaxDuration; }), ""},
      {"base", with([](JobSpec& j) { j.retry.base.ms = base::kMaxDuration.ms + 1; }),
       "retry_base_delay"},
      {"base", with([](JobSpec& j) { j.retry.base.ms = -1; }), "retry_base_delay"},
      {"max", with([](JobSpec& j) { j.retry.max.ms = 0; }), ""},
      {"max", with([](JobSpec& j) { j.retry.max.ms = -1; }), "retry_max_delay"},
      {"jitter", with([](JobSpec& j) { j.retry.jitter = limits::kJitterUnit; }), ""},
      {"jitter", with([](JobSpec& j) { j.retry.jitter = limits::kJitterUnit + 1; }),
       "retry_jitter"},
      {"backoff", with([](JobSpec& j) { j.retry.backoff = static_cast<model::Backoff>(4); }),
       "retry_backoff"},
  });
}

TEST(Validate, Times) {
  constexpr auto kLowest = std::numeric_limits<std::int64_t>::min();
  expect_all({
      {"year 9999", job([](JobSpec& j) { j.scheduled_at = base::kMaxInstant; }), ""},
      {"later", job([](JobSpec& j) { j.scheduled_at.ms = base::kMaxInstant.ms + 1; }),
       "scheduled_at"},
      {"never", job([](JobSpec& j) { j.scheduled_at = base::kNever; }), "scheduled_at"},
      {"before 1970", job([](JobSpec& j) { j.scheduled_at.ms = -1; }), "scheduled_at"},
      {"delay", job([](JobSpec& j) { j.delay = base::kMaxDuration; }), ""},
      {"delay", job([](JobSpec& j) { j.delay.ms = base::kMaxDuration.ms + 1; }), "delay"},
      {"delay", job([](JobSpec& j) { j.delay.ms = -1; }), "delay"},
      {"delay and time", job([](JobSpec& j) { j.delay.ms = j.scheduled_at.ms = 1; }), "delay"},
      {"expiry", job([](JobSpec& j) { j.expire_after.ms = 1; }), ""},
      {"expiry", job([](JobSpec& j) { j.expire_after.ms = kLowest; }), "expire_after"},
      {"lease", job([](JobSpec& j) { j.lease = limits::kMinLease; }), ""},
      {"short lease", job([](JobSpec& j) { j.lease.ms = limits::kMinLease.ms - 1; }),
       "lease_duration"},
      {"lease", job([](JobSpec& j) { j.lease.ms = -1; }), "lease_duration"},
      {"runtime", job([](JobSpec& j) { j.max_runtime.ms = 1; }), ""},
      {"runtime", job([](JobSpec& j) { j.max_runtime.ms = -1; }), "max_runtime"},
      {"timeout", job([](JobSpec& j) { j.timeout = base::kMaxDuration; }), ""},
      {"timeout", job([](JobSpec& j) { j.timeout.ms = -1; }), "timeout"},
  });
}

TEST(Validate, Unique) {
  using model::UniqueUntil;
  const auto unique = [](base::Blob key, UniqueUntil until, std::int64_t period) {
    return job([&](JobSpec& j) { j.unique = {.key = key, .until = until, .period = {period}}; });
  };
  expect_all({
      {"key", unique(text("k"), UniqueUntil::end, 0), ""},
      {"key and start", unique(text("k"), UniqueUntil::start, 5), ""},
      {"longest key", unique(letters(1024), UniqueUntil::end, 0), ""},
      {"key too long", unique(letters(1025), UniqueUntil::end, 0), "unique_key"},
      {"start, no key", unique({}, UniqueUntil::start, 0), "unique_until"},
      {"period, no key", unique({}, UniqueUntil::end, 1), "unique_period"},
      {"period", unique(text("k"), UniqueUntil::period, 1), ""},
      {"period zero", unique(text("k"), UniqueUntil::period, 0), "unique_period"},
      {"period negative", unique(text("k"), UniqueUntil::end, -1), "unique_period"},
      {"unknown", unique(text("k"), static_cast<UniqueUntil>(3), 0), "unique_until"},
  });
}

TEST(Validate, LabelsAndRequirements) {
  const std::vector<base::Blob> most(limits::kRequirements, text("r"));
  const std::vector<base::Blob> more(limits::kRequirements + 1, text("r"));
  expect_all({
      {"tags", job([](JobSpec& j) { j.tags = text(R"({"a":1})"); }), ""},
      {"largest tags", job([](JobSpec& j) { j.tags = object(limits::kTags); }), ""},
      {"tags too large", job([](JobSpec& j) { j.tags = object(limits::kTags + 1); }), "tags"},
      {"tags, no object", job([](JobSpec& j) { j.tags = text("[1]"); }), "tags"},
      {"tags, no JSON", job([](JobSpec& j) { j.tags = text("{"); }), "tags"},
      {"group", job([](JobSpec& j) { j.group = letters(256); }), ""},
      {"group too long", job([](JobSpec& j) { j.group = letters(257); }), "group"},
      {"group, UTF-8", job([](JobSpec& j) { j.group = text("gr\xc3\xbcn"); }), ""},
      {"group, newline", job([](JobSpec& j) { j.group = text("a\nb"); }), "group"},
      {"group, DEL", job([](JobSpec& j) { j.group = text("a\x7f"); }), "group"},
      {"trace", job([](JobSpec& j) { j.traceparent = text("00-a-b-01"); }), ""},
      {"trace", job([](JobSpec& j) { j.traceparent = letters(257); }), "traceparent"},
      {"roles", job([&](JobSpec& j) { j.requires_.roles = most; }), ""},
      {"roles", job([&](JobSpec& j) { j.requires_.roles = more; }), "roles"},
      {"empty role", job([](JobSpec& j) { j.requires_.roles = {{}}; }), "roles"},
      {"required tags", job([&](JobSpec& j) { j.requires_.tags = most; }), ""},
      {"required tags", job([&](JobSpec& j) { j.requires_.tags = more; }), "required_tags"},
      {"long tag", job([](JobSpec& j) { j.requires_.tags = {letters(257)}; }), "required_tags"},
      {"target", job([](JobSpec& j) { j.requires_.target_worker = text("w 1"); }), ""},
      {"target", job([](JobSpec& j) { j.requires_.target_worker = text("\t"); }), "target_worker"},
  });
}

TEST(Validate, Dependencies) {
  const std::vector<base::JobId> most(limits::kDependencies, golden::job_id(1));
  expect_all({
      {"most", job([&](JobSpec& j) { j.depends_on = most; }), ""},
      {"too many", job([&](JobSpec& j) {
         j.depends_on = most;
         j.depends_on.push_back(golden::job_id(2));
       }),
       "depends_on"},
      {"nil", job([](JobSpec& j) { j.depends_on = {base::JobId{}}; }), "depends_on"},
      {"by position, alone", job([](JobSpec& j) { j.depends_on_index = {0}; }), "depends_on"},
      {"on_failure", job([](JobSpec& j) { j.on_failure = static_cast<model::OnFailure>(2); }),
       "on_failure"},
  });
  EnqueueMany many{.jobs = {golden::plain_job(), golden::plain_job()}};
  many.jobs[1].depends_on_index = {0, 1};  // cycles are the engine's to find
  EXPECT_FALSE(validate(many).has_value());
  many.jobs[1].depends_on_index = {2};
  EXPECT_EQ(validate(many)->field, "jobs[1].depends_on");
  many.jobs[1].depends_on_index.assign(1, 0);
  many.jobs[1].depends_on = most;
  EXPECT_EQ(validate(many)->field, "jobs[1].depends_on");
}

TEST(Validate, EnqueueMany) {
  const auto many = [](std::size_t count) {
    return EnqueueMany{.jobs = std::vector(count, golden::plain_job())};
  };
  const auto batch = [&](base::Blob queue, base::Blob payload) {
    auto command = many(1);
    command.batch = BatchSpec{.callback_queue = queue, .callback_payload = payload};
    return command;
  };
  auto bad = many(5);
  bad.jobs[3].queue = text("no good");
  auto key = many(1);
  key.idempotency.key = letters(257);
  expect_all({
      {"none", many(0), "jobs"},
      {"one", many(1), ""},
      {"most", many(limits::kJobsPerRequest), ""},
      {"too many", many(limits::kJobsPerRequest + 1), "jobs"},
      {"position", bad, "jobs[3].queue"},
      {"batch", batch(text("done"), text("{}")), ""},
      {"batch without callback", batch({}, {}), ""},
      {"callback queue", batch(text("*"), {}), "batch.callback_queue"},
      {"callback payload", batch(text("done"), text("1")), "batch.callback_payload"},
      {"callback payload too large", batch(text("done"), object(limits::kPayload + 1)),
       "batch.callback_payload"},
      {"idempotency key", key, "idempotency_key"},
      {"idempotency key", Enqueue{.job = golden::plain_job(), .idempotency = {.key = letters(256)}},
       ""},
      {"idempotency key", Enqueue{.job = golden::plain_job(), .idempotency = {.key = letters(257)}},
       "idempotency_key"},
  });
}

TEST(Validate, Claim) {
  const auto claim = [](const std::function<void(Claim&)>& change) {
    Claim command{.queues = {text("emails.*"), text("a?c"), text("*")}};
    change(command);
    return command;
  };
  const std::vector<base::Blob> more(limits::kCapabilities + 1, text("r"));
  expect_all({
      {"plain", claim([](Claim&) {}), ""},
      {"no queues", claim([](Claim& c) { c.queues.clear(); }), "queues"},
      {"most queues", claim([](Claim& c) { c.queues.assign(limits::kQueuesPerClaim, text("q")); }),
       ""},
      {"too many queues",
       claim([](Claim& c) { c.queues.assign(limits::kQueuesPerClaim + 1, text("q")); }), "queues"},
      {"empty queue", claim([](Claim& c) { c.queues.push_back({}); }), "queues"},
      {"bad queue", claim([](Claim& c) { c.queues.push_back(text("[a]")); }), "queues"},
      {"long queue", claim([](Claim& c) { c.queues.push_back(letters(129)); }), "queues"},
      {"worker", claim([](Claim& c) { c.worker = letters(256); }), ""},
      {"worker", claim([](Claim& c) { c.worker = letters(257); }), "worker_id"},
      {"host", claim([](Claim& c) { c.hostname = text("h\n"); }), "hostname"},
      {"count 0", claim([](Claim& c) { c.count = 0; }), "count"},
      {"count", claim([](Claim& c) { c.count = limits::kClaimCount; }), ""},
      {"count", claim([](Claim& c) { c.count = limits::kClaimCount + 1; }), "count"},
      {"lease", claim([](Claim& c) { c.lease.ms = 99; }), "lease_duration"},
      {"lease", claim([](Claim& c) { c.lease.ms = 100; }), ""},
      {"roles", claim([&](Claim& c) { c.roles = more; }), "roles"},
      {"tags", claim([&](Claim& c) { c.tags = more; }), "tags"},
      {"tags", claim([&](Claim& c) { c.tags.assign(limits::kCapabilities, text("t")); }), ""},
  });
}

TEST(Validate, AckFailHeartbeat) {
  const LeaseRef ref{.job = golden::job_id(1)};
  const LeaseRef bad_worker{.job = golden::job_id(1), .worker = letters(257)};
  const auto beat = [](Beat value) { return Heartbeat{.beats = {std::move(value)}}; };
  expect_all({
      {"ack", Ack{.ref = ref, .result = letters(limits::kPayload)}, ""},
      {"ack of nothing", Ack{}, "job_id"},
      {"ack, worker", Ack{.ref = bad_worker}, "worker_id"},
      {"result", Ack{.ref = ref, .result = letters(limits::kPayload + 1)}, "result"},
      {"fail", Fail{.ref = ref, .error = letters(limits::kErrorText)}, ""},
      {"fail of nothing", Fail{}, "job_id"},
      {"error", Fail{.ref = ref, .error = letters(limits::kErrorText + 1)}, "error"},
      {"backtrace", Fail{.ref = ref, .backtrace = letters(limits::kErrorText + 1)}, "backtrace"},
      {"retry at once", Fail{.ref = ref, .retry_in = Duration{0}}, ""},
      {"retry_in", Fail{.ref = ref, .retry_in = Duration{-1}}, "retry_in"},
      {"heartbeat", Heartbeat{.worker = text("w")}, ""},
      {"heartbeat, worker", Heartbeat{.worker = text("\x01")}, "worker_id"},
      {"most beats", Heartbeat{.beats = std::vector<Beat>(limits::kBeatsPerRequest)}, ""},
      {"beats", Heartbeat{.beats = std::vector<Beat>(limits::kBeatsPerRequest + 1)}, "jobs"},
      {"beat, nil job", beat({}), ""},
      {"beat, worker", beat({.ref = bad_worker}), "worker_id"},
      {"progress", beat({.ref = ref, .progress = letters(limits::kProgress)}), ""},
      {"progress", beat({.ref = ref, .progress = letters(limits::kProgress + 1)}), "progress"},
      {"checkpoint", beat({.ref = ref, .checkpoint = letters(limits::kPayload + 1)}), "checkpoint"},
  });
}

TEST(Validate, ActionsOnJobs) {
  const auto id = golden::job_id(1);
  expect_all({
      {"cancel", Cancel{.job = id}, ""},
      {"cancel", Cancel{}, "job_id"},
      {"retry", Retry{.job = id}, ""},
      {"retry", Retry{}, "job_id"},
      {"retry", Retry{.job = id, .payload = letters(limits::kPayload + 1)}, "payload"},
      {"requeue", Requeue{.job = id}, ""},
      {"requeue", Requeue{}, "job_id"},
      {"move", Move{.job = id, .queue = text("q")}, ""},
      {"move", Move{.queue = text("q")}, "job_id"},
      {"move", Move{.job = id}, "queue"},
      {"delete", Delete{.job = id}, ""},
      {"delete", Delete{}, "job_id"},
      {"priority", SetPriority{.job = id, .priority = -2'000'000'000}, ""},
      {"priority", SetPriority{}, "job_id"},
  });
}

TEST(Validate, QueueSettings) {
  const auto q = text("q");
  const auto per = [&](std::string_view value) {
    return SetConcurrency{.queue = q, .max = 1, .per = text(value)};
  };
  const std::string tag128 = "tags." + std::string(128, 'n');
  expect_all({
      {"pause", QueueCommand{.queue = q}, ""},
      {"pause", QueueCommand{}, "queue"},
      {"action", QueueCommand{.queue = q, .action = static_cast<QueueAction>(5)}, "action"},
      {"concurrency goes", SetConcurrency{.queue = q}, ""},
      {"concurrency", SetConcurrency{.max = 1}, "queue"},
      {"concurrency", SetConcurrency{.queue = q, .max = 0}, "max"},
      {"per group", per("group"), ""},
      {"per tag", per("tags.a b"), ""},
      {"per longest tag", per(tag128), ""},
      {"per longer tag", per(tag128 + "n"), "per"},
      {"per no tag", per("tags."), "per"},
      {"per other", per("queue"), "per"},
      {"per control", per("tags.a\n"), "per"},
      {"throttle", SetThrottle{.queue = q, .rate = 1, .period = {1}}, ""},
      {"throttle goes", SetThrottle{.queue = q}, ""},
      {"throttle", SetThrottle{}, "queue"},
      {"rate", SetThrottle{.queue = q, .rate = 0, .period = {1}}, "rate"},
      {"rate", SetThrottle{.queue = q, .rate = limits::kRate + 1, .period = {1}}, "rate"},
      {"rate", SetThrottle{.queue = q, .rate = limits::kRate, .period = base::kMaxDuration}, ""},
      {"period", SetThrottle{.queue = q, .rate = 1}, "period"},
      {"period", SetThrottle{.queue = q, .rate = 1, .period = {-1}}, "period"},
      {"throttle per", SetThrottle{.queue = q, .per = text("tags")}, "per"},
      {"retention", SetRetention{.queue = q, .completed = Duration{0}}, ""},
      {"retention", SetRetention{}, "queue"},
      {"completed", SetRetention{.queue = q, .completed = Duration{-1}}, "completed"},
      {"dead", SetRetention{.queue = q, .dead = Duration{-1}}, "dead"},
      {"cancelled", SetRetention{.queue = q, .cancelled = Duration{-1}}, "cancelled"},
      {"lease", SetLease{.queue = q}, ""},
      {"lease", SetLease{.queue = q, .lease = {99}}, "duration"},
      {"fairness", SetFairness{.queue = q, .fairness = model::Fairness::group}, ""},
      {"fairness", SetFairness{.queue = q, .fairness = static_cast<model::Fairness>(2)},
       "fairness"},
      {"group", GroupCommand{.group = text("g")}, ""},
      {"no group", GroupCommand{}, "group"},
      {"group action", GroupCommand{.group = text("g"), .action = static_cast<GroupAction>(4)},
       "action"},
  });
}

TEST(Validate, Schedules) {
  const auto with = [](const std::function<void(model::ScheduleSpec&)>& change) {
    CreateSchedule command{.spec = golden::full_schedule()};
    change(command.spec);
    return command;
  };
  using Spec = model::ScheduleSpec;
  const auto id = golden::id<base::ScheduleId>(7);
  expect_all({
      {"full", with([](Spec&) {}), ""},
      {"name", with([](Spec& s) { s.name = {}; }), "name"},
      {"name", with([](Spec& s) { s.name = letters(257); }), "name"},
      {"cron", with([](Spec& s) { s.cron = {}; }), "cron"},
      {"cron", with([](Spec& s) { s.cron = text("61 * * * *"); }), "cron"},
      {"zone", with([](Spec& s) { s.zone.name = "../etc"; }), "timezone"},
      {"catch_up", with([](Spec& s) { s.catch_up = static_cast<model::CatchUp>(3); }), "catch_up"},
      {"job", with([](Spec& s) { s.job.queue = {}; }), "queue"},
      {"time", with([](Spec& s) { s.job.scheduled_at.ms = 1; }), "scheduled_at"},
      {"delay", with([](Spec& s) { s.job.delay.ms = 1; }), "delay"},
      {"ids", with([](Spec& s) { s.job.depends_on = {golden::job_id(1)}; }), "depends_on"},
      {"positions", with([](Spec& s) { s.job.depends_on_index = {0}; }), "depends_on"},
      {"update", UpdateSchedule{.schedule = id, .spec = golden::full_schedule()}, ""},
      {"update", UpdateSchedule{.spec = golden::full_schedule()}, "schedule_id"},
      {"update", UpdateSchedule{.schedule = id}, "name"},
      {"part", UpdateSchedule{.schedule = id, .fields = model::kAllScheduleFields}, ""},
      {"part", UpdateSchedule{.fields = 1}, "schedule_id"},
      {"part", UpdateSchedule{.schedule = id, .fields = std::uint64_t{1} << 27}, "fields"},
      {"command", ScheduleCommand{.schedule = id}, ""},
      {"command", ScheduleCommand{}, "schedule_id"},
      {"action", ScheduleCommand{.schedule = id, .action = static_cast<ScheduleAction>(4)},
       "action"},
      {"rules", UpdateZone{.zone = golden::full_zone()}, ""},
      {"rules", UpdateZone{.zone = {.base_offset_s = 1 << 20}}, "timezone"},
  });
}

TEST(Validate, Workers) {
  const auto with = [](const std::function<void(model::WorkerSpec&)>& change) {
    RegisterWorker command{.worker = golden::full_worker()};
    change(command.worker);
    return command;
  };
  using Spec = model::WorkerSpec;
  expect_all({
      {"full", with([](Spec&) {}), ""},
      {"bare", RegisterWorker{.worker = {.id = text("w")}}, ""},
      {"id", with([](Spec& w) { w.id = {}; }), "worker_id"},
      {"host", with([](Spec& w) { w.hostname = letters(257); }), "hostname"},
      {"name", with([](Spec& w) { w.name = text("\x1f"); }), "name"},
      {"queues", with([](Spec& w) { w.queues = {text("a b")}; }), "queues"},
      {"roles", with([](Spec& w) { w.roles = {{}}; }), "roles"},
      {"tags", with([](Spec& w) { w.tags = {letters(257)}; }), "tags"},
      {"remove", RemoveWorker{.worker = text("w")}, ""},
      {"remove", RemoveWorker{}, "worker_id"},
      {"tick", Tick{}, ""},
  });
}

TEST(Validate, IsTotal) {
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    const auto refused = validate(testing::RandomCommand(seed).command());
    if (!refused) continue;
    EXPECT_EQ(refused->code, Refused::invalid) << "seed " << seed;
    EXPECT_FALSE(refused->field.empty() || refused->message.empty()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace jobbie::command
