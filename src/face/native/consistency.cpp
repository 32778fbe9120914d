// One parameter is taken out of the query; the endpoints know the others.
#include "face/native/consistency.hpp"

#include <utility>

#include "face/parameters.hpp"

namespace jobbie::face::native {
namespace {

constexpr std::string_view kName = "consistency=";

}  // namespace

Consistency::Consistency(Consistency&& other) noexcept
    : request(other.request), rest(std::move(other.rest)), strong(other.strong) {
  if (request.query.data() != nullptr && !rest.empty()) request.query = rest;
}

std::expected<Consistency, Problem> take_consistency(const http::Request& request) {
  Consistency out;
  out.request = request;
  if (request.query.find(kName) == std::string_view::npos) return out;
  bool given = false;
  std::string_view left = request.query;
  while (!left.empty()) {
    const auto end = left.find('&');
    const auto part = left.substr(0, end);
    left = end == std::string_view::npos ? std::string_view() : left.substr(end + 1);
    if (!part.starts_with(kName)) {
      out.rest += (out.rest.empty() ? "" : "&") + std::string(part);
      continue;
    }
    const auto value = part.substr(kName.size());
    if (given || (value != "strong" && value != "local"))
      return std::unexpected(bad_parameter("consistency", "is strong or local, and given once"));
    given = true;
    out.strong = value == "strong";
  }
  if (given) out.request.query = out.rest;
  return out;
}

}  // namespace jobbie::face::native
