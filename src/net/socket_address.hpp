// Addresses as the system's calls take and give them. Private to the folder.
#pragma once

#include <cstdint>
#include <optional>

#include <sys/socket.h>

#include "net/address.hpp"

namespace jobbie::net {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] int family() const { return storage.ss_family; }
};

[[nodiscard]] SocketAddress to_socket_address(const Address& address, std::uint16_t port);
/// Nothing for families other than the two.
[[nodiscard]] std::optional<Address> from_socket_address(const sockaddr& given);

}  // namespace jobbie::net
