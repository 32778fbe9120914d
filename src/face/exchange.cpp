// From the node's outcome to the connection.
#include "face/exchange.hpp"

#include <new>
#include <string>
#include <utility>

namespace jobbie::face {

void Exchange::watch_hang_up() {
  // Shared, because the node reads it on its own thread while the connection may end on ours.
  hung_up = std::make_shared<std::atomic<bool>>(false);
  responder_.on_hang_up([flag = hung_up] { flag->store(true, std::memory_order_relaxed); });
}

void Exchange::finish() {
  Answer out;
  try {
    write_answer(out);
  } catch (const std::bad_alloc&) {
    out = {};
    write(problem_of(call::Trouble::out_of_memory), out);
  }
  send(responder_, std::move(out));
}

void Exchange::write_answer(Answer& out) const {
  if (trouble != call::Trouble::none) return write(problem_of(trouble), out);
  if (replies.size() != expected_replies_) return write(Problem{}, out);
  render(out);
  out.stale = stale;
}

void Exchange::write_refusal(const command::Reply& reply, Answer& out) {
  const auto* refusal = std::get_if<command::Refusal>(&reply);
  write(refusal != nullptr ? problem_of(*refusal) : Problem{}, out);
}

void send(http::Responder& responder, Answer&& answer) {
  if (answer.file.descriptor >= 0)
    return http::send_file(std::move(responder),
                           {.status = answer.status,
                            .content_type = answer.type,
                            .body = {},
                            .headers = std::move(answer.headers)},
                           std::move(answer.file));
  const auto type = answer.problem         ? kProblemJson
                    : answer.body.empty()  ? std::string_view{}
                    : !answer.type.empty() ? answer.type
                                           : kJson;
  if (answer.allow.empty() && answer.retry_after_s == 0 && answer.challenge == nullptr &&
      answer.etag.empty() && !answer.stale)
    return responder.send(answer.status, type, answer.body);
  http::Response response{
      .status = answer.status, .content_type = type, .body = std::move(answer.body)};
  if (!answer.allow.empty()) response.headers.emplace_back("allow", std::move(answer.allow));
  if (answer.challenge != nullptr)
    response.headers.emplace_back("www-authenticate", answer.challenge);
  if (answer.retry_after_s != 0)
    response.headers.emplace_back("retry-after", std::to_string(answer.retry_after_s));
  if (answer.stale) response.headers.emplace_back("x-jobbie-stale", "true");
  if (!answer.etag.empty()) response.headers.emplace_back("etag", answer.etag);
  responder.send(std::move(response));
}

}  // namespace jobbie::face
