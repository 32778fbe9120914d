// Refusals and troubles as problems.
#include <fmt/format.h>

#include "base/json_writer.hpp"
#include "face/problem.hpp"
#include "http/message.hpp"

namespace jobbie::face {
namespace {

using command::Refused;

constexpr std::size_t kShownNameBytes = 256;
constexpr std::string_view kFaultOfOurs =
    "The server could not answer; this is a fault of the server.";
constexpr unsigned kRetrySoon_s = 1;
constexpr unsigned kRetryLater_s = 10;

int status_of(Refused code) {
  switch (code) {
    case Refused::not_found:
    case Refused::unknown_dependency:
      return 404;
    case Refused::lease_lost:
    case Refused::not_active:
    case Refused::not_owner:
    case Refused::wrong_state:
    case Refused::unique_conflict:
    case Refused::name_taken:
      return 409;
    case Refused::forbidden:
      return 403;
    case Refused::dependency_cycle:
      return 400;
    case Refused::limit_reached:
      return 429;
    case Refused::invalid:
    case Refused::idempotency_mismatch:
      return 422;
  }
  return 500;
}

/// A name that breaks the rules for names of queues is a 400, other bad values are a 422.
bool names_a_queue(std::string_view field) { return field.ends_with("queue") || field == "queues"; }

/// The engine's messages are phrases or sentences; on the wire they are sentences.
std::string as_sentence(std::string_view message) {
  std::string out(message);
  if (out.empty()) return out;
  if (out.front() >= 'a' && out.front() <= 'z' && out.find('_') == std::string::npos)
    out.front() = static_cast<char>(out.front() - 'a' + 'A');
  if (!out.ends_with('.')) out.push_back('.');
  return out;
}

}  // namespace

std::string_view shown(std::string_view name) { return name.substr(0, kShownNameBytes); }

Problem problem_of(const command::Refusal& refusal) {
  Problem problem{.status = status_of(refusal.code),
                  .code = command::to_string(refusal.code),
                  .detail = as_sentence(refusal.message),
                  .field = refusal.field};
  if (refusal.code == Refused::invalid && names_a_queue(refusal.field)) problem.status = 400;
  if (refusal.code == Refused::limit_reached) problem.retry_after_s = kRetryLater_s;
  return problem;
}

Problem problem_of(call::Trouble trouble) {
  switch (trouble) {
    case call::Trouble::none:
      break;
    case call::Trouble::overloaded:
      return {.status = 429,
              .code = "overloaded",
              .detail = "The server has more work than it can take; try again soon.",
              .retry_after_s = kRetrySoon_s};
    case call::Trouble::no_leader:
      return {.status = 503,
              .code = "no_leader",
              .detail = "The cluster has no leader at the moment; try again soon.",
              .retry_after_s = kRetrySoon_s};
    case call::Trouble::stopping:
      return {.status = 503,
              .code = "stopping",
              .detail = "This node is shutting down; try again on another one, or soon.",
              .retry_after_s = kRetrySoon_s};
    case call::Trouble::disk_full:
      return {.status = 507,
              .code = "disk_full",
              .detail = "The server's disk is full: nothing is written until there is space.",
              .retry_after_s = kRetryLater_s};
    case call::Trouble::lost_track:
      return {.status = 503,
              .code = "outcome_unknown",
              .detail =
                  "The request was proposed and its outcome is not known. Look, or repeat it "
                  "with the same Idempotency-Key.",
              .retry_after_s = kRetrySoon_s};
    case call::Trouble::unreadable:
      return {.status = 500,
              .code = "database_unreadable",
              .detail = "The server could not read its database; its log says more."};
    case call::Trouble::too_slow:
      return {.status = 422,
              .code = "search_too_slow",
              .detail =
                  "The search took longer than it may. Narrow it: a queue, states, a time of "
                  "creation or a batch spare reading every job."};
    case call::Trouble::behind:
      return {.status = 503,
              .code = "database_behind",
              .detail = "The database is behind what was acknowledged; try again soon.",
              .retry_after_s = kRetryLater_s};
    case call::Trouble::removed:
      return {.status = 503,
              .code = "removed",
              .detail = "This node was removed from its cluster; ask another one.",
              .retry_after_s = kRetrySoon_s};
    case call::Trouble::revoked:
      return {.status = 401,
              .code = "unauthorized",
              .detail = "The key was revoked.",
              .challenge = "Bearer"};
  }
  return {};
}

Problem not_found(std::string_view what, std::string_view name) {
  return {.status = 404,
          .code = "not_found",
          .detail = fmt::format("There is no {} {}.", what, shown(name))};
}

void write(const Problem& problem, Answer& out) {
  out.status = problem.status;
  out.problem = true;
  out.allow = problem.allow;
  out.retry_after_s = problem.retry_after_s;
  out.challenge = problem.challenge;
  out.body.clear();
  base::json::Writer json(out.body);
  json.begin_object();
  json.member("type").plain("about:blank");
  json.member("title").plain(http::reason_phrase(problem.status));
  json.member("status").number(problem.status);
  json.member("code").plain(problem.code);
  json.member("detail").string(problem.detail.empty() ? kFaultOfOurs : problem.detail);
  if (!problem.field.empty()) json.member("field").string(problem.field);
  if (problem.position) json.member("position").number(std::uint64_t{*problem.position});
  json.end_object();
}

}  // namespace jobbie::face
