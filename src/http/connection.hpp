// One client's connection: bytes in, requests to the handler, answers out in the requests' order.
//
// Internal to this folder. Belongs to its loop's thread and is destroyed only at the end of a turn.
//
// Each request that was handed to the handler has a slot. The first slot's answer goes straight
// into the output; one that is ready before its turn waits in its slot. `closing_` means that no
// further request is taken: the client said so, or broke a rule, or ended its side, or the server
// drains. A closing connection ends once its slots and its output are empty.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "http/buffer.hpp"
#include "http/event_loop.hpp"
#include "http/parser.hpp"
#include "http/ring.hpp"
#include "http/server.hpp"
#include "http/sockets.hpp"
#include "http/tls.hpp"

namespace jobbie::http {

class Connection {
 public:
  /// Without `tls` it speaks plain HTTP.
  Connection(EventLoop& loop, ConnectionId id, Socket socket, Peer peer,
             std::unique_ptr<TlsSession> tls);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] ConnectionId id() const { return id_; }
  [[nodiscard]] bool dead() const { return dead_; }
  [[nodiscard]] const std::string& address() const { return peer_.address; }

  // For the loop.
  [[nodiscard]] const Socket& socket() const { return socket_; }
  void on_ready(std::uint32_t events);
  /// True if it was not marked before.
  bool mark_touched() { return !std::exchange(touched_, true); }
  /// The end of a turn: writes, goes on with what was put off, waits for more, or closes.
  void settle();
  void on_deadline();
  /// Others wait for room: a client that has taken nothing for a while is cut off.
  void on_pressure();
  /// There is room for the request that waits for it, as it seems.
  void on_room_here() { room_deadline_ms_ = kNoDeadline; }
  [[nodiscard]] bool waits_for_room() const { return room_deadline_ms_ != kNoDeadline; }
  /// What makes way for a new connection: first those that have not sent a whole head.
  enum class Unfinished : std::uint8_t { head, body, no };
  [[nodiscard]] Unfinished unfinished() const;
  [[nodiscard]] std::int64_t unfinished_since_ms() const { return phase_began_ms_; }
  /// Tells those who wait that the client is gone; the loop destroys the connection after this
  /// turn.
  void die();

  // For responders and streams. A sequence that is not waiting any more is passed over.
  void answer(std::uint64_t sequence, const Response& response, std::string_view body);
  void on_hang_up(std::uint64_t sequence, Task callback);
  [[nodiscard]] bool is_waiting(std::uint64_t sequence);
  /// With `bytes`, the answer has that length, and its parts go out as they are.
  bool begin_stream(std::uint64_t sequence, const Response& head,
                    std::optional<std::uint64_t> bytes = std::nullopt);
  bool write_stream(std::uint64_t sequence, std::string_view part);
  void end_stream(std::uint64_t sequence);
  [[nodiscard]] bool is_streaming(std::uint64_t sequence);
  void on_room(std::uint64_t sequence, Task callback);
  [[nodiscard]] std::size_t pending_bytes() const { return output_.size() - sent_ + slot_bytes_; }

 private:
  /// What an access record needs, kept only where there is a log.
  struct Access {
    std::string method;
    std::string target;
    std::int64_t began_us = 0;
  };
  struct Slot {
    enum class State : std::uint8_t { waiting, streaming, answered };
    State state = State::waiting;
    bool head_only = false;
    bool old_version = false;
    bool wants_keep_alive = false;
    std::uint64_t serial = 0;  ///< of our request id
    std::string given_id;      ///< the client's
    std::string bytes;         ///< the answer, until it is its turn
    Task hang_up;
    int status = 0;
    std::size_t body_bytes = 0;
    std::size_t reserved_bytes = 0;  ///< what the answer may have, until it is complete
    bool in_total = false;           ///< these count for the server
    std::optional<std::uint64_t> promised_bytes;  ///< of a stream whose length is known
    Task room;
    std::unique_ptr<Access> access;
  };
  enum class Phase : std::uint8_t { idle, head, body, busy };

  // What stands between it and its socket (connection_tls.cpp).
  [[nodiscard]] bool shaking_hands() const { return tls_ && !tls_->ready(); }
  bool shake_hands();
  void settle_handshake();
  void read_again_if_due();

  // Reading (connection.cpp).
  void on_readable();
  void on_writable();
  void read_fresh();
  void read_held();
  void discard();
  long receive(std::span<char> into);
  bool take_read(long count);
  void on_end();
  void on_half_end();
  void tell_hang_up();
  [[nodiscard]] bool make_room();
  void go_on_with_held();
  std::span<char> process(std::span<char> data);
  void on_head(std::span<const char> data);
  [[nodiscard]] bool take_request(std::span<const char> data);
  void dispatch(Request& request, const AnswerBound& bound);
  void refuse(const Fault& fault);
  [[nodiscard]] bool may_read() const;
  [[nodiscard]] bool may_take() const;
  void hold(std::span<const char> rest);
  void release_held();

  // What it owes (connection_room.cpp).
  void reserve(Slot& slot, const AnswerBound& bound);
  void release(Slot& slot);
  void release_from_total(Slot& slot);
  [[nodiscard]] bool find_room(const AnswerBound& bound);
  [[nodiscard]] bool is_too_much(std::size_t more) const;
  void count_owed();

  // Answering (connection_answers.cpp).
  Slot* find_slot(std::uint64_t sequence);
  std::string& append_slot_head(std::uint64_t sequence, Slot& slot, const Response& response,
                                Framing framing, std::size_t body_bytes);
  void count_slot_bytes(const Slot& slot, std::size_t before);
  void finish_slot(std::uint64_t sequence);
  void log_access(Slot& slot);
  void tell_room();

  // Ends of turns (connection_settle.cpp).
  bool flush();
  void close_or_linger();
  void watch(bool for_bytes);
  void update_deadlines();
  [[nodiscard]] Phase current_phase() const;

  EventLoop& loop_;
  const ConnectionId id_;
  Socket socket_;
  std::unique_ptr<TlsSession> tls_;  ///< none: plain HTTP
  const Peer peer_;

  Parser parser_;
  /// Of the request that is read; nothing: not asked yet.
  std::optional<AnswerBound> answer_bound_;
  Buffer held_;                    ///< an incomplete request, or requests that were put off
  std::size_t counted_bytes_ = 0;  ///< of `held_`, in the loop's sum
  std::size_t discarded_bytes_ = 0;

  Ring<Slot> slots_;
  std::uint64_t first_sequence_ = 0;  ///< of the first slot
  std::uint64_t next_sequence_ = 0;
  std::string output_;
  std::size_t sent_ = 0;                  ///< of `output_`
  std::size_t slot_bytes_ = 0;            ///< answers that wait for their turn
  std::size_t reserved_bytes_ = 0;        ///< of all slots
  std::size_t reserved_total_bytes_ = 0;  ///< of those that count for the server
  std::size_t counted_owed_ = 0;          ///< of what it owes, in the server's sum

  Phase phase_ = Phase::idle;
  std::uint64_t phase_sequence_ = 0;  ///< the request that `phase_` is about
  std::int64_t read_deadline_ms_ = kNoDeadline;
  std::int64_t write_deadline_ms_ = kNoDeadline;
  std::int64_t room_deadline_ms_ = kNoDeadline;  ///< set while a request waits for room
  std::int64_t phase_began_ms_;
  std::size_t sent_since_deadline_ = 0;

  bool touched_ = false;
  bool dead_ = false;
  bool closing_ = false;
  bool lingering_ = false;
  bool ended_ = false;       ///< the client has closed its side
  bool half_ended_ = false;  ///< it has, but there is more to read before that
  bool paused_ = false;      ///< `held_` has requests that wait for room
  bool continue_due_ = false;
  bool write_blocked_ = false;  ///< the system takes no more bytes for now
  bool again_due_ = false;      ///< the loop was asked to read once more
  std::uint32_t watched_ = 0;   ///< what the loop's set waits for
};

}  // namespace jobbie::http
