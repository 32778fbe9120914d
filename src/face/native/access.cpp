// The table of endpoints, and the judgement of calls.
#include "face/native/access.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <variant>

#include <fmt/format.h>

#include "base/digest.hpp"
#include "face/native/bulk.hpp"
#include "model/limits.hpp"
#include "model/schedule_fields.hpp"

namespace jobbie::face::native {
namespace {

using http::Method;
using model::Scope;
using Need = Access::Need;

/// Longer ones are nobody's secret, and need not be hashed.
constexpr std::size_t kMostSecretBytes = 256;

struct Rule {
  Method method;
  std::string_view pattern;
  Access access;
};

constexpr Access kProduce{Need::scope, Scope::produce, {}};
constexpr Access kWork{Need::scope, Scope::work, {}};
constexpr Access manage(std::string_view action) { return {Need::scope, Scope::manage, action}; }
constexpr Access admin(std::string_view action) { return {Need::scope, Scope::admin, action}; }
constexpr Access kAnyKey{Need::key, Scope::produce, {}};

constexpr std::array kRules = {
    Rule{Method::post, "/api/v1/enqueue", kProduce},
    Rule{Method::post, "/api/v1/enqueue/batch", kProduce},
    Rule{Method::post, "/api/v1/fetch", kWork},
    Rule{Method::post, "/api/v1/ack/{id}", kWork},
    Rule{Method::post, "/api/v1/ack", kWork},
    Rule{Method::post, "/api/v1/fail/{id}", kWork},
    Rule{Method::post, "/api/v1/fail", kWork},
    Rule{Method::post, "/api/v1/heartbeat", kWork},
    Rule{Method::post, "/api/v1/jobs/{id}/logs", kWork},
    Rule{Method::post, "/api/v1/workers", kWork},
    Rule{Method::post, "/api/v1/schedules/preview", kAnyKey},
    Rule{Method::post, "/api/v1/jobs/search", kAnyKey},
    Rule{Method::post, "/api/v1/jobs/bulk", manage("job.bulk")},
    Rule{Method::del, "/api/v1/bulk/{id}", manage("bulk.cancel")},
    Rule{Method::del, "/api/v1/queues/{queue}", manage("queue.delete")},
    Rule{Method::post, "/api/v1/queues/{queue}/pause", manage("queue.pause")},
    Rule{Method::post, "/api/v1/queues/{queue}/resume", manage("queue.resume")},
    Rule{Method::post, "/api/v1/queues/{queue}/clear", manage("queue.clear")},
    Rule{Method::post, "/api/v1/queues/{queue}/drain", manage("queue.drain")},
    Rule{Method::post, "/api/v1/queues/{queue}/concurrency", manage("queue.concurrency")},
    Rule{Method::post, "/api/v1/queues/{queue}/throttle", manage("queue.throttle")},
    Rule{Method::post, "/api/v1/queues/{queue}/retention", manage("queue.retention")},
    Rule{Method::post, "/api/v1/queues/{queue}/lease", manage("queue.lease")},
    Rule{Method::post, "/api/v1/queues/{queue}/fairness", manage("queue.fairness")},
    Rule{Method::del, "/api/v1/queues/{queue}/concurrency", manage("queue.concurrency")},
    Rule{Method::del, "/api/v1/queues/{queue}/throttle", manage("queue.throttle")},
    Rule{Method::post, "/api/v1/groups/{group}/pause", manage("group.pause")},
    Rule{Method::post, "/api/v1/groups/{group}/resume", manage("group.resume")},
    Rule{Method::post, "/api/v1/groups/{group}/retry-failed", manage("group.retry_failed")},
    Rule{Method::post, "/api/v1/groups/{group}/cancel", manage("group.cancel")},
    Rule{Method::del, "/api/v1/jobs/{id}", manage("job.delete")},
    Rule{Method::post, "/api/v1/jobs/{id}/retry", manage("job.retry")},
    Rule{Method::post, "/api/v1/jobs/{id}/cancel", manage("job.cancel")},
    Rule{Method::post, "/api/v1/jobs/{id}/move", manage("job.move")},
    Rule{Method::post, "/api/v1/jobs/{id}/requeue", manage("job.requeue")},
    Rule{Method::post, "/api/v1/jobs/{id}/priority", manage("job.priority")},
    Rule{Method::post, "/api/v1/schedules", manage("schedule.create")},
    Rule{Method::put, "/api/v1/schedules/{id}", manage("schedule.update")},
    Rule{Method::patch, "/api/v1/schedules/{id}", manage("schedule.update")},
    Rule{Method::del, "/api/v1/schedules/{id}", manage("schedule.delete")},
    Rule{Method::post, "/api/v1/schedules/{id}/pause", manage("schedule.pause")},
    Rule{Method::post, "/api/v1/schedules/{id}/resume", manage("schedule.resume")},
    Rule{Method::post, "/api/v1/schedules/{id}/run", manage("schedule.run")},
    // A worker that leaves says so with the key that it works with.
    Rule{Method::del,
         "/api/v1/workers/{id}",
         {Need::scope, Scope::manage, "worker.remove", Scope::work}},
    Rule{Method::post, "/api/v1/cluster/transfer", admin("cluster.transfer")},
    Rule{Method::post, "/api/v1/cluster/nodes", admin("cluster.add")},
    Rule{Method::del, "/api/v1/cluster/nodes/{name}", admin("cluster.remove")},
    Rule{Method::post, "/api/v1/cluster/snapshot", admin("cluster.snapshot")},
    Rule{Method::get, "/api/v1/keys", admin({})},
    Rule{Method::post, "/api/v1/keys", admin("key.create")},
    Rule{Method::del, "/api/v1/keys/{id}", admin("key.revoke")},
    Rule{Method::get, "/api/v1/audit", admin({})},
    Rule{Method::get, "/api/v1/backup", admin({})},
    Rule{Method::get, "/api/v1/webhooks", admin({})},
    Rule{Method::post, "/api/v1/webhooks", admin("webhook.create")},
    Rule{Method::get, "/api/v1/webhooks/{id}", admin({})},
    Rule{Method::put, "/api/v1/webhooks/{id}", admin("webhook.update")},
    Rule{Method::del, "/api/v1/webhooks/{id}", admin("webhook.delete")},
    Rule{Method::post, "/api/v1/webhooks/{id}/test", admin("webhook.test")},
    Rule{Method::get, "/api/v1/webhooks/{id}/deliveries", admin({})},
    Rule{Method::post, "/api/v1/webhooks/{id}/deliveries/{delivery}/retry", admin("webhook.retry")},
};

Problem unauthorized(std::string_view detail, const char* challenge) {
  return {
      .status = 401, .code = "unauthorized", .detail = std::string(detail), .challenge = challenge};
}

/// Queues that a command names. True: they are all allowed, or it names none.
class CommandCheck {
 public:
  explicit CommandCheck(const call::Grant& grant) : grant_(grant) {}

  bool operator()(const command::Enqueue& c) const { return allows(c.job.queue); }
  bool operator()(const command::EnqueueMany& c) const {
    if (c.batch && c.batch->callback_queue && !allows(c.batch->callback_queue)) return false;
    return std::all_of(c.jobs.begin(), c.jobs.end(),
                       [&](const model::JobSpec& job) { return allows(job.queue); });
  }
  bool operator()(const command::Claim& c) const {
    return std::all_of(c.queues.begin(), c.queues.end(),
                       [&](const base::Blob& pattern) { return grant_.covers(pattern.view()); });
  }
  bool operator()(const command::CreateSchedule& c) const { return allows(c.spec.job.queue); }
  bool operator()(const command::UpdateSchedule& c) const {
    const bool names_queue =
        c.fields == 0 || (c.fields & model::bit_of(model::ScheduleField::queue)) != 0;
    return !names_queue || allows(c.spec.job.queue);
  }
  /// Settings of a queue and a move name one; a worker's queues are for people to read. What names
  /// a job or a schedule alone is judged by the engine. Everything else reaches across queues.
  template <typename Other>
  bool operator()(const Other& c) const {
    if constexpr (requires { c.queue; })
      return allows(c.queue);
    else
      return kJudgedByEngine<Other>;
  }

 private:
  template <typename T>
  static constexpr bool kJudgedByEngine =
      std::is_same_v<T, command::Ack> || std::is_same_v<T, command::Fail> ||
      std::is_same_v<T, command::Heartbeat> || std::is_same_v<T, command::AppendLogs> ||
      std::is_same_v<T, command::Cancel> || std::is_same_v<T, command::Retry> ||
      std::is_same_v<T, command::Requeue> || std::is_same_v<T, command::Delete> ||
      std::is_same_v<T, command::SetPriority> || std::is_same_v<T, command::ScheduleCommand> ||
      std::is_same_v<T, command::RegisterWorker> || std::is_same_v<T, command::RemoveWorker> ||
      std::is_same_v<T, command::EndBulk>;

  [[nodiscard]] bool allows(const base::Blob& queue) const { return grant_.allows(queue.view()); }

  const call::Grant& grant_;
};

/// The same for questions. Those about one job are judged when the answer is written, lists of
/// queues, schedules and bulk operations are narrowed, and figures of the node itself are for every
/// key.
struct QueryCheck {
  const call::Grant& grant;

  bool operator()(const call::QueuesQuery& q) const {
    return q.only.empty() || grant.allows(q.only);
  }
  bool operator()(const call::StatsQuery& q) const { return one(q.queue); }
  /// A search must name queues that the key is for; a bulk operation too, and so none by ids.
  bool operator()(const call::SearchQuery& q) const { return covers(q.request.filter); }
  bool operator()(const call::BulkQuery& q) const {
    return q.jobs.empty() && covers(q.filter) && (q.queue.empty() || grant.allows(q.queue.view()));
  }
  bool operator()(const call::ErrorsQuery& q) const { return one(q.queue); }
  template <typename Other>
  bool operator()(const Other& /*query*/) const {
    return std::is_same_v<Other, std::monostate> || std::is_same_v<Other, call::JobQuery> ||
           std::is_same_v<Other, call::BatchQuery> || std::is_same_v<Other, call::WhyQuery> ||
           std::is_same_v<Other, call::LogsQuery> || std::is_same_v<Other, call::StatusQuery> ||
           std::is_same_v<Other, call::MetricsQuery> || std::is_same_v<Other, call::WorkersQuery> ||
           std::is_same_v<Other, call::SchedulesQuery> || std::is_same_v<Other, call::BulksQuery>;
  }
  [[nodiscard]] bool covers(const search::Filter& filter) const {
    return !filter.queue.empty() && grant.covers(filter.queue);
  }
  [[nodiscard]] bool one(const base::Blob& queue) const {
    return !queue.empty() && grant.allows(queue.view());
  }
};

/// What a call that names something in its body is about.
std::string_view name_in(const call::Call& call) {
  if (const auto* bulk = std::get_if<call::BulkQuery>(&call.query))
    return bulk->filter_text.empty() ? "jobs by id" : bulk->filter_text.view();
  if (call.commands.empty()) return {};
  const auto& command = call.commands.front();
  if (const auto* schedule = std::get_if<command::CreateSchedule>(&command))
    return schedule->spec.name.view();
  if (const auto* key = std::get_if<command::CreateKey>(&command)) return key->key.name.view();
  if (const auto* hook = std::get_if<command::PutWebhook>(&command)) return hook->spec.url.view();
  return {};
}

}  // namespace

Access access_of(Method method, std::string_view pattern) {
  for (const Rule& rule : kRules)
    if (rule.method == method && rule.pattern == pattern) return rule.access;
  const bool api = pattern.starts_with("/api/") || pattern == "/metrics";
  if (method != Method::get) return {Need::scope, Scope::admin, pattern};
  return api ? kAnyKey : Access{Need::nothing, Scope::produce, {}};
}

std::expected<call::GrantPtr, Problem> authorise(const http::Request& request, const Access& access,
                                                 const call::KeyRing& ring) {
  constexpr std::string_view kScheme = "bearer ";
  const auto header = request.header("authorization");
  if (header.empty())
    return std::unexpected(
        unauthorized("This server asks for a key: send the header Authorization: Bearer jbk_….",
                     R"(Bearer realm="jobbie")"));
  const bool bearer = http::equal_ignoring_case(header.substr(0, kScheme.size()), kScheme);
  const auto secret = bearer ? http::trim(header.substr(kScheme.size())) : std::string_view{};
  const auto grant = secret.empty() || secret.size() > kMostSecretBytes
                         ? nullptr
                         : ring.find(base::bytes_of(base::sha256(secret)));
  if (grant == nullptr)
    return std::unexpected(unauthorized("No key has this secret; it may have been revoked.",
                                        R"(Bearer realm="jobbie", error="invalid_token")"));
  const bool fits = grant->has(access.scope) || (access.or_scope && grant->has(*access.or_scope));
  if (access.need == Need::scope && !fits) {
    const auto name = model::kScopeNames[static_cast<std::size_t>(access.scope)];
    return std::unexpected(
        Problem{.status = 403,
                .code = "forbidden",
                .detail = fmt::format("The key has not the scope {}, which this asks for.", name)});
  }
  return grant;
}

Problem forbidden_queue() {
  return {.status = 403,
          .code = "forbidden",
          .detail = "The key is not for all the queues that this reaches."};
}

std::optional<Problem> check_queues(const call::Grant& grant, const call::Call& call) {
  if (grant.all_queues) return std::nullopt;
  const bool allowed =
      std::visit(QueryCheck{grant}, call.query) &&
      std::all_of(call.commands.begin(), call.commands.end(), [&](const command::Command& command) {
        return std::visit(CommandCheck(grant), command);
      });
  if (allowed) return std::nullopt;
  return forbidden_queue();
}

command::RecordAction describe_action(const Access& access, const call::Grant* grant,
                                      const http::Request& request, std::string_view target,
                                      const call::Call& call) {
  const auto bounded = [](std::string_view text) {
    return base::Blob(text.substr(0, model::limits::kAuditText));
  };
  const auto remote = request.remote.substr(0, request.remote.rfind(':'));
  std::string action(access.action);
  if (const auto* bulk = std::get_if<call::BulkQuery>(&call.query))
    action += fmt::format(".{}", name_of(bulk->action));
  return {.key = grant == nullptr ? base::Blob() : base::Blob(grant->key.text()),
          .name = bounded(grant == nullptr ? "anonymous" : std::string_view(grant->name)),
          .address = bounded(remote),
          .action = bounded(action),
          .target = bounded(target.empty() ? name_in(call) : target),
          .commands = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(call.commands.size()))};
}

}  // namespace jobbie::face::native
