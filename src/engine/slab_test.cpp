// The slab: stable addresses, reuse of slots, and every object destroyed exactly once.
#include "engine/slab.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace jobbie::engine {
namespace {

/// Counts how many of its kind are alive.
struct Counted {
  explicit Counted(int* counter, std::string content = {})
      : alive(counter), text(std::move(content)) {
    ++*alive;
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*alive; }
  int* alive;
  std::string text;
};

TEST(Slab, HandsOutSlotsFromOne) {
  Slab<int> slab;
  EXPECT_TRUE(slab.empty());
  EXPECT_EQ(slab.capacity_bytes(), 0U);
  EXPECT_EQ(slab.allocate(10), 1U);
  EXPECT_EQ(slab.allocate(20), 2U);
  EXPECT_EQ(slab[1], 10);
  EXPECT_EQ(std::as_const(slab)[2], 20);
  EXPECT_EQ(slab.size(), 2U);
}

TEST(Slab, ReusesTheLastReleasedSlotFirst) {
  Slab<int> slab;
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(slab.allocate(i), static_cast<std::uint32_t>(i));
  slab.release(2);
  slab.release(4);
  slab.release(1);
  EXPECT_EQ(slab.allocate(0), 1U);
  EXPECT_EQ(slab.allocate(0), 4U);
  EXPECT_EQ(slab.allocate(0), 2U);
  EXPECT_EQ(slab.allocate(0), 6U);
}

TEST(Slab, ConstructsAggregatesFromTheirLeadingMembers) {
  struct Aggregate {
    int a;
    int b = 7;
  };
  Slab<Aggregate> slab;
  const auto slot = slab.allocate(1);
  EXPECT_EQ(slab[slot].a, 1);
  EXPECT_EQ(slab[slot].b, 7);
}

TEST(Slab, AddressesStayWhileItGrows) {
  Slab<std::uint64_t> slab;
  std::vector<std::uint64_t*> addresses(1);
  for (std::uint32_t i = 1; i <= 3 * Slab<std::uint64_t>::kChunkSlots; ++i) {
    const auto slot = slab.allocate(i);
    ASSERT_EQ(slot, i);
    addresses.push_back(&slab[slot]);
  }
  for (std::uint32_t i = 1; i < addresses.size(); ++i) {
    ASSERT_EQ(&slab[i], addresses[i]);
    ASSERT_EQ(slab[i], i);
  }
}

TEST(Slab, KeepsTheAlignmentOfItsObjects) {
  struct alignas(128) Wide {
    char c = 0;
  };
  Slab<Wide> slab;
  for (int i = 0; i < 3; ++i) {
    const auto slot = slab.allocate();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&slab[slot]) % 128, 0U);
  }
}

TEST(Slab, DestroysEachObjectOnce) {
  int alive = 0;
  {
    Slab<Counted> slab;
    std::vector<std::uint32_t> slots;
    for (int i = 0; i < 10'000; ++i) slots.push_back(slab.allocate(&alive, std::string(40, 'x')));
    for (std::size_t i = 0; i < slots.size(); i += 3) slab.release(slots[i]);
    EXPECT_EQ(static_cast<std::size_t>(alive), slab.size());
    EXPECT_GT(alive, 0);
  }
  EXPECT_EQ(alive, 0);
}

TEST(Slab, MovesKeepSlotsAndAddresses) {
  int alive = 0;
  Slab<Counted> first;
  const auto slot = first.allocate(&alive, "kept");
  const Counted* const address = &first[slot];
  Slab<Counted> second(std::move(first));
  EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(&second[slot], address);
  Slab<Counted> third;
  static_cast<void>(third.allocate(&alive, "dropped"));
  third = std::move(second);
  EXPECT_EQ(third[slot].text, "kept");
  EXPECT_EQ(alive, 1);
}

TEST(Slab, StaysSoundWhenAConstructorThrows) {
  struct Throws {
    explicit Throws(bool now) {
      if (now) throw std::runtime_error("refused");
    }
    std::unique_ptr<int> owned = std::make_unique<int>(1);
  };
  Slab<Throws> slab;
  EXPECT_THROW(static_cast<void>(slab.allocate(true)), std::runtime_error);
  EXPECT_EQ(slab.size(), 0U);
  const auto slot = slab.allocate(false);
  EXPECT_TRUE(slab.is_live(slot));
  EXPECT_EQ(slab.size(), 1U);
}

TEST(Slab, AgreesWithAMap) {
  const std::uint64_t seed = 20'260'115;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Slab<std::string> slab;
  std::map<std::uint32_t, std::string> model;
  for (int i = 0; i < 40'000; ++i) {
    const bool growing = i / 9'000 % 2 == 0;
    if (model.empty() || random() % 10 < (growing ? 8 : 2)) {
      const std::string text = "object " + std::to_string(random());
      ASSERT_TRUE(model.emplace(slab.allocate(text), text).second);
    } else {
      auto chosen = model.lower_bound(static_cast<std::uint32_t>(random() % 12'000));
      if (chosen == model.end()) chosen = model.begin();
      ASSERT_EQ(slab[chosen->first], chosen->second);
      slab.release(chosen->first);
      ASSERT_FALSE(slab.is_live(chosen->first));
      model.erase(chosen);
    }
    ASSERT_EQ(slab.size(), model.size());
  }
  auto expected = model.begin();
  std::as_const(slab).for_each_live([&](std::uint32_t slot, const std::string& text) {
    ASSERT_NE(expected, model.end());
    EXPECT_EQ(slot, expected->first);
    EXPECT_EQ(text, expected->second);
    ++expected;
  });
  EXPECT_EQ(expected, model.end());
}

TEST(Slab, GivesChunksBackButForOne) {
  Slab<std::uint64_t> slab;
  constexpr std::uint32_t kSlots = Slab<std::uint64_t>::kChunkSlots;
  std::vector<std::uint32_t> slots;
  for (std::uint32_t i = 0; i < 10 * kSlots; ++i) slots.push_back(slab.allocate(i));
  const auto full = slab.capacity_bytes();
  for (const auto slot : slots) slab.release(slot);
  EXPECT_LT(slab.capacity_bytes(), full / 8);
  for (const auto slot : slots) ASSERT_FALSE(slab.is_live(slot));
  // About the bound of the chunk that is left, nothing comes and goes.
  for (std::uint32_t i = 0; i + 1 < kSlots; ++i) static_cast<void>(slab.allocate(i));
  const auto second = slab.allocate(1);
  const auto two = slab.capacity_bytes();
  for (int i = 0; i < 3; ++i) {
    slab.release(second);
    EXPECT_EQ(slab.capacity_bytes(), two);
    EXPECT_EQ(slab.allocate(2), second);
  }
}

TEST(Slab, ObjectsGatherInTheFirstChunks) {
  Slab<std::uint64_t> slab;
  constexpr std::uint32_t kSlots = Slab<std::uint64_t>::kChunkSlots;
  std::vector<std::uint32_t> slots;
  for (std::uint32_t i = 0; i < 20 * kSlots; ++i) slots.push_back(slab.allocate(i));
  const auto full = slab.capacity_bytes();
  // One in a hundred stays, anywhere; half a chunk comes and goes for a while.
  std::vector<std::uint32_t> kept;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (i % 100 == 0)
      kept.push_back(slots[i]);
    else
      slab.release(slots[i]);
  }
  for (const auto slot : kept) {
    const auto value = slab[slot];
    slab.release(slot);
    EXPECT_LE(slab.allocate(value), 2 * kSlots);
  }
  EXPECT_EQ(slab.size(), kept.size());
  EXPECT_LT(slab.capacity_bytes(), full / 8);
}

TEST(Slab, IsLiveIsTotal) {
  Slab<int> slab;
  EXPECT_FALSE(slab.is_live(0));
  EXPECT_FALSE(slab.is_live(1));
  EXPECT_FALSE(slab.is_live(0xFFFF'FFFF));
  EXPECT_TRUE(slab.is_live(slab.allocate(1)));
  EXPECT_FALSE(slab.is_live(2));
  slab.prefetch(0);
  slab.prefetch(0xFFFF'FFFF);
}

TEST(SlabDeathTest, RefusesMisuse) {
  Slab<std::string> slab;
  const auto slot = slab.allocate("text");
  EXPECT_DEATH(slab.release(0), "check failed");
  EXPECT_DEATH(slab.release(2), "check failed");
  EXPECT_DEATH(static_cast<void>(slab[0]), "check failed");
  EXPECT_DEATH(static_cast<void>(slab[2]), "check failed");
  slab.release(slot);
  EXPECT_DEATH(slab.release(slot), "check failed");
#if defined(__SANITIZE_ADDRESS__)
  EXPECT_DEATH(slab[slot].push_back('x'), "use-after-poison");
#endif
}

}  // namespace
}  // namespace jobbie::engine
