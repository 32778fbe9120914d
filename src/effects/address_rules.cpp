// Blocks of addresses, after the registries of IANA for special purposes.
#include "effects/address_rules.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <utility>

namespace jobbie::effects {
namespace {

using net::Address;
using net::parse_address;

/// Of the prefix that makes IPv6 addresses of IPv4 addresses.
constexpr unsigned kV4Bits = 96;

bool is_within(const Address& address, const Address& block, unsigned bits) {
  const unsigned whole = bits / 8;
  if (!std::equal(block.bytes.begin(), block.bytes.begin() + whole, address.bytes.begin()))
    return false;
  const unsigned rest = bits % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xff << (8 - rest));
  return ((address.bytes[whole] ^ block.bytes[whole]) & mask) == 0;
}

struct Reserved {
  const char* address;
  unsigned bits;
};

constexpr Reserved kReservedV4[] = {
    {"0.0.0.0", 8},      {"10.0.0.0", 8},     {"100.64.0.0", 10}, {"127.0.0.0", 8},
    {"169.254.0.0", 16}, {"172.16.0.0", 12},  {"192.0.0.0", 24},  {"192.0.2.0", 24},
    {"192.88.99.0", 24}, {"192.168.0.0", 16}, {"198.18.0.0", 15}, {"198.51.100.0", 24},
    {"203.0.113.0", 24}, {"224.0.0.0", 4},    {"240.0.0.0", 4},
};
/// All that is public in IPv6 is in here, but for the exceptions below.
constexpr Reserved kGlobalV6 = {"2000::", 3};
constexpr Reserved kReservedV6[] = {
    {"2001::", 23},
    {"2001:db8::", 32},
    {"2002::", 16},
    {"3fff::", 20},
};

bool is_in(const Address& address, const Reserved& reserved, unsigned more_bits) {
  const auto block = parse_address(reserved.address);
  return block && is_within(address, *block, reserved.bits + more_bits);
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

bool is_public(const Address& address) {
  if (address.is_v4())
    return std::none_of(std::begin(kReservedV4), std::end(kReservedV4),
                        [&](const auto& reserved) { return is_in(address, reserved, kV4Bits); });
  // Translated addresses (64:ff9b::/96) and whatever else carries an IPv4 address inside lie
  // outside of the global block, or are among its exceptions.
  return is_in(address, kGlobalV6, 0) &&
         std::none_of(std::begin(kReservedV6), std::end(kReservedV6),
                      [&](const auto& reserved) { return is_in(address, reserved, 0); });
}

base::Result<void> AllowList::add(std::string_view text) {
  const auto wrong = [&] {
    return std::unexpected(base::Error{
        .code = "bad_setting",
        .message = "\"" + std::string(text) + "\" is no host, address or block of addresses"});
  };
  const auto slash = text.find('/');
  const auto address = parse_address(text.substr(0, slash));
  if (!address) {
    if (slash != std::string_view::npos || text.empty() || text.find(' ') != std::string_view::npos)
      return wrong();
    hosts_.push_back(lower_case(text));
    return {};
  }
  const unsigned most = address->is_v4() ? 32 : 128;
  unsigned bits = most;
  if (slash != std::string_view::npos) {
    const auto digits = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    if (error != std::errc{} || end != digits.data() + digits.size() || bits > most) return wrong();
  }
  blocks_.push_back({.address = *address, .bits = bits + (address->is_v4() ? kV4Bits : 0)});
  return {};
}

bool AllowList::allows(std::string_view host, const Address& address) const {
  if (std::find(hosts_.begin(), hosts_.end(), lower_case(host)) != hosts_.end()) return true;
  return std::any_of(blocks_.begin(), blocks_.end(), [&](const Block& block) {
    return is_within(address, block.address, block.bits);
  });
}

}  // namespace jobbie::effects
