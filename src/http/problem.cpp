// Building the JSON of a refusal.
#include "http/problem.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/json.hpp"

namespace jobbie::http {
namespace {

/// `text` as a JSON string. What is not UTF-8 would make the whole answer unreadable.
std::string quoted_text(std::string_view text) {
  std::string quoted = base::json::quote(text);
  if (base::json::is_valid(quoted)) return quoted;
  std::string ascii(text);
  std::ranges::replace_if(
      ascii, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  return base::json::quote(ascii);
}

}  // namespace

std::string problem_json(const Problem& problem) {
  std::string out =
      fmt::format(R"({{"type":{},"title":{},"status":{},"code":{},"detail":{})",
                  quoted_text(problem.type), quoted_text(reason_phrase(problem.status)),
                  problem.status, quoted_text(problem.code), quoted_text(problem.detail));
  if (!problem.field.empty()) out += fmt::format(R"(,"field":{})", quoted_text(problem.field));
  out += "}\n";
  return out;
}

Response problem_response(const Problem& problem) {
  return {.status = problem.status,
          .content_type = kProblemType,
          .body = problem_json(problem),
          .headers = {}};
}

}  // namespace jobbie::http
