// The indexed heap against std::set, and its refusal of misuse.
#include "engine/indexed_heap.hpp"

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace jobbie::engine {
namespace {

struct PositionIn {
  std::vector<std::uint32_t>* positions = nullptr;
  std::uint32_t& operator()(std::uint32_t item) const { return (*positions)[item]; }
};
using Key = std::pair<std::uint64_t, std::uint64_t>;
using Heap = IndexedHeap<Key, PositionIn>;

/// A heap, the items' positions and a model of what the heap must hold.
class Pair {
 public:
  explicit Pair(std::size_t items)
      : keys_(items), positions_(items, Heap::kAbsent), heap_(PositionIn{&positions_}) {}

  Heap& heap() { return heap_; }
  std::set<std::pair<Key, std::uint32_t>>& model() { return model_; }

  void push(std::uint32_t item, Key key) {
    heap_.push(item, key);
    model_.emplace(keys_[item] = key, item);
  }
  void update(std::uint32_t item, Key key) {
    heap_.update(item, key);
    model_.erase({keys_[item], item});
    model_.emplace(keys_[item] = key, item);
  }
  void erase(std::uint32_t item) {
    heap_.erase(item);
    model_.erase({keys_[item], item});
  }
  void pop() {
    const Heap::Entry entry = heap_.pop();
    ASSERT_EQ(std::pair(entry.key, entry.item), *model_.begin());
    model_.erase(model_.begin());
  }
  void compare() {
    ASSERT_EQ(heap_.size(), model_.size());
    ASSERT_EQ(heap_.empty(), model_.empty());
    if (model_.empty()) return;
    ASSERT_EQ(std::pair(heap_.top().key, heap_.top().item), *model_.begin());
    const auto second = heap_.second();
    ASSERT_EQ(second.has_value(), model_.size() > 1);
    if (second) {
      ASSERT_EQ(std::pair(second->key, second->item), *std::next(model_.begin()));
    }
  }
  void compare_all() {
    ASSERT_TRUE(heap_.audit());
    for (std::uint32_t item = 0; item < keys_.size(); ++item) {
      const bool held = model_.contains({keys_[item], item});
      ASSERT_EQ(heap_.contains(item), held);
      if (held) {
        ASSERT_EQ(heap_.key(item), keys_[item]);
      }
    }
  }

 private:
  std::vector<Key> keys_;
  std::vector<std::uint32_t> positions_;
  Heap heap_;
  std::set<std::pair<Key, std::uint32_t>> model_;
};

void run_random(std::uint64_t seed, std::uint32_t items, int operations) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(items) + " items");
  std::mt19937_64 random(seed);
  Pair pair(items);
  std::uint64_t serial = 0;
  const auto key = [&] { return Key(random() % 50, ++serial); };
  for (int i = 0; i < operations; ++i) {
    const auto item = static_cast<std::uint32_t>(random() % items);
    // Phases of growth and of decline, so that the heap is often empty and often full.
    const bool growing = i / 500 % 2 == 0;
    if (!pair.heap().contains(item)) {
      if (growing || random() % 4 == 0) pair.push(item, key());
    } else if (random() % 3 == 0) {
      pair.update(item, key());
    } else if (!growing) {
      random() % 2 == 0 ? pair.erase(item) : pair.pop();
    }
    ASSERT_NO_FATAL_FAILURE(pair.compare());
    if (i % 97 == 0) {
      ASSERT_NO_FATAL_FAILURE(pair.compare_all());
    }
  }
  while (!pair.heap().empty()) ASSERT_NO_FATAL_FAILURE(pair.pop());
}

TEST(IndexedHeap, AgreesWithAnOrderedSet) {
  for (const std::uint32_t items : {1U, 2U, 3U, 5U, 6U, 21U, 100U, 1000U})
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
      ASSERT_NO_FATAL_FAILURE(run_random(seed, items, 4000));
}

TEST(IndexedHeap, RisingKeysAreServedInOrderAndMemoryIsGivenBack) {
  Pair pair(20'000);
  for (std::uint32_t i = 0; i < 20'000; ++i) pair.heap().push(i, {i, i});
  EXPECT_TRUE(pair.heap().audit());
  const std::size_t peak = pair.heap().capacity_bytes();
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    ASSERT_EQ(pair.heap().pop().item, i);
    const std::size_t needed = std::max<std::size_t>(pair.heap().size(), 32) * sizeof(Heap::Entry);
    ASSERT_LE(pair.heap().capacity_bytes(), 8 * needed + sizeof(Heap::Entry) * 8);
  }
  EXPECT_LT(pair.heap().capacity_bytes(), peak / 50);
}

TEST(IndexedHeap, SecondIsTheNextTop) {
  Pair pair(4);
  EXPECT_EQ(pair.heap().second(), std::nullopt);
  pair.heap().push(0, {5, 0});
  EXPECT_FALSE(pair.heap().second());
  pair.heap().push(1, {9, 1});
  EXPECT_EQ(pair.heap().second()->item, 1U);
  pair.heap().push(2, {7, 2});
  EXPECT_EQ(pair.heap().second()->item, 2U);
  pair.heap().push(3, {1, 3});
  EXPECT_EQ(pair.heap().second()->item, 0U);
}

TEST(IndexedHeap, ClearMarksTheItemsAbsent) {
  Pair pair(10);
  for (std::uint32_t i = 0; i < 10; ++i) pair.heap().push(i, {i, i});
  pair.heap().clear();
  EXPECT_TRUE(pair.heap().empty());
  EXPECT_EQ(pair.heap().capacity_bytes(), 0U);
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_FALSE(pair.heap().contains(i));
    pair.heap().push(i, {i, i});
  }
}

TEST(IndexedHeap, CanBeMoved) {
  std::vector<std::uint32_t> positions(3, Heap::kAbsent);
  Heap first(PositionIn{&positions});
  first.push(0, {2, 0});
  first.push(1, {1, 1});
  Heap second(std::move(first));
  EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_TRUE(second.audit());
  second.push(2, {0, 2});
  Heap third;
  third = std::move(second);
  EXPECT_EQ(third.pop().item, 2U);
  EXPECT_EQ(third.pop().item, 1U);
  EXPECT_EQ(third.pop().item, 0U);
}

TEST(IndexedHeapDeathTest, RefusesMisuse) {
  Pair pair(2);
  EXPECT_DEATH(static_cast<void>(pair.heap().top()), "check failed");
  EXPECT_DEATH(pair.heap().pop(), "check failed");
  EXPECT_DEATH(pair.heap().erase(0), "check failed");
  EXPECT_DEATH(pair.heap().update(0, {1, 1}), "check failed");
  pair.heap().push(0, {1, 1});
  EXPECT_DEATH(pair.heap().push(0, {2, 2}), "check failed");
}

}  // namespace
}  // namespace jobbie::engine
