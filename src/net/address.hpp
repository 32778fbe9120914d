// Addresses of machines as values: IPv4 and IPv6 in one form.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace jobbie::net {

/// IPv4 addresses are kept as the IPv6 addresses that stand for them (`::ffff:192.0.2.1`).
struct Address {
  std::array<std::uint8_t, 16> bytes{};
  std::uint32_t scope = 0;  ///< the network interface of a link-local address

  [[nodiscard]] bool is_v4() const;
  bool operator==(const Address&) const = default;
};

/// `192.0.2.1` or `2001:db8::1`; nothing for any other text.
[[nodiscard]] std::optional<Address> parse_address(std::string_view text);
[[nodiscard]] std::string to_text(const Address& address);

}  // namespace jobbie::net
