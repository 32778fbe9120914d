// The HTTP/1.1 server: listen, hand each request to a handler, take the answer back later.
//
// Each io thread runs one Loop with its own connections, and everything that concerns a connection
// happens on that thread: `handle()`, `Responder::send()`, hang-up notices. The only way in from
// another thread is `Loop::post()`. DESIGN.md tells how a request travels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "base/time.hpp"
#include "http/limits.hpp"
#include "http/message.hpp"

namespace jobbie::http {

using Task = std::move_only_function<void()>;

class EventLoop;

/// What a server has done since it was made.
struct ServerCounts {
  std::array<std::uint64_t, 5> answers{};  ///< by class of status: 1xx to 5xx
  std::uint64_t connections = 0;           ///< that are open now
};

/// One io thread. It lives as long as its server.
class Loop {
 public:
  virtual ~Loop() = default;
  /// From any thread: `task` runs on this loop's thread, after those posted before it. However many
  /// are posted before the loop gets to them, it is woken once, and what they send to one
  /// connection is written at once. A task that `Server::stop()` overtakes is destroyed unrun; one
  /// that comes later is kept, and destroyed with the server.
  virtual void post(Task task) = 0;
  [[nodiscard]] virtual bool on_thread() const = 0;
  [[nodiscard]] virtual unsigned index() const = 0;
  /// On this loop's thread: `task` runs here after `delay`. It is destroyed unrun when the server
  /// stops before.
  virtual void post_after(base::Duration delay, Task task) = 0;
  /// Of the whole server, from any thread.
  [[nodiscard]] virtual ServerCounts server_counts() const = 0;
};

/// Names a connection beyond its end: a stale name finds nothing.
struct ConnectionId {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
};

/// A request in flight: which loop, which connection, the how-manieth request on it.
struct Ticket {
  EventLoop* loop = nullptr;
  ConnectionId connection;
  std::uint64_t sequence = 0;
};

/// An answer in parts (server-sent events, large exports). On the loop's thread only; the server
/// must outlive it. Its destruction closes it.
class Stream {
 public:
  Stream() = default;
  Stream(Stream&& other) noexcept : ticket_(std::exchange(other.ticket_, {})) {}
  Stream& operator=(Stream&& other) noexcept;
  ~Stream() { close(); }

  /// False: the client is gone, or is more than `Limits::answer_bytes` behind and has been cut off;
  /// less, while the server owes more than `Limits::total_answer_bytes`.
  bool write(std::string_view part);
  /// Ends the answer; the connection goes on to the next request.
  void close();
  /// `callback` runs once on the loop's thread when the client has no more than kRoomBytes to take;
  /// it is dropped unrun when the client goes.
  void on_room(Task callback);
  /// How much the client has not taken yet, to slow down by.
  [[nodiscard]] std::size_t pending_bytes() const;
  [[nodiscard]] bool open() const;
  [[nodiscard]] Loop& loop() const;

 private:
  friend class Responder;
  explicit Stream(Ticket ticket) : ticket_(ticket) {}
  Ticket ticket_;
};

/// The right and the duty to answer one request. On the loop's thread only; the server must outlive
/// it. One that is destroyed without an answer answers 500. Once the client has gone, everything
/// here does nothing.
class Responder {
 public:
  Responder() = default;
  Responder(Responder&& other) noexcept : ticket_(std::exchange(other.ticket_, {})) {}
  Responder& operator=(Responder&& other) noexcept;
  ~Responder();

  void send(Response&& response);
  void send(int status, std::string_view content_type, std::string_view body);
  /// Sends the head of `head` (its body is the first part) and gives the rest of the answer.
  Stream stream(Response&& head);
  /// The same with an answer whose length is known. A stream that is closed with less written
  /// breaks the connection, so that the client knows.
  Stream stream(Response&& head, std::uint64_t bytes);

  /// `callback` runs once on the loop's thread if the client ends its side of the connection, or
  /// the connection breaks, before the answer (or the end of the stream). An answer may still be
  /// sent: a client that only closed its writing side receives it.
  void on_hang_up(Task callback);

  /// Whether there is still a request to answer and a connection to answer it on.
  [[nodiscard]] bool waiting() const;
  [[nodiscard]] Loop& loop() const;

 private:
  friend class Connection;
  explicit Responder(Ticket ticket) : ticket_(ticket) {}
  Ticket ticket_;
};

/// What is known of an answer before it is made.
struct AnswerBound {
  /// It has about this at most. No more requests of its connection are handled beside it than
  /// `Limits::answer_bytes` has room for.
  std::size_t bytes = kSmallAnswerBytes;
  /// It may be long in coming. Until it is there, it takes no room of the server's others.
  bool waits = false;
};

/// What a handler says of a request by its method and path alone.
struct RequestBounds {
  std::optional<std::size_t> body_bytes;  ///< the largest that is taken; nothing: the server's own
  /// Answers that are sent within `handle()` need no bound: they count as they are.
  AnswerBound answer;
};

/// Called by every loop on its own thread, so with several threads concurrently.
class Handler {
 public:
  virtual ~Handler() = default;
  /// `responder` may be kept and used later, `request` may not.
  virtual void handle(const Request& request, Responder responder) = 0;
  /// Asked once for each request, before its body is read and before `handle()`.
  [[nodiscard]] virtual RequestBounds bounds(Method method, std::string_view path) const {
    static_cast<void>(method);
    static_cast<void>(path);
    return {};
  }
};

/// One answered request. The views hold during the call.
struct AccessRecord {
  std::string_view method;
  std::string_view target;
  std::string_view remote;
  std::string_view request_id;
  int status = 0;
  std::size_t body_bytes = 0;  ///< of the answer
  std::int64_t duration_us = 0;
};
using AccessLog = std::function<void(const AccessRecord&)>;

/// Files in PEM: the certificate followed by those that vouch for it, and its key.
struct TlsFiles {
  std::string certificate;
  std::string key;
};

struct ServerOptions {
  std::string host = "127.0.0.1";  ///< an address, or a name that resolves to one
  std::uint16_t port = 0;          ///< 0: the system chooses
  unsigned threads = 1;
  Limits limits;
  AccessLog access_log;         ///< called on the loops' threads, concurrently; empty: no log
  std::optional<TlsFiles> tls;  ///< nothing: plain HTTP
};

/// Made and ended by one thread (the program's main one), which is none of the loops'.
class Server {
 public:
  /// Binds and listens; nothing is accepted before `start()`. `handler` must outlive the server.
  static base::Result<std::unique_ptr<Server>> listen(ServerOptions options, Handler& handler);
  virtual ~Server() = default;

  [[nodiscard]] virtual std::uint16_t port() const = 0;
  [[nodiscard]] virtual std::size_t connections() const = 0;
  [[nodiscard]] virtual std::size_t loops() const = 0;
  [[nodiscard]] virtual Loop& loop(std::size_t index) = 0;

  /// Reads the TLS files again, for connections that come from now on. Files that are no good are
  /// refused, and everything stays as it is. Only where `ServerOptions::tls` was given.
  virtual base::Result<void> reload_tls() = 0;
  /// When the certificate in use ends; nothing for plain HTTP.
  [[nodiscard]] virtual std::optional<base::Instant> tls_expires() const = 0;

  virtual void start() = 0;
  /// New connections are refused by the system from here on.
  virtual void stop_accepting() = 0;
  /// Stops accepting, closes idle connections and the others after their answers; returns when all
  /// are gone (true) or the time is up.
  virtual bool drain(base::Duration at_most) = 0;
  /// Closes everything (hang-up notices run) and ends the threads. Also done by the destructor.
  virtual void stop() = 0;
};

}  // namespace jobbie::http
