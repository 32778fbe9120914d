// Interned texts: one id for one text, for as long as somebody holds it.
#include "engine/text_table.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/hash.hpp"

namespace jobbie::engine {
namespace {

__extension__ using Wide = unsigned __int128;

TEST(TextTable, EqualTextsHaveOneId) {
  TextTable table;
  const auto mail = table.acquire("mail");
  const auto push = table.acquire("push");
  EXPECT_EQ(mail, 1U);
  EXPECT_EQ(push, 2U);
  EXPECT_EQ(table.acquire("mail"), mail);
  EXPECT_EQ(table.references(mail), 2U);
  EXPECT_EQ(table.text(mail).view(), "mail");
  EXPECT_EQ(table.find("push"), push);
  EXPECT_EQ(table.find("pus"), TextTable::kNone);
  EXPECT_EQ(table.size(), 2U);
}

TEST(TextTable, ForgetsATextWithItsLastReference) {
  TextTable table;
  const auto id = table.acquire("mail");
  table.add_reference(id);
  table.release(id);
  EXPECT_EQ(table.find("mail"), id);
  table.release(id);
  EXPECT_EQ(table.find("mail"), TextTable::kNone);
  EXPECT_EQ(table.size(), 0U);
}

TEST(TextTable, ReusesTheLastFreedIdFirst) {
  TextTable table;
  const auto a = table.acquire("a");
  const auto b = table.acquire("b");
  const auto c = table.acquire("c");
  table.release(a);
  table.release(c);
  EXPECT_EQ(table.acquire("d"), c);
  EXPECT_EQ(table.acquire("e"), a);
  EXPECT_EQ(table.text(c).view(), "d");
  EXPECT_EQ(table.text(b).view(), "b");
}

TEST(TextTable, HoldsTheEmptyTextAndAnyBytes) {
  TextTable table;
  const std::string_view zero("\0", 1);
  const auto empty = table.acquire("");
  const auto nul = table.acquire(zero);
  EXPECT_NE(empty, TextTable::kNone);
  EXPECT_NE(empty, nul);
  EXPECT_EQ(table.find(""), empty);
  EXPECT_EQ(table.find(zero), nul);
  EXPECT_EQ(table.text(empty).view(), "");
}

/// A text of 16 bytes whose hash without a seed is the same for every `first`: its second word
/// cancels what the first has done (see base::hash_bytes).
std::string colliding_text(std::uint64_t first) {
  const auto word_text = [](std::uint64_t word) {
    std::string out(8, '\0');
    std::memcpy(out.data(), &word, 8);
    return out;
  };
  const std::uint64_t start = 16 * 0x9e3779b97f4a7c15ULL;
  const auto product = static_cast<Wide>(start ^ first) * 0xa0761d6478bd642fULL;
  const auto state =
      static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  return word_text(first) + word_text(state ^ 12345);
}

TEST(TextTable, KeepsTextsOfOneHashApart) {
  ASSERT_EQ(base::hash_bytes(colliding_text(1)), base::hash_bytes(colliding_text(2)));
  std::vector<std::uint64_t> order{1, 2, 3, 4};
  do {
    TextTable table;
    std::map<std::uint64_t, std::uint32_t> ids;
    for (std::uint64_t i = 1; i <= 4; ++i) ids[i] = table.acquire(colliding_text(i));
    // From the chain's head, middle and end, in every order.
    for (const std::uint64_t gone : order) {
      table.release(ids[gone]);
      ids.erase(gone);
      EXPECT_EQ(table.find(colliding_text(gone)), TextTable::kNone);
      for (const auto& [i, id] : ids) EXPECT_EQ(table.find(colliding_text(i)), id);
    }
    EXPECT_EQ(table.size(), 0U);
    const auto id = table.acquire(colliding_text(9));
    EXPECT_EQ(table.find(colliding_text(9)), id);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(TextTable, TheTextCanOutliveItsId) {
  TextTable table;
  const auto id = table.acquire("kept");
  const base::Blob copy = table.text(id);
  table.release(id);
  EXPECT_EQ(copy.view(), "kept");
}

TEST(TextTable, AgreesWithAMap) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{20'260'115}}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    TextTable table(seed);
    std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> model;  // id, references
    for (int i = 0; i < 60'000; ++i) {
      const bool growing = i / 10'000 % 2 == 0;
      const std::string text = "key/" + std::to_string(random() % 3'000);
      auto& [id, references] = model[text];
      if (references == 0 || random() % 10 < (growing ? 7 : 2)) {
        const auto given = table.acquire(text);
        if (references > 0) {
          ASSERT_EQ(given, id);
        }
        id = given;
        ++references;
      } else {
        table.release(id);
        --references;
      }
      ASSERT_EQ(table.find(text), references > 0 ? id : TextTable::kNone);
      if (references > 0) {
        ASSERT_EQ(table.text(id).view(), text);
      }
    }
    std::size_t held = 0;
    for (const auto& [text, entry] : model) {
      ASSERT_EQ(table.find(text), entry.second > 0 ? entry.first : TextTable::kNone);
      if (entry.second == 0) continue;
      ++held;
      EXPECT_EQ(table.references(entry.first), entry.second);
    }
    EXPECT_EQ(table.size(), held);
  }
}

TEST(TextTableDeathTest, RefusesMisuse) {
  TextTable table;
  EXPECT_DEATH(table.release(0), "check failed");
  EXPECT_DEATH(table.release(1), "check failed");
  const auto id = table.acquire("a");
  table.release(id);
  EXPECT_DEATH(table.release(id), "check failed");
  EXPECT_DEATH(static_cast<void>(table.text(id)), "check failed");
}

}  // namespace
}  // namespace jobbie::engine
