// "host:port" and "[v6]:port".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace jobbie::peer {

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
base::Result<HostPort> parse_address(std::string_view text);

}  // namespace jobbie::peer
