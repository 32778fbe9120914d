// Which addresses this server may be sent to by somebody who configures a webhook.
//
// A name that resolves to the inside of the network is the way past most fences. So the rule is
// about addresses: every address that a name resolves to must be public, or be allowed by the
// operator, and the connection goes to an address that was checked, not to the name again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "net/address.hpp"

namespace jobbie::effects {

/// Nothing between the two: not private, loopback, link-local (where clouds keep their metadata),
/// shared, multicast, documentation or otherwise reserved; embedded IPv4 addresses count as such.
[[nodiscard]] bool is_public(const net::Address& address);

/// What the operator allows beyond that.
class AllowList {
 public:
  /// A host name, an address, or a block as `10.1.0.0/16`.
  [[nodiscard]] base::Result<void> add(std::string_view text);
  [[nodiscard]] bool allows(std::string_view host, const net::Address& address) const;

 private:
  struct Block {
    net::Address address;
    unsigned bits = 0;
  };
  std::vector<std::string> hosts_;  ///< in lower case
  std::vector<Block> blocks_;
};

}  // namespace jobbie::effects
