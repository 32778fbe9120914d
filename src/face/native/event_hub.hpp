// The streams of one io thread: who watches, how far each has come, and when they are written to.
//
// The node wakes a hub when there is something new. The hub reads it on its own thread, at most so
// often, writes each event out once, and gives it to all who want it. A client that does not keep
// up is not written to until it has read; if what it missed is gone by then, it is told so by a
// `reset`. Private to the folder.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "call/call.hpp"
#include "call/event_feed.hpp"
#include "face/native/event_pages.hpp"
#include "face/native/watch.hpp"
#include "http/server.hpp"

namespace jobbie::face::native {

/// One stream. Everything happens on the loop's thread.
class Watcher {
 public:
  virtual ~Watcher() = default;
  enum class Standing : std::uint8_t { up_to_date, behind, over };
  /// Writes what is new.
  virtual Standing serve(EventPages& pages) = 0;
  /// Nothing was written for a while: a sign of life keeps the connection open.
  virtual void beat() = 0;
  /// Who asked for the stream: when the key goes, the stream ends.
  call::Principal principal;
};

/// It must outlive the server whose loop it belongs to; the service must outlive it.
class EventHub final : public call::EventListener {
 public:
  /// Streams of one loop, at most.
  static constexpr std::size_t kMaxStreams = 2'000;

  EventHub(http::Loop& loop, call::Service& service, call::Inbox& inbox);
  ~EventHub() override;

  void watch(http::Responder responder, const EventWatch& wanted);
  void follow(http::Responder responder, const LogFollow& wanted);
  [[nodiscard]] std::size_t streams() const { return watchers_.size(); }

  void wake() override;

  // For watchers.
  /// Runs `use` with the watcher of that number, if it is still there.
  void with(std::uint64_t number, const std::function<void(Watcher&)>& use);
  [[nodiscard]] call::Service& service() { return service_; }
  [[nodiscard]] call::Inbox& inbox() { return inbox_; }
  /// Serves everybody soon.
  void pump_soon();

 private:
  /// Whether a stream may begin; else the responder has been used to say why not.
  bool admits(http::Responder& responder);
  std::uint64_t prepare(http::Responder& responder);
  void add(std::uint64_t number, std::unique_ptr<Watcher> watcher);
  void end(std::uint64_t number);
  void pump();
  void tick();
  void forget_ended();
  void end_revoked();

  http::Loop& loop_;
  call::Service& service_;
  call::Inbox& inbox_;
  call::EventFeed* feed_;
  std::map<std::uint64_t, std::unique_ptr<Watcher>> watchers_;
  /// Ended while they were at work: they go when that is done.
  std::vector<std::unique_ptr<Watcher>> ended_;
  std::uint64_t next_number_ = 1;
  std::atomic<bool> woken_ = false;
  bool serving_ = false;  ///< a watcher is at work
  bool pump_is_due_ = false;
  bool ticking_ = false;
  bool any_behind_ = false;
  std::uint64_t keys_seen_ = 0;  ///< the generation of keys that the streams were held against
  std::int64_t pumped_ms_ = 0;
  std::int64_t next_beat_ms_ = 0;
};

/// How much of a stream a client may leave unread before it is not written to.
inline constexpr std::size_t kUnreadBytes = std::size_t{256} << 10;
/// What is written at once.
inline constexpr std::size_t kPartBytes = std::size_t{64} << 10;

}  // namespace jobbie::face::native
