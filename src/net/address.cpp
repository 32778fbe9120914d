// Both families, to and from text and the system's structures.
#include "net/address.hpp"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "net/socket_address.hpp"

namespace jobbie::net {
namespace {

constexpr std::array<std::uint8_t, 12> kV4Prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

bool Address::is_v4() const {
  return std::equal(kV4Prefix.begin(), kV4Prefix.end(), bytes.begin());
}

std::optional<Address> parse_address(std::string_view text) {
  const std::string ended(text);
  Address address;
  if (inet_pton(AF_INET6, ended.c_str(), address.bytes.data()) == 1) return address;
  std::copy(kV4Prefix.begin(), kV4Prefix.end(), address.bytes.begin());
  if (inet_pton(AF_INET, ended.c_str(), address.bytes.data() + kV4Prefix.size()) == 1)
    return address;
  return std::nullopt;
}

std::string to_text(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const char* const made =
      address.is_v4()
          ? inet_ntop(AF_INET, address.bytes.data() + kV4Prefix.size(), text.data(), text.size())
          : inet_ntop(AF_INET6, address.bytes.data(), text.data(), text.size());
  return made != nullptr ? made : "";
}

SocketAddress to_socket_address(const Address& address, std::uint16_t port) {
  SocketAddress out;
  if (address.is_v4()) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, address.bytes.data() + kV4Prefix.size(), sizeof v4.sin_addr);
    std::memcpy(&out.storage, &v4, sizeof v4);
    out.length = sizeof v4;
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    v6.sin6_scope_id = address.scope;
    std::memcpy(&v6.sin6_addr, address.bytes.data(), sizeof v6.sin6_addr);
    std::memcpy(&out.storage, &v6, sizeof v6);
    out.length = sizeof v6;
  }
  return out;
}

std::optional<Address> from_socket_address(const sockaddr& given) {
  Address out;
  if (given.sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &given, sizeof v6);
    std::memcpy(out.bytes.data(), &v6.sin6_addr, out.bytes.size());
    out.scope = v6.sin6_scope_id;
    return out;
  }
  if (given.sa_family != AF_INET) return std::nullopt;
  sockaddr_in v4{};
  std::memcpy(&v4, &given, sizeof v4);
  std::copy(kV4Prefix.begin(), kV4Prefix.end(), out.bytes.begin());
  std::memcpy(out.bytes.data() + kV4Prefix.size(), &v4.sin_addr, sizeof v4.sin_addr);
  return out;
}

}  // namespace jobbie::net
