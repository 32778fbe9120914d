// What a face sends back, before it becomes bytes on a connection.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/file_body.hpp"

namespace jobbie::face {

inline constexpr std::string_view kJson = "application/json";
inline constexpr std::string_view kProblemJson = "application/problem+json";

struct Answer {
  int status = 200;
  bool problem = false;             ///< the body is problem+json
  std::string body;                 ///< JSON; empty with 204
  std::string_view type = {};       ///< of another kind of body; a constant
  std::string allow;                ///< of a 405
  unsigned retry_after_s = 0;       ///< zero: not said
  const char* challenge = nullptr;  ///< of a 401: a constant
  std::string_view etag = {};       ///< a constant; empty: not said
  bool stale = false;               ///< it lacks what was acknowledged last; a header says so
  http::FileBody file;              ///< the body, where it has a descriptor
  std::vector<std::pair<std::string, std::string>> headers;  ///< of a file
};

}  // namespace jobbie::face
