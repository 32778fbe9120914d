// Which addresses are public, and what an operator allows beside them.
#include "effects/address_rules.hpp"

#include <string>

#include <gtest/gtest.h>

namespace jobbie::effects {
namespace {

net::Address address(const std::string& text) {
  const auto parsed = net::parse_address(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(net::Address{});
}

TEST(AddressRules, OnlyPublicAddressesArePublic) {
  for (const auto* text : {"1.1.1.1", "93.184.216.34", "172.15.255.255", "172.32.0.1", "100.63.0.1",
                           "169.253.1.1", "2606:4700::1111", "2a00:1450:4001::"})
    EXPECT_TRUE(is_public(address(text))) << text;
  for (const auto* text : {"0.0.0.0",
                           "10.1.2.3",
                           "100.64.0.1",
                           "127.0.0.1",
                           "127.9.9.9",
                           "169.254.169.254",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.168.1.1",
                           "198.18.0.1",
                           "224.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "fe80::1",
                           "fc00::1",
                           "fd00:ec2::254",
                           "ff02::1",
                           "::ffff:127.0.0.1",
                           "::ffff:10.0.0.1",
                           "::127.0.0.1",
                           "64:ff9b::7f00:1",
                           "2002:7f00:1::",
                           "2001:db8::1",
                           "2001::1"})
    EXPECT_FALSE(is_public(address(text))) << text;
}

TEST(AddressRules, TheOperatorAllowsHostsAddressesAndBlocks) {
  AllowList list;
  for (const auto* text : {"Hooks.internal", "127.0.0.1", "10.1.0.0/16", "fd00::/8"})
    ASSERT_TRUE(list.add(text)) << text;
  for (const auto* text : {"", "a b", "10.0.0.0/33", "10.0.0.0/x", "name/8", "fd00::/129"})
    EXPECT_FALSE(list.add(text)) << text;
  EXPECT_TRUE(list.allows("hooks.INTERNAL", address("192.168.0.1")));
  EXPECT_FALSE(list.allows("other.internal", address("192.168.0.1")));
  EXPECT_TRUE(list.allows("x", address("127.0.0.1")));
  EXPECT_FALSE(list.allows("x", address("127.0.0.2")));
  EXPECT_TRUE(list.allows("x", address("10.1.255.1")));
  EXPECT_FALSE(list.allows("x", address("10.2.0.1")));
  EXPECT_TRUE(list.allows("x", address("fd12::1")));
}

}  // namespace
}  // namespace jobbie::effects
