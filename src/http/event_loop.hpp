// One io thread: its Asio context, its connections, its clock, and what they share.
//
// Internal to this folder; others see `Loop`.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "http/admission.hpp"
#include "http/answer.hpp"
#include "http/asio.hpp"
#include "http/parser.hpp"
#include "http/server.hpp"
#include "http/sockets.hpp"
#include "http/tls.hpp"
#include "http/wakefulness.hpp"

namespace jobbie::http {

class Connection;

inline constexpr std::int64_t kNoDeadline = std::numeric_limits<std::int64_t>::max();

/// What all loops of a server have in common.
struct Shared {
  Shared(const ServerOptions& options, Handler& request_handler)
      : limits(options.limits),
        access_log(options.access_log),
        handler(request_handler),
        admission(options.limits),
        stream_share(std::max(kSmallAnswerBytes,
                              options.limits.total_answer_bytes /
                                  std::max<std::size_t>(options.limits.connections, 1))) {}

  const Limits limits;
  const AccessLog access_log;
  Handler& handler;
  std::unique_ptr<TlsIdentity> tls;  ///< none: plain HTTP. Set before the loops run.
  Admission admission;
  /// Answers by class of status. Each loop counts in a line of its own, so nobody waits.
  struct alignas(64) AnswerCounts {
    std::array<std::atomic<std::uint64_t>, 5> by_class{};
  };
  std::array<AnswerCounts, kMaxThreads> answers;

  /// What all connections are owed. It changes with large answers and with what clients leave
  /// unread, not with every request.
  alignas(64) std::atomic<std::size_t> owed_bytes = 0;
  /// Requests that wait until that is less.
  std::atomic<std::size_t> waiting_for_room = 0;
  /// What a stream may be behind while the server owes too much.
  const std::size_t stream_share;

  [[nodiscard]] bool owes_too_much() const {
    return owed_bytes.load(std::memory_order_relaxed) > limits.total_answer_bytes;
  }
  /// Whether an answer of so many bytes may be made. One that may be larger than all the room there
  /// is needs a quarter of it, or it would never come.
  [[nodiscard]] bool has_room(std::size_t bytes) const {
    const std::size_t owed = owed_bytes.load(std::memory_order_relaxed);
    return owed + std::min(bytes, limits.total_answer_bytes / 4) <= limits.total_answer_bytes;
  }
};

struct Peer {
  std::string remote;   ///< address and port, for people
  std::string address;  ///< what is counted as one address
};

/// Everything here belongs to the loop's thread, but for `post`, `ask_to_stop`, `on_thread`,
/// `expect_one` and `connections`. Work comes in turns: whatever enters (sockets that are
/// ready, posted, tick) does its part and marks the connections that it touched, and `end_turn()`
/// writes to each of them once.
class EventLoop final : public Loop {
 public:
  EventLoop(unsigned index, Shared& shared);
  ~EventLoop() override;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  void post(Task task) override;
  [[nodiscard]] bool on_thread() const override;
  [[nodiscard]] unsigned index() const override { return index_; }
  void post_after(base::Duration delay, Task task) override;
  [[nodiscard]] ServerCounts server_counts() const override;

  /// The thread's body; returns after `ask_to_stop()`.
  void run();
  void ask_to_stop();
  [[nodiscard]] std::size_t connections() const { return count_.load(std::memory_order_relaxed); }
  [[nodiscard]] asio::io_context& context() { return context_; }

  /// From any thread: counts a connection that will be adopted, so that a burst is spread evenly.
  void expect_one() { count_.fetch_add(1, std::memory_order_relaxed); }
  /// Takes over a socket that `Shared::admission` has let in and that was expected.
  void adopt(Socket socket, Peer peer);
  void begin_drain();
  /// Ends connections that have not sent a whole request, the oldest first, to make way for another
  /// one: those of `address`, or of anybody if it is empty.
  void evict_unfinished(const std::string& address);

  // For responders.
  /// The connection if it still lives. Aborts on a thread that has no business here.
  Connection* find(ConnectionId id);

  // For connections.
  void watch(const Connection& connection, std::uint32_t events);
  /// The connection is settled at the end of this turn.
  void touch(Connection& connection);
  /// The connection reads in the next turn, whatever its socket says.
  void read_again(ConnectionId id);
  /// The connection is settled again when the server has room for an answer of so many bytes.
  void wait_for_room(ConnectionId id, std::size_t bytes);
  /// The connection is destroyed at the end of this turn.
  void bury(ConnectionId id);
  void count_answer(int status);
  void set_deadline(ConnectionId id, std::int64_t deadline_ms) {
    deadlines_[id.index] = deadline_ms;
  }
  /// Of a clock that moves with the ticks; good enough for deadlines, and free.
  [[nodiscard]] std::int64_t now_ms() const { return now_ms_; }
  [[nodiscard]] bool draining() const { return draining_; }
  [[nodiscard]] Shared& shared() { return shared_; }
  [[nodiscard]] const DateLine& date() const { return date_; }
  [[nodiscard]] RequestIds& ids() { return ids_; }
  /// Where a connection without an incomplete request reads into; empty again at the turn's end.
  [[nodiscard]] std::span<char> read_buffer() { return {read_buffer_.get(), kReadBytes}; }
  [[nodiscard]] HeaderViews& header_views() { return header_views_; }
  [[nodiscard]] std::string& id_text() { return id_text_; }
  /// Bytes of incomplete requests, over all connections.
  std::size_t held_bytes = 0;

 private:
  [[nodiscard]] std::vector<Task> take_posted();
  void run_posted();
  void run_again();
  void wait_for_sockets();
  /// Looks for more to do until nothing has come for a while, where that pays.
  void stay_awake();
  void end_turn();
  void settle_touched();
  void wake_for_room();
  void press();
  void schedule_tick();
  void tick();
  void update_clock();
  void close_all();

  const unsigned index_;
  Shared& shared_;
  asio::io_context context_{1};
  asio::steady_timer timer_{context_};
  SocketSet sockets_{context_};
  Wakefulness awake_;
  const std::int64_t tick_ms_;
  std::int64_t now_ms_ = 0;
  DateLine date_;
  RequestIds ids_;
  std::unique_ptr<char[]> read_buffer_;
  HeaderViews header_views_;
  std::string id_text_;
  bool draining_ = false;
  bool ticking_ = false;

  std::vector<std::unique_ptr<Connection>> connections_;  ///< by index; empty places are free
  std::vector<std::uint32_t> generations_;
  std::vector<std::int64_t> deadlines_;  ///< apart from the connections: the sweep reads it all
  std::vector<std::uint32_t> free_;
  std::vector<ConnectionId> touched_;
  std::vector<ConnectionId> again_;
  std::vector<ConnectionId> buried_;
  struct RoomWait {
    ConnectionId id;
    std::size_t bytes = 0;
  };
  std::deque<RoomWait> room_waits_;  ///< in the order they came
  bool nobody_unfinished_ = false;   ///< when it was last looked, since the last tick
  std::atomic<std::size_t> count_ = 0;

  /// What waits for its time. Owned here and not by Asio, which would keep it past the stop.
  struct Delayed {
    asio::steady_timer timer;
    Task task;
  };
  std::list<Delayed> delayed_;

  std::atomic<std::thread::id> thread_;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;  ///< guards posted_
  std::vector<Task> posted_;
};

}  // namespace jobbie::http
