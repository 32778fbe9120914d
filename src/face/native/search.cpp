// Searches and lists: POST /api/v1/jobs/search, GET /api/v1/jobs, /api/v1/dead, /api/v1/batches.
#include <array>

#include <fmt/format.h>

#include "base/json_writer.hpp"
#include "face/fields.hpp"
#include "face/native/endpoints.hpp"
#include "face/parameters.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;

constexpr std::string_view kBatches = "batches";

class JobSearch final : public Exchange {
 public:
  JobSearch(call::Inbox& inbox, search::Request request)
      : Exchange(inbox),
        asked_{.sort = request.sort, .order = request.order, .filter_hash = request.filter_hash} {
    query = call::SearchQuery{std::move(request)};
  }

 private:
  void render(Answer& out) const override {
    const auto* found = std::get_if<call::SearchAnswer>(&answer);
    if (found == nullptr) return write(Problem{}, out);
    const search::Page& page = found->page;
    Writer json(out.body);
    json.begin_object();
    json.member("jobs").begin_array();
    for (const auto& job : page.jobs) write_job_record(json, job);
    json.end_array();
    json.member("total").number(page.total);
    json.member("total_is_at_least").boolean(page.total_is_at_least);
    json.member("cursor");
    if (page.next)
      json.plain(search::write_cursor(asked_, *page.next));
    else
      json.null();
    json.member("has_more").boolean(page.next.has_value());
    if (stale) json.member("stale").boolean(true);
    json.member("duration_ms").raw(fmt::format("{:.3f}", double(found->duration_us) / 1000));
    json.end_object();
  }

  search::Request asked_;  ///< what the cursor needs of it
};

class BatchList final : public Exchange {
 public:
  using Exchange::Exchange;

 private:
  void render(Answer& out) const override {
    const auto* found = std::get_if<call::BatchesAnswer>(&answer);
    if (found == nullptr) return write(Problem{}, out);
    Writer json(out.body);
    json.begin_object();
    json.member(kBatches).begin_array();
    for (const auto& batch : found->batches) write_batch_record(json, batch);
    json.end_array();
    json.member("cursor");
    if (found->more)
      json.plain(cursor_after(kBatches, found->batches.back().id.sequence()));
    else
      json.null();
    json.member("has_more").boolean(found->more);
    if (stale) json.member("stale").boolean(true);
    json.end_object();
  }
};

Outcome search_for(const Input& input, search::Read<search::Request> request) {
  if (!request) return std::unexpected(filter_problem(request.error()));
  return std::make_unique<JobSearch>(input.inbox, *std::move(request));
}

bool is_syntax(std::string_view code) {
  return code == "bad_json" || code == "bad_utf8" || code == "too_deep";
}

/// The code as one that lives as long as the program.
const char* known_code(std::string_view code) {
  static constexpr const char* kCodes[] = {"bad_json",   "bad_utf8",   "too_deep",
                                           "wrong_type", "invalid",    "unknown_field",
                                           "bad_jq",     "bad_cursor", "duplicate_field"};
  for (const char* known : kCodes)
    if (code == known) return known;
  return "invalid";
}

}  // namespace

Problem filter_problem(const search::Fault& fault, std::string_view prefix, std::size_t begin) {
  Problem problem{.status = is_syntax(fault.code) ? 400 : 422,
                  .code = known_code(fault.code),
                  .detail = fault.message,
                  .field = fault.field,
                  .position = fault.position};
  // That of a bad expression is the place within the expression.
  if (problem.position && fault.code != search::kBadJq) *problem.position += begin;
  if (fault.code == "unknown_field") {
    const auto names = search::field_names();
    const auto meant = nearest_name(fault.field, names);
    // One that is known belongs to searches, not to filters.
    if (!meant.empty() && meant != fault.field)
      problem.detail = fmt::format("There is no field \"{}\" here; did you mean \"{}\"?",
                                   shown(fault.field), meant);
  }
  if (!prefix.empty() && !problem.field.empty()) problem.field.insert(0, prefix);
  return problem;
}

Outcome search_jobs(const Input& input) {
  // A search without a body is one without conditions.
  return search_for(input, input.request.body.empty() ? search::Request{}
                                                      : search::read_request(input.request.body));
}

Outcome list_jobs(const Input& input) {
  const auto parameters = read_query(input.request.query);
  if (!parameters) return std::unexpected(parameters.error());
  return search_for(input, search::read_parameters(*parameters));
}

Outcome list_dead(const Input& input) {
  auto parameters = read_query(input.request.query);
  if (!parameters) return std::unexpected(std::move(parameters).error());
  for (const auto& [name, value] : *parameters)
    if (name == "state") return std::unexpected(bad_parameter(name, "is always dead here"));
  parameters->emplace_back("state", "dead");
  return search_for(input, search::read_parameters(*parameters));
}

Outcome list_batches(const Input& input) {
  static constexpr std::array<std::string_view, 2> kStatuses = {"pending", "finished"};
  const auto given = Parameters::read(input.request.query, {"status", "cursor", "limit"});
  if (!given) return std::unexpected(given.error());
  call::BatchesQuery query;
  std::uint64_t limit = query.limit;
  if (auto problem = given->cursor(kBatches, query.before))
    return std::unexpected(*std::move(problem));
  if (auto problem = given->integer("limit", 1, search::kMaxLimit, limit))
    return std::unexpected(*std::move(problem));
  query.limit = static_cast<std::uint32_t>(limit);
  if (!given->text("status").empty()) {
    std::size_t status = 0;
    if (auto problem = given->choice("status", kStatuses, status))
      return std::unexpected(*std::move(problem));
    query.finished = kStatuses[status] == "finished";
  }
  auto exchange = std::make_unique<BatchList>(input.inbox);
  exchange->query = query;
  return exchange;
}

}  // namespace jobbie::face::native
