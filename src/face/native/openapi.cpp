// GET /api/v1/openapi.json.
#include "face/native/openapi.hpp"

#include "face/native/endpoints.hpp"
#include "face/parameters.hpp"

namespace jobbie::face::native {
namespace {

/// Whether the list of tags has this one; a weak one is as good here.
bool has_tag(std::string_view list, std::string_view etag) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    auto tag = http::trim(list.substr(0, comma));
    if (tag.starts_with("W/")) tag.remove_prefix(2);
    if (tag == etag || tag == "*") return true;
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
  }
  return false;
}

}  // namespace

std::string openapi_json() {
  std::string out;
  for (const auto part : openapi_document().parts) out += part;
  return out;
}

/// The document, or 304 for who has it.
Outcome openapi(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  auto answer = std::make_unique<ReadyAnswer>(input.inbox);
  answer->ready.etag = openapi_document().etag;
  if (has_tag(input.request.header("if-none-match"), answer->ready.etag))
    answer->ready.status = 304;
  else
    answer->ready.body = openapi_json();
  return answer;
}

}  // namespace jobbie::face::native
