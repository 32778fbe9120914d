// What a node says of itself when it is connected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace jobbie::peer {

struct Hello {
  std::uint64_t cluster_id = 0;  ///< 0: belongs to none yet
  std::uint64_t node_id = 0;     ///< never 0
  std::string name;              ///< at most kMaxHelloText bytes, as the other texts
  std::string address;           ///< of its cluster port, as others may dial it
  std::string http;              ///< of its HTTP port
  bool has_log = false;
  std::uint32_t size = 0;  ///< how many nodes it expects when a cluster is formed

  bool operator==(const Hello&) const = default;
};

inline constexpr std::size_t kMaxHelloText = 256;

}  // namespace jobbie::peer
