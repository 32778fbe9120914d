// Bulk operations: POST /api/v1/jobs/bulk, and /api/v1/bulk with what is under it.
#include "face/native/bulk.hpp"

#include <array>

#include <fmt/format.h>

#include "base/json_writer.hpp"
#include "command/validate.hpp"
#include "face/body.hpp"
#include "face/native/endpoints.hpp"
#include "face/native/settle.hpp"
#include "face/native/words.hpp"
#include "face/parameters.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;

constexpr std::array<std::string_view, 4> kStatusNames = {"processing", "completed", "cancelled",
                                                          "failed"};

constexpr Fields<6> kBulkFields({"job_ids", "filter", "action", "move_to_queue", "priority",
                                 "dry_run"});
enum class BulkField : std::uint8_t { job_ids, filter, action, move_to_queue, priority, dry_run };

void write_errors(Writer& json, const std::vector<model::BulkError>& errors) {
  json.begin_array();
  for (const auto& error : errors) {
    json.begin_object();
    json.member("job_id").id(error.job);
    json.member("code").string(error.code.view());
    json.member("detail").string(error.message.view());
    json.end_object();
  }
  json.end_array();
}

class BulkExchange final : public Exchange {
 public:
  using Exchange::Exchange;
  std::size_t odd_ids = 0;  ///< texts that are no ids: they name no job, and are skipped
  bool dry_run = false;

 private:
  void render(Answer& out) const override {
    const auto* bulk = std::get_if<call::BulkAnswer>(&answer);
    if (bulk == nullptr) return write(Problem{}, out);
    if (bulk->refusal) return write(problem_of(*bulk->refusal), out);
    Writer json(out.body);
    json.begin_object();
    if (bulk->started) {
      out.status = 202;
      const auto id = bulk->started->id.text();
      json.member("bulk_operation_id").plain(id);
      json.member("status").plain("processing");
      json.member("estimated_total").number(bulk->started->estimated);
      json.member("progress_url").plain("/api/v1/bulk/" + id + "/progress");
    } else {
      const auto& outcome = bulk->outcome;
      json.member("affected").number(outcome.affected);
      json.member("skipped").number(outcome.skipped + odd_ids);
      json.member("errors").number(outcome.failed);
      if (!outcome.errors.empty()) {
        json.member("first_errors");
        write_errors(json, outcome.errors);
      }
      json.member("dry_run").boolean(dry_run);
      json.member("duration_ms").raw(fmt::format("{:.3f}", double(bulk->duration_us) / 1000));
    }
    json.end_object();
  }
};

/// One operation, or all of them (a nil id).
class BulkLookup final : public Exchange {
 public:
  BulkLookup(call::Inbox& inbox, base::BulkId id) : Exchange(inbox), id_(id) {
    query = call::BulksQuery{.bulk = id, .seen = {}};
  }

 private:
  void render(Answer& out) const override {
    const auto* found = std::get_if<call::BulksAnswer>(&answer);
    if (found == nullptr) return write(Problem{}, out);
    Writer json(out.body);
    if (!id_.is_nil()) {
      if (found->bulks.empty()) return write(not_found("bulk operation", id_.text()), out);
      return write_bulk(json, found->bulks[0]);
    }
    json.begin_object().member("bulk_operations").begin_array();
    for (const auto& bulk : found->bulks) write_bulk(json, bulk);
    json.end_array().end_object();
  }

  base::BulkId id_;
};

class BulkCancel final : public Exchange {
 public:
  using Exchange::Exchange;

 private:
  void render(Answer& out) const override {
    const auto* ended = reply_as<command::BulkReply>(replies[0], out);
    if (ended == nullptr) return;
    Writer json(out.body);
    write_bulk(json, ended->bulk);
  }
};

/// The request as it is read.
struct BulkReading {
  Body body;
  call::BulkQuery query = {};
  std::size_t odd_ids = 0;
  bool has_action = false;
  bool has_ids = false;
  bool has_filter = false;
  bool has_priority = false;

  bool read_ids() {
    has_ids = true;
    return body.array(search::kMaxTotal, [&](std::size_t) {
      std::string_view text;
      if (!body.text(text)) return false;
      const auto job = NamedJob::from(text);
      if (job.id.is_nil())
        ++odd_ids;
      else
        query.jobs.push_back(job.id);
      return true;
    });
  }

  bool read_filter() {
    has_filter = true;
    static_cast<void>(body.reader().peek());  // to where the filter begins
    const auto begin = body.reader().position();
    if (!body.json(query.filter_text, model::limits::kBulkFilter)) return false;
    auto filter = search::read_filter(query.filter_text.view());
    if (!filter) return body.refuse(filter_problem(filter.error(), "filter.", begin));
    query.filter = *std::move(filter);
    return true;
  }

  bool read_priority() {
    has_priority = true;
    if (body.reader().peek() == base::json::Kind::number) return body.integer(query.priority);
    return body.choice(query.priority, kPriorityNames);
  }

  bool read_member(std::size_t i) {
    switch (static_cast<BulkField>(i)) {
      case BulkField::job_ids:
        return read_ids();
      case BulkField::filter:
        return read_filter();
      case BulkField::action:
        has_action = true;
        return body.choice(query.action, call::kBulkActionNames);
      case BulkField::move_to_queue:
        return body.text(query.queue);
      case BulkField::priority:
        return read_priority();
      case BulkField::dry_run:
        return body.boolean(query.dry_run);
    }
    return false;
  }

  /// What goes together, and what does not.
  bool check() {
    if (!has_action) return body.refuse_missing("action");
    body.at_field(has_ids ? "filter" : "job_ids");
    if (has_ids && has_filter) return body.refuse_value("and job_ids exclude one another");
    if (!has_ids && !has_filter) return body.refuse_missing("job_ids");
    const bool moves = query.action == model::BulkAction::move;
    const bool ranks = query.action == model::BulkAction::change_priority;
    if (moves && query.queue.empty()) return body.refuse_missing("move_to_queue");
    if (ranks && !has_priority) return body.refuse_missing("priority");
    body.at_field("move_to_queue");
    if (!moves && !query.queue.empty()) return body.refuse_value("goes with the action move only");
    body.at_field("priority");
    if (!ranks && has_priority)
      return body.refuse_value("goes with the action change_priority only");
    return true;
  }
};

}  // namespace

void write_bulk(Writer& json, const model::BulkRecord& bulk) {
  json.begin_object();
  json.member("bulk_operation_id").id(bulk.id);
  json.member("status").plain(kStatusNames.at(static_cast<std::size_t>(bulk.status)));
  json.member("action").plain(call::name_of(bulk.action));
  if (bulk.action == model::BulkAction::move)
    json.member("move_to_queue").string(bulk.queue.view());
  if (bulk.action == model::BulkAction::change_priority) {
    json.member("priority");
    write_priority(json, bulk.priority);
  }
  json.member("filter").raw(bulk.filter.view());
  json.member("estimated_total").number(bulk.estimated);
  json.member("processed").number(bulk.affected + bulk.skipped + bulk.failed);
  json.member("affected").number(bulk.affected);
  json.member("skipped").number(bulk.skipped);
  json.member("errors").number(bulk.failed);
  json.member("first_errors");
  write_errors(json, bulk.errors);
  json.member("created_at").instant(bulk.id.ulid.time());
  json.member("finished_at");
  if (bulk.finished_at.ms != 0)
    json.instant(bulk.finished_at);
  else
    json.null();
  json.member("reason");
  if (bulk.reason)
    json.string(bulk.reason.view());
  else
    json.null();
  json.end_object();
}

Outcome bulk(const Input& input) {
  BulkReading reading{.body = Body(input.request.body)};
  const bool read =
      reading.body.object(kBulkFields, [&](std::size_t i) { return reading.read_member(i); }) &&
      reading.body.finish() && reading.check();
  if (!read) return std::unexpected(reading.body.problem());
  auto exchange = std::make_unique<BulkExchange>(input.inbox);
  // The bounds of the command, before anything is searched.
  if (auto refusal = command::validate(command::BulkStep{.bulk = {},
                                                         .action = reading.query.action,
                                                         .queue = reading.query.queue,
                                                         .priority = reading.query.priority,
                                                         .jobs = {}}))
    return std::unexpected(problem_of(*refusal));
  exchange->odd_ids = reading.odd_ids;
  exchange->dry_run = reading.query.dry_run;
  exchange->query = std::move(reading.query);
  return exchange;
}

Outcome bulk_operation(const Input& input) {
  const auto id = base::BulkId::parse(input.id);
  if (!id || id->is_nil()) return std::unexpected(not_found("bulk operation", input.id));
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  return std::make_unique<BulkLookup>(input.inbox, *id);
}

Outcome bulk_progress(const Input& input) {
  auto looked_up = bulk_operation(input);
  const bool as_events =
      input.request.method == http::Method::get &&
      input.request.header("accept").find("text/event-stream") != std::string_view::npos;
  if (!looked_up || !as_events) return looked_up;
  return std::make_unique<BulkFollow>(
      BulkFollow{.bulk = base::BulkId::parse(input.id).value(), .principal = {}});
}

Outcome bulk_operations(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  return std::make_unique<BulkLookup>(input.inbox, base::BulkId{});
}

Outcome cancel_bulk(const Input& input) {
  const auto id = base::BulkId::parse(input.id);
  if (!id || id->is_nil()) return std::unexpected(not_found("bulk operation", input.id));
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  auto exchange = std::make_unique<BulkCancel>(input.inbox);
  exchange->commands.emplace_back(command::EndBulk{.bulk = *id, .reason = {}});
  return exchange;
}

}  // namespace jobbie::face::native
