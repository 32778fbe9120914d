// One connection on the transport's thread: connecting, TLS, handshake, frames, pings, deadlines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "peer/asio.hpp"
#include "peer/frame_reader.hpp"
#include "peer/handshake.hpp"
#include "peer/outbox.hpp"
#include "peer/seal.hpp"
#include "peer/stream.hpp"
#include "peer/transport.hpp"

namespace jobbie::peer {

/// What all parts of a transport share. `self` belongs to the transport's thread, the rest stays as
/// it is.
struct Common {
  Common(Options given, Handler& called) : options(std::move(given)), handler(called) {}

  const Options options;
  Handler& handler;
  asio::io_context io{1};
  Key secret{};
  std::unique_ptr<TlsContext> tls;
  Greeting self;

  [[nodiscard]] const Limits& limits() const { return options.limits; }
  void note(base::Level level, std::string_view event, std::initializer_list<base::Field> fields) {
    if (options.journal != nullptr) options.journal->write(level, event, fields);
  }
};

/// Two sides that trust each other, and what they need to go on.
struct Session {
  Stream stream;
  FrameReader reader{kMaxEarlyFrame};
  Seal opening;
  Seal sealing;
  std::string out;  ///< sealed, and not written yet
  Greeting other;
};

/// Shared: whoever waits for its socket keeps it, and so does whoever sends on it. All but send()
/// and queued_bytes() belongs to the transport's thread.
class Link : public std::enable_shared_from_this<Link> {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    /// The handshake is done. Frames follow, unless the owner release()s or drop()s the link.
    virtual void link_open(Link& link) = 0;
    /// A frame of a kind that is not the transport's own; on a dialled link none come.
    virtual void link_frame(Link& link, Frame frame) = 0;
    /// Called once, and nothing after it; not called for a link that was dropped or released.
    virtual void link_closed(Link& link, const base::Error& why) = 0;
  };

  /// A dialler's stream is still connecting. `owner` and `common` outlive the link's life, which
  /// ends with drop(), release() or link_closed().
  Link(Common& common, Owner& owner, Role role, Stream stream);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void start();
  void drop();
  [[nodiscard]] Session release();
  /// Sends a frame with the reason and closes: link_closed() follows when the other side has it.
  void refuse(OwnKind kind, const Verdict& verdict);
  /// To be called every so often: pings, and deadlines.
  void tick();

  /// Any thread. False if the queue is full.
  bool send(std::uint8_t kind, std::string bytes);
  [[nodiscard]] std::size_t queued_bytes() const { return outbox_.bytes(); }

  [[nodiscard]] bool is_open() const { return state_ == State::open; }
  [[nodiscard]] bool is_closing() const { return state_ == State::closing; }
  [[nodiscard]] const Greeting& other() const { return session_.other; }
  [[nodiscard]] Purpose purpose() const { return purpose_; }
  /// The address of the other end, for a listener's link.
  [[nodiscard]] const std::string& remote() const { return remote_; }
  [[nodiscard]] std::optional<std::int64_t> round_trip_us() const { return round_trip_us_; }
  [[nodiscard]] std::uint64_t sent_bytes() const { return sent_bytes_; }
  [[nodiscard]] std::uint64_t received_bytes() const { return received_bytes_; }

 private:
  enum class State : std::uint8_t { connecting, securing, greeting, open, closing, dead };

  void pump();
  base::Result<void> work();
  base::Result<void> secure();
  void greet();
  base::Result<void> read_some();
  base::Result<void> discard_some();
  base::Result<void> take_what_came();
  base::Result<void> take_frame(Frame frame);
  base::Result<void> flush();
  void arm();
  void say(OwnKind kind, std::string_view payload);
  /// Ends it with an error; a last word that waits in `out` is sent before.
  void fail(base::Error why);
  void close_after_last_word(base::Error why);
  void die(const base::Error& why);
  void watch_liveness(std::int64_t now);

  Common& common_;
  Owner& owner_;
  const Role role_;
  State state_ = State::connecting;
  Session session_;
  asio::posix::stream_descriptor descriptor_;
  std::optional<Handshake> handshake_;
  Purpose purpose_ = Purpose::frames;
  std::string remote_;
  Outbox outbox_;
  std::size_t written_ = 0;  ///< of session_.out
  bool read_armed_ = false;
  bool write_armed_ = false;
  bool wants_write_ = false;
  bool was_full_ = false;  ///< the socket took no more when it was last tried
  bool again_ = false;     ///< the turn was long enough; the rest is for the next one
  std::optional<base::Error> why_closing_;

  std::int64_t since_ms_;
  std::int64_t moved_ms_ = 0;  ///< when something last got through
  std::int64_t pinged_ms_ = 0;
  std::size_t in_flight_ = 0;
  std::optional<std::int64_t> round_trip_us_;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t received_bytes_ = 0;
};

}  // namespace jobbie::peer
