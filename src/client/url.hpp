// The address of a Jobbie server, and names as they stand in paths. Not part of the public
// interface.
#pragma once

#include <string>
#include <string_view>

#include "base/url.hpp"
#include "client/error.hpp"

namespace jobbie::client {

struct ServerAddress {
  base::Url url;
  std::string prefix;  ///< of every path, without a slash at its end
};

/// Reads `http://host[:port][/prefix]` or `https://…`; without a scheme it is http.
[[nodiscard]] Result<ServerAddress> parse_server_address(std::string_view text);

/// A name from outside as one segment of a path, or as the value of a query parameter.
[[nodiscard]] inline std::string encoded(std::string_view name) {
  return base::percent_encode(name);
}

}  // namespace jobbie::client
