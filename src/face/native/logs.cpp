// POST and GET /api/v1/jobs/{id}/logs.
#include "face/native/logs.hpp"

#include "command/validate.hpp"
#include "face/body.hpp"
#include "face/native/endpoints.hpp"
#include "face/native/settle.hpp"
#include "face/native/sse.hpp"
#include "face/native/watch.hpp"
#include "face/parameters.hpp"
#include "model/limits.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;

constexpr Fields kLogFields(std::to_array<std::string_view>({"lease_id", "worker_id", "lines"}));
constexpr Fields kLineFields(std::to_array<std::string_view>({"message", "level", "at"}));

constexpr std::uint64_t kLogPage = 1'000;
constexpr std::uint64_t kMostOffset = std::uint64_t{1} << 53;

class LogAppended final : public Exchange {
 public:
  using Exchange::Exchange;

 private:
  void render(Answer& out) const override {
    const auto* done = reply_as<command::Done>(replies[0], out);
    if (done == nullptr) return;
    out.status = 201;
    Writer json(out.body);
    json.begin_object();
    json.member("appended").number(done->affected);
    json.end_object();
  }
};

class LogPageAnswer final : public Exchange {
 public:
  LogPageAnswer(call::Inbox& inbox, const call::LogsQuery& asked) : Exchange(inbox), asked_(asked) {
    query = asked;
  }

 private:
  void render(Answer& out) const override {
    const auto* log = std::get_if<call::JobLog>(&answer);
    if (log == nullptr) return write(Problem{}, out);
    if (!log->found || !may_show(log->queue))
      return write(not_found("job", asked_.job.text()), out);
    const auto& page = log->page;
    Writer json(out.body);
    json.begin_object();
    json.member("job_id").id(asked_.job);
    json.member("state").plain(model::to_string(log->state));
    json.member("lines").begin_array();
    auto number = page.first;
    for (const auto& line : page.lines) write_log_line(json, number++, line);
    json.end_array();
    const auto next = page.lines.empty() ? asked_.after : number - 1;
    json.member("next_offset").number(next);
    json.member("has_more").boolean(next < page.latest);
    json.member("total").number(page.latest);
    json.member("dropped").number(page.oldest == 0 ? std::uint64_t{0} : page.oldest - 1);
    json.end_object();
  }

  call::LogsQuery asked_;
};

bool read_line(Body& body, model::LogLine& line) {
  bool given = false;
  const bool read = body.object(kLineFields, [&](std::size_t field) {
    if (field == 1) return body.choice(line.level, kLogLevelNames);
    if (field == 2) return body.instant(line.at);
    given = true;
    return body.text(line.message);
  });
  return read && (given || body.refuse_missing("message"));
}

bool read_lines(Body& body, std::vector<model::LogLine>& lines) {
  return body.array(model::limits::kLogLinesPerRequest, [&](std::size_t i) {
    body.at_item("lines", i);
    body.at_field({});
    if (!read_line(body, lines.emplace_back())) return false;
    body.at_top();
    return true;
  });
}

}  // namespace

void write_log_line(Writer& json, std::uint64_t number, const model::LogLine& line) {
  json.begin_object();
  json.member("number").number(number);
  json.member("at").instant(line.at);
  json.member("level").plain(model::to_string(line.level));
  json.member("message").string(line.message.view());
  json.end_object();
}

Outcome append_logs(const Input& input) {
  const auto id = base::JobId::parse(input.id);
  if (!id || id->is_nil()) return std::unexpected(not_found("job", input.id));
  auto exchange = std::make_unique<LogAppended>(input.inbox);
  command::AppendLogs logs;
  Body body(input.request.body);
  bool given = false;
  const bool read = body.object(kLogFields, [&](std::size_t field) {
    if (field == 0) return read_lease(body, logs.ref.lease);
    if (field == 1) return body.text(logs.ref.worker);
    given = true;
    return read_lines(body, logs.lines);
  });
  if (!read || !body.finish() || (!given && !body.refuse_missing("lines")))
    return std::unexpected(body.problem());
  logs.ref.job = *id;
  exchange->commands.emplace_back(std::move(logs));
  if (const auto refusal = command::validate(exchange->commands.back()))
    return std::unexpected(problem_of(*refusal));
  return exchange;
}

namespace {

/// What GET /api/v1/jobs/{id}/logs asks for.
struct LogRead {
  base::JobId job;
  std::uint64_t after = 0;
  std::uint64_t limit = 0;
  bool follow = false;
};

std::expected<LogRead, Problem> read_log_read(const Input& input) {
  const auto id = base::JobId::parse(input.id);
  if (!id || id->is_nil()) return std::unexpected(not_found("job", input.id));
  const auto parameters = Parameters::read(input.request.query, {"offset", "limit", "follow"});
  if (!parameters) return std::unexpected(parameters.error());
  LogRead read{.job = *id, .after = 0, .limit = 100, .follow = false};
  if (auto problem = parameters->integer("offset", 0, kMostOffset, read.after))
    return std::unexpected(*std::move(problem));
  if (auto problem = parameters->integer("limit", 1, kLogPage, read.limit))
    return std::unexpected(*std::move(problem));
  if (auto problem = parameters->boolean("follow", read.follow))
    return std::unexpected(*std::move(problem));
  return read;
}

}  // namespace

Outcome job_logs(const Input& input) {
  const auto read = read_log_read(input);
  if (!read) return std::unexpected(read.error());
  if (read->follow) {
    // A browser that lost its connection says which line it has seen.
    const auto seen = parse_position(input.request.header("last-event-id"));
    return std::make_unique<LogFollow>(
        LogFollow{.job = read->job, .after = seen ? seen->index : read->after, .principal = {}});
  }
  return std::make_unique<LogPageAnswer>(
      input.inbox, call::LogsQuery{.job = read->job,
                                   .after = read->after,
                                   .limit = static_cast<std::uint32_t>(read->limit)});
}

}  // namespace jobbie::face::native
