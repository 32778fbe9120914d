// Refusals as `application/problem+json` (RFC 9457), the one form of every error answer.
#pragma once

#include <string>
#include <string_view>

#include "http/message.hpp"

namespace jobbie::http {

inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kProblemType = "application/problem+json";

struct Problem {
  int status = 500;
  std::string_view code;    ///< stable, for programs (`snake_case`)
  std::string_view detail;  ///< a sentence, for people
  std::string_view field;   ///< the request's field at fault; empty: none
  std::string_view type = "about:blank";
};

/// `{"type", "title", "status", "code", "detail", "field"?}`. Bytes that are not UTF-8 come out as
/// question marks: these texts may quote what a client sent.
std::string problem_json(const Problem& problem);

Response problem_response(const Problem& problem);

}  // namespace jobbie::http
