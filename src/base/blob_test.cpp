// Blobs: sharing instead of copying, on one thread and on several.
#include "base/blob.hpp"

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace jobbie::base {
namespace {

TEST(Blob, IsOnePointer) { EXPECT_EQ(sizeof(Blob), sizeof(void*)); }

TEST(Blob, EmptyOwnsNothing) {
  const Blob none;
  const Blob from_empty("");
  for (const Blob* blob : {&none, &from_empty}) {
    EXPECT_TRUE(blob->empty());
    EXPECT_FALSE(*blob);
    EXPECT_EQ(blob->size(), 0U);
    EXPECT_EQ(blob->view(), "");
  }
  EXPECT_EQ(none, from_empty);
}

TEST(Blob, HoldsAnyBytes) {
  const std::string_view bytes("a\0b\xFF", 4);
  const Blob blob(bytes);
  EXPECT_TRUE(blob);
  EXPECT_EQ(blob.size(), 4U);
  EXPECT_EQ(blob.view(), bytes);
  EXPECT_EQ(Blob(std::string(1 << 20, 'x')).size(), 1U << 20);
}

TEST(Blob, CopiesOutliveTheOriginalText) {
  Blob blob;
  {
    const std::string text = "a text that is gone before it is read";
    blob = Blob(text);
  }
  EXPECT_EQ(blob.view(), "a text that is gone before it is read");
}

TEST(Blob, CopyingSharesTheBytes) {
  Blob first("shared");
  const Blob second = first;
  EXPECT_EQ(first.view().data(), second.view().data());
  first = Blob("other");
  EXPECT_EQ(second.view(), "shared");
  EXPECT_EQ(first.view(), "other");
}

TEST(Blob, MovingLeavesAnEmptyOne) {
  Blob first("moved");
  const char* const bytes = first.view().data();
  Blob second(std::move(first));
  EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(second.view().data(), bytes);
  Blob third;
  third = std::move(second);
  EXPECT_EQ(third.view().data(), bytes);
}

TEST(Blob, SurvivesAssignmentToItself) {
  Blob blob("self");
  const Blob& alias = blob;
  blob = alias;
  EXPECT_EQ(blob.view(), "self");
  Blob& same = blob;
  blob = std::move(same);
  EXPECT_EQ(blob.view(), "self");
}

TEST(Blob, EqualityIsOfTheBytes) {
  EXPECT_EQ(Blob("a"), Blob("a"));
  EXPECT_FALSE(Blob("a") == Blob("b"));
  EXPECT_FALSE(Blob("a") == Blob());
}

TEST(Blob, IsSharedAcrossThreads) {
  // Under ThreadSanitizer this shows races, under AddressSanitizer a wrong last owner.
  for (int round = 0; round < 50; ++round) {
    Blob blob("payload " + std::to_string(round));
    const std::string expected(blob.view());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([copy = blob, &expected] {
        for (int i = 0; i < 200; ++i) {
          Blob mine = copy;
          const Blob again = mine;
          EXPECT_EQ(again.view(), expected);
          mine = Blob();
        }
      });
    }
    blob = Blob();  // the last owner is one of the threads, whichever ends last
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace jobbie::base
