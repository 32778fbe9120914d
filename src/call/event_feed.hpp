// Events on their way from the node to those who watch: a bounded ring that many threads read.
//
// The node's thread adds the events of each entry and, after a round, wakes the listeners: one for
// each thread that has watchers. They read on their own threads, each from where it stands. While
// nobody watches, and has not for a while, nothing is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "command/event.hpp"

namespace jobbie::call {

/// A place in the stream: everything up to this event of this entry of the log has been seen.
struct EventPosition {
  std::uint64_t index = 0;
  std::uint32_t ordinal = kWholeEntry;  ///< from 1 within the entry
  static constexpr std::uint32_t kWholeEntry = std::numeric_limits<std::uint32_t>::max();
  bool operator==(const EventPosition&) const = default;
};

/// The events of one entry.
struct EventBatch {
  std::uint64_t index = 0;
  std::vector<command::Event> events;
};

class EventListener {
 public:
  virtual ~EventListener() = default;
  /// From any thread, with a lock held: there is something to read. Must not block or call back.
  virtual void wake() = 0;
};

class EventFeed {
 public:
  struct Bounds {
    std::size_t events = 65'536;
    std::size_t bytes = std::size_t{16} << 20;  ///< of the events' details
    std::int64_t kept_us = 600'000'000;         ///< after the last watcher has gone
  };
  EventFeed() : EventFeed(Bounds{}) {}
  explicit EventFeed(const Bounds& bounds) : bounds_(bounds) {}

  // The node's side.
  /// The stream begins behind this entry.
  void begin(std::uint64_t index);
  void add(std::uint64_t index, std::vector<command::Event>&& events);
  /// After a round.
  void flush(std::int64_t now_us);

  // From any thread.
  /// The stream has ended: readers shall close.
  void close();
  [[nodiscard]] bool closed() const;
  /// A listener is woken until it is removed. The first one begins the keeping of events.
  void add_listener(EventListener& listener);
  void remove_listener(EventListener& listener);
  /// The end of the stream.
  [[nodiscard]] EventPosition end() const;

  struct Page {
    bool gone = false;  ///< what followed `after` is not kept; go on from `end`
    EventPosition end;
    /// Shared, because readers hold them while the ring moves on. The first may have events that
    /// `after` covers.
    std::vector<std::shared_ptr<const EventBatch>> batches;
  };
  /// What came behind `after`: whole entries until they hold `events`.
  [[nodiscard]] Page read(EventPosition after, std::size_t events) const;

 private:
  void forget_oldest();

  const Bounds bounds_;
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<const EventBatch>> kept_;
  std::size_t kept_events_ = 0;
  std::size_t kept_bytes_ = 0;
  EventPosition floor_;  ///< everything behind it is kept
  EventPosition end_;
  std::vector<EventListener*> listeners_;
  bool keeping_ = false;
  bool news_ = false;
  bool closed_ = false;
  std::int64_t idle_since_us_ = 0;  ///< zero: not noted yet
};

}  // namespace jobbie::call
