// The API's description, which the build makes from api/openapi.yaml. Private to the folder.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace jobbie::face::native {

struct OpenApi {
  std::span<const std::string_view> parts;  ///< of the JSON, in their order
  std::string_view etag;                    ///< with its quotes
};
[[nodiscard]] OpenApi openapi_document();
[[nodiscard]] std::string openapi_json();

}  // namespace jobbie::face::native
