// A connection over TLS: the handshake, and what differs from a plain socket after it.
#include "http/connection.hpp"

namespace jobbie::http {

/// True once requests may be read; the first may have come with the client's last word.
bool Connection::shake_hands() {
  switch (tls_->shake_hands()) {
    case TlsSession::Shaken::not_yet:
      return false;
    case TlsSession::Shaken::done:
      read_deadline_ms_ = kNoDeadline;
      return true;
    case TlsSession::Shaken::plain:
      // Told in the language that the client speaks.
      tls_.reset();
      refuse({.status = 400,
              .code = "https_required",
              .detail = "this port speaks HTTPS; use an address with https://"});
      return false;
    case TlsSession::Shaken::failed:
      tls_.reset();
      closing_ = true;
      return false;
  }
  return false;
}

/// All of the handshake has one deadline, whatever comes meanwhile.
void Connection::settle_handshake() {
  if (loop_.draining()) {
    die();
    return;
  }
  watch(true);
  if (read_deadline_ms_ == kNoDeadline)
    read_deadline_ms_ = loop_.now_ms() + loop_.shared().limits.handshake_time.ms;
  loop_.set_deadline(id_, read_deadline_ms_);
}

/// The session may hold bytes that were read and not handed out, of which the socket says nothing.
/// They are taken in a turn of their own, so that nobody waits for one client's flood to end.
void Connection::read_again_if_due() {
  if (!tls_->more() || (watched_ & EPOLLIN) == 0 || again_due_) return;
  again_due_ = true;
  loop_.read_again(id_);
}

}  // namespace jobbie::http
