// The address of a server, and names as they stand in paths.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "client/error.hpp"

namespace jobbie::client {

struct Url {
  std::string host;
  std::uint16_t port = 80;
  bool tls = false;
  std::string prefix;  ///< of every path, without a slash at its end

  /// `host:port`, with brackets around an IPv6 address: the Host header.
  std::string authority() const;
};

/// Reads `http://host[:port][/prefix]` or `https://…`; without a scheme it is http.
Result<Url> parse_url(std::string_view text);

/// A name from outside as one segment of a path, or as the value of a query parameter.
std::string encoded(std::string_view name);

}  // namespace jobbie::client
