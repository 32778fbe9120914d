// Routes and the way of a request through the face.
#include "face/native/native.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "face/native/bulk.hpp"
#include "face/native/endpoints.hpp"
#include "model/limits.hpp"

namespace jobbie::face {
namespace {

using http::Method;

/// Room in a body for everything beside its one payload.
constexpr std::size_t kBodyAllowance = std::size_t{256} << 10;

using Endpoint = native::Outcome (*)(const native::Input&);

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
    Route{Method::post, "/api/v1/jobs/search", native::search_jobs},
    Route{Method::get, "/api/v1/jobs", native::list_jobs},
    Route{Method::get, "/api/v1/dead", native::list_dead},
    Route{Method::get, "/api/v1/batches", native::list_batches},
    Route{Method::post, "/api/v1/jobs/bulk", native::bulk, true},
    Route{Method::get, "/api/v1/bulk", native::bulk_operations},
    Route{Method::get, "/api/v1/bulk/{id}", native::bulk_operation},
    Route{Method::del, "/api/v1/bulk/{id}", native::cancel_bulk},
    Route{Method::get, "/api/v1/bulk/{id}/progress", native::bulk_operation},
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
    default:
      return {.status = 404,
              .code = "no_such_endpoint",
              .detail = fmt::format("There is nothing at {}.", shown(request.path))};
  }
}

}  // namespace

Native::Native(call::Service& service, Options options) : service_(service), options_(options) {
  options_.max_payload_bytes = std::min(options_.max_payload_bytes, model::limits::kPayload);
  for (std::size_t i = 0; i < kRoutes.size(); ++i)
    router_.add(kRoutes[i].method, kRoutes[i].pattern, i);
}

std::optional<std::size_t> Native::body_limit(http::Method method, std::string_view path) const {
  const auto match = router_.match(method, path);
  if (match.outcome != http::Match::Outcome::found) return std::nullopt;
  const std::size_t one = options_.max_payload_bytes + kBodyAllowance;
  return kRoutes[match.route].many ? std::max(one, options_.max_batch_bytes) : one;
}

Prepared Native::prepare(const http::Request& request, call::Inbox& inbox) const {
  Prepared prepared;
  auto match = router_.match(request.method, request.path);
  if (match.outcome != http::Match::Outcome::found) {
    write(routing_problem(match, request), prepared.answer);
    return prepared;
  }
  const Route& route = kRoutes[match.route];
  if (route.endpoint == nullptr) {
    if (route.pattern == "/healthz")
      native::healthz(prepared.answer);
    else if (route.pattern == "/readyz")
      native::readyz(service_.ready(), prepared.answer);
    else
      native::root(prepared.answer);
    return prepared;
  }
  if (!request.body.empty() && !is_json_type(request.content_type())) {
    write(bad_media_type(request.content_type()), prepared.answer);
    return prepared;
  }
  auto outcome = route.endpoint(
      {.request = request, .id = match.parameter[0], .options = options_, .inbox = inbox});
  if (!outcome) {
    write(outcome.error(), prepared.answer);
    return prepared;
  }
  auto exchange = *std::move(outcome);
  exchange->seal();
  // A list in which nothing names a job leaves nothing for the node to do.
  if (exchange->commands.empty() && std::holds_alternative<std::monostate>(exchange->query))
    exchange->write_answer(prepared.answer);
  else
    prepared.exchange = std::move(exchange);
  return prepared;
}

void Native::handle(const http::Request& request, http::Responder responder) {
  LoopInbox& inbox = inbox_of(responder.loop());
  auto prepared = prepare(request, inbox);
  if (prepared.exchange && native::wants_progress_events(request))
    if (const auto* bulks = std::get_if<call::BulksQuery>(&prepared.exchange->query))
      return native::stream_progress(bulks->bulk, service_, inbox, std::move(responder));
  if (!prepared.exchange) return send(responder, std::move(prepared.answer));
  prepared.exchange->answer_through(std::move(responder));
  if (prepared.exchange->wait.ms > 0) prepared.exchange->watch_hang_up();
  service_.submit(std::move(prepared.exchange));
  inbox.flush_soon(service_);
}

LoopInbox& Native::inbox_of(http::Loop& loop) {
  JOBBIE_CHECK(loop.index() < inboxes_.size());
  auto& inbox = inboxes_[loop.index()];
  if (!inbox) inbox = std::make_unique<LoopInbox>(loop);
  return *inbox;
}

}  // namespace jobbie::face
