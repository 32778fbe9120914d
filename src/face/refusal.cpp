// Refusals and troubles as problems.
#include <algorithm>
#include <array>

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

/// To a key, what is named by its id and is not for it is as unknown as what is not there: or ids
/// could be tried out. The audit log tells the difference.
std::string_view as_unknown(const command::Refusal& refusal) {
  if (refusal.code != Refused::forbidden) return {};
  if (refusal.field == "job_id") return "there is no such job";
  if (refusal.field == "schedule_id") return "there is no such schedule";
  if (refusal.field == "bulk_operation_id") return "there is no such bulk operation";
  return {};
}

}  // namespace

std::string_view shown(std::string_view name) { return name.substr(0, kShownNameBytes); }

Problem problem_of(const command::Refusal& refusal) {
  if (const auto unknown = as_unknown(refusal); !unknown.empty())
    return problem_of(command::Refusal{
        .code = Refused::not_found, .field = refusal.field, .message = std::string(unknown)});
  Problem problem{.status = status_of(refusal.code),
                  .code = command::to_string(refusal.code),
                  .detail = as_sentence(refusal.message),
                  .field = refusal.field};
  if (refusal.code == Refused::invalid && names_a_queue(refusal.field)) problem.status = 400;
  if (refusal.code == Refused::limit_reached) problem.retry_after_s = kRetryLater_s;
  return problem;
}

namespace {

/// How each trouble is told.
struct TroubleRow {
  call::Trouble trouble;
  int status;
  const char* code;
  const char* detail;
  unsigned retry_after_s = 0;
  const char* challenge = nullptr;
};

using call::Trouble;

constexpr std::array kTroubles = {
    TroubleRow{Trouble::overloaded, 429, "overloaded",
               "The server has more work than it can take; try again soon.", kRetrySoon_s},
    TroubleRow{Trouble::no_leader, 503, "no_leader",
               "The cluster has no leader at the moment; try again soon.", kRetrySoon_s},
    TroubleRow{Trouble::stopping, 503, "stopping",
               "This node is shutting down; try again on another one, or soon.", kRetrySoon_s},
    TroubleRow{Trouble::disk_full, 507, "disk_full",
               "The server's disk is full: nothing is written until there is space.",
               kRetryLater_s},
    TroubleRow{Trouble::lost_track, 503, "outcome_unknown",
               "The request was proposed and its outcome is not known. Look, or repeat it with "
               "the same Idempotency-Key.",
               kRetrySoon_s},
    TroubleRow{Trouble::unreadable, 500, "database_unreadable",
               "The server could not read its database; its log says more."},
    TroubleRow{Trouble::too_slow, 422, "search_too_slow",
               "The search took longer than it may. Narrow it: a queue, states, a time of "
               "creation or a batch spare reading every job."},
    TroubleRow{Trouble::behind, 503, "database_behind",
               "The database is behind what was acknowledged; try again soon.", kRetryLater_s},
    TroubleRow{Trouble::revoked, 401, "unauthorized", "The key was revoked.", 0, "Bearer"},
    TroubleRow{Trouble::removed, 503, "removed",
               "This node was removed from its cluster; ask another one.", kRetrySoon_s},
    TroubleRow{Trouble::damaged, 503, "database_damaged",
               "The server's database is damaged, or its files were removed: nothing is "
               "acknowledged until that is mended. The server's journal says more.",
               kRetryLater_s},
    TroubleRow{Trouble::cancelled, 503, "cancelled",
               "The client closed its side of the connection before the answer was there, so the "
               "question was dropped.",
               kRetrySoon_s},
    TroubleRow{Trouble::memory_full, 429, "memory_full",
               "The server holds as many jobs as its memory allows; try again when some have been "
               "done.",
               kRetryLater_s},
    TroubleRow{Trouble::out_of_memory, 503, "out_of_memory",
               "The server had no memory for this answer; ask for less, or later.", kRetryLater_s},
};
static_assert(kTroubles.size() == static_cast<std::size_t>(call::kLastTrouble));

}  // namespace

Problem problem_of(call::Trouble trouble) {
  const auto* row = std::ranges::find(kTroubles, trouble, &TroubleRow::trouble);
  if (row == kTroubles.end()) return {};
  return {.status = row->status,
          .code = row->code,
          .detail = row->detail,
          .retry_after_s = row->retry_after_s,
          .challenge = row->challenge};
}

Problem problem_of(const call::Denial& denial) {
  switch (denial.why) {
    case call::Denied::no_key:
      return {.status = 401,
              .code = "unauthorized",
              .detail = "This server asks for a key: send the header Authorization: Bearer jbk_….",
              .challenge = R"(Bearer realm="jobbie")"};
    case call::Denied::unknown_key:
      return {.status = 401,
              .code = "unauthorized",
              .detail = "No key has this secret; it may have been revoked.",
              .challenge = R"(Bearer realm="jobbie", error="invalid_token")"};
    case call::Denied::no_scope:
      return {.status = 403,
              .code = "forbidden",
              .detail = fmt::format("The key has not the scope {}, which this asks for.",
                                    model::kScopeNames[static_cast<std::size_t>(denial.scope)])};
    case call::Denied::no_queue:
      return {.status = 403,
              .code = "forbidden",
              .detail = "The key is not for all the queues that this reaches."};
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
