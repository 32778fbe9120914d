// What outlives a driver: faces and effects hold on to it while the node swaps its database.
#pragma once

#include <atomic>
#include <cstdint>

#include "call/bell.hpp"
#include "call/event_feed.hpp"
#include "call/keys.hpp"

namespace jobbie::node {

struct Shared {
  call::EventFeed feed;
  call::KeyBoard keys;
  call::Bell outbox_bell;
  // Written by the node's thread, read by all.
  std::atomic<bool> has_leader = false;
  std::atomic<bool> log_has_room = true;
  std::atomic<bool> store_is_well = true;
  std::atomic<std::uint64_t> memory_room = 0;  ///< bytes that new jobs may still take
  std::atomic<std::int64_t> log_time_ms = 0;
};

}  // namespace jobbie::node
