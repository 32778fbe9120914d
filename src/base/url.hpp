// Addresses of servers, taken apart. The one parser of URLs: a face checks those of webhooks with
// it, and what goes out to other servers uses the same reading of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace jobbie::base {

struct Url {
  bool tls = false;
  std::string host;  ///< without brackets
  std::uint16_t port = 0;
  std::string target;  ///< path and query, at least `/`
  bool is_v6 = false;  ///< the host is an IPv6 address

  /// What the Host header says.
  [[nodiscard]] std::string authority() const;
  /// `host:port` also where the port is the usual one, for messages.
  [[nodiscard]] std::string host_and_port() const;
};

/// `http` or `https`, a host, and maybe port, path and query. Refuses everything that servers read
/// in different ways: user names, fragments, spaces, control characters and other scripts.
[[nodiscard]] Result<Url> parse_url(std::string_view text);

/// A name from outside as one segment of a path, or as the value of a query parameter: everything
/// is encoded but letters, digits and `-._~`.
[[nodiscard]] std::string percent_encode(std::string_view text);

}  // namespace jobbie::base
