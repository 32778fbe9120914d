// Whose turn it is, and who has to wait.
#include "node/caller_queue.hpp"

#include <string>

#include <gtest/gtest.h>

namespace jobbie::node {
namespace {

using Queue = CallerQueue<std::string>;

/// As searches have it: three threads for callers, and one for the node.
constexpr CallerQueueOptions kSearches{
    .threads = 4, .own_threads = 1, .left_to_others = 1, .bound = 20, .bound_per_caller = 8};

bool add(Queue& queue, std::uint64_t caller, std::string item) { return queue.add(caller, item); }

/// What is taken now; empty: nothing may be.
std::string take(Queue& queue) {
  auto taken = queue.take();
  return taken ? taken->item : "";
}

TEST(CallerQueue, OneCallerNeverHasEveryThread) {
  Queue queue(kSearches);
  for (const char* item : {"a1", "a2", "a3", "a4"}) ASSERT_TRUE(add(queue, 1, item));
  EXPECT_EQ(take(queue), "a1");
  EXPECT_EQ(take(queue), "a2");
  EXPECT_FALSE(queue.has_next());
  EXPECT_EQ(take(queue), "");
  // Somebody else begins at once.
  ASSERT_TRUE(add(queue, 2, "b1"));
  EXPECT_EQ(take(queue), "b1");
  // Whoever comes third waits for the first that is done, and comes before those who have some.
  ASSERT_TRUE(add(queue, 3, "c1"));
  EXPECT_EQ(take(queue), "");
  queue.finish(1);
  EXPECT_EQ(take(queue), "c1");
  queue.finish(2);
  EXPECT_EQ(take(queue), "");  // the last thread is for somebody who has none
  queue.finish(3);
  EXPECT_EQ(take(queue), "a3");
}

TEST(CallerQueue, TheNodeItselfWaitsForNobody) {
  Queue queue(kSearches);
  for (std::uint64_t caller = 1; caller <= 5; ++caller) ASSERT_TRUE(add(queue, caller, "x"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(take(queue), "x");
  EXPECT_FALSE(queue.has_next());
  ASSERT_TRUE(add(queue, 0, "own"));
  EXPECT_EQ(take(queue), "own");
  queue.finish(0);
  EXPECT_FALSE(queue.has_next());
}

TEST(CallerQueue, CallersTakeTurns) {
  Queue queue({.threads = 1, .bound = 20, .bound_per_caller = 20});
  for (const char* item : {"a1", "a2", "a3"}) ASSERT_TRUE(add(queue, 1, item));
  for (const char* item : {"b1", "b2"}) ASSERT_TRUE(add(queue, 2, item));
  std::string order;
  while (auto taken = queue.take()) {
    order += taken->item;
    queue.finish(taken->caller);
  }
  EXPECT_EQ(order, "a1b1a2b2a3");
}

TEST(CallerQueue, WhatWaitsIsBounded) {
  Queue queue(kSearches);
  for (std::size_t i = 0; i < kSearches.bound_per_caller; ++i) ASSERT_TRUE(add(queue, 1, "a"));
  std::string kept = "kept";
  EXPECT_FALSE(queue.add(1, kept));
  EXPECT_EQ(kept, "kept");
  std::uint64_t caller = 1;
  while (queue.waiting() < kSearches.bound) ASSERT_TRUE(add(queue, ++caller, "b"));
  EXPECT_FALSE(add(queue, ++caller, "c"));
}

TEST(CallerQueue, WhatIsRemovedMakesRoom) {
  Queue queue(kSearches);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(add(queue, 1, i % 2 == 0 ? "gone" : "here"));
  ASSERT_TRUE(add(queue, 2, "gone"));
  EXPECT_EQ(take(queue), "gone");
  const auto removed =
      queue.remove_if([](std::uint64_t, const std::string& item) { return item == "gone"; });
  EXPECT_EQ(removed.size(), 4U);
  EXPECT_EQ(queue.waiting(), 4U);
  EXPECT_TRUE(add(queue, 1, "here"));
  EXPECT_EQ(take(queue), "here");
  queue.finish(1);
  queue.finish(1);
  EXPECT_EQ(queue.remove_if([](std::uint64_t, const std::string&) { return true; }).size(), 4U);
  EXPECT_FALSE(queue.has_next());
}

}  // namespace
}  // namespace jobbie::node
