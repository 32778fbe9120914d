// Searches and lists: POST /api/v1/jobs/search, GET /api/v1/jobs, /api/v1/dead, /api/v1/batches.
#include <algorithm>

#include <fmt/format.h>

#include "base/json_writer.hpp"
#include "face/fields.hpp"
#include "face/native/endpoints.hpp"
#include "http/percent.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;

class JobSearch final : public Exchange {
 public:
  JobSearch(call::Inbox& inbox, search::Request request)
      : Exchange(inbox), sort_(request.sort), order_(request.order) {
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
      json.plain(search::write_cursor(sort_, order_, *page.next));
    else
      json.null();
    json.member("has_more").boolean(page.next.has_value());
    json.member("duration_ms").raw(fmt::format("{:.3f}", double(found->duration_us) / 1000));
    json.end_object();
  }

  search::Sort sort_;
  search::Order order_;
};

/// Their cursor is the id of the last batch shown.
class BatchList final : public Exchange {
 public:
  using Exchange::Exchange;

 private:
  void render(Answer& out) const override {
    const auto* found = std::get_if<call::BatchesAnswer>(&answer);
    if (found == nullptr) return write(Problem{}, out);
    Writer json(out.body);
    json.begin_object();
    json.member("batches").begin_array();
    for (const auto& batch : found->batches) write_batch_record(json, batch);
    json.end_array();
    json.member("cursor");
    if (found->more)
      json.id(found->batches.back().id);
    else
      json.null();
    json.member("has_more").boolean(found->more);
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

Problem bad_parameter(std::string_view name, std::string_view rest) {
  return {.status = 422,
          .code = "invalid",
          .detail = fmt::format("{} {}.", name, rest),
          .field = std::string(name)};
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

Problem filter_problem(const search::Fault& fault, std::string_view prefix) {
  Problem problem{.status = is_syntax(fault.code) ? 400 : 422,
                  .code = known_code(fault.code),
                  .detail = fault.message,
                  .field = fault.field,
                  .position = fault.position};
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

std::expected<search::Parameters, Problem> parameters_of(const http::Request& request) {
  auto parameters = http::query_parameters(request.query);
  if (parameters) return *std::move(parameters);
  return std::unexpected(
      Problem{.status = 400,
              .code = "bad_query",
              .detail = "The query has a malformed escape, or too many parameters."});
}

Outcome search_jobs(const Input& input) {
  // A search without a body is one without conditions.
  return search_for(input, input.request.body.empty() ? search::Request{}
                                                      : search::read_request(input.request.body));
}

Outcome list_jobs(const Input& input) {
  const auto parameters = parameters_of(input.request);
  if (!parameters) return std::unexpected(parameters.error());
  return search_for(input, search::read_parameters(*parameters));
}

Outcome list_dead(const Input& input) {
  auto parameters = parameters_of(input.request);
  if (!parameters) return std::unexpected(std::move(parameters).error());
  for (const auto& [name, value] : *parameters)
    if (name == "state") return std::unexpected(bad_parameter(name, "is always dead here"));
  parameters->emplace_back("state", "dead");
  return search_for(input, search::read_parameters(*parameters));
}

Outcome list_batches(const Input& input) {
  const auto parameters = parameters_of(input.request);
  if (!parameters) return std::unexpected(parameters.error());
  call::BatchesQuery query;
  for (const auto& [name, value] : *parameters) {
    if (name == "status") {
      if (value != "pending" && value != "finished")
        return std::unexpected(bad_parameter(name, "must be pending or finished"));
      query.finished = value == "finished";
    } else if (name == "cursor") {
      const auto id = base::BatchId::parse(value);
      if (!id)
        return std::unexpected(Problem{.status = 422,
                                       .code = "bad_cursor",
                                       .detail = "cursor was not made here.",
                                       .field = name});
      query.before = id->sequence();
    } else if (name == "limit") {
      const auto request = search::read_parameters({{name, value}});
      if (!request) return std::unexpected(filter_problem(request.error()));
      query.limit = request->limit;
    } else {
      return std::unexpected(
          Problem{.status = 422,
                  .code = "unknown_field",
                  .detail = fmt::format("There is no parameter \"{}\" here.", shown(name)),
                  .field = std::string(shown(name))});
    }
  }
  auto exchange = std::make_unique<BatchList>(input.inbox);
  exchange->query = query;
  return exchange;
}

}  // namespace jobbie::face::native
