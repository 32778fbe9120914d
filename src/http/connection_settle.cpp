// The end of a connection's turn: write, wait, close, and the deadlines.
#include <algorithm>
#include <cerrno>

#include <sys/socket.h>

#include "http/connection.hpp"

namespace jobbie::http {
namespace {

/// Sent bytes are cut off the front of a large output only in large pieces.
constexpr std::size_t kCutBytes = std::size_t{256} * 1024;

}  // namespace

void Connection::settle() {
  touched_ = false;
  if (shaking_hands()) {
    settle_handshake();
    return;
  }
  if (continue_due_ && slots_.empty()) {
    continue_due_ = false;
    output_.append("HTTP/1.1 100 Continue\r\n\r\n");
  }
  if (!flush()) return;
  count_owed();
  tell_room();
  if (closing_) release_held();
  if (paused_ && may_take()) {
    go_on_with_held();
    // What it has answered is written in another settling, still in this turn.
    if (touched_) return;
  }
  slots_.shrink();
  const bool quiet = slots_.empty() && pending_bytes() == 0;
  if (closing_ && quiet && !lingering_) close_or_linger();
  // Between two requests there is no answer that a close could cost the client.
  if (loop_.draining() && !closing_ && quiet && held_.empty()) die();
  if (dead_) return;
  const bool listens = closing_ ? discarded_bytes_ <= kMaxDiscardBytes : !paused_ && may_read();
  watch(listens && !ended_);
  update_deadlines();
  if (tls_) read_again_if_due();
}

/// Writes what can be written. False if the connection has died of it.
bool Connection::flush() {
  while (sent_ < output_.size() && !write_blocked_) {
    const std::string_view rest = std::string_view(output_).substr(sent_);
    const long count =
        tls_ ? tls_->write(rest)
             : ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      sent_ += static_cast<std::size_t>(count);
      sent_since_deadline_ += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      write_blocked_ = true;
    } else if (errno != EINTR) {
      die();
      return false;
    }
  }
  if (sent_ == output_.size()) {
    sent_ = 0;
    output_.clear();
    if (output_.capacity() > kKeptOutputBytes) output_ = {};
  } else if (sent_ > kCutBytes) {
    output_.erase(0, sent_);
    sent_ = 0;
  }
  return true;
}

void Connection::close_or_linger() {
  if (tls_ && !tls_->finish()) {
    write_blocked_ = true;
    return;
  }
  if (ended_) {
    die();
    return;
  }
  lingering_ = true;
  ::shutdown(socket_.get(), SHUT_WR);
}

void Connection::watch(bool for_bytes) {
  // Bytes that the TLS layer cannot take yet would be reported again and again.
  const bool stuck = tls_ && tls_->wants_write();
  // While nothing is read, the client's end is still to be noticed, once.
  const bool for_end = !for_bytes && !closing_ && !ended_ && !half_ended_;
  const std::uint32_t wanted = (for_bytes && !stuck ? EPOLLIN : 0u) |
                               (write_blocked_ || stuck ? EPOLLOUT : 0u) |
                               (for_end ? EPOLLRDHUP : 0u);
  if (wanted == watched_) return;
  watched_ = wanted;
  loop_.watch(*this, wanted);
}

Connection::Phase Connection::current_phase() const {
  if (!held_.empty() && !paused_) return parser_.in_body() ? Phase::body : Phase::head;
  return slots_.empty() && pending_bytes() == 0 && !paused_ ? Phase::idle : Phase::busy;
}

/// A request's deadlines count from its first byte and from its head's end: more bytes do not move
/// them, or a client could keep a connection for ever with a byte now and then.
void Connection::update_deadlines() {
  const Limits& limits = loop_.shared().limits;
  const std::int64_t now_ms = loop_.now_ms();
  const Phase phase = current_phase();
  const bool same = phase == phase_ && phase_sequence_ == next_sequence_;
  if (!same) phase_began_ms_ = now_ms;
  if (lingering_) {
    if (phase_ != Phase::busy || read_deadline_ms_ == kNoDeadline)
      read_deadline_ms_ = now_ms + limits.linger_time.ms;
    phase_ = Phase::busy;
  } else {
    switch (phase) {
      case Phase::idle:
        read_deadline_ms_ = now_ms + limits.idle_time.ms;
        break;
      case Phase::head:
        if (!same) read_deadline_ms_ = now_ms + limits.header_time.ms;
        break;
      case Phase::body:
        if (!same) read_deadline_ms_ = now_ms + limits.body_time.ms;
        break;
      case Phase::busy:
        read_deadline_ms_ = room_deadline_ms_;
        break;
    }
    phase_ = phase;
    phase_sequence_ = next_sequence_;
  }
  if (output_.empty()) {
    write_deadline_ms_ = kNoDeadline;
    sent_since_deadline_ = 0;
  } else if (write_deadline_ms_ == kNoDeadline || sent_since_deadline_ >= kWriteProgressBytes) {
    write_deadline_ms_ = now_ms + limits.write_time.ms;
    sent_since_deadline_ = 0;
  }
  loop_.set_deadline(id_, std::min(read_deadline_ms_, write_deadline_ms_));
}

void Connection::on_deadline() {
  const bool stalled = write_deadline_ms_ <= loop_.now_ms();
  const bool incomplete = phase_ == Phase::head || phase_ == Phase::body;
  if (stalled || lingering_ || !(incomplete || waits_for_room())) {
    die();
    return;
  }
  if (waits_for_room()) {
    refuse({.status = 503,
            .code = "overloaded",
            .detail = "too many large answers are being made or not being read"});
    return;
  }
  refuse({.status = 408, .code = "request_timeout", .detail = "the request did not come in time"});
}

}  // namespace jobbie::http
