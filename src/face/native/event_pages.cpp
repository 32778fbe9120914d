// Reading pages of the stream, and writing each event out once.
#include "face/native/event_pages.hpp"

#include "face/native/sse.hpp"

namespace jobbie::face::native {
namespace {

constexpr std::size_t kEventsAPage = 1'000;

}  // namespace

const std::string& EventPage::Item::written() {
  if (text.empty()) append_event(*event, at, events, text);
  return text;
}

EventPage::EventPage(const call::EventFeed& feed, call::EventPosition after)
    : after_(after), page_(feed.read(after, kEventsAPage)) {
  for (const auto& batch : page_.batches) {
    const auto count = static_cast<std::uint32_t>(batch->events.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      if (batch->index == after.index && i + 1 <= after.ordinal) continue;
      items_.push_back({.event = &batch->events[i],
                        .at = {.index = batch->index, .ordinal = i + 1},
                        .events = count,
                        .text = {}});
    }
  }
}

EventPage& EventPages::behind(call::EventPosition after) {
  for (auto& page : pages_)
    if (page.after() == after) return page;
  if (pages_.size() == kRemembered) pages_.pop_front();
  return pages_.emplace_back(feed_, after);
}

}  // namespace jobbie::face::native
