// Plain actions, and the parameters of lists.
#include "face/native/manage.hpp"

#include <fmt/format.h>

#include "command/validate.hpp"
#include "model/limits.hpp"

namespace jobbie::face::native {

std::optional<Problem> refuse_details(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query)) return problem;
  if (input.request.body.empty()) return std::nullopt;
  static constexpr Fields kNone(std::array<std::string_view, 0>{});
  Body body(input.request.body);
  if (body.object(kNone, [](std::size_t) { return false; }) && body.finish()) return std::nullopt;
  return body.problem();
}

Outcome call_with(std::unique_ptr<Exchange> exchange, command::Command command) {
  if (const auto refusal = command::validate(command)) return std::unexpected(problem_of(*refusal));
  exchange->commands.push_back(std::move(command));
  return exchange;
}

Outcome act(const Input& input, command::Command command, const Told& told) {
  auto exchange = std::make_unique<Acted>(input.inbox, told.code, told.affected);
  base::json::Writer json(exchange->text);
  json.begin_object();
  json.member(told.subject).string(told.name);
  json.member("status").plain(told.status);
  return call_with(std::move(exchange), std::move(command));
}

void Acted::render(Answer& out) const {
  const auto* done = reply_as<command::Done>(replies[0], out);
  if (done == nullptr) return;
  out.status = code_;
  out.body = text;
  if (affected_) out.body += ",\"affected\":" + std::to_string(done->affected);
  out.body.push_back('}');
}

std::expected<call::NamePage, Problem> read_page(const Input& input, std::string_view list) {
  const auto given = Parameters::read(input.request.query, {"cursor", "limit", "prefix", "glob"});
  if (!given) return std::unexpected(given.error());
  std::string after;
  if (auto problem = given->cursor(list, after)) return std::unexpected(*std::move(problem));
  std::uint64_t limit = kMostRows;
  if (auto problem = given->integer("limit", 1, kMostRows, limit))
    return std::unexpected(*std::move(problem));
  for (const auto name : {"prefix", "glob"})
    if (given->text(name).size() > model::limits::kName)
      return std::unexpected(
          Problem{.status = 422,
                  .code = "invalid",
                  .detail = fmt::format("{} is longer than {} bytes.", name, model::limits::kName),
                  .field = name});
  return call::NamePage{.after = std::move(after),
                        .prefix = std::string(given->text("prefix")),
                        .glob = std::string(given->text("glob")),
                        .limit = limit};
}

}  // namespace jobbie::face::native
