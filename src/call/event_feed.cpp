// The ring under its lock. The node takes it once an entry and once a round.
#include "call/event_feed.hpp"

#include <algorithm>
#include <utility>

namespace jobbie::call {
namespace {

std::size_t bytes_of(const EventBatch& batch) {
  std::size_t bytes = 0;
  for (const auto& event : batch.events) bytes += event.detail.size();
  return bytes;
}

/// Positions of one entry by ordinal; of two entries by index.
bool covers(const EventPosition& a, const EventPosition& b) {
  return a.index != b.index ? a.index > b.index : a.ordinal >= b.ordinal;
}

EventPosition end_of(const EventBatch& batch) {
  return {.index = batch.index, .ordinal = static_cast<std::uint32_t>(batch.events.size())};
}

}  // namespace

void EventFeed::begin(std::uint64_t index) {
  const std::scoped_lock lock(mutex_);
  floor_ = end_ = {.index = index, .ordinal = EventPosition::kWholeEntry};
}

void EventFeed::add(std::uint64_t index, std::vector<command::Event>&& events) {
  const std::scoped_lock lock(mutex_);
  end_ = {.index = index, .ordinal = static_cast<std::uint32_t>(events.size())};
  if (!keeping_) {
    floor_ = end_;
    return;
  }
  if (events.empty()) return;
  auto batch = std::make_shared<EventBatch>();
  batch->index = index;
  batch->events = std::move(events);
  kept_events_ += batch->events.size();
  kept_bytes_ += bytes_of(*batch);
  kept_.push_back(std::move(batch));
  news_ = true;
  while (kept_.size() > 1 && (kept_events_ > bounds_.events || kept_bytes_ > bounds_.bytes))
    forget_oldest();
}

void EventFeed::forget_oldest() {
  const EventBatch& oldest = *kept_.front();
  floor_ = end_of(oldest);
  kept_events_ -= oldest.events.size();
  kept_bytes_ -= bytes_of(oldest);
  kept_.pop_front();
}

void EventFeed::flush(std::int64_t now_us) {
  const std::scoped_lock lock(mutex_);
  if (!keeping_) return;
  if (std::exchange(news_, false))
    for (EventListener* listener : listeners_) listener->wake();
  if (!listeners_.empty()) {
    idle_since_us_ = 0;
  } else if (idle_since_us_ == 0) {
    idle_since_us_ = now_us;
  } else if (now_us - idle_since_us_ > bounds_.kept_us) {
    keeping_ = false;
    kept_.clear();
    kept_events_ = kept_bytes_ = 0;
    floor_ = end_;
    idle_since_us_ = 0;
  }
}

void EventFeed::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  for (EventListener* listener : listeners_) listener->wake();
}

bool EventFeed::closed() const {
  const std::scoped_lock lock(mutex_);
  return closed_;
}

void EventFeed::add_listener(EventListener& listener) {
  const std::scoped_lock lock(mutex_);
  keeping_ = true;
  if (std::find(listeners_.begin(), listeners_.end(), &listener) == listeners_.end())
    listeners_.push_back(&listener);
}

void EventFeed::remove_listener(EventListener& listener) {
  const std::scoped_lock lock(mutex_);
  std::erase(listeners_, &listener);
}

EventPosition EventFeed::end() const {
  const std::scoped_lock lock(mutex_);
  return end_;
}

EventFeed::Page EventFeed::read(EventPosition after, std::size_t events) const {
  const std::scoped_lock lock(mutex_);
  Page page{.gone = false, .end = end_, .batches = {}};
  // A place before what is kept, or one that was never reached: another log's, perhaps.
  if (!covers(after, floor_) || after.index > end_.index) {
    page.gone = true;
    return page;
  }
  auto it = std::partition_point(kept_.begin(), kept_.end(),
                                 [&](const auto& batch) { return covers(after, end_of(*batch)); });
  for (std::size_t held = 0; it != kept_.end() && held < events; ++it) {
    held += (*it)->events.size();
    page.batches.push_back(*it);
  }
  return page;
}

}  // namespace jobbie::call
