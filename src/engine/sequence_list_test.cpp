// The list of sequences against a set.
#include "engine/sequence_list.hpp"

#include <random>
#include <set>

#include <gtest/gtest.h>

namespace jobbie::engine {
namespace {

TEST(SequenceList, AgreesWithASet) {
  for (const std::uint64_t range : {5U, 100U, 10'000U}) {
    std::mt19937_64 random(range);
    SequenceList list;
    std::set<std::uint64_t> set;
    for (int i = 0; i < 20'000; ++i) {
      const auto sequence = 1 + random() % range;
      switch (random() % 4) {
        case 0:
          ASSERT_EQ(list.insert(sequence), set.insert(sequence).second);
          break;
        case 1:
          list.erase(sequence);
          set.erase(sequence);
          break;
        case 2:
          if (set.empty()) break;
          list.erase(list.front());
          set.erase(set.begin());
          break;
        default:
          ASSERT_EQ(list.insert(range + static_cast<std::uint64_t>(i)),
                    set.insert(range + static_cast<std::uint64_t>(i)).second);
      }
      ASSERT_EQ(list.size(), set.size());
      ASSERT_EQ(list.empty(), set.empty());
      if (!set.empty()) {
        ASSERT_EQ(list.front(), *set.begin());
      }
      ASSERT_EQ(list.contains(sequence), set.contains(sequence));
    }
  }
}

}  // namespace
}  // namespace jobbie::engine
