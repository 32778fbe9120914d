// The last colon parts host and port; a host with colons stands in brackets.
#include "peer/address.hpp"

#include <charconv>

#include "peer/failure.hpp"

namespace jobbie::peer {

base::Result<HostPort> parse_address(std::string_view text) {
  const auto refuse = [&] {
    return failure("bad_address", "'" + std::string(text) + "' is not host:port");
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return refuse();
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string_view::npos)
    return refuse();
  HostPort out{.host = std::string(host)};
  const auto* const end = digits.data() + digits.size();
  const auto [behind, error] = std::from_chars(digits.data(), end, out.port);
  if (host.empty() || digits.empty() || error != std::errc{} || behind != end) return refuse();
  return out;
}

}  // namespace jobbie::peer
