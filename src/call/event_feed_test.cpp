// The ring of events: resuming, what is gone, and what is kept when.
#include "call/event_feed.hpp"

#include <string>

#include <gtest/gtest.h>

namespace jobbie::call {
namespace {

class Bell final : public EventListener {
 public:
  void wake() override { ++rung; }
  int rung = 0;
};

std::vector<command::Event> events(std::size_t count, std::string_view detail = {}) {
  std::vector<command::Event> out(count);
  for (auto& event : out) event.detail = base::Blob(detail);
  return out;
}

/// How many events follow a place; -1: they are gone.
int behind(const EventFeed& feed, EventPosition after) {
  const auto page = feed.read(after, 1'000'000);
  if (page.gone) return -1;
  int count = 0;
  for (const auto& batch : page.batches)
    for (std::uint32_t i = 1; i <= batch->events.size(); ++i)
      if (batch->index > after.index || i > after.ordinal) ++count;
  return count;
}

TEST(EventFeed, AResumeNeitherRepeatsNorSkips) {
  EventFeed feed;
  Bell bell;
  feed.begin(10);
  feed.add_listener(bell);
  feed.add(11, events(3));
  feed.add(13, events(1));
  EXPECT_EQ(behind(feed, {.index = 10}), 4);
  EXPECT_EQ(behind(feed, {.index = 11, .ordinal = 1}), 3);
  EXPECT_EQ(behind(feed, {.index = 11, .ordinal = 3}), 1);
  EXPECT_EQ(behind(feed, {.index = 11}), 1);
  EXPECT_EQ(behind(feed, {.index = 12}), 1);
  EXPECT_EQ(behind(feed, {.index = 13}), 0);
  EXPECT_EQ(feed.end().index, 13U);
}

TEST(EventFeed, WhatIsBeforeTheRingOrBeyondTheEndIsGone) {
  EventFeed feed;
  Bell bell;
  feed.begin(10);
  feed.add_listener(bell);
  feed.add(11, events(2));
  EXPECT_EQ(behind(feed, {.index = 9}), -1);
  EXPECT_EQ(behind(feed, {.index = 10, .ordinal = 5}), -1) << "after a restart";
  EXPECT_EQ(behind(feed, {.index = 12}), -1) << "another log's";
}

TEST(EventFeed, TheOldestGoByNumberAndByBytes) {
  EventFeed feed({.events = 10, .bytes = 1'000, .kept_us = 1});
  Bell bell;
  feed.add_listener(bell);
  for (std::uint64_t i = 1; i <= 8; ++i) feed.add(i, events(3));
  EXPECT_EQ(behind(feed, {.index = 5}), 9);
  EXPECT_EQ(behind(feed, {.index = 4}), -1);
  EXPECT_EQ(behind(feed, {.index = 5, .ordinal = 2}), -1) << "half of that entry is gone";
  feed.add(9, events(2, std::string(900, 'x')));
  EXPECT_EQ(behind(feed, {.index = 8}), 2) << "the latest entry is kept however large it is";
  EXPECT_EQ(behind(feed, {.index = 7}), -1);
}

TEST(EventFeed, NothingIsKeptWhileNobodyWatches) {
  EventFeed feed({.events = 100, .bytes = 1'000, .kept_us = 50});
  Bell bell;
  feed.begin(1);
  feed.add(2, events(2));
  EXPECT_EQ(behind(feed, {.index = 1}), -1);
  EXPECT_EQ(behind(feed, {.index = 2}), 0);
  feed.add_listener(bell);
  feed.add(3, events(2));
  EXPECT_EQ(bell.rung, 0);
  feed.flush(100);
  feed.flush(100);
  EXPECT_EQ(bell.rung, 1);
  // One who comes back soon finds what it missed.
  feed.remove_listener(bell);
  feed.flush(200);
  feed.add(4, events(1));
  feed.flush(240);
  EXPECT_EQ(behind(feed, {.index = 3}), 1);
  feed.flush(260);
  EXPECT_EQ(behind(feed, {.index = 3}), -1);
  EXPECT_EQ(bell.rung, 1);
}

TEST(EventFeed, AnEndIsToldToAll) {
  EventFeed feed;
  Bell bell;
  feed.add_listener(bell);
  feed.add_listener(bell);
  EXPECT_FALSE(feed.closed());
  feed.close();
  EXPECT_TRUE(feed.closed());
  EXPECT_EQ(bell.rung, 1);
}

TEST(EventFeed, APageHoldsWholeEntries) {
  EventFeed feed;
  Bell bell;
  feed.add_listener(bell);
  for (std::uint64_t i = 1; i <= 5; ++i) feed.add(i, events(4));
  EXPECT_EQ(feed.read({.index = 0}, 6).batches.size(), 2U);
}

}  // namespace
}  // namespace jobbie::call
