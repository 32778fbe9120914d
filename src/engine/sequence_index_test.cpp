// The sequence index against std::unordered_map, in the patterns that a job queue makes.
#include "engine/sequence_index.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/id.hpp"

namespace jobbie::engine {
namespace {

/// An index and a model of what it must hold.
template <typename Index>
class Pair {
 public:
  void insert(std::uint64_t sequence) {
    const std::uint32_t slot = ++next_slot_;
    index.insert(sequence, slot);
    model.emplace(sequence, slot);
  }
  void set(std::uint64_t sequence) {
    const std::uint32_t slot = ++next_slot_;
    index.set(sequence, slot);
    model[sequence] = slot;
  }
  void erase(std::uint64_t sequence) {
    ASSERT_EQ(index.erase(sequence), model.erase(sequence) > 0);
    ASSERT_EQ(index.size(), model.size());
  }
  void compare(std::uint64_t sequence) const {
    const auto found = model.find(sequence);
    ASSERT_EQ(index.find(sequence), found == model.end() ? 0 : found->second) << sequence;
  }
  void compare_all() const {
    ASSERT_EQ(index.size(), model.size());
    for (const auto& [sequence, slot] : model) ASSERT_EQ(index.find(sequence), slot) << sequence;
  }

  Index index;
  std::unordered_map<std::uint64_t, std::uint32_t> model;

 private:
  std::uint32_t next_slot_ = 0;
};

template <typename Index>
class SequenceIndexTest : public testing::Test {};
using Indexes = testing::Types<SequenceIndex, ScatteredIndex>;
TYPED_TEST_SUITE(SequenceIndexTest, Indexes);

TYPED_TEST(SequenceIndexTest, StartsEmpty) {
  const TypeParam index;
  EXPECT_TRUE(index.empty());
  for (const std::uint64_t sequence : {std::uint64_t{0}, std::uint64_t{1}, base::kMaxSequence,
                                       base::kMaxSequence + 1, ~std::uint64_t{0}}) {
    EXPECT_EQ(index.find(sequence), TypeParam::kNone);
    index.prefetch(sequence);
  }
}

TYPED_TEST(SequenceIndexTest, HoldsTheLimitsOfSequencesAndSlots) {
  TypeParam index;
  index.insert(1, 0xFFFF'FFFF);
  index.insert(base::kMaxSequence, 1);
  EXPECT_EQ(index.find(1), 0xFFFF'FFFFU);
  EXPECT_EQ(index.find(base::kMaxSequence), 1U);
  EXPECT_EQ(index.find(0), 0U);
  EXPECT_EQ(index.find(2), 0U);
  EXPECT_FALSE(index.erase(2));
  EXPECT_FALSE(index.erase(0));
  EXPECT_FALSE(index.erase(~std::uint64_t{0}));
  EXPECT_EQ(index.size(), 2U);
  EXPECT_TRUE(index.erase(1));
  EXPECT_FALSE(index.erase(1));
  EXPECT_EQ(index.size(), 1U);
}

TYPED_TEST(SequenceIndexTest, SetAddsAndReplaces) {
  TypeParam index;
  index.set(5, 1);
  index.set(5, 2);
  EXPECT_EQ(index.find(5), 2U);
  EXPECT_EQ(index.size(), 1U);
}

TYPED_TEST(SequenceIndexTest, AgreesWithAMapUnderRandomChanges) {
  for (const std::uint64_t range : {30U, 1000U, 100'000U, 4'000'000U}) {
    const std::uint64_t seed = 20'260'115 + range;
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Pair<TypeParam> pair;
    for (int i = 0; i < 60'000; ++i) {
      const std::uint64_t sequence = 1 + random() % range;
      const bool growing = i / 15'000 % 2 == 0;
      if (random() % 10 < (growing ? 7 : 1))
        pair.set(sequence);
      else
        ASSERT_NO_FATAL_FAILURE(pair.erase(sequence));
      ASSERT_NO_FATAL_FAILURE(pair.compare(1 + random() % range));
      // Every few changes while a table is moving, because that is where entries could get lost.
      if (i % 5'000 == 0 || (pair.index.is_resizing() && i % 61 == 0)) {
        ASSERT_NO_FATAL_FAILURE(pair.compare_all());
      }
    }
  }
}

TYPED_TEST(SequenceIndexTest, ServesADenseFifoWindow) {
  Pair<TypeParam> pair;
  const std::uint64_t window = 20'000;
  std::size_t settled = 0;
  for (std::uint64_t sequence = 1; sequence <= 150'000; ++sequence) {
    pair.insert(sequence);
    if (sequence > window) {
      ASSERT_NO_FATAL_FAILURE(pair.erase(sequence - window));
    }
    ASSERT_NO_FATAL_FAILURE(pair.compare(sequence));
    ASSERT_NO_FATAL_FAILURE(pair.compare(sequence > window / 2 ? sequence - window / 2 : 0));
    if (sequence == 2 * window) settled = pair.index.capacity_bytes();
  }
  pair.compare_all();
  EXPECT_EQ(pair.index.capacity_bytes(), settled);  // churn leaves no trace
}

TYPED_TEST(SequenceIndexTest, KeepsStragglers) {
  // Nearly all jobs pass in order, and one in sixteen (always the same place in its block) stays.
  Pair<TypeParam> pair;
  const std::uint64_t window = 2'000;
  for (std::uint64_t sequence = 1; sequence <= 100'000; ++sequence) {
    pair.insert(sequence);
    if (sequence > window && (sequence - window) % 16 != 3) {
      ASSERT_NO_FATAL_FAILURE(pair.erase(sequence - window));
    }
    if (sequence % 10'000 == 0 || (pair.index.is_resizing() && sequence % 53 == 0)) {
      ASSERT_NO_FATAL_FAILURE(pair.compare_all());
    }
  }
  for (std::uint64_t sequence = 100'000; sequence > 0; --sequence)
    ASSERT_NO_FATAL_FAILURE(pair.erase(sequence));
  EXPECT_TRUE(pair.index.empty());
}

TYPED_TEST(SequenceIndexTest, GivesMemoryBack) {
  TypeParam index;
  const std::size_t start = index.capacity_bytes();
  for (std::uint64_t sequence = 1; sequence <= 200'000; ++sequence) index.insert(sequence, 1);
  const std::size_t peak = index.capacity_bytes();
  EXPECT_LT(peak, std::size_t{200'000} * 12 * 4);
  for (std::uint64_t sequence = 1; sequence <= 200'000; ++sequence) {
    ASSERT_EQ(index.find(sequence), 1U);
    ASSERT_TRUE(index.erase(sequence));
  }
  EXPECT_TRUE(index.empty());
  EXPECT_GT(peak, 100 * start);
  EXPECT_LT(index.capacity_bytes(), 10 * start);
}

TYPED_TEST(SequenceIndexTest, AResizeIsOverLongBeforeTheNext) {
  // Turning round exactly when a resize starts is the tightest case: the index checks it itself.
  for (const int direction_change : {1, 7, 100}) {
    Pair<TypeParam> pair;
    std::uint64_t next = 0;
    for (int resizes = 0; resizes < 12; ++resizes) {
      while (!pair.index.is_resizing()) pair.insert(8 * ++next);
      for (int i = 0; i < direction_change; ++i) pair.insert(8 * ++next);
    }
    while (!pair.model.empty()) ASSERT_NO_FATAL_FAILURE(pair.erase(pair.model.begin()->first));
  }
}

TYPED_TEST(SequenceIndexTest, CanBeMoved) {
  TypeParam first;
  for (std::uint64_t sequence = 1; sequence <= 1000; ++sequence) first.insert(sequence, 9);
  TypeParam second(std::move(first));
  EXPECT_EQ(second.find(1000), 9U);
  first = TypeParam();
  EXPECT_EQ(first.find(1000), 0U);
  first.insert(1, 1);
  EXPECT_EQ(second.size(), 1000U);
}

TEST(SequenceIndexDeathTest, RefusesMisuse) {
  SequenceIndex index;
  EXPECT_DEATH(index.insert(0, 1), "check failed");
  EXPECT_DEATH(index.insert(base::kMaxSequence + 1, 1), "check failed");
  EXPECT_DEATH(index.insert(1, 0), "check failed");
  index.insert(1, 1);
  EXPECT_DEATH(index.insert(1, 2), "check failed");
}

}  // namespace
}  // namespace jobbie::engine
