// The way of a request through the face.
#include "face/native/native.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/json_text.hpp"
#include "face/native/bulk.hpp"
#include "face/native/consistency.hpp"
#include "face/native/endpoints.hpp"
#include "face/native/event_hub.hpp"
#include "face/native/routes.hpp"
#include "face/native/watch.hpp"
#include "face/parameters.hpp"
#include "model/limits.hpp"

namespace jobbie::face {
namespace {

using http::Method;
using native::Kind;
using native::Route;

/// Room in a body for everything beside its one payload.
constexpr std::size_t kBodyAllowance = std::size_t{256} << 10;
/// What a page of jobs has at most, or little more.
constexpr std::size_t kPageBytes = std::size_t{8} << 20;

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

/// What the header shows: `Bearer …`. Another scheme shows a secret that is nobody's.
call::Credentials credentials_of(const http::Request& request) {
  constexpr std::string_view kScheme = "bearer ";
  const auto header = request.header("authorization");
  if (header.empty()) return {.secret = std::nullopt, .client = request.client};
  const bool bearer = http::equal_ignoring_case(header.substr(0, kScheme.size()), kScheme);
  return {.secret = bearer ? http::trim(header.substr(kScheme.size())) : std::string_view{},
          .client = request.client};
}

bool takes_consistency(const Route& route) {
  return route.kind == Kind::read || route.kind == Kind::long_read;
}

/// Whether the node need not do it once its caller has gone. What stands before a claim is done all
/// the same.
bool is_dropped_unread(const Route& route, const call::Call& call) {
  return route.kind == Kind::claim || route.kind == Kind::long_read ||
         (route.kind == Kind::trial && !call::is_change(call));
}

/// What goes before any endpoint; it knows its own body and parameters.
std::optional<Problem> refuse_form(const Route& route, const http::Request& request) {
  // What is asked for by a body is not asked for by parameters.
  if (request.method == Method::post || request.method == Method::put ||
      request.method == Method::patch)
    if (auto problem = refuse_parameters(request.query)) return problem;
  if (route.body == native::BodyClass::ignored || request.body.empty() ||
      is_json_type(request.content_type()))
    return std::nullopt;
  return bad_media_type(request.content_type());
}

/// Has what an endpoint made of a request judged, and puts it where it goes on.
class Judge {
 public:
  Judge(const native::Input& input, const Route& route, Prepared& prepared)
      : input_(input), route_(route), prepared_(prepared) {}

  void operator()(std::unique_ptr<Exchange> exchange) {
    const auto remote = input_.request.remote;
    const call::Circumstances circumstances{.address = remote.substr(0, remote.rfind(':')),
                                            .target = input_.id};
    if (const auto denial =
            call::Gate::authorise(input_.principal, route_.action, circumstances, *exchange))
      return write(problem_of(*denial), prepared_.answer);
    exchange->seal();
    // A list in which nothing names a job leaves nothing for the node to do.
    if (exchange->commands.empty() && std::holds_alternative<std::monostate>(exchange->query))
      exchange->write_answer(prepared_.answer);
    else
      prepared_.exchange = std::move(exchange);
  }
  void operator()(std::unique_ptr<native::EventWatch> watch) {
    if (const auto denial = call::Gate::authorise_watch(input_.principal, watch->queue))
      return write(problem_of(*denial), prepared_.answer);
    watch->principal = input_.principal;
    prepared_.watch = std::move(watch);
  }
  /// The job's queue is known with the first answer of the node.
  void operator()(std::unique_ptr<native::LogFollow> follow) {
    follow->principal = input_.principal;
    prepared_.follow = std::move(follow);
  }
  /// So is whose operation it is.
  void operator()(std::unique_ptr<native::BulkFollow> progress) {
    progress->principal = input_.principal;
    prepared_.progress = std::move(progress);
  }

 private:
  const native::Input& input_;
  const Route& route_;
  Prepared& prepared_;
};

}  // namespace

Prepared::Prepared() = default;
Prepared::Prepared(Prepared&&) noexcept = default;
Prepared& Prepared::operator=(Prepared&&) noexcept = default;
Prepared::~Prepared() = default;

Native::~Native() = default;

Native::Native(call::Service& service, Options options)
    : service_(service),
      options_(std::move(options)),
      gate_(service.keys(), options_.require_keys) {
  options_.max_payload_bytes = std::min(options_.max_payload_bytes, model::limits::kPayload);
  const auto routes = native::routes();
  for (std::size_t i = 0; i < routes.size(); ++i)
    router_.add(routes[i].method, routes[i].pattern, i);
}

/// A path that is none has a small answer, at once.
http::RequestBounds Native::bounds(http::Method method, std::string_view path) const {
  const auto match = router_.match(method, path);
  if (match.outcome != http::Match::Outcome::found) return {};
  const Route& route = native::routes()[match.route];
  const std::size_t one = options_.max_payload_bytes + kBodyAllowance;
  http::RequestBounds bounds{.body_bytes = one, .answer = {}};
  if (route.body == native::BodyClass::many)
    bounds.body_bytes = std::max(one, options_.max_batch_bytes);
  switch (route.answer) {
    case native::AnswerClass::small:
      break;
    case native::AnswerClass::large:
      bounds.answer = {.bytes = one};
      break;
    case native::AnswerClass::page:
      // Who waits for a turn must not take room from others meanwhile.
      bounds.answer = {.bytes = kPageBytes, .waits = true};
      break;
    case native::AnswerClass::waits:
      bounds.answer = {.bytes = one, .waits = true};
      break;
  }
  return bounds;
}

call::KeyView& Native::key_view(const http::Loop* loop) {
  return key_views_.at(loop != nullptr ? loop->index() : 0);
}

/// A request at a route.
struct Native::Asked {
  const http::Request& request;
  const Route& route;
  const http::Match& match;
  call::Inbox& inbox;
  const http::Loop* loop;
};

void Native::read(const Asked& asked, Prepared& prepared) {
  const auto principal =
      gate_.enter(asked.route.action.access, credentials_of(asked.request), key_view(asked.loop));
  if (!principal) return write(problem_of(principal.error()), prepared.answer);
  if (const auto problem = refuse_form(asked.route, asked.request))
    return write(*problem, prepared.answer);
  const native::Input input{.request = asked.request,
                            .id = asked.match.parameter[0],
                            .options = options_,
                            .inbox = asked.inbox,
                            .loop = asked.loop,
                            .principal = *principal,
                            .second = asked.match.parameter[1],
                            .service = service_};
  auto outcome = asked.route.handler(input);
  if (!outcome) return write(outcome.error(), prepared.answer);
  std::visit(Judge(input, asked.route, prepared), *std::move(outcome));
}

Prepared Native::prepare(const http::Request& request, call::Inbox& inbox, const http::Loop* loop) {
  Prepared prepared;
  auto match = router_.match(request.method, request.path);
  const auto is_text = [](std::string_view part) { return base::json::text::is_utf8(part); };
  if (match.outcome != http::Match::Outcome::found ||
      !std::all_of(match.parameter.begin(), match.parameter.end(), is_text)) {
    write(routing_problem(match, request), prepared.answer);
    return prepared;
  }
  const Route& route = native::routes()[match.route];
  prepared.route = &route;
  if (!takes_consistency(route)) {
    read({.request = request, .route = route, .match = match, .inbox = inbox, .loop = loop},
         prepared);
    return prepared;
  }
  const auto taken = native::take_consistency(request);
  if (!taken) {
    write(taken.error(), prepared.answer);
    return prepared;
  }
  read({.request = taken->request, .route = route, .match = match, .inbox = inbox, .loop = loop},
       prepared);
  if (prepared.exchange) prepared.exchange->strong = taken->strong;
  return prepared;
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
  if (prepared.progress)
    return native::stream_progress(*prepared.progress, service_, inbox, std::move(responder));
  if (!prepared.exchange) return send(responder, std::move(prepared.answer));
  prepared.exchange->answer_through(std::move(responder));
  if (is_dropped_unread(*prepared.route, *prepared.exchange)) prepared.exchange->watch_hang_up();
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
