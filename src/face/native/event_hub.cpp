// Serving the streams of a loop.
#include "face/native/event_hub.hpp"

#include <chrono>
#include <utility>

#include "call/gate.hpp"
#include "face/exchange.hpp"
#include "face/native/log_stream.hpp"
#include "face/native/sse.hpp"

namespace jobbie::face::native {
namespace {

constexpr std::int64_t kBeatMs = 15'000;
/// Between two pumps, so that a busy node does not keep a loop busy with a handful at a time.
constexpr std::int64_t kPumpPauseMs = 10;
constexpr base::Duration kTickDelay = base::seconds(1);
constexpr base::Duration kCatchUpDelay = base::milliseconds(50);

std::int64_t steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void send_problem(http::Responder& responder, const Problem& problem) {
  Answer answer;
  write(problem, answer);
  send(responder, std::move(answer));
}

class EventStream final : public Watcher {
 public:
  EventStream(http::Stream stream, EventWatch wanted, call::EventPosition at)
      : stream_(std::move(stream)), wanted_(std::move(wanted)), at_(at) {
    if (std::exchange(wanted_.lost, false)) reset(at);
  }

  Standing serve(EventPages& pages) override {
    while (stream_.pending_bytes() < kUnreadBytes) {
      if (!stream_.open()) return Standing::over;
      auto& page = pages.behind(at_);
      if (page.gone()) {
        reset(page.end());
        continue;
      }
      if (page.items().empty()) return Standing::up_to_date;
      write_from(page);
    }
    return Standing::behind;
  }

  /// Tells the place as well: it may have moved by events that this client does not want.
  void beat() override {
    std::string text = ": still here\nid: ";
    append_position(at_, events_, text);
    text += "\n\n";
    stream_.write(text);
  }

 private:
  void write_from(EventPage& page) {
    std::string text;
    for (auto& item : page.items()) {
      if (wanted_.wants(*item.event)) text += item.written();
      at_ = item.at;
      events_ = item.events;
      if (text.size() >= kPartBytes) break;
    }
    if (!text.empty()) stream_.write(text);
  }

  void reset(call::EventPosition at) {
    at_ = at;
    events_ = at.ordinal;
    std::string id;
    append_position(at_, events_, id);
    std::string text;
    append_message(
        {.id = id,
         .type = "reset",
         .data = R"({"type":"reset","reason":"history_gone","job_id":null,"queue":null})"},
        text);
    stream_.write(text);
  }

  http::Stream stream_;
  EventWatch wanted_;
  call::EventPosition at_;
  std::uint32_t events_ = call::EventPosition::kWholeEntry;  ///< in the entry of at_
};

}  // namespace

EventHub::EventHub(http::Loop& loop, call::Service& service, call::Inbox& inbox)
    : loop_(loop), service_(service), inbox_(inbox), feed_(service.events()) {}

EventHub::~EventHub() {
  if (feed_ != nullptr) feed_->remove_listener(*this);
}

bool EventHub::admits(http::Responder& responder) {
  if (feed_ == nullptr || feed_->closed()) {
    send_problem(responder, problem_of(call::Trouble::stopping));
    return false;
  }
  if (watchers_.size() >= kMaxStreams) {
    send_problem(responder, problem_of(call::Trouble::overloaded));
    return false;
  }
  return true;
}

/// Gives the stream its number and has it ended when the client goes.
std::uint64_t EventHub::prepare(http::Responder& responder) {
  const auto number = next_number_++;
  feed_->add_listener(*this);
  responder.on_hang_up([this, number] { end(number); });
  return number;
}

void EventHub::watch(http::Responder responder, const EventWatch& wanted) {
  if (!admits(responder)) return;
  const auto number = prepare(responder);
  const auto now = feed_->end();
  auto head = stream_head();
  // Without an event yet, the client knows its place all the same.
  if (!wanted.after && !wanted.lost) {
    head.body += "id: ";
    append_position(now, now.ordinal, head.body);
    head.body += "\n\n";
  }
  auto stream = responder.stream(std::move(head));
  auto watcher =
      std::make_unique<EventStream>(std::move(stream), wanted, wanted.after.value_or(now));
  watcher->principal = wanted.principal;
  add(number, std::move(watcher));
}

void EventHub::follow(http::Responder responder, const LogFollow& wanted) {
  if (!admits(responder)) return;
  const auto number = prepare(responder);
  auto watcher =
      std::make_unique<LogStream>(*this, number, std::move(responder), wanted, feed_->end());
  watcher->principal = wanted.principal;
  add(number, std::move(watcher));
}

void EventHub::add(std::uint64_t number, std::unique_ptr<Watcher> watcher) {
  watchers_.emplace(number, std::move(watcher));
  if (!std::exchange(ticking_, true)) {
    next_beat_ms_ = steady_ms() + kBeatMs;
    loop_.post_after(kTickDelay, [this] { tick(); });
  }
  pump_soon();
}

void EventHub::with(std::uint64_t number, const std::function<void(Watcher&)>& use) {
  const auto found = watchers_.find(number);
  if (found == watchers_.end() || found->second == nullptr) return;
  serving_ = true;
  use(*found->second);
  serving_ = false;
  forget_ended();
}

void EventHub::end(std::uint64_t number) {
  const auto found = watchers_.find(number);
  if (found == watchers_.end() || found->second == nullptr) return;
  // One that is at work finds out by its own write that its client has gone.
  ended_.push_back(std::move(found->second));
  if (!serving_) forget_ended();
}

void EventHub::forget_ended() {
  ended_.clear();
  std::erase_if(watchers_, [](const auto& entry) { return entry.second == nullptr; });
  if (watchers_.empty() && feed_ != nullptr) feed_->remove_listener(*this);
}

void EventHub::wake() {
  if (woken_.exchange(true)) return;
  loop_.post([this] {
    woken_ = false;
    pump_soon();
  });
}

void EventHub::pump_soon() {
  if (std::exchange(pump_is_due_, true)) return;
  const auto wait = pumped_ms_ + kPumpPauseMs - steady_ms();
  const auto run = [this] {
    pump_is_due_ = false;
    pump();
  };
  if (wait > 0)
    loop_.post_after(base::milliseconds(wait), run);
  else
    loop_.post(run);
}

void EventHub::pump() {
  if (watchers_.empty()) return;
  pumped_ms_ = steady_ms();
  serving_ = true;
  any_behind_ = false;
  const bool closed = feed_->closed();
  EventPages pages(*feed_);
  for (auto& [number, watcher] : watchers_) {
    if (watcher == nullptr) continue;
    const auto standing = watcher->serve(pages);
    if (standing == Watcher::Standing::behind) any_behind_ = true;
    // The hang-up of a client that is found gone may have emptied the place already.
    if (standing == Watcher::Standing::over || closed) watcher.reset();
  }
  serving_ = false;
  forget_ended();
}

/// Streams whose key has gone since the last look end as well.
void EventHub::end_revoked() {
  const auto* board = service_.keys();
  if (board == nullptr || board->generation() == keys_seen_) return;
  keys_seen_ = board->generation();
  const auto ring = board->current();
  serving_ = true;
  for (auto& [number, watcher] : watchers_)
    if (watcher != nullptr && !call::is_still_valid(watcher->principal, *ring)) watcher.reset();
  serving_ = false;
  forget_ended();
}

/// Once a second while somebody watches; more often while somebody has to catch up.
void EventHub::tick() {
  end_revoked();
  if (watchers_.empty()) {
    ticking_ = false;
    return;
  }
  if (steady_ms() >= next_beat_ms_) {
    next_beat_ms_ = steady_ms() + kBeatMs;
    serving_ = true;
    for (auto& [number, watcher] : watchers_)
      if (watcher != nullptr) watcher->beat();
    serving_ = false;
    forget_ended();
  }
  if (any_behind_) pump();
  loop_.post_after(any_behind_ ? kCatchUpDelay : kTickDelay, [this] { tick(); });
}

}  // namespace jobbie::face::native
