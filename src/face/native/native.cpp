// Routes and the way of a request through the face.
#include "face/native/native.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "base/json_text.hpp"
#include "face/native/access.hpp"
#include "face/native/bulk.hpp"
#include "face/native/consistency.hpp"
#include "face/native/endpoints.hpp"
#include "face/native/event_hub.hpp"
#include "face/native/openapi.hpp"
#include "face/native/sse.hpp"
#include "face/native/watch.hpp"
#include "face/parameters.hpp"
#include "model/limits.hpp"

namespace jobbie::face {
namespace {

using http::Method;

/// Room in a body for everything beside its one payload.
constexpr std::size_t kBodyAllowance = std::size_t{256} << 10;
/// What a page of jobs has at most, or little more.
constexpr std::size_t kPageBytes = std::size_t{8} << 20;

using Endpoint = native::Outcome (*)(const native::Input&);

/// Whether the node need not do it once its caller has gone. What stands before a claim is done all
/// the same.
bool is_dropped_unread(const call::Call& call) {
  if (!call.commands.empty()) return std::holds_alternative<command::Claim>(call.commands.back());
  if (const auto* bulk = std::get_if<call::BulkQuery>(&call.query)) return bulk->dry_run;
  return std::holds_alternative<call::SearchQuery>(call.query) ||
         std::holds_alternative<call::BatchesQuery>(call.query) ||
         std::holds_alternative<call::ErrorsQuery>(call.query) ||
         std::holds_alternative<call::LogsQuery>(call.query) ||
         std::holds_alternative<call::AuditQuery>(call.query) ||
         std::holds_alternative<call::DeliveriesQuery>(call.query) ||
         std::holds_alternative<call::BackupQuery>(call.query) ||
         std::holds_alternative<call::QueuesQuery>(call.query) ||
         std::holds_alternative<call::GroupsQuery>(call.query) ||
         std::holds_alternative<call::WorkersQuery>(call.query) ||
         std::holds_alternative<call::WhyQuery>(call.query);
}

struct Route {
  Method method;
  std::string_view pattern;
  Endpoint endpoint;  ///< null: answered here
  bool many = false;  ///< its body may hold many jobs
};

constexpr std::array kRoutes = {
    Route{Method::post, "/api/v1/enqueue", native::enqueue},
    Route{Method::post, "/api/v1/fetch", native::fetch, true},
    Route{Method::post, "/api/v1/ack/{id}", native::ack},
    Route{Method::post, "/api/v1/ack", native::ack_many, true},
    Route{Method::post, "/api/v1/fail/{id}", native::fail},
    Route{Method::post, "/api/v1/fail", native::fail_many, true},
    Route{Method::post, "/api/v1/heartbeat", native::heartbeat, true},
    Route{Method::post, "/api/v1/enqueue/batch", native::enqueue_batch, true},
    Route{Method::get, "/api/v1/jobs/{id}", native::job},
    Route{Method::get, "/api/v1/batches/{id}", native::batch},
    Route{Method::get, "/api/v1/cluster/status", native::cluster_status},
    Route{Method::post, "/api/v1/cluster/transfer", native::cluster_transfer},
    Route{Method::post, "/api/v1/cluster/nodes", native::cluster_add},
    Route{Method::del, "/api/v1/cluster/nodes/{name}", native::cluster_remove},
    Route{Method::post, "/api/v1/cluster/snapshot", native::cluster_snapshot},
    Route{Method::get, "/api/v1/queues", native::queues},
    Route{Method::get, "/api/v1/queues/{queue}", native::queue},
    Route{Method::del, "/api/v1/queues/{queue}", native::queue_delete},
    Route{Method::post, "/api/v1/queues/{queue}/pause", native::queue_pause},
    Route{Method::post, "/api/v1/queues/{queue}/resume", native::queue_resume},
    Route{Method::post, "/api/v1/queues/{queue}/clear", native::queue_clear},
    Route{Method::post, "/api/v1/queues/{queue}/drain", native::queue_drain},
    Route{Method::post, "/api/v1/queues/{queue}/concurrency", native::queue_concurrency},
    Route{Method::post, "/api/v1/queues/{queue}/throttle", native::queue_throttle},
    Route{Method::post, "/api/v1/queues/{queue}/retention", native::queue_retention},
    Route{Method::post, "/api/v1/queues/{queue}/lease", native::queue_lease},
    Route{Method::post, "/api/v1/queues/{queue}/fairness", native::queue_fairness},
    Route{Method::del, "/api/v1/queues/{queue}/concurrency", native::queue_concurrency_delete},
    Route{Method::del, "/api/v1/queues/{queue}/throttle", native::queue_throttle_delete},
    Route{Method::get, "/api/v1/groups", native::groups},
    Route{Method::post, "/api/v1/groups/{group}/pause", native::group_pause},
    Route{Method::post, "/api/v1/groups/{group}/resume", native::group_resume},
    Route{Method::post, "/api/v1/groups/{group}/retry-failed", native::group_retry_failed},
    Route{Method::post, "/api/v1/groups/{group}/cancel", native::group_cancel},
    Route{Method::del, "/api/v1/jobs/{id}", native::job_delete},
    Route{Method::get, "/api/v1/jobs/{id}/why", native::job_why},
    Route{Method::post, "/api/v1/jobs/{id}/retry", native::job_retry},
    Route{Method::post, "/api/v1/jobs/{id}/cancel", native::job_cancel},
    Route{Method::post, "/api/v1/jobs/{id}/move", native::job_move},
    Route{Method::post, "/api/v1/jobs/{id}/requeue", native::job_requeue},
    Route{Method::post, "/api/v1/jobs/{id}/priority", native::job_priority},
    Route{Method::get, "/api/v1/schedules", native::schedules},
    Route{Method::post, "/api/v1/schedules", native::schedule_create},
    Route{Method::post, "/api/v1/schedules/preview", native::preview},
    Route{Method::get, "/api/v1/schedules/{id}", native::schedule},
    Route{Method::put, "/api/v1/schedules/{id}", native::schedule_update},
    Route{Method::patch, "/api/v1/schedules/{id}", native::schedule_patch},
    Route{Method::del, "/api/v1/schedules/{id}", native::schedule_delete},
    Route{Method::get, "/api/v1/schedules/{id}/preview", native::schedule_preview},
    Route{Method::post, "/api/v1/schedules/{id}/pause", native::schedule_pause},
    Route{Method::post, "/api/v1/schedules/{id}/resume", native::schedule_resume},
    Route{Method::post, "/api/v1/schedules/{id}/run", native::schedule_run},
    Route{Method::get, "/api/v1/workers", native::workers},
    Route{Method::post, "/api/v1/workers", native::worker_register},
    Route{Method::get, "/api/v1/workers/{id}", native::worker},
    Route{Method::del, "/api/v1/workers/{id}", native::worker_remove},
    Route{Method::get, "/api/v1/events", nullptr},
    Route{Method::get, "/api/v1/stats", native::stats},
    Route{Method::get, "/metrics", native::metrics},
    Route{Method::get, "/api/v1/metrics", native::metrics},
    Route{Method::get, "/api/v1/errors", native::errors},
    Route{Method::get, "/api/v1/errors/{id}", native::error_group},
    Route{Method::post, "/api/v1/jobs/{id}/logs", native::append_logs, true},
    Route{Method::get, "/api/v1/jobs/{id}/logs", native::job_logs},
    Route{Method::post, "/api/v1/jobs/search", native::search_jobs},
    Route{Method::get, "/api/v1/jobs", native::list_jobs},
    Route{Method::get, "/api/v1/dead", native::list_dead},
    Route{Method::get, "/api/v1/batches", native::list_batches},
    Route{Method::post, "/api/v1/jobs/bulk", native::bulk, true},
    Route{Method::get, "/api/v1/bulk", native::bulk_operations},
    Route{Method::get, "/api/v1/bulk/{id}", native::bulk_operation},
    Route{Method::del, "/api/v1/bulk/{id}", native::cancel_bulk},
    Route{Method::get, "/api/v1/bulk/{id}/progress", native::bulk_operation},
    Route{Method::get, "/api/v1/whoami", native::whoami},
    Route{Method::get, "/api/v1/keys", native::keys},
    Route{Method::post, "/api/v1/keys", native::key_create},
    Route{Method::del, "/api/v1/keys/{id}", native::key_revoke},
    Route{Method::get, "/api/v1/audit", native::audit},
    Route{Method::get, "/api/v1/backup", native::backup},
    Route{Method::get, "/api/v1/openapi.json", nullptr},
    Route{Method::get, "/api/v1/webhooks", native::webhooks},
    Route{Method::post, "/api/v1/webhooks", native::webhook_create},
    Route{Method::get, "/api/v1/webhooks/{id}", native::webhook},
    Route{Method::put, "/api/v1/webhooks/{id}", native::webhook_update},
    Route{Method::del, "/api/v1/webhooks/{id}", native::webhook_delete},
    Route{Method::post, "/api/v1/webhooks/{id}/test", native::webhook_test},
    Route{Method::get, "/api/v1/webhooks/{id}/deliveries", native::deliveries},
    Route{Method::post, "/api/v1/webhooks/{id}/deliveries/{delivery}/retry",
          native::delivery_retry},
    Route{Method::get, "/healthz", nullptr},
    Route{Method::get, "/readyz", nullptr},
    Route{Method::get, "/", nullptr},
};

/// `application/json`, or a type built on it; a body without a type is taken as JSON too.
bool is_json_type(std::string_view type) {
  if (type.empty() || http::equal_ignoring_case(type, "application/json")) return true;
  constexpr std::string_view kSuffix = "+json";
  return type.size() > kSuffix.size() &&
         http::equal_ignoring_case(type.substr(type.size() - kSuffix.size()), kSuffix);
}

Problem bad_media_type(std::string_view type) {
  Problem problem{.status = 415,
                  .code = "unsupported_media_type",
                  .detail = fmt::format("The body must be application/json, not {}.", shown(type))};
  if (http::equal_ignoring_case(type, "application/x-www-form-urlencoded"))
    problem.detail += " With curl, add -H 'Content-Type: application/json'.";
  return problem;
}

Problem routing_problem(http::Match& match, const http::Request& request) {
  switch (match.outcome) {
    case http::Match::Outcome::no_method:
      return {.status = 405,
              .code = "method_not_allowed",
              .detail = fmt::format("{} answers {} only.", shown(request.path), match.allow),
              .allow = std::move(match.allow)};
    case http::Match::Outcome::bad_path:
      return {.status = 400, .code = "bad_path", .detail = "The path has a malformed escape."};
    case http::Match::Outcome::found:  // but not readable
      return {.status = 400, .code = "bad_utf8", .detail = "The path is not UTF-8."};
    default:
      return {.status = 404,
              .code = "no_such_endpoint",
              .detail = fmt::format("There is nothing at {}.", shown(request.path))};
  }
}

void prepare_watch(const http::Request& request, const call::GrantPtr& grant, Prepared& prepared) {
  auto watch = native::read_event_watch(request);
  if (!watch) return write(watch.error(), prepared.answer);
  // Without a filter the stream has what the key is for; with one, that must be all of it.
  if (grant && !watch->queue.empty() && !grant->covers(watch->queue))
    return write(native::forbidden_queue(), prepared.answer);
  watch->grant = grant;
  prepared.watch = std::make_unique<native::EventWatch>(*std::move(watch));
}

/// Whom a call is counted for where callers share something out: the key, or the client's address.
std::uint64_t caller_of(const http::Request& request, const call::GrantPtr& grant) {
  const std::uint64_t hash = grant ? base::hash_combine(grant->key.ulid.high, grant->key.ulid.low)
                                   : base::hash_bytes(request.client);
  return hash == 0 ? 1 : hash;  // zero is the node itself
}

/// Whether the log is to be followed; a request that cannot be read is left to its endpoint.
bool prepare_follow(const native::Input& input, Prepared& prepared) {
  const auto read = native::read_log_read(input);
  if (!read || !read->follow) return false;
  prepared.follow = std::make_unique<native::LogFollow>(
      native::LogFollow{.job = read->job,
                        .after = read->after,
                        .grant = input.grant,
                        .caller = caller_of(input.request, input.grant)});
  // A browser that lost its connection says which line it has seen.
  const auto seen = native::parse_position(input.request.header("last-event-id"));
  if (seen) prepared.follow->after = seen->index;
  return true;
}

}  // namespace

Prepared::Prepared() = default;
Prepared::Prepared(Prepared&&) noexcept = default;
Prepared& Prepared::operator=(Prepared&&) noexcept = default;
Prepared::~Prepared() = default;

Native::~Native() = default;

std::vector<RouteName> native_routes() {
  std::vector<RouteName> names;
  for (const auto& route : kRoutes) names.push_back({route.method, route.pattern});
  return names;
}

Native::Native(call::Service& service, Options options)
    : service_(service), options_(std::move(options)) {
  options_.max_payload_bytes = std::min(options_.max_payload_bytes, model::limits::kPayload);
  for (std::size_t i = 0; i < kRoutes.size(); ++i) {
    router_.add(kRoutes[i].method, kRoutes[i].pattern, i);
    access_.push_back(native::access_of(kRoutes[i].method, kRoutes[i].pattern));
  }
}

std::optional<std::size_t> Native::body_limit(http::Method method, std::string_view path) const {
  const auto match = router_.match(method, path);
  if (match.outcome != http::Match::Outcome::found) return std::nullopt;
  const std::size_t one = options_.max_payload_bytes + kBodyAllowance;
  return kRoutes[match.route].many ? std::max(one, options_.max_batch_bytes) : one;
}

/// By the path alone, since it is asked for every request. A path that is none has a small answer,
/// at once, whatever is said of it here.
http::AnswerBound Native::answer_bound(http::Method method, std::string_view path) const {
  constexpr std::string_view kBase = "/api/v1/";
  const http::AnswerBound large{.bytes = options_.max_payload_bytes + kBodyAllowance};
  if (path == "/metrics") return large;
  if (!path.starts_with(kBase)) return {};
  path.remove_prefix(kBase.size());
  if (method == Method::post) {
    if (path == "enqueue" || path.starts_with("ack/") || path.starts_with("fail/")) return {};
    if (path == "fetch") return {.bytes = large.bytes, .waits = true};
  }
  // The node makes few of them at a time, and shares those out among callers: who waits for a turn
  // must not take room from others meanwhile.
  if (path == "jobs" || path == "jobs/search" || path == "dead")
    return {.bytes = kPageBytes, .waits = true};
  return large;
}

/// The grant of the caller's key; a problem when there is none, or it is not enough.
std::optional<Problem> Native::admit(const http::Request& request, std::size_t route,
                                     const http::Loop* loop, call::GrantPtr& grant) {
  const native::Access& access = access_[route];
  if (!options_.require_keys || access.need == native::Access::Need::nothing) return std::nullopt;
  const call::KeyBoard* board = service_.keys();
  static const call::KeyRing kNoKeys{{}};
  const std::size_t view = loop != nullptr ? loop->index() : 0;
  auto found = native::authorise(request, access,
                                 board == nullptr ? kNoKeys : key_views_.at(view).of(*board));
  if (!found) return std::move(found).error();
  grant = *std::move(found);
  return std::nullopt;
}

Prepared Native::prepare(const http::Request& asked, call::Inbox& inbox, const http::Loop* loop) {
  Prepared prepared;
  auto consistency = native::take_consistency(asked);
  if (!consistency) {
    write(consistency.error(), prepared.answer);
    return prepared;
  }
  const http::Request& request = consistency->request;
  auto match = router_.match(request.method, request.path);
  const auto is_text = [](std::string_view part) { return base::json::text::is_utf8(part); };
  if (match.outcome != http::Match::Outcome::found ||
      !std::all_of(match.parameter.begin(), match.parameter.end(), is_text)) {
    write(routing_problem(match, request), prepared.answer);
    return prepared;
  }
  call::GrantPtr grant;
  if (auto problem = admit(request, match.route, loop, grant)) {
    write(*problem, prepared.answer);
    return prepared;
  }
  if (kRoutes[match.route].endpoint == nullptr) {
    answer_here(request, match.route, grant, prepared);
    return prepared;
  }
  // What is asked for by a body is not asked for by parameters.
  if (request.method == Method::post || request.method == Method::put ||
      request.method == Method::patch) {
    if (const auto problem = refuse_parameters(request.query)) {
      write(*problem, prepared.answer);
      return prepared;
    }
  }
  if (!request.body.empty() && !is_json_type(request.content_type())) {
    write(bad_media_type(request.content_type()), prepared.answer);
    return prepared;
  }
  ask_endpoint({.request = request,
                .id = match.parameter[0],
                .options = options_,
                .inbox = inbox,
                .loop = loop,
                .grant = std::move(grant),
                .second = match.parameter[1],
                .now = service_.now()},
               match.route, prepared);
  if (prepared.exchange) prepared.exchange->strong = consistency->strong;
  return prepared;
}

/// What needs no call of its own.
void Native::answer_here(const http::Request& request, std::size_t route,
                         const call::GrantPtr& grant, Prepared& prepared) const {
  const auto pattern = kRoutes[route].pattern;
  if (pattern == "/healthz")
    native::healthz(prepared.answer);
  else if (pattern == "/readyz")
    native::readyz(service_.health(), prepared.answer);
  else if (pattern == "/api/v1/events")
    prepare_watch(request, grant, prepared);
  else if (pattern == "/api/v1/openapi.json")
    native::openapi(request, prepared.answer);
  else
    native::root(prepared.answer);
}

void Native::ask_endpoint(const native::Input& input, std::size_t route, Prepared& prepared) const {
  const Endpoint endpoint = kRoutes[route].endpoint;
  if (endpoint == native::job_logs && prepare_follow(input, prepared)) return;
  auto outcome = endpoint(input);
  if (!outcome) return write(outcome.error(), prepared.answer);
  auto exchange = *std::move(outcome);
  if (input.grant) {
    if (auto problem = native::check_queues(*input.grant, *exchange))
      return write(*problem, prepared.answer);
    exchange->grant = input.grant;
  }
  const auto* bulk = std::get_if<call::BulkQuery>(&exchange->query);
  const bool acts = bulk != nullptr
                        ? !bulk->dry_run
                        : !exchange->commands.empty() ||
                              std::holds_alternative<call::ClusterChange>(exchange->query);
  const auto& access = access_[route];
  // A worker that signs off does not manage anything.
  const bool manages = !input.grant || !access.or_scope || input.grant->has(access.scope);
  if (!access.action.empty() && acts && manages)
    exchange->audit =
        native::describe_action(access, input.grant.get(), input.request, input.id, *exchange);
  if (exchange->commands.empty()) exchange->caller = caller_of(input.request, input.grant);
  exchange->seal();
  // A list in which nothing names a job leaves nothing for the node to do.
  if (exchange->commands.empty() && std::holds_alternative<std::monostate>(exchange->query))
    exchange->write_answer(prepared.answer);
  else
    prepared.exchange = std::move(exchange);
}

void Native::handle(const http::Request& request, http::Responder responder) {
  LoopInbox& inbox = inbox_of(responder.loop());
  Prepared prepared;
  try {
    prepared = prepare(request, inbox, &responder.loop());
  } catch (const std::bad_alloc&) {
    write(problem_of(call::Trouble::out_of_memory), prepared.answer);
  }
  if (prepared.watch) return hub_of(responder.loop()).watch(std::move(responder), *prepared.watch);
  if (prepared.follow)
    return hub_of(responder.loop()).follow(std::move(responder), *prepared.follow);
  if (!prepared.exchange) return send(responder, std::move(prepared.answer));
  const auto* bulks = std::get_if<call::BulksQuery>(&prepared.exchange->query);
  if (bulks != nullptr && native::wants_progress_events(request))
    return native::stream_progress(bulks->bulk, prepared.exchange->grant, service_, inbox,
                                   std::move(responder));
  prepared.exchange->answer_through(std::move(responder));
  if (is_dropped_unread(*prepared.exchange)) prepared.exchange->watch_hang_up();
  service_.submit(std::move(prepared.exchange));
  inbox.flush_soon(service_);
}

LoopInbox& Native::inbox_of(http::Loop& loop) {
  JOBBIE_CHECK(loop.index() < inboxes_.size());
  auto& inbox = inboxes_[loop.index()];
  if (!inbox) inbox = std::make_unique<LoopInbox>(loop);
  return *inbox;
}

native::EventHub& Native::hub_of(http::Loop& loop) {
  LoopInbox& inbox = inbox_of(loop);
  auto& hub = hubs_[loop.index()];
  if (!hub) hub = std::make_unique<native::EventHub>(loop, service_, inbox);
  return *hub;
}

}  // namespace jobbie::face
