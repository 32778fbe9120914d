// Every time the socket is ready, or something is to be sent, the link does all it can and waits
// again.
#include "peer/link.hpp"

#include <array>
#include <utility>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "peer/failure.hpp"

namespace jobbie::peer {
namespace {

/// Frames are put together up to this before they are written.
constexpr std::size_t kBatchBytes = std::size_t{256} << 10;
/// What one turn reads or writes before others have theirs.
constexpr std::size_t kTurnBytes = std::size_t{1} << 20;
/// Answers to pings that the other side does not take; no more are given above this.
constexpr std::size_t kMaxUntaken = std::size_t{1} << 20;
/// So many bytes must have arrived at the other side to count as a sign of life.
constexpr std::size_t kDrainedBytes = 4096;
/// How long one who was refused may take to read why.
constexpr std::int64_t kFarewell_ms = 1000;

}  // namespace

Link::Link(Common& common, Owner& owner, Role role, Stream stream)
    : common_(common),
      owner_(owner),
      role_(role),
      descriptor_(common.io),
      outbox_(common.limits().queue_bytes),
      since_ms_(now_ms()) {
  session_.stream = std::move(stream);
  remote_ = role == Role::listener ? session_.stream.remote_address() : std::string();
}

Link::~Link() {
  if (descriptor_.is_open()) descriptor_.release();
}

void Link::start() {
  asio::error_code error;
  descriptor_.assign(session_.stream.descriptor(), error);
  if (error) return fail({.code = "connect_failed", .message = error.message()});
  if (role_ == Role::dialler) return arm();
  if (auto begun = secure(); !begun) return fail(begun.error());
  pump();
}

void Link::drop() {
  if (state_ == State::dead) return;
  state_ = State::dead;
  if (descriptor_.is_open()) descriptor_.release();
  session_.stream = Stream();
}

Session Link::release() {
  JOBBIE_CHECK(state_ == State::open);
  state_ = State::dead;
  descriptor_.release();
  session_.out.erase(0, std::exchange(written_, 0));
  return std::move(session_);
}

void Link::die(const base::Error& why) {
  const auto self = shared_from_this();
  drop();
  owner_.link_closed(*this, why);
}

void Link::fail(base::Error why) {
  if (state_ == State::dead) return;
  const bool has_last_word = state_ == State::greeting && written_ < session_.out.size();
  if (has_last_word)
    close_after_last_word(std::move(why));
  else
    die(why);
}

void Link::refuse(OwnKind kind, const Verdict& verdict) {
  JOBBIE_CHECK(state_ == State::open);
  std::string payload;
  encode(verdict, payload);
  say(kind, payload);
  close_after_last_word({.code = verdict.code, .message = verdict.message});
}

void Link::close_after_last_word(base::Error why) {
  state_ = State::closing;
  why_closing_ = std::move(why);
  since_ms_ = now_ms();
  asio::post(common_.io, [self = shared_from_this()] { self->pump(); });
}

base::Result<void> Link::secure() {
  state_ = State::securing;
  if (!common_.tls) {
    greet();
    return {};
  }
  return session_.stream.secure(*common_.tls, role_);
}

void Link::greet() {
  state_ = State::greeting;
  handshake_.emplace(Handshake::Setup{.role = role_,
                                      .purpose = Purpose::frames,
                                      .secret = common_.secret,
                                      .self = common_.self,
                                      .sealed = !session_.stream.is_secured(),
                                      .binding = session_.stream.binding()});
}

void Link::pump() {
  if (state_ == State::dead) return;
  const auto self = shared_from_this();
  was_full_ = std::exchange(wants_write_, false);
  again_ = false;
  const auto done = work();
  if (state_ == State::dead) return;
  if (!done) {
    if (state_ == State::closing) return die(*why_closing_);
    return fail(done.error());
  }
  arm();
}

base::Result<void> Link::work() {
  if (state_ == State::connecting) {
    if (auto fine = session_.stream.connected(); !fine) return fine;
    if (auto begun = secure(); !begun) return begun;
  }
  if (state_ == State::securing) {
    const auto progress = session_.stream.shake_hands();
    if (!progress) return std::unexpected(progress.error());
    wants_write_ = progress->need == Need::to_write;
    if (progress->need != Need::nothing) return {};
    greet();
  }
  if (state_ == State::closing) {
    if (auto done = flush(); !done) return done;
    return written_ < session_.out.size() ? base::Result<void>() : discard_some();
  }
  if (auto done = take_what_came(); !done) return done;
  if (state_ == State::dead) return {};
  if (auto done = read_some(); !done) return done;
  if (state_ == State::dead) return {};
  return flush();
}

base::Result<void> Link::read_some() {
  for (std::size_t taken = 0; taken < kTurnBytes;) {
    const auto got = session_.stream.read(session_.reader.space());
    if (!got) return std::unexpected(got.error());
    if (got->bytes == 0) {
      wants_write_ = wants_write_ || got->need == Need::to_write;
      return {};
    }
    taken += got->bytes;
    received_bytes_ += got->bytes;
    moved_ms_ = now_ms();
    session_.reader.filled(got->bytes);
    if (auto done = take_what_came(); !done) return done;
    if (state_ == State::dead) return {};
  }
  again_ = true;
  return {};
}

/// The other side has our last word; it is given time to read it. Closing while its bytes are
/// unread would throw the word away.
base::Result<void> Link::discard_some() {
  session_.stream.end_writing();
  std::array<char, kMaxEarlyFrame> unread;
  const auto got = session_.stream.read(unread);
  if (!got) return std::unexpected(got.error());
  again_ = got->bytes > 0;
  return {};
}

base::Result<void> Link::take_what_came() {
  if (state_ == State::greeting) {
    const auto done = handshake_->advance(session_.reader, session_.out);
    if (!done) return std::unexpected(done.error());
    if (!*done) return {};
    purpose_ = handshake_->purpose();
    session_.other = handshake_->other();
    session_.opening = handshake_->take_opening();
    session_.sealing = handshake_->take_sealing();
    session_.reader.allow(common_.limits().frame_bytes);
    handshake_.reset();
    state_ = State::open;
    moved_ms_ = pinged_ms_ = now_ms();
    owner_.link_open(*this);
  }
  while (state_ == State::open) {
    auto frame = session_.reader.next(session_.opening);
    if (!frame) return std::unexpected(frame.error());
    if (!*frame) return {};
    if (auto done = take_frame(std::move(**frame)); !done) return done;
  }
  return {};
}

base::Result<void> Link::take_frame(Frame frame) {
  const bool listens = role_ == Role::listener;
  if (frame.kind < kFirstOwnKind && listens) {
    owner_.link_frame(*this, std::move(frame));
    return {};
  }
  const bool small = frame.payload.size() == sizeof(std::uint64_t);
  if (listens && small && frame.kind == number(OwnKind::ping)) {
    if (session_.out.size() - written_ < kMaxUntaken) say(OwnKind::pong, frame.payload);
    return {};
  }
  if (!listens && small && frame.kind == number(OwnKind::pong)) {
    const auto sent = base::ByteReader(frame.payload).u64();
    round_trip_us_ = now_us() - static_cast<std::int64_t>(sent);
    return {};
  }
  return failure("malformed", "a frame that has no place on this connection");
}

void Link::say(OwnKind kind, std::string_view payload) {
  session_.sealing.seal(number(kind), payload, session_.out);
}

base::Result<void> Link::flush() {
  std::string& out = session_.out;
  for (std::size_t sent = 0;;) {
    if (written_ == out.size()) {
      out.clear();
      written_ = 0;
      if (out.capacity() > 4 * kBatchBytes) out = {};
      if (state_ == State::open) outbox_.take(session_.sealing, out, kBatchBytes);
      if (out.empty()) return {};
    }
    if (sent >= kTurnBytes) {
      again_ = true;
      return {};
    }
    const auto progress = session_.stream.write(std::string_view(out).substr(written_));
    if (!progress) return std::unexpected(progress.error());
    if (progress->bytes == 0) {
      wants_write_ = wants_write_ || progress->need == Need::to_write;
      return {};
    }
    if (was_full_) moved_ms_ = now_ms();
    written_ += progress->bytes;
    sent += progress->bytes;
    sent_bytes_ += progress->bytes;
  }
}

void Link::arm() {
  const auto wait = [this](bool& armed, asio::posix::stream_descriptor::wait_type what) {
    if (std::exchange(armed, true)) return;
    descriptor_.async_wait(what,
                           [self = shared_from_this(), &armed](const asio::error_code& error) {
                             armed = false;
                             if (!error) self->pump();
                           });
  };
  if (again_) asio::post(common_.io, [self = shared_from_this()] { self->pump(); });
  if (state_ == State::connecting || wants_write_)
    wait(write_armed_, asio::posix::stream_descriptor::wait_write);
  if (state_ != State::connecting) wait(read_armed_, asio::posix::stream_descriptor::wait_read);
}

bool Link::send(std::uint8_t kind, std::string bytes) {
  switch (outbox_.put({.kind = kind, .payload = std::move(bytes)})) {
    case Outbox::Put::full:
      return false;
    case Outbox::Put::first:
      asio::post(common_.io, [self = shared_from_this()] { self->pump(); });
      break;
    case Outbox::Put::queued:
      break;
  }
  return true;
}

void Link::tick() {
  const auto now = now_ms();
  switch (state_) {
    case State::connecting:
    case State::securing:
    case State::greeting:
      if (now - since_ms_ >= common_.limits().handshake_time.ms)
        die({.code = "handshake_timeout", .message = "the handshake took too long"});
      break;
    case State::open:
      watch_liveness(now);
      break;
    case State::closing:
      if (now - since_ms_ >= kFarewell_ms) die(*why_closing_);
      break;
    case State::dead:
      break;
  }
}

/// Signs of life: bytes that came, and bytes of ours that went away after they had piled up. Bytes
/// that merely fit into the system's buffer are none.
void Link::watch_liveness(std::int64_t now) {
  const auto in_flight = session_.stream.in_flight();
  if (in_flight + kDrainedBytes <= in_flight_) moved_ms_ = now;
  in_flight_ = in_flight;
  if (now - moved_ms_ >= common_.limits().idle_time.ms)
    return die({.code = "idle", .message = "nothing has come from the other side for too long"});
  if (role_ == Role::listener || now - pinged_ms_ < common_.limits().ping_time.ms) return;
  pinged_ms_ = now;
  std::string payload;
  base::ByteWriter(payload).u64(static_cast<std::uint64_t>(now_us()));
  say(OwnKind::ping, payload);
  pump();
}

}  // namespace jobbie::peer
