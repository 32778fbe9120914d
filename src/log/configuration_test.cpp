// Configurations: what changes make of them, and their bytes.
#include "log/configuration.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/golden_file.hpp"

namespace jobbie::log {
namespace {

Member member(std::uint64_t id, bool voter = true) {
  return {
      .id = id, .name = "n" + std::to_string(id), .address = "a:1", .http = "a:2", .voter = voter};
}

Configuration three() {
  return {.cluster_id = 9, .members = {member(1), member(3), member(5, false)}};
}

TEST(Configuration, finds_its_members) {
  const auto c = three();
  EXPECT_EQ(c.find(3)->name, "n3");
  EXPECT_EQ(c.find(2), nullptr);
  EXPECT_EQ(c.find_name("n5")->id, 5u);
  EXPECT_EQ(c.find_name("n2"), nullptr);
  EXPECT_EQ(c.voter_count(), 2u);
  EXPECT_TRUE(c.is_voter(1));
  EXPECT_FALSE(c.is_voter(5));
  EXPECT_FALSE(c.is_voter(7));
}

TEST(Configuration, a_change_applied_twice_is_applied_once) {
  auto moved = member(3, false);
  moved.address = "b:1";
  const std::vector<Change> changes{{Change::Kind::add_learner, member(2)},
                                    {Change::Kind::promote, member(5)},
                                    {Change::Kind::remove, member(3)},
                                    {Change::Kind::update, moved}};
  for (const auto& change : changes) {
    const auto once = apply(three(), change);
    EXPECT_NE(once, three());
    EXPECT_EQ(apply(once, change), once);
    EXPECT_TRUE(check(once));
  }
  EXPECT_FALSE(apply(three(), changes[0]).is_voter(2)) << "it begins as a learner";
  EXPECT_TRUE(apply(three(), changes[1]).is_voter(5));
  EXPECT_EQ(apply(three(), changes[2]).find(3), nullptr);
  EXPECT_TRUE(apply(three(), changes[3]).is_voter(3)) << "an update does not touch that";
}

TEST(Configuration, a_change_without_sense_does_nothing) {
  EXPECT_EQ(apply(three(), {Change::Kind::add_learner, member(1)}), three());
  for (const auto kind : {Change::Kind::promote, Change::Kind::remove, Change::Kind::update})
    EXPECT_EQ(apply(three(), {kind, member(8)}), three());
  const Configuration alone{.cluster_id = 9, .members = {member(1), member(2, false)}};
  EXPECT_EQ(apply(alone, {Change::Kind::remove, member(1)}), alone);
  Configuration full{.cluster_id = 9, .members = {}};
  for (std::uint64_t id = 1; id <= kMaxMembers; ++id) full.members.push_back(member(id));
  EXPECT_EQ(apply(full, {Change::Kind::add_learner, member(99)}), full);
}

TEST(Configuration, is_checked) {
  EXPECT_TRUE(check(three()));
  const auto refused = [](auto spoil) {
    auto c = three();
    spoil(c);
    return !check(c) && !decode_configuration(encode(c));
  };
  EXPECT_TRUE(refused([](Configuration& c) { c.members.clear(); }));
  EXPECT_TRUE(refused([](Configuration& c) { c.members[0].id = 0; }));
  EXPECT_TRUE(refused([](Configuration& c) { c.members[1].id = 1; }));
  EXPECT_TRUE(refused([](Configuration& c) { std::swap(c.members[0], c.members[1]); }));
  EXPECT_TRUE(refused([](Configuration& c) { c.members[0].name.resize(129); }));
  EXPECT_TRUE(refused([](Configuration& c) { c.members[0].http.resize(257); }));
  EXPECT_TRUE(refused([](Configuration& c) { c.members[0].address.resize(257); }));
  EXPECT_TRUE(refused([](Configuration& c) {
    for (std::uint64_t id = 10; id < 45; ++id) c.members.push_back(member(id));
  }));
  EXPECT_TRUE(refused([](Configuration& c) {
    for (auto& m : c.members) m.voter = false;
  }));
}

TEST(Configuration, the_largest_fits_into_its_bound) {
  Configuration full{.cluster_id = UINT64_MAX, .members = {}};
  for (std::uint64_t id = 0; id < kMaxMembers; ++id)
    full.members.push_back({.id = UINT64_MAX - kMaxMembers + id,
                            .name = std::string(kMaxMemberNameBytes, 'n'),
                            .address = std::string(kMaxMemberAddressBytes, 'a'),
                            .http = std::string(kMaxMemberAddressBytes, 'h'),
                            .voter = true});
  const Configured configured{.configuration = full, .index = UINT64_MAX, .joined = true};
  EXPECT_LE(encode(configured).size(), kMaxConfigurationBytes);
  EXPECT_EQ(decode_configured(encode(configured)), configured);
}

TEST(Configuration, no_prefix_and_no_flipped_byte_is_trusted) {
  const auto bytes = encode(Configured{.configuration = three(), .index = 7, .joined = true});
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(decode_configured(std::string_view(bytes).substr(0, n)));
    for (int bit = 0; bit < 8; ++bit) {
      auto other = bytes;
      other[n] = static_cast<char>(other[n] ^ (1 << bit));
      if (const auto decoded = decode_configured(other)) EXPECT_TRUE(check(decoded->configuration));
    }
  }
  EXPECT_FALSE(decode_configured(bytes + "x"));
  auto newer = bytes;
  newer[0] = 2;
  EXPECT_EQ(decode_configured(newer).error().code, "unknown_version");
  // A count of members that the bytes cannot hold.
  EXPECT_FALSE(decode_configuration(std::string("\x01\0\0\0\0\0\0\0\0\xff\xff\x03", 12)));
}

TEST(Configuration, an_entry_carries_a_change) {
  for (const auto kind : {Change::Kind::add_learner, Change::Kind::promote, Change::Kind::remove,
                          Change::Kind::update}) {
    const Change change{kind, member(3)};
    EXPECT_EQ(decode_entry(encode_entry(three(), change)), change);
    EXPECT_EQ(decode_change(encode(change)), change);
  }
  EXPECT_FALSE(decode_entry(""));
  EXPECT_FALSE(decode_entry("\xff\xff\xff"));
  EXPECT_FALSE(decode_change(std::string("\x01\x09", 2)));
}

TEST(ConfigurationGolden, version_1_still_reads) {
  const Configured configured{.configuration = three(), .index = 300, .joined = true};
  const Change change{Change::Kind::update, member(3)};
  const std::vector<std::pair<std::string, std::string>> written{
      {"configuration", encode(three())},
      {"configured", encode(configured)},
      {"change", encode(change)},
      {"entry", encode_entry(three(), change)}};
  if (jobbie::testing::writing_golden())
    jobbie::testing::write_golden("configuration_v1.hex", "A cluster's configuration.", written);
  const auto golden = jobbie::testing::read_golden("configuration_v1.hex");
  ASSERT_EQ(golden.size(), written.size());
  for (std::size_t i = 0; i < written.size(); ++i)
    EXPECT_EQ(golden[i].second, written[i].second) << "the format has changed";
  EXPECT_EQ(decode_configuration(golden[0].second), three());
  EXPECT_EQ(decode_configured(golden[1].second), configured);
  EXPECT_EQ(decode_change(golden[2].second), change);
  EXPECT_EQ(decode_entry(golden[3].second), change);
}

}  // namespace
}  // namespace jobbie::log
