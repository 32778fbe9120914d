// Pages of the event stream, read and written out once for all watchers that stand at one place.
// Private to the folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "call/event_feed.hpp"

namespace jobbie::face::native {

class EventPage {
 public:
  struct Item {
    const command::Event* event = nullptr;
    call::EventPosition at;
    std::uint32_t events = 0;  ///< in its entry
    std::string text;          ///< written when the first watcher wants it
    const std::string& written();
  };
  EventPage(const call::EventFeed& feed, call::EventPosition after);

  [[nodiscard]] call::EventPosition after() const { return after_; }
  [[nodiscard]] bool gone() const { return page_.gone; }
  [[nodiscard]] call::EventPosition end() const { return page_.end; }
  [[nodiscard]] std::vector<Item>& items() { return items_; }

 private:
  call::EventPosition after_;
  call::EventFeed::Page page_;  ///< keeps the events that the items point to
  std::vector<Item> items_;
};

/// Of one turn.
class EventPages {
 public:
  explicit EventPages(const call::EventFeed& feed) : feed_(feed) {}
  [[nodiscard]] EventPage& behind(call::EventPosition after);

 private:
  static constexpr std::size_t kRemembered = 4;
  const call::EventFeed& feed_;
  std::deque<EventPage> pages_;
};

}  // namespace jobbie::face::native
