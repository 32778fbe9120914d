// The API's description, which the build makes from api/openapi.yaml. Private to the folder.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "face/answer.hpp"
#include "http/message.hpp"

namespace jobbie::face::native {

struct OpenApi {
  std::span<const std::string_view> parts;  ///< of the JSON, in their order
  std::string_view etag;                    ///< with its quotes
};
[[nodiscard]] OpenApi openapi_document();
[[nodiscard]] std::string openapi_json();

/// GET /api/v1/openapi.json: the document, or 304 for who has it.
void openapi(const http::Request& request, Answer& out);

}  // namespace jobbie::face::native
