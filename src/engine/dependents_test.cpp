// Dependents on their own.
#include "engine/dependents.hpp"

#include <gtest/gtest.h>

namespace jobbie::engine {
namespace {

TEST(Dependents, GivesWaitersInOrderUpToABound) {
  Dependents dependents;
  EXPECT_TRUE(dependents.add(1, 9));
  EXPECT_TRUE(dependents.add(1, 4));
  EXPECT_FALSE(dependents.add(1, 9));
  EXPECT_EQ(dependents.first(1, 10), 4U);
  EXPECT_EQ(dependents.first(1, 3), 0U);
  dependents.remove(1, 4);
  EXPECT_EQ(dependents.first(1, 8), 0U);
  EXPECT_EQ(dependents.first(1, 9), 9U);
}

TEST(Dependents, NobodyIsLeftWhenTheLastIsRemoved) {
  Dependents dependents;
  dependents.add(1, 4);
  EXPECT_TRUE(dependents.any(1));
  EXPECT_FALSE(dependents.any(4));
  dependents.remove(2, 4);
  dependents.remove(1, 4);
  EXPECT_FALSE(dependents.any(1));
  EXPECT_EQ(dependents.first(1, 10), 0U);
}

}  // namespace
}  // namespace jobbie::engine
