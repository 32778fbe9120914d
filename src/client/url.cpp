// What an address of a server is beyond a URL.
#include "client/url.hpp"

#include <utility>

namespace jobbie::client {
namespace {

std::unexpected<Error> bad_address(std::string_view text, const std::string& why) {
  return std::unexpected(Error{.failure = Failure::settings,
                               .code = "bad_url",
                               .message = "\"" + std::string(text) + "\": " + why,
                               .hint = "An address looks like http://127.0.0.1:8080"});
}

}  // namespace

Result<ServerAddress> parse_server_address(std::string_view text) {
  const bool has_scheme = text.find("://") != std::string_view::npos;
  auto url = base::parse_url((has_scheme ? "" : "http://") + std::string(text));
  if (!url) return bad_address(text, url.error().message);
  ServerAddress address{.url = std::move(*url), .prefix = {}};
  if (address.url.target.find('?') != std::string::npos)
    return bad_address(text, "the address of a server has no query");
  address.prefix = address.url.target;
  while (address.prefix.ends_with('/')) address.prefix.pop_back();
  return address;
}

}  // namespace jobbie::client
