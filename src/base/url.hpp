// Addresses of other people's servers, taken apart.
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
};

/// `http` or `https`, a host, and maybe port, path and query. Refuses everything that servers read
/// in different ways: user names, fragments, spaces, control characters and other scripts.
Result<Url> parse_url(std::string_view text);

}  // namespace jobbie::base
