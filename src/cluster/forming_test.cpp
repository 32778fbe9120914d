// Who founds a cluster, who joins one, and who waits.
#include "cluster/forming.hpp"

#include <gtest/gtest.h>

namespace jobbie::cluster {
namespace {

using Kind = Forming::Step::Kind;

peer::Hello node(std::uint64_t id, std::uint64_t cluster = 0) {
  return {.cluster_id = cluster,
          .node_id = id,
          .name = "n" + std::to_string(id),
          .address = "host:" + std::to_string(id),
          .http = {},
          .has_log = cluster != 0,
          .size = 3};
}

void meet(Forming& forming, const peer::Hello& other) {
  forming.note(other);
  forming.connected(other.node_id);
}

TEST(Forming, WaitsUntilAllThatWereAnnouncedAreThere) {
  Forming forming(node(1), 77);
  EXPECT_EQ(forming.next().kind, Kind::wait) << "nobody said how many there are";
  forming.expect(3);
  meet(forming, node(2));
  EXPECT_EQ(forming.next().kind, Kind::wait);
  forming.note(node(3));
  EXPECT_EQ(forming.next().kind, Kind::wait) << "it was heard of, but cannot be reached";
  forming.connected(3);
  const auto step = forming.next();
  EXPECT_EQ(step.kind, Kind::found);
  EXPECT_EQ(step.to, (std::vector<std::uint64_t>{2, 3}));
}

TEST(Forming, OnlyTheLowestIdFounds) {
  Forming forming(node(2), 77);
  forming.expect(3);
  meet(forming, node(1));
  meet(forming, node(3));
  EXPECT_EQ(forming.next().kind, Kind::wait);
}

TEST(Forming, AClusterThatIsThereIsJoinedWhoeverElseIsThere) {
  Forming forming(node(1), 77);
  forming.expect(3);
  meet(forming, node(2));
  meet(forming, node(3, 5));
  const auto step = forming.next();
  EXPECT_EQ(step.kind, Kind::join);
  EXPECT_EQ(step.to, (std::vector<std::uint64_t>{3}));
  forming.lost(3);
  EXPECT_EQ(forming.next().kind, Kind::wait) << "and never replaced by a new one of two";
}

TEST(Forming, SomebodyWhoWasToldOfMoreNodesKnowsBetter) {
  Forming forming(node(1), 77);
  forming.expect(2);
  meet(forming, node(2));  // expects three
  EXPECT_EQ(forming.next().kind, Kind::wait);
}

TEST(Forming, NamesMustDiffer) {
  Forming forming(node(1), 77);
  forming.expect(2);
  auto same = node(2);
  same.name = "n1";
  same.size = 2;
  meet(forming, same);
  EXPECT_EQ(forming.clash(), "n1");
  EXPECT_EQ(forming.next().kind, Kind::wait);
}

TEST(Forming, TheFounderBeginsWhenAMajorityHas) {
  Forming forming(node(1), 77);
  forming.expect(3);
  meet(forming, node(2));
  meet(forming, node(3));
  const auto founders = forming.founders();
  EXPECT_EQ(founders.cluster_id, 77U);
  ASSERT_EQ(founders.members.size(), 3U);
  EXPECT_TRUE(founders.members[2].voter);
  EXPECT_FALSE(forming.begun(9)) << "a stranger";
  EXPECT_TRUE(forming.begun(3)) << "itself and one more";
  // Whoever comes now is not one of them any more.
  meet(forming, node(4));
  EXPECT_EQ(forming.founders(), founders);
}

TEST(Forming, OneProposalAtATime) {
  Forming forming(node(2), 77);
  forming.expect(2);
  auto other = node(3);
  other.size = 2;
  meet(forming, other);
  log::Configuration theirs{.cluster_id = 5, .members = {{.id = 2, .name = "n2"}}};
  EXPECT_TRUE(forming.accepts(3, theirs));
  const auto ours = forming.founders();
  EXPECT_FALSE(forming.accepts(3, theirs)) << "it has proposed its own";
  EXPECT_TRUE(forming.accepts(1, theirs)) << "but gives way to a lower id";
  EXPECT_FALSE(forming.accepts(1, {.cluster_id = 5, .members = {{.id = 9, .name = "x"}}}));
}

}  // namespace
}  // namespace jobbie::cluster
